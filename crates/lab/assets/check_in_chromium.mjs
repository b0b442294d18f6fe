#!/usr/bin/env node
// Opens a report in headless Chromium and fails on any script error, console error, request to
// anywhere, overflow of the page's width, or interaction that does nothing.
//
//   node check_in_chromium.mjs RUN/report.html [SCREENSHOT_DIRECTORY]
//
// Needs Node 18 or later and Chromium (package `chromium` of Debian; or its path in CHROMIUM), and
// nothing else: it speaks the DevTools protocol over the pipe that --remote-debugging-pipe opens.
// The page is opened 1280 and 420 pixels wide, light and dark. With a directory it saves a picture
// of the whole page for each, and one of a plot under the pointer.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [report, pictures] = process.argv.slice(2);
if (!report) {
  console.error("usage: check_in_chromium.mjs REPORT.html [SCREENSHOT_DIRECTORY]");
  process.exit(2);
}

const profile = mkdtempSync(join(tmpdir(), "report-check-"));
const chromium = spawn(process.env.CHROMIUM || "chromium", [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--no-first-run", "--disable-extensions", "--disable-background-networking",
  "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
chromium.on("error", (error) => {
  console.error(`Chromium does not start: ${error.message}`);
  process.exit(2);
});

const failures = [];
const fail = (words) => failures.push(words);
const waiting = new Map();
const events = new Map();
let asked = 0;
let rest = "";

const ended = new Promise((done) => chromium.on("exit", done));
ended.then(() => {
  for (const { failed } of waiting.values()) failed(new Error("Chromium has ended"));
});

chromium.stdio[3].on("error", () => {});
chromium.stdio[4].setEncoding("utf8").on("data", (chunk) => {
  const parts = (rest + chunk).split("\0");
  rest = parts.pop();
  for (const part of parts) receive(JSON.parse(part));
});

function receive({ id, method, params, result, error }) {
  if (id !== undefined) {
    const { done, failed } = waiting.get(id);
    waiting.delete(id);
    if (error) failed(new Error(error.message));
    else done(result);
  } else {
    events.get(method)?.(params);
  }
}

let session;
function send(method, params = {}) {
  const id = ++asked;
  chromium.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  return new Promise((done, failed) => waiting.set(id, { done, failed }));
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function evaluate(expression) {
  const answer = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
  if (answer.exceptionDetails) {
    throw new Error(answer.exceptionDetails.exception?.description || answer.exceptionDetails.text);
  }
  return answer.result.value;
}

async function open(width, scheme) {
  await send("Emulation.setDeviceMetricsOverride",
    { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
  await send("Emulation.setEmulatedMedia",
    { features: [{ name: "prefers-color-scheme", value: scheme }] });
  const loaded = new Promise((done) => events.set("Page.loadEventFired", done));
  await send("Page.navigate", { url: pathToFileURL(resolve(report)).href });
  await loaded;
  await pause(700);
}

async function picture(name) {
  if (!pictures) return;
  const { cssContentSize } = await send("Page.getLayoutMetrics");
  const whole = { x: 0, y: 0, width: cssContentSize.width,
    height: Math.min(cssContentSize.height, 16000), scale: 1 };
  const { data } = await send("Page.captureScreenshot",
    { format: "png", captureBeyondViewport: true, clip: whole });
  writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, "base64"));
}

// What the window shows now: a picture of more would move the page from under the pointer.
async function pictureWindow(name) {
  if (!pictures) return;
  const { data } = await send("Page.captureScreenshot", { format: "png" });
  writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, "base64"));
}

async function checkLayout(name, width) {
  const wide = await evaluate("document.documentElement.scrollWidth");
  if (wide > width) fail(`${name}: the page is ${wide} pixels wide in a window of ${width}`);
  const empty = await evaluate(`[...document.querySelectorAll("figure")]
    .filter((figure) => !figure.querySelector("svg.canvas text")).map((figure) => figure.id)`);
  if (empty.length) fail(`${name}: nothing is drawn in ${empty.join(", ")}`);
  const wrong = await evaluate(`[...document.querySelectorAll("svg.canvas *")]
    .filter((part) => [...part.attributes].some(({ name, value }) =>
      !["data-series"].includes(name) && /NaN|Infinity|undefined/.test(value))).length`);
  if (wrong) fail(`${name}: ${wrong} drawn parts have no place`);
  const cut = await evaluate(`[...document.querySelectorAll("svg.canvas")].flatMap((svg) => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
      const own = text.getBoundingClientRect();
      return own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1;
    }).map((text) => svg.closest("figure").id + ": " + text.textContent);
  })`);
  if (cut.length) fail(`${name}: words leave their plot: ${cut.join("; ")}`);
}

// The pointer over a mark, a click in the legend, a switch of scale, zoom, sorting, filter.
async function checkInteraction() {
  if (!(await evaluate("figures.some((view) => view.drawing?.kind === 'lines' && view.drawing.marks.length > 1)"))) {
    return;
  }
  await evaluate(`globalThis.view = figures.find((view) => view.drawing.kind === "lines" && view.drawing.marks.length > 1);
    view.svg.node().scrollIntoView({ block: "center", behavior: "instant" })`);
  await pause(200);
  const place = await evaluate(`(() => { const box = view.svg.node().getBoundingClientRect();
    const mark = view.drawing.marks[Math.floor(view.drawing.marks.length / 2)];
    return { x: box.left + mark.x, y: box.top + mark.y, left: box.left, top: box.top, series: mark.series,
      frame: view.drawing.frame }; })()`);
  const mouse = (type, x, y, more = {}) => send("Input.dispatchMouseEvent", { type, x, y, ...more });
  await mouse("mouseMoved", place.x, place.y);
  await pause(100);
  const tip = await evaluate("view.tip.hidden ? '' : view.tip.textContent");
  if (!tip.includes(place.series)) fail(`the pointer over a mark of ${place.series} shows "${tip}"`);
  await pictureWindow("pointer");
  await checkZoom(mouse, place);
  const shown = "view.drawing.marks.length";
  const before = await evaluate(shown);
  await evaluate(`globalThis.name = view.drawing.marks[0].series;
    globalThis.entry = () => [...view.legend.children].find(({ dataset }) => dataset.series === name);
    entry().click()`);
  if ((await evaluate(shown)) >= before) fail("a click in the legend hides nothing");
  await evaluate("entry().click()");
  if ((await evaluate(shown)) !== before) fail("a second click in the legend does not show it again");
  await evaluate("view.legend.querySelectorAll('button')[1]?.dispatchEvent(new MouseEvent('dblclick'))");
  await evaluate("view.legend.querySelector('.all')?.click()");
  if ((await evaluate(shown)) !== before) fail("not all series come back");
  await checkSwitches();
  await checkKeys();
  await checkFilter();
  await checkSorting();
  await checkSaving();
}

// The system turns dark while the page is open.
async function checkDusk() {
  const drawn = "figures[0]?.svg.node().outerHTML";
  const light = await evaluate(drawn);
  await send("Emulation.setEmulatedMedia",
    { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await pause(500);
  if (light && (await evaluate(drawn)) === light) fail("plots do not follow the system into the dark");
}

async function checkKeys() {
  const moved = await evaluate(`(() => {
    const node = view.svg.node();
    node.focus();
    const press = (key) => node.dispatchEvent(new KeyboardEvent("keydown", { key }));
    press("ArrowRight");
    const first = view.tip.textContent;
    press("ArrowRight");
    const second = view.tip.textContent;
    press("Escape");
    return first !== "" && first !== second && view.tip.hidden;
  })()`);
  if (!moved) fail("arrow keys do not move from mark to mark");
}

// Series that several figures have can be hidden in all of them.
async function checkFilter() {
  const wrong = await evaluate(`[...document.querySelectorAll(".filter button")].filter((button) => {
    const of = figures.filter(({ state }) => state.series.some(({ name }) => name === button.dataset.series));
    const hidden = () => of.filter(({ state }) => state.hidden.has(button.dataset.series)).length;
    button.click();
    const all = hidden();
    button.click();
    return all !== of.length || hidden() !== 0;
  }).length`);
  if (wrong) fail(`${wrong} series are not hidden in all plots`);
}

// A finger on a mark: what it shows is there after it was lifted.
async function checkTouch() {
  await send("Emulation.setTouchEmulationEnabled", { enabled: true });
  const place = await evaluate(`(() => {
    globalThis.view = figures.find((view) => view.drawing?.marks.length > 1);
    if (!view) return null;
    view.svg.node().scrollIntoView({ block: "center", behavior: "instant" });
    const box = view.svg.node().getBoundingClientRect();
    const mark = view.drawing.marks.at(-1);
    return { x: box.left + mark.x, y: box.top + mark.y };
  })()`);
  if (place) {
    await pause(200);
    await send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [place] });
    await send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await pause(300);
    if (await evaluate("view.tip.hidden")) fail("a touched mark shows nothing");
    await pictureWindow("touched");
  }
  await send("Emulation.setTouchEmulationEnabled", { enabled: false });
}

async function checkZoom(mouse, { left, top, frame }) {
  const at = (x, y) => [left + frame.left + (frame.right - frame.left) * x,
    top + frame.top + (frame.bottom - frame.top) * y];
  const button = { button: "left", buttons: 1, clickCount: 1 };
  await mouse("mousePressed", ...at(0.3, 0.3), button);
  await mouse("mouseMoved", ...at(0.7, 0.7), button);
  await mouse("mouseReleased", ...at(0.7, 0.7), button);
  await pause(100);
  if (!(await evaluate("view.state.zoom"))) fail("dragging over a plot does not zoom");
  await evaluate("view.tools.querySelector('[data-tool=reset]')?.click()");
  if (await evaluate("view.state.zoom")) fail("the zoom is not reset");
}

async function checkSwitches() {
  const stuck = await evaluate(`figures.flatMap((view) => ["x", "y"].flatMap((axis) =>
    scalesFor(view.state, axis).filter((scale) => {
      const find = () => view.tools.querySelector(\`[data-tool="\${axis}-\${scale}"]\`);
      if (!find()) return false;
      const before = view.state.scales[axis];
      find().click();
      const wrong = find().getAttribute("aria-pressed") !== "true"
        || /NaN|Infinity/.test(view.svg.node().outerHTML);
      view.tools.querySelector(\`[data-tool="\${axis}-\${before}"]\`).click();
      return wrong;
    }).map((scale) => view.figure.id + " " + axis + " " + scale)))`);
  if (stuck.length) fail(`switches of scale do not work: ${stuck.join(", ")}`);
}

async function checkSorting() {
  const wrong = await evaluate(`[...document.querySelectorAll("table")].filter((table) => {
    const button = table.querySelector("thead th:last-child button");
    const head = table.querySelector("thead th:last-child");
    const column = () => [...table.querySelectorAll("tbody tr > :last-child")].map((cell) => cell.textContent).join("|");
    const before = column();
    button.click();
    const sorted = head.getAttribute("aria-sort") !== "none";
    button.click();
    button.click();
    return !sorted || column() !== before;
  }).length`);
  if (wrong) fail(`${wrong} tables are not sorted by a click`);
}

async function checkSaving() {
  const size = await evaluate(`(async () => {
    const { text, width, height } = savedSvg(view);
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    if (parsed.querySelector("parsererror")) return -1;
    const picture = new Image();
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    await new Promise((done, failed) => { picture.onload = done; picture.onerror = failed; picture.src = address; });
    const canvas = make("canvas", { width, height });
    canvas.getContext("2d").drawImage(picture, 0, 0);
    return canvas.toDataURL("image/png").length;
  })()`);
  if (size < 5000) fail("a plot cannot be saved");
  if (pictures) {
    const text = await evaluate("savedSvg(view).text");
    writeFileSync(join(pictures, "saved.svg"), text);
  }
}

async function run() {
  if (pictures) mkdirSync(pictures, { recursive: true });
  const { targetInfos } = await send("Target.getTargets");
  const { targetId } = targetInfos.find(({ type }) => type === "page");
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
  events.set("Runtime.exceptionThrown", ({ exceptionDetails }) =>
    fail(`script error: ${exceptionDetails.exception?.description || exceptionDetails.text}`));
  events.set("Runtime.consoleAPICalled", ({ type, args }) => {
    if (type === "error" || type === "assert") {
      fail(`console: ${args.map(({ value, description }) => value ?? description).join(" ")}`);
    }
  });
  events.set("Log.entryAdded", ({ entry }) => {
    if (entry.level === "error") fail(`console: ${entry.text}`);
  });
  events.set("Network.requestWillBeSent", ({ request }) => {
    if (!/^(file|data|blob):/.test(request.url)) fail(`the page asks for ${request.url}`);
  });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [420, "light"], [420, "dark"]]) {
    await open(width, scheme);
    await checkLayout(`${width} ${scheme}`, width);
    await picture(`${width}-${scheme}`);
  }
  await checkTouch();
  await open(1280, "light");
  await checkInteraction();
  await checkDusk();
}

const tooLong = setTimeout(() => { fail("no end after 300 s"); finish(); }, 300000);

async function finish() {
  clearTimeout(tooLong);
  session = undefined;
  send("Browser.close").catch(() => {});
  await Promise.race([ended, pause(5000)]);
  chromium.kill();
  await ended;
  try {
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  } catch (error) {
    console.error(`${profile} is left: ${error.message}`);
  }
  for (const words of failures) console.error(words);
  console.log(failures.length ? `${report}: ${failures.length} failures` : `${report}: fine`);
  process.exit(failures.length ? 1 : 0);
}

run().catch((error) => fail(error.stack)).finally(finish);
