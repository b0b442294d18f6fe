// Tables: sorted by a click on a column, best cells marked, saved as CSV.
"use strict";

// Rows that are shown without being asked for.
const FEW_ROWS = 12;
const ARROWS = { higher: "↑", lower: "↓" };

function addTable(parent, table) {
  if (!table.columns.length) return;
  const numeric = table.columns.map(({ goodness }, at) =>
    goodness !== "neutral" || table.rows.some((row) => isNumber(row[at]?.number)));
  const view = { table, numeric, order: null, body: make("tbody") };
  const heads = table.columns.map((column, at) => headCell(view, column, at));
  const element = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), view.body);
  const long = table.rows.length > FEW_ROWS;
  const scroller = make("div", { class: long ? "scroller long" : "scroller", tabindex: 0,
    role: "region", "aria-label": table.title || "Numbers of the plot" }, element);
  const bar = make("div", { class: "table-bar" },
    make("span", {}, `${table.rows.length} ${table.rows.length === 1 ? "row" : "rows"}`),
    long ? allRows(scroller) : null,
    make("button", { type: "button", class: "tool", "data-tool": "csv",
      onclick: () => save(new Blob([csvOf(table)], { type: "text/csv" }), `${table.id}.csv`) }, "CSV"));
  view.heads = heads;
  fillRows(view);
  const block = make("div", { class: "table", id: `table-${table.id}` });
  if (table.title) block.append(make("h3", {}, table.title));
  block.append(scroller, bar);
  parent.append(block);
}

function allRows(scroller) {
  const button = make("button", { type: "button", class: "tool", onclick: () => {
    const all = scroller.classList.toggle("all");
    button.textContent = all ? "Fewer rows" : "All rows";
  } }, "All rows");
  return button;
}

function headCell(view, column, at) {
  const arrow = ARROWS[column.goodness];
  const name = make("span", {}, column.name);
  if (arrow) {
    name.append(make("span", { class: "goodness", title: `${column.goodness} is better` }, `\u00a0${arrow}`));
  }
  return make("th", { scope: "col", class: view.numeric[at] ? "number" : null },
    make("button", { type: "button", title: "Sort", onclick: () => sortBy(view, at) }, name));
}

// First by what is best, or from the smallest on; then the other way round; then as it came.
function sortBy(view, at) {
  const first = view.table.columns[at].goodness === "higher" ? -1 : 1;
  const same = view.order?.at === at;
  if (!same) view.order = { at, sign: first };
  else view.order = view.order.sign === first ? { at, sign: -first } : null;
  fillRows(view);
}

function fillRows(view) {
  const { table, order, numeric } = view;
  const rows = [...table.rows];
  if (order) rows.sort((a, b) => compareCells(a[order.at], b[order.at], order.sign));
  view.body.replaceChildren(...rows.map((row) =>
    make("tr", {}, ...row.map((cell, at) => bodyCell(cell, numeric[at], at === 0)))));
  for (const [at, head] of view.heads.entries()) {
    const mine = order?.at === at;
    head.setAttribute("aria-sort", mine ? (order.sign > 0 ? "ascending" : "descending") : "none");
  }
}

// Numbers by size, texts by the alphabet; cells without a number come last either way.
function compareCells(a, b, sign) {
  const [x, y] = [a?.number, b?.number];
  if (isNumber(x) && isNumber(y)) return sign * (x - y);
  if (isNumber(x) !== isNumber(y)) return isNumber(x) ? -1 : 1;
  return sign * (a?.text || "").localeCompare(b?.text || "", "en", { numeric: true });
}

function bodyCell(cell, number, first) {
  const short = cell.text.length <= (first ? 26 : 18);
  const classes = [number && "number", cell.best && "best", short && "short"].filter(Boolean).join(" ");
  const exact = isNumber(cell.number) && String(cell.number) !== cell.text ? String(cell.number) : null;
  const swatch = !number && styles.has(cell.text) ? swatchOf(cell.text) : null;
  const text = cell.best ? make("strong", {}, cell.text) : cell.text;
  return make(first ? "th" : "td", { class: classes || null, title: exact, scope: first ? "row" : null },
    swatch, text);
}

function swatchOf(name) {
  const { light, dark } = styleOf(name);
  return make("i", { class: "swatch", style: `--light:${light};--dark:${dark}` });
}

function csvOf(table) {
  const field = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const value = (cell) => (isNumber(cell.number) ? String(cell.number) : field(cell.text));
  const lines = [table.columns.map((column) => field(column.name)), ...table.rows.map((row) => row.map(value))];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}
