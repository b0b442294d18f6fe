// A figure of the page: its plot with legend, switches, what the pointer shows, zoom, and saving.
"use strict";

const embedded = JSON.parse(document.getElementById("embedded").textContent);
const styles = new Map(embedded.styles.names.map((name, at) => [name, embedded.styles.styles[at]]));
const darkness = window.matchMedia("(prefers-color-scheme: dark)");
// Every figure on the page, to draw again when the whole page changes.
const figures = [];
// Farthest from a mark, in pixels, at which the pointer means it.
const REACH = 48;

function styleOf(name) {
  return styles.get(name) || embedded.styles.styles[0];
}

function currentTheme() {
  return darkness.matches ? THEMES.dark : THEMES.light;
}

// An element with attributes and children; text is always text. `on...` are listeners.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function keyOf(style, kind) {
  const width = kind === "bars" ? 14 : 30;
  const svg = d3.create("svg:svg").attr("class", "key").attr("viewBox", `0 0 ${width} 14`)
    .attr("width", width).attr("height", 14).attr("aria-hidden", "true");
  addKey(svg, style, currentTheme(), kind);
  return svg.node();
}

function stateOf(plot) {
  const bars = plot.kind === "bars";
  const series = bars ? barSeries(plot.series) : plot.series.map((one) =>
    ({ ...one, style: styleOf(one.name) }));
  const scales = bars ? { y: barScale(plot) } : { x: plot.x.scale, y: plot.y.scale };
  return { plot, series, scales, hidden: new Set(), zoom: null };
}

// Bars show their height best from zero on: by factors only where the least would not be seen.
// Logarithms do not add up, so stacks are even.
function barScale({ y, stacked, series }) {
  if (stacked) return "linear";
  const [least, most] = d3.extent(series.flatMap(([, heights]) => heights.filter((h) => h > 0)));
  return y.scale === "log" && !(most >= 20 * least) ? "linear" : y.scale;
}

// Bars are filled, but for one whose colour another of the same plot has already.
function barSeries(series) {
  const taken = new Set();
  return series.map(([name, heights]) => {
    const style = styleOf(name);
    const hollow = taken.has(style.light);
    taken.add(style.light);
    return { name, heights, style: { ...style, hollow } };
  });
}

// Which scales make sense for an axis: its own, even steps, and factors where all is above zero.
function scalesFor(state, axis) {
  const { plot } = state;
  const bars = plot.kind === "bars";
  if (bars && (axis === "x" || plot.stacked)) return [];
  const values = bars
    ? state.series.flatMap((series) => series.heights)
    : state.series.flatMap((series) => series.marks.map((mark) => mark[axis]));
  const known = values.filter(isNumber);
  const own = plot[axis].scale;
  const wide = known.length > 0 && d3.min(known) > 0 && d3.max(known) / d3.min(known) >= 4;
  const choices = new Set([own, "linear"]);
  if (wide && own !== "recall") choices.add("log");
  return ["recall", "log", "linear"].filter((scale) => choices.has(scale));
}

function addFigure(parent, figure) {
  const state = stateOf(figure.plot);
  const plotBox = make("div", { class: "plot" });
  const legend = make("div", { class: "legend", role: "group", "aria-label": "Series" });
  const tip = make("div", { class: "tip", role: "status", hidden: true });
  const svg = d3.create("svg:svg").attr("class", "canvas").attr("role", "img").attr("tabindex", 0)
    .attr("aria-label", `${figure.title}. Arrow keys move from mark to mark.`);
  plotBox.append(svg.node(), tip);
  const view = { figure, state, svg, plotBox, legend, tip, tools: make("div", { class: "tools" }) };
  const card = make("figure", {
    class: figure.predicted ? "card predicted" : "card",
    id: `figure-${figure.id}`,
  });
  card.append(figureHead(view), make("div", { class: "drawing" }, plotBox, legend));
  parent.append(card);
  addTable(card, { ...figure.table, title: "" });
  listen(view);
  figures.push(view);
  new ResizeObserver(() => {
    if (widthFor(view) !== view.width) redraw(view);
  }).observe(plotBox);
}

function figureHead({ figure, tools }) {
  const words = make("div", { class: "words" });
  if (figure.predicted) {
    words.append(make("p", { class: "badge prediction" }, "Prediction of a model, not measured"));
  }
  words.append(make("h3", {}, figure.title));
  if (figure.note) words.append(make("p", { class: "note" }, figure.note));
  return make("figcaption", {}, words, tools);
}

function widthFor(view) {
  return Math.floor(view.plotBox.clientWidth);
}

// Draws all figures; measures them all before, because a drawing undoes the layout of the page.
function redrawAll() {
  const widths = figures.map(widthFor);
  for (const [at, view] of figures.entries()) redraw(view, widths[at]);
}

// Draws all of a figure that depends on its state.
function redraw(view, width = widthFor(view)) {
  if (width < 40) return;
  view.width = width;
  const size = { width, height: plotHeight(view.state, width) };
  view.drawing = drawPlot(view.svg, view.state, currentTheme(), size);
  view.svg.append("g").attr("class", "pointer");
  hideTip(view);
  drawLegend(view);
  drawTools(view);
}

function drawLegend(view) {
  const { state, legend } = view;
  const focused = legend.contains(document.activeElement) ? document.activeElement.dataset.series : null;
  legend.replaceChildren(...state.series.map(({ name, style }) => make("button", {
    type: "button",
    class: "entry",
    "aria-pressed": String(!state.hidden.has(name)),
    "data-series": name,
    title: "Click: hide or show. Double click: only this one.",
    onclick: () => toggle(view, name),
    ondblclick: () => isolate(view, name),
    onpointerenter: (event) => event.pointerType === "mouse" && emphasise(view, name),
    onpointerleave: () => emphasise(view, null),
  }, keyOf(style, state.plot.kind), make("span", {}, name))));
  if (state.hidden.size) {
    legend.append(make("button", { type: "button", class: "entry all",
      onclick: () => { state.hidden.clear(); redraw(view); } }, "Show all"));
  }
  if (focused !== null) legend.querySelector(`[data-series="${CSS.escape(focused)}"]`)?.focus();
}

function toggle(view, name) {
  const { hidden } = view.state;
  if (!hidden.delete(name)) hidden.add(name);
  view.state.zoom = null;
  redraw(view);
}

function isolate(view, name) {
  const others = view.state.series.filter((series) => series.name !== name);
  const alone = others.every((series) => view.state.hidden.has(series.name));
  view.state.hidden = new Set(alone ? [] : others.map((series) => series.name));
  redraw(view);
}

// Fades every series but one; all are as they were when `name` is null.
function emphasise(view, name) {
  view.svg.selectAll("g.series").attr("opacity", function () {
    return name === null || this.dataset.series === name ? null : 0.18;
  });
}

function drawTools(view) {
  const { state, tools } = view;
  tools.replaceChildren();
  for (const axis of ["x", "y"]) {
    const scales = scalesFor(state, axis);
    if (scales.length > 1) tools.append(scaleSwitch(view, axis, scales));
  }
  if (state.zoom) {
    tools.append(make("button", { type: "button", class: "tool", "data-tool": "reset",
      onclick: () => { state.zoom = null; redraw(view); } }, "Reset zoom"));
  }
  const saves = make("span", { class: "segments", role: "group", "aria-label": "Save the plot" });
  for (const [words, save] of [["SVG", saveSvg], ["PNG", savePng]]) {
    saves.append(make("button", { type: "button", title: `Save this plot as ${words}`,
      "data-tool": words.toLowerCase(), onclick: () => save(view) }, words));
  }
  tools.append(saves);
}

function scaleSwitch(view, axis, scales) {
  const group = make("span", { class: "segments", role: "group", "aria-label": `Scale of ${axis}` },
    make("span", { class: "segment-name" }, view.state.plot.kind === "bars" ? "scale" : axis));
  for (const scale of scales) {
    group.append(make("button", {
      type: "button",
      "aria-pressed": String(view.state.scales[axis] === scale),
      "data-tool": `${axis}-${scale}`,
      title: `${view.state.plot[axis].name}: ${SPACINGS[scale].word}`,
      onclick: () => {
        view.state.scales[axis] = scale;
        view.state.zoom = null;
        redraw(view);
      },
    }, SPACINGS[scale].word));
  }
  return group;
}

// The mark that a place on the plot means, if any.
function nearest({ drawing }, x, y) {
  const distance = (mark) => {
    const [dx, dy] = mark.half || [0, 0];
    return Math.hypot(Math.max(0, Math.abs(mark.x - x) - dx), Math.max(0, Math.abs(mark.y - y) - dy));
  };
  const at = d3.leastIndex(drawing.marks, (a, b) => distance(a) - distance(b));
  const mark = drawing.marks[at];
  return mark && distance(mark) <= REACH ? mark : null;
}

function showTip(view, mark) {
  const { tip, plotBox, svg, state } = view;
  const { style } = state.series.find((series) => series.name === mark.series);
  emphasise(view, mark.series);
  const pointer = svg.select("g.pointer");
  pointer.selectAll("*").remove();
  if (!mark.half) {
    pointer.append("circle").attr("cx", mark.x).attr("cy", mark.y).attr("r", 9)
      .attr("fill", "none").attr("stroke-width", 1.6)
      .attr("stroke", colourOf(style, currentTheme()));
  }
  const rows = mark.rows.flatMap(([name, value]) =>
    [make("dt", {}, name), make("dd", {}, value)]);
  tip.replaceChildren(
    make("p", { class: "tip-name" }, keyOf(style, state.plot.kind), mark.series),
    make("dl", {}, ...rows),
    mark.label ? make("p", { class: "tip-label" }, mark.label) : "");
  tip.hidden = false;
  const box = plotBox.getBoundingClientRect();
  const right = mark.x + 16 + tip.offsetWidth <= box.width;
  const left = right ? mark.x + 16 : Math.max(0, mark.x - 16 - tip.offsetWidth);
  const above = mark.y - tip.offsetHeight - 12;
  tip.style.left = `${Math.min(left, Math.max(0, box.width - tip.offsetWidth))}px`;
  tip.style.top = `${above >= 0 ? above : mark.y + 16}px`;
}

function hideTip(view) {
  view.tip.hidden = true;
  view.at = null;
  view.svg.select("g.pointer").selectAll("*").remove();
  emphasise(view, null);
}

function listen(view) {
  const node = view.svg.node();
  let from = null;
  const point = (event) => {
    const mark = nearest(view, ...d3.pointer(event, node));
    if (mark) showTip(view, mark);
    else hideTip(view);
  };
  node.addEventListener("pointermove", (event) => {
    if (from) drawFrame(view, from, d3.pointer(event, node));
    else point(event);
  });
  node.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse") point(event);
    else if (event.button === 0 && view.drawing?.kind === "lines") {
      from = d3.pointer(event, node);
      node.setPointerCapture(event.pointerId);
      event.preventDefault();
    }
  });
  node.addEventListener("pointerup", (event) => {
    const start = from;
    from = null;
    if (start) zoomTo(view, start, d3.pointer(event, node));
  });
  node.addEventListener("pointercancel", () => { from = null; hideTip(view); });
  node.addEventListener("pointerleave", (event) => {
    if (!from && event.pointerType === "mouse") hideTip(view);
  });
  node.addEventListener("dblclick", () => { view.state.zoom = null; redraw(view); });
  node.addEventListener("keydown", (event) => step(view, event));
  node.addEventListener("blur", () => hideTip(view));
}

// Left and right along a series, up and down to the next one.
function step(view, event) {
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: "up", ArrowDown: "down" };
  const move = moves[event.key];
  const marks = view.drawing?.marks || [];
  if (event.key === "Escape") hideTip(view);
  if (move === undefined || !marks.length) return;
  event.preventDefault();
  const at = view.at ?? -1;
  let next = (at + marks.length + (move === -1 ? -1 : 1)) % marks.length;
  if (at >= 0 && typeof move === "string") {
    const names = [...new Set(marks.map((mark) => mark.series))];
    const name = names.at((names.indexOf(marks[at].series) + (move === "up" ? -1 : 1)) % names.length);
    next = marks.findIndex((mark) => mark.series === name);
  }
  showTip(view, marks[next]);
  view.at = next;
}

function within({ frame }, [x, y]) {
  return [Math.max(frame.left, Math.min(frame.right, x)), Math.max(frame.top, Math.min(frame.bottom, y))];
}

function drawFrame(view, from, to) {
  view.tip.hidden = true;
  const [[x0, y0], [x1, y1]] = [within(view.drawing, from), within(view.drawing, to)];
  const pointer = view.svg.select("g.pointer");
  pointer.selectAll("*").remove();
  pointer.append("rect").attr("class", "zoom")
    .attr("x", Math.min(x0, x1)).attr("y", Math.min(y0, y1))
    .attr("width", Math.abs(x1 - x0)).attr("height", Math.abs(y1 - y0))
    .attr("fill", currentTheme().faint).attr("fill-opacity", 0.15)
    .attr("stroke", currentTheme().faint);
}

// Zooms to a rectangle; a flat one leaves the axis along its short side as it is.
function zoomTo(view, from, to) {
  const { drawing, state } = view;
  const [a, b] = [within(drawing, from), within(drawing, to)];
  view.svg.select("g.pointer").selectAll("*").remove();
  if (Math.abs(a[0] - b[0]) < 8 && Math.abs(a[1] - b[1]) < 8) return;
  const range = (axis, at) =>
    Math.abs(a[at] - b[at]) < 8
      ? drawing.along[axis].domain()
      : d3.extent([a[at], b[at]].map((place) => drawing.along[axis].invert(place)));
  state.zoom = { x: range("x", 0), y: range("y", 1) };
  redraw(view);
}

// The plot as it is shown, on white, with its title and legend: for papers and slides.
function savedSvg(view) {
  const { figure, state } = view;
  const width = 900;
  const inner = { width: width - 40, height: plotHeight(state, width - 40) };
  const root = d3.create("svg:svg").attr("xmlns", "http://www.w3.org/2000/svg")
    .attr("font-family", FONT);
  const ground = root.append("rect").attr("fill", THEMES.light.ground);
  addText(root, figure.title, 20, 32, { size: 17, fill: THEMES.light.ink, weight: 600 });
  let y = 44;
  if (figure.predicted) {
    addText(root, "Prediction of a model, not measured", 20, 52, { size: 12, fill: "#8a4b00", weight: 600 });
    y = 62;
  }
  let x = 20;
  const room = state.plot.kind === "bars" ? 20 : 36;
  for (const { name, style } of visible(state)) {
    const wide = room + 8 + textWidth(name, 12.5);
    if (x > 20 && x + wide > width - 20) [x, y] = [20, y + 22];
    const key = root.append("g").attr("transform", `translate(${x} ${y})`);
    addKey(key, style, THEMES.light, state.plot.kind);
    addText(key, name, room, 11, { size: 12.5, fill: THEMES.light.ink });
    x += wide + 12;
  }
  const plot = root.append("svg").attr("x", 20).attr("y", y + 34);
  drawPlot(plot, state, THEMES.light, inner);
  const height = y + 34 + inner.height + 12;
  root.attr("viewBox", `0 0 ${width} ${height}`).attr("width", width).attr("height", height);
  ground.attr("width", width).attr("height", height);
  return { text: new XMLSerializer().serializeToString(root.node()), width, height };
}

function saveSvg(view) {
  save(new Blob([savedSvg(view).text], { type: "image/svg+xml" }), `${view.figure.id}.svg`);
}

function savePng(view) {
  const { text, width, height } = savedSvg(view);
  const picture = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  picture.onload = () => {
    const canvas = make("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(picture, 0, 0, 2 * width, 2 * height);
    URL.revokeObjectURL(address);
    canvas.toBlob((blob) => save(blob, `${view.figure.id}.png`), "image/png");
  };
  picture.src = address;
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

darkness.addEventListener("change", redrawAll);

// What a finger made to show stays until it touches another place.
document.addEventListener("pointerdown", (event) => {
  for (const view of figures) {
    if (!view.tip.hidden && !view.plotBox.contains(event.target)) hideTip(view);
  }
});
