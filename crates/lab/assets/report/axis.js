// Spacing of axes: from a value to even steps, the numbers on an axis, and how numbers are written.
"use strict";

// Fewest misses that are told apart on an axis of recall: a recall of 1 has no logarithm.
const LEAST_MISSES = 5e-4;
const RECALLS = [0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1];
// Which numbers stay when there is no room for all.
const RECALLS_FIRST = [0.9, 0.99, 0.999, 0.5, 0.95, 1, 0.8, 0.995, 0.98, 0];

const SPACINGS = {
  linear: { word: "linear", place: (v) => v, value: (p) => p },
  log: { word: "log", place: (v) => (v > 0 ? Math.log10(v) : NaN), value: (p) => 10 ** p },
  recall: {
    word: "stretched",
    place: (v) => -Math.log10(Math.max(1 - v, LEAST_MISSES)),
    value: (p) => 1 - 10 ** -p,
  },
};

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

// What an axis covers, in even steps, with a little room; from zero on where bars stand on it or,
// on an even axis, where zero is near.
function spanOf(scale, values, bars) {
  const places = values.filter(isNumber).map(SPACINGS[scale].place).filter(isNumber);
  let [low, high] = places.length ? d3.extent(places) : [0, 1];
  const zero = low >= 0 && (scale === "linear" ? bars || low < 0.35 * high : scale === "recall" && bars);
  if (scale === "log" && bars) {
    low = Math.floor(Math.min(low, high - 0.1));
    high += 0.05;
  } else if (zero) {
    low = 0;
    high *= 1.05;
  } else {
    const room = 0.05 * (high - low);
    low -= room;
    high += room;
  }
  if (!(high - low > 1e-9 * Math.abs(high))) {
    low -= 0.5;
    high += 0.5;
  }
  return [low, high];
}

// Whether the places of marks are settings, such as beams of 1, 2, 4 and 8 or shares of memory: few
// and round. They are then the numbers on their axis.
function areSettings(values) {
  const round = (v) => (Number.isInteger(v) ? v < 1e6 : Number(v.toPrecision(2)) === v);
  return values.length > 1 && values.length <= 9 && values.every(round);
}

// Numbers on an axis, the most wanted first.
function wantedTicks(scale, [low, high], count) {
  const { place, value } = SPACINGS[scale];
  const inside = (v) => place(v) >= low - 1e-9 && place(v) <= high + 1e-9;
  if (scale === "linear") return d3.ticks(low, high, count);
  const even = () => d3.ticks(value(low), value(high), count).filter(inside);
  if (scale === "recall") {
    const round = RECALLS_FIRST.filter(inside);
    return round.length >= 3 ? round : even();
  }
  const powers = d3.range(Math.floor(low), Math.ceil(high) + 1);
  const times = (...factors) => factors.flatMap((factor) =>
    powers.map((power) => Number(`${factor}e${power}`)).filter(inside));
  const all = high - low > 4 ? times(1) : times(1, 2, 5);
  if (all.length >= 4) return all;
  const more = [...all, ...times(3, 7, 1.5, 4)];
  return more.length >= 3 ? more : even();
}

// The wanted numbers that have room along an axis of `length` pixels, of which each takes `size`.
// Even steps stay even: rather fewer numbers than gaps between them.
function ticksOf(scale, span, length, size, settings = []) {
  const { place } = SPACINGS[scale];
  const along = d3.scaleLinear(span, [0, length]);
  const fit = (values, write) => {
    const taken = [];
    for (const value of values) {
      const text = write(value);
      const at = along(place(value));
      const half = size(text) / 2;
      if (taken.every((tick) => Math.abs(tick.at - at) > tick.half + half)) {
        taken.push({ value, text, at, half });
      }
    }
    return taken;
  };
  if (scale !== "recall" && areSettings(settings)) {
    const inside = (v) => place(v) >= span[0] - 1e-9 && place(v) <= span[1] + 1e-9;
    const written = (v) => (Math.abs(v) < 1e5 ? String(v) : shortNumber(v));
    return fit(settings.filter(inside), written);
  }
  for (let count = Math.max(2, Math.floor(length / 44)); ; count -= 1) {
    const wanted = wantedTicks(scale, span, count);
    const taken = fit(wanted, (value) => shortNumber(value));
    if (scale !== "linear" || taken.length === wanted.length || count <= 2) return taken;
  }
}

// A number on an axis or a bar: `0.25`, `1500`, `20k`, `1.5M`.
function shortNumber(value, digits = 4) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-6) return d3.format(".3~g")(value);
  for (const [from, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"]]) {
    if (size >= from) return d3.format(`.${digits}~r`)(value / from) + unit;
  }
  if (size >= 1e4) return d3.format(`.${digits}~r`)(value / 1e3) + "k";
  return size >= 1e3 ? d3.format(".0f")(value) : d3.format(`.${digits}~r`)(value);
}

// A number in words that people read: five digits, thousands apart.
function longNumber(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e15 || size < 1e-6) return d3.format(".4~g")(value);
  return size >= 1e4 ? d3.format(",.0f")(value) : d3.format(",.5~r")(value);
}
