// Tables are sorted by a click on a column and saved as CSV; names in them have their colour.
"use strict";

const numberOf = (cell) => (cell?.dataset.number === undefined ? NaN : Number(cell.dataset.number));

// First by what is best, or from the smallest on; then the other way round.
function sortBy(table, at, head) {
  const first = head.dataset.goodness === "higher" ? -1 : 1;
  const sign = head.dataset.sign ? -Number(head.dataset.sign) : first;
  table.querySelectorAll("thead th").forEach((other) => { delete other.dataset.sign; });
  head.dataset.sign = sign;
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a.cells[at], b.cells[at], sign));
  table.tBodies[0].append(...rows);
}

// Numbers by size, texts by the alphabet; cells without a number come last either way.
function compare(a, b, sign) {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return sign * a.textContent.localeCompare(b.textContent, "en", { numeric: true });
}

function csvOf(table) {
  const field = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const value = (cell) => cell.dataset.number ?? field(cell.textContent.trim());
  return [...table.rows].map((row) => `${[...row.cells].map(value).join(",")}\r\n`).join("");
}

for (const block of document.querySelectorAll(".table")) {
  const table = block.querySelector("table");
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    head.addEventListener("click", () => sortBy(table, at, head));
    const cells = [...table.tBodies[0].rows].map((row) => row.cells[at]);
    if (cells.some((cell) => cell?.dataset.number !== undefined)) {
      [head, ...cells].forEach((cell) => cell?.classList.add("number"));
    }
    for (const cell of cells.filter((cell) => looks.has(cell?.textContent))) {
      const [light, night] = COLOURS[looks.get(cell.textContent).colour];
      const swatch = Object.assign(document.createElement("i"), { className: "swatch" });
      swatch.style.setProperty("--light", light);
      swatch.style.setProperty("--dark", night);
      cell.prepend(swatch);
    }
  });
  block.querySelector("[data-csv]").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
    link.download = `${block.id.replace("table-", "")}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

// The contents are open where there is room beside the page.
const menu = document.querySelector(".menu");
const wide = window.matchMedia("(min-width: 1040px)");
const fit = () => { menu.open = wide.matches; };
wide.addEventListener("change", fit);
menu.addEventListener("click", (event) => { if (!wide.matches && event.target.closest("a")) menu.open = false; });
fit();
