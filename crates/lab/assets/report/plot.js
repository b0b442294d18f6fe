// One renderer for every plot: a figure of the report becomes a specification of Vega-Lite.
"use strict";

// Colours on white and on dark, far apart for every eye as far as that goes; marks and dashes help.
const COLOURS = [
  ["#0072b2", "#4ba3e3"], ["#d55e00", "#f0803c"], ["#009e73", "#2cc295"], ["#b8528f", "#e39ac6"],
  ["#c98500", "#f2b632"], ["#3aa0db", "#9ad8ff"], ["#4a5560", "#b9c2cc"], ["#84841a", "#d6d66a"],
  ["#882255", "#d46a9e"], ["#4b3fa8", "#9c92f0"], ["#1f8f8f", "#63cfcf"], ["#8b5a2b", "#c8955f"],
  ["#b30000", "#ff7b72"], ["#5a8f00", "#a5d65a"], ["#c03fc0", "#f08cf0"], ["#00576b", "#5fb0c4"],
];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross"];
const DASHES = [[1, 0], [7, 4], [2, 3], [9, 3, 2, 3]];

const all = JSON.parse(document.getElementById("figures").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const namesOf = (figure) => [...new Set(figure.marks.map((mark) => mark.series))];

// A look for every name of the report: names that stand in one figure never have the same colour as
// long as there are colours, and no colour is used again before all are.
const looks = (() => {
  const beside = new Map();
  for (const figure of all) {
    const names = namesOf(figure);
    for (const name of names) beside.set(name, new Set([...(beside.get(name) ?? []), ...names]));
  }
  const found = new Map();
  const uses = COLOURS.map(() => 0);
  for (const [name, others] of beside) {
    const taken = new Set([...others].map((other) => found.get(other)?.colour));
    const cost = (at) => (taken.has(at) ? 1000 : 0) + uses[at];
    const colour = uses.map((_, at) => at).reduce((best, at) => (cost(at) < cost(best) ? at : best));
    uses[colour] += 1;
    found.set(name, { colour, shape: SHAPES[found.size % SHAPES.length],
      dash: DASHES[Math.floor(found.size / 8) % DASHES.length] });
  }
  return found;
})();
const colourOf = (name) => COLOURS[looks.get(name).colour][dark.matches ? 1 : 0];

// Thousands as k, nothing as thousandths, and nothing below none, where only the margin is.
const LABEL = "datum.value < 0 ? '' : format(datum.value, datum.value < 1000 ? '.4~g' : '~s')";

// An axis: recall is spaced by the logarithm of its misses, so that 0.9, 0.99 and 0.999 lie evenly.
function axisOf({ name, scale }, field) {
  if (scale === "recall") {
    const misses = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0001];
    return { field: "spaced", type: "quantitative", title: name, scale: { zero: false, nice: false, padding: 12 },
      axis: { values: misses.map((miss) => -Math.log10(miss)), grid: true,
        labelExpr: "format(1 - pow(10, -datum.value), '.4~')" } };
  }
  const scaled = scale === "log" ? { type: "log", nice: false } : { zero: field === "y" };
  return { field, type: "quantitative", title: name, scale: { ...scaled, padding: 12 },
    axis: { tickCount: 6, labelExpr: LABEL } };
}

function specificationOf(figure, width) {
  const names = namesOf(figure);
  const domain = { domain: names };
  const bars = figure.kind !== "line";
  const longest = Math.max(...names.map((name) => name.length));
  const columns = Math.max(1, Math.min(names.length, Math.floor((width - 90) / (36 + 6.8 * longest))));
  const values = figure.marks.map((mark, at) => ({ ...mark, at }));
  const colour = { field: "series", type: "nominal", title: null, scale: { ...domain, range: names.map(colourOf) },
    legend: { orient: "top", columns, symbolLimit: 40 } };
  const shared = {
    opacity: { condition: { param: "shown", value: bars ? 0.95 : 1 }, value: 0.08 },
    tooltip: [{ field: "series", title: " " },
      { field: "x", title: figure.x.name || " ", ...(bars ? {} : { format: ".5~g" }) },
      { field: "text", title: figure.y.name }],
  };
  const specification = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    width: "container", height: 290, padding: { left: 5, top: 5, bottom: 5, right: 18 }, autosize: { type: "fit-x", contains: "padding" },
    data: { values },
  };
  const params = [{ name: "shown", select: { type: "point", fields: ["series"], toggle: "true" }, bind: "legend" }];
  if (bars) {
    const stack = figure.kind === "stack";
    return { ...specification, params, mark: { type: "bar", cornerRadiusEnd: stack ? 0 : 2 },
      encoding: { ...shared, color: colour,
        x: { field: "x", type: "nominal", title: figure.x.name || null, sort: null, axis: { labelAngle: figure.marks.length > 40 ? -30 : 0, grid: false } },
        ...(stack ? {} : { xOffset: { field: "series", sort: names } }),
        order: { field: "at" },
        y: { field: "y", type: "quantitative", title: figure.y.name, stack: stack ? "zero" : null,
          axis: { tickCount: 6, labelExpr: LABEL } } } };
  }
  return { ...specification,
    transform: [{ calculate: "-log(max(1 - datum.x, 0.0001)) / LN10", as: "spaced" }],
    encoding: { x: axisOf(figure.x, "x"), y: axisOf(figure.y, "y"), color: colour, ...shared },
    layer: [
      { params, mark: { type: "line", strokeWidth: 2 }, encoding: { order: { field: "at" },
        strokeDash: { field: "series", type: "nominal", title: null, scale: { ...domain, range: names.map((name) => looks.get(name).dash) } } } },
      { mark: { type: "point", filled: true, size: 52 }, encoding: {
        shape: { field: "series", type: "nominal", title: null, scale: { ...domain, range: names.map((name) => looks.get(name).shape) } } } },
    ] };
}

function theme() {
  const [ink, faint, grid] = dark.matches ? ["#e8edf2", "#9aa7b4", "#2a333d"] : ["#1b2430", "#5f6b78", "#e4e8ec"];
  const words = { labelColor: faint, titleColor: ink, labelFontSize: 11.5, titleFontSize: 12.5, titleFontWeight: 500 };
  return { background: null, font: "Inter, Segoe UI, system-ui, sans-serif", view: { stroke: null },
    axis: { ...words, gridColor: grid, domainColor: grid, tickColor: grid, labelFlush: false },
    legend: { ...words, labelColor: ink, symbolStrokeWidth: 2, labelLimit: 190, rowPadding: 4, columnPadding: 14 } };
}

// Plots are drawn when they come near, the rest when there is time; all of them again when the
// reader changes from light to dark.
const places = new Map(all.map((figure) => [document.querySelector(`[data-figure="${CSS.escape(figure.id)}"]`), figure]));
const drawn = new Set();

async function draw(place) {
  if (drawn.has(place)) return;
  drawn.add(place);
  const figure = places.get(place);
  await vegaEmbed(place, specificationOf(figure, place.clientWidth), { renderer: "svg", config: theme(), downloadFileName: figure.id,
    tooltip: { theme: dark.matches ? "dark" : "light" },
    actions: { export: true, source: true, compiled: false, editor: false } });
}

async function drawAll() {
  for (const place of places.keys()) {
    await draw(place);
    await new Promise((next) => setTimeout(next, 0));
  }
  document.documentElement.dataset.drawn = drawn.size;
}

const near = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting)
  .forEach((one) => draw(one.target)), { rootMargin: "600px" });
places.forEach((_, place) => near.observe(place));
dark.addEventListener("change", () => { drawn.clear(); drawAll(); });
window.addEventListener("load", drawAll);
