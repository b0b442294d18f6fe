// Draws one plot into an SVG element: curves or bars, for the page and for saved files alike.
//
// A drawing takes the state of a figure (which scales, which part, which series are hidden) and
// gives back where its marks are, so that whoever holds the pointer can find them.
"use strict";

const THEMES = {
  light: { ink: "#1b2430", faint: "#5b6673", grid: "#e6eaef", foot: "#aab4bf", ground: "#ffffff" },
  dark: { ink: "#e8edf2", faint: "#9aa7b4", grid: "#29323c", foot: "#56626e", ground: "#161c23" },
};
const FONT = "Inter, 'Segoe UI', system-ui, -apple-system, 'Helvetica Neue', Arial, sans-serif";
const SHAPES = {
  circle: "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z",
  square: "M-3.6 -3.6H3.6V3.6H-3.6Z",
  triangle: "M0 -4.8L4.6 3.4H-4.6Z",
  diamond: "M0 -5L5 0L0 5L-5 0Z",
  down: "M0 4.8L4.6 -3.4H-4.6Z",
  cross: "M-3.8 -3.8L3.8 3.8M-3.8 3.8L3.8 -3.8",
  star: "M0 -4.8V4.8M-4.2 -2.4L4.2 2.4M-4.2 2.4L4.2 -2.4",
};
const OPEN_SHAPES = ["cross", "star"];
let clips = 0;

// Widths of text, measured as the browser draws it.
const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, size) {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

function colourOf(style, theme) {
  return theme === THEMES.dark ? style.dark : style.light;
}

function addText(parent, words, x, y, { size = 12, fill, anchor = "start", weight = 400 }) {
  return parent.append("text").attr("x", x).attr("y", y).attr("font-size", size)
    .attr("font-weight", weight).attr("fill", fill).attr("text-anchor", anchor).text(words);
}

function addMark(parent, style, theme, x, y) {
  const colour = colourOf(style, theme);
  const open = OPEN_SHAPES.includes(style.marker);
  return parent.append("path").attr("d", SHAPES[style.marker])
    .attr("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`)
    .attr("fill", style.hollow ? theme.ground : colour)
    .attr("stroke", open || style.hollow ? colour : theme.ground)
    .attr("stroke-width", open ? 2 : 1.2);
}

function addStroke(parent, style, theme, path) {
  return parent.append("path").attr("d", path).attr("fill", "none")
    .attr("stroke", colourOf(style, theme)).attr("stroke-width", 2)
    .attr("stroke-linejoin", "round").attr("stroke-linecap", style.dash ? "butt" : "round")
    .attr("stroke-dasharray", style.dash || null);
}

function addBar(parent, style, theme, x, y, width, height, round = 2) {
  const colour = colourOf(style, theme);
  return parent.append("rect").attr("x", x).attr("y", y)
    .attr("width", Math.max(width, 0.8)).attr("height", Math.max(height, 0.8))
    .attr("rx", Math.min(round, width / 3, height / 3))
    .attr("fill", colour).attr("fill-opacity", style.hollow ? 0.35 : 1)
    .attr("stroke", style.hollow ? colour : null);
}

// What stands for a series in a legend: 30 x 14 pixels for a curve, 14 x 14 for bars.
function addKey(parent, style, theme, kind) {
  if (kind === "bars") {
    addBar(parent, style, theme, 1, 1, 12, 12);
  } else {
    addStroke(parent, style, theme, "M1 7H29");
    addMark(parent, style, theme, 15, 7);
  }
}

// Draws a plot of `size` = {width, height} and gives its marks: {series, name, label, x, y, rows},
// x and y in pixels, rows the names and values to show.
function drawPlot(svg, state, theme, size) {
  svg.attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("font-family", FONT)
    .attr("width", size.width).attr("height", size.height);
  svg.selectAll("*").remove();
  const draw = state.plot.kind === "bars" ? drawBars : drawLines;
  const drawing = draw(svg, state, theme, size);
  if (!drawing.marks.length) {
    const words = state.hidden.size ? "every series is hidden" : "no numbers";
    addText(svg, words, (drawing.frame.left + drawing.frame.right) / 2,
      (drawing.frame.top + drawing.frame.bottom) / 2,
      { size: 14, fill: theme.faint, anchor: "middle" });
  }
  return drawing;
}

function addUprightAxis(svg, theme, frame, ticks, name, along) {
  for (const tick of ticks) {
    const y = along(tick);
    svg.append("path").attr("d", `M${frame.left} ${y}H${frame.right}`).attr("stroke", theme.grid);
    addText(svg, tick.text, frame.left - 8, y + 4, { fill: theme.faint, anchor: "end" });
  }
  addText(svg, name, 2, 14, { size: 12.5, fill: theme.ink, weight: 500 });
}

function addLevelAxis(svg, theme, frame, ticks, name, grid) {
  for (const tick of ticks) {
    const x = frame.left + tick.at;
    const path = grid ? `M${x} ${frame.top}V${frame.bottom}` : `M${x} ${frame.bottom}v5`;
    svg.append("path").attr("d", path).attr("stroke", theme.grid);
    addText(svg, tick.text, x, frame.bottom + 18, { fill: theme.faint, anchor: "middle" });
  }
  if (name) {
    addText(svg, name, (frame.left + frame.right) / 2, frame.bottom + 40,
      { size: 12.5, fill: theme.ink, anchor: "middle", weight: 500 });
  }
}

function addFoot(svg, theme, path) {
  svg.append("path").attr("d", path).attr("stroke", theme.foot).attr("fill", "none");
}

function leftMargin(ticks) {
  return 12 + Math.max(16, d3.max(ticks, (tick) => textWidth(tick.text, 12)) || 0);
}

function visible(state) {
  return state.series.filter((series) => !state.hidden.has(series.name));
}

// The limits of both axes: what was zoomed to, else all that is visible.
function spansOf(state) {
  const marks = visible(state).flatMap((series) => series.marks)
    .filter((mark) => isNumber(SPACINGS[state.scales.x].place(mark.x))
      && isNumber(SPACINGS[state.scales.y].place(mark.y)) && isNumber(mark.x) && isNumber(mark.y));
  const span = (axis) => spanOf(state.scales[axis], marks.map((mark) => mark[axis]), false);
  return { x: state.zoom?.x || span("x"), y: state.zoom?.y || span("y") };
}

// The different places of marks on the level axis.
function settingsOf(state) {
  const places = visible(state).flatMap((series) => series.marks.map((mark) => mark.x));
  return d3.sort(new Set(places.filter(isNumber)));
}

function drawLines(svg, state, theme, size) {
  const spans = spansOf(state);
  const height = size.height - 24 - 52;
  const yTicks = ticksOf(state.scales.y, spans.y, height, () => 22);
  const frame = { left: leftMargin(yTicks), right: size.width - 14, top: 28,
    bottom: size.height - 52 };
  const xTicks = ticksOf(state.scales.x, spans.x, frame.right - frame.left,
    (text) => textWidth(text, 12) + 12, settingsOf(state));
  const along = {
    x: d3.scaleLinear(spans.x, [frame.left, frame.right]),
    y: d3.scaleLinear(spans.y, [frame.bottom, frame.top]),
  };
  const place = (axis, value) =>
    isNumber(value) ? along[axis](SPACINGS[state.scales[axis]].place(value)) : NaN;
  addUprightAxis(svg, theme, frame, yTicks, state.plot.y.name, (tick) => place("y", tick.value));
  addLevelAxis(svg, theme, frame, xTicks, state.plot.x.name, true);
  addFoot(svg, theme, `M${frame.left} ${frame.bottom}H${frame.right}`);
  const clip = `clip-${++clips}`;
  svg.append("clipPath").attr("id", clip).append("rect")
    .attr("x", frame.left - 6).attr("y", frame.top - 6)
    .attr("width", frame.right - frame.left + 12).attr("height", frame.bottom - frame.top + 12);
  const curves = svg.append("g").attr("clip-path", `url(#${clip})`);
  const marks = visible(state).flatMap((series) =>
    drawCurve(curves, state, series, theme, place).filter((mark) =>
      mark.x >= frame.left - 6 && mark.x <= frame.right + 6
      && mark.y >= frame.top - 6 && mark.y <= frame.bottom + 6));
  return { frame, marks, along, kind: "lines" };
}

function drawCurve(curves, state, series, theme, place) {
  const style = series.style;
  const group = curves.append("g").attr("class", "series").attr("data-series", series.name);
  const marks = series.marks.map((mark) => ({
    series: series.name,
    label: mark.label,
    x: place("x", mark.x),
    y: place("y", mark.y),
    rows: [[state.plot.x.name, longNumber(mark.x)], [state.plot.y.name, longNumber(mark.y)]],
  }));
  const drawn = (mark) => isNumber(mark.x) && isNumber(mark.y);
  const line = d3.line((mark) => mark.x, (mark) => mark.y).defined(drawn).digits(2);
  addStroke(group, style, theme, line(marks));
  for (const mark of marks.filter(drawn)) addMark(group, style, theme, mark.x, mark.y);
  return marks.filter(drawn);
}

// Bars side by side in a category, the widest name, and whether bars lie: they stand where names
// have room below them.
function barsOf(state, width) {
  const { categories, stacked } = state.plot;
  const band = (width - 70) / Math.max(1, categories.length);
  const widest = d3.max(categories, (name) => textWidth(name, 12)) || 0;
  const bars = stacked ? 1 : Math.max(1, visible(state).length);
  return { bars, widest, lies: widest > band - 10 || (band * 0.8) / bars < 6 };
}

function drawBars(svg, state, theme, size) {
  const series = visible(state);
  const { categories, stacked } = state.plot;
  const { bars, widest, lies } = barsOf(state, size.width);
  const span = spanOf(state.scales.y, heightsOf(state, series), true);
  const layout = { categories, series, stacked, span, scale: state.scales.y, bars };
  return lies
    ? drawLyingBars(svg, state, theme, size, layout, widest)
    : drawStandingBars(svg, state, theme, size, layout);
}

function heightsOf(state, series) {
  const heights = (at) => series.map((one) => one.heights[at]).filter(isNumber);
  return state.plot.categories.flatMap((_, at) =>
    state.plot.stacked ? [d3.sum(heights(at))] : heights(at));
}

function drawStandingBars(svg, state, theme, size, layout) {
  const ticks = ticksOf(layout.scale, layout.span, size.height - 24 - 40, () => 22);
  const frame = { left: leftMargin(ticks), right: size.width - 14, top: 28,
    bottom: size.height - 36 };
  const along = d3.scaleLinear(layout.span, [frame.bottom, frame.top]);
  const place = (value) => along(SPACINGS[layout.scale].place(value));
  addUprightAxis(svg, theme, frame, ticks, state.plot.y.name, (tick) => place(tick.value));
  const band = d3.scaleBand(layout.categories.map((_, at) => at), [frame.left, frame.right])
    .paddingInner(0.28).paddingOuter(0.18);
  const width = Math.min(band.bandwidth(), 76 * layout.bars);
  const start = (at) => band(at) + (band.bandwidth() - width) / 2;
  const named = !layout.stacked && heightsOf(state, layout.series).every((height) =>
    textWidth(shortNumber(height, 3), 11) < width / layout.bars - 2);
  const marks = eachBar(layout, (at, nth, series, foot, top) => {
    const each = width / layout.bars;
    const x = start(at) + (layout.stacked ? 0 : each * nth);
    const gap = layout.bars > 1 && each > 8 ? 2 : 0;
    const [y, base] = [place(top), footOf(layout, foot, place, frame.bottom)];
    barGroup(svg, series.name, (group) =>
      addBar(group, series.style, theme, x, Math.min(y, base), each - gap,
        Math.abs(base - y), layout.stacked ? 0 : 2));
    if (named) {
      addText(svg, shortNumber(series.heights[at], 3), x + (each - gap) / 2, Math.min(y, base) - 5,
        { size: 11, fill: theme.faint, anchor: "middle" });
    }
    return { x: x + each / 2, y: (y + base) / 2, half: [each / 2, Math.abs(base - y) / 2] };
  }, state);
  for (const [at, name] of layout.categories.entries()) {
    addText(svg, name, start(at) + width / 2, frame.bottom + 20,
      { fill: theme.ink, anchor: "middle" });
  }
  addFoot(svg, theme, `M${frame.left} ${frame.bottom}H${frame.right}`);
  return { frame, marks, kind: "bars" };
}

function drawLyingBars(svg, state, theme, size, layout, widest) {
  const room = Math.min(widest, size.width * 0.4);
  const frame = { left: room + 14, right: size.width - 46, top: 8, bottom: size.height - 52 };
  const ticks = ticksOf(layout.scale, layout.span, frame.right - frame.left,
    (text) => textWidth(text, 12) + 12);
  const along = d3.scaleLinear(layout.span, [frame.left, frame.right]);
  const place = (value) => along(SPACINGS[layout.scale].place(value));
  addLevelAxis(svg, theme, frame, ticks, state.plot.y.name, true);
  const band = d3.scaleBand(layout.categories.map((_, at) => at), [frame.top, frame.bottom])
    .paddingInner(0.24).paddingOuter(0.12);
  const marks = eachBar(layout, (at, nth, series, foot, top) => {
    const each = band.bandwidth() / layout.bars;
    const y = band(at) + (layout.stacked ? 0 : each * nth);
    const gap = layout.bars > 1 && each > 8 ? 1.5 : 0;
    const [x, base] = [place(top), footOf(layout, foot, place, frame.left)];
    barGroup(svg, series.name, (group) =>
      addBar(group, series.style, theme, Math.min(x, base), y, Math.abs(x - base),
        each - gap, layout.stacked ? 0 : 2));
    if (!layout.stacked && each >= 10) {
      addText(svg, shortNumber(series.heights[at], 3), Math.max(x, base) + 5, y + each / 2 + 3.5,
        { size: 11, fill: theme.faint });
    }
    return { x: (x + base) / 2, y: y + each / 2, half: [Math.abs(x - base) / 2, each / 2] };
  }, state);
  for (const [at, name] of layout.categories.entries()) {
    addText(svg, fitText(name, room, 12), frame.left - 8, band(at) + band.bandwidth() / 2 + 4,
      { fill: theme.ink, anchor: "end" }).append("title").text(name);
  }
  addFoot(svg, theme, `M${frame.left} ${frame.top}V${frame.bottom}`);
  return { frame, marks, kind: "bars" };
}

// A bar that stands on another begins there; any other begins at zero, or at the edge of the plot
// where the scale has no zero.
function footOf(layout, foot, place, edge) {
  const base = place(foot);
  return isNumber(base) && layout.scale !== "log" ? base : edge;
}

function barGroup(svg, name, add) {
  add(svg.append("g").attr("class", "series").attr("data-series", name));
}

// Calls `add` for each bar that has a height, and gives the marks.
function eachBar(layout, add, state) {
  const marks = [];
  for (const [at, category] of layout.categories.entries()) {
    let foot = 0;
    for (const [nth, series] of layout.series.entries()) {
      const height = series.heights[at];
      if (!isNumber(height) || !isNumber(SPACINGS[layout.scale].place(foot + height))) continue;
      const place = add(at, nth, series, foot, foot + height);
      const rows = [[state.plot.y.name, longNumber(height)]];
      if (layout.stacked) {
        foot += height;
        const heights = layout.series.map((one) => one.heights[at]).filter(isNumber);
        rows.push(["all of the stack", longNumber(d3.sum(heights))]);
      }
      marks.push({ series: series.name, label: category, rows, ...place });
    }
  }
  return marks;
}

// Text cut to a width.
function fitText(text, width, size) {
  if (textWidth(text, size) <= width) return text;
  let end = text.length;
  while (end > 1 && textWidth(`${text.slice(0, end)}…`, size) > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

// How high a plot of this width should be.
function plotHeight(state, width) {
  if (state.plot.kind === "lines") return Math.round(Math.max(290, Math.min(430, width * 0.56)));
  const { categories, stacked } = state.plot;
  const { bars, lies } = barsOf(state, width);
  if (!lies) return Math.round(Math.max(280, Math.min(360, width * 0.48)));
  const each = stacked ? 24 : Math.max(26, bars * 13 + 10);
  return 64 + Math.round(categories.length * each);
}
