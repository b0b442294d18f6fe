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
  const drawn = "Number(document.documentElement.dataset.drawn ?? -1) === all.length";
  for (let tries = 0; tries < 600 && !(await evaluate(drawn)); tries += 1) await pause(100);
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

async function checkLayout(name, width) {
  const wide = await evaluate("document.documentElement.scrollWidth");
  if (wide > width) fail(`${name}: the page is ${wide} pixels wide in a window of ${width}`);
  const empty = await evaluate(`[...document.querySelectorAll("figure")]
    .filter((figure) => !figure.querySelector(".plot svg text")).map((figure) => figure.id)`);
  if (empty.length) fail(`${name}: nothing is drawn in ${empty.join(", ")}`);
  const wrong = await evaluate(`[...document.querySelectorAll(".plot svg *")]
    .filter((part) => [...part.attributes].some(({ name, value }) =>
      name !== "aria-label" && /NaN|Infinity|undefined/.test(value))).length`);
  if (wrong) fail(`${name}: ${wrong} drawn parts have no place`);
  const cut = await evaluate(`[...document.querySelectorAll(".plot svg.marks")].flatMap((svg) => {
    const box = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter((text) => {
      const own = text.getBoundingClientRect();
      return own.left < box.left - 1 || own.right > box.right + 1 || own.bottom > box.bottom + 1;
    }).map((text) => svg.closest("figure").id + ": " + text.textContent);
  })`);
  if (cut.length) fail(`${name}: words leave their plot: ${cut.join("; ")}`);
}

// A click in the legend, a table sorted, and the plots after dusk.
async function checkInteraction() {
  const faint = "document.querySelectorAll('.plot svg [opacity=\"0.08\"]').length";
  if (await evaluate("document.querySelector('.role-legend-entry .role-scope > g') === null")) return;
  await evaluate(`document.querySelector(".plot svg").scrollIntoView({ block: "center", behavior: "instant" })`);
  const { x, y } = await evaluate(`(() => {
    const box = document.querySelector(".plot .role-legend-symbol path").getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  })()`);
  for (const type of ["mousePressed", "mouseReleased"]) {
    await send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  }
  await pause(300);
  if (!(await evaluate(faint))) fail("a click in the legend leaves all series as they are");
  const order = "[...document.querySelectorAll('.table tbody')].map((body) => body.textContent).join()";
  const before = await evaluate(order);
  await evaluate("document.querySelectorAll('.table thead th').forEach((head) => head.click())");
  if ((await evaluate(order)) === before) fail("a click on a column sorts nothing");
}

async function checkDusk() {
  const colours = "document.querySelector('.plot svg').outerHTML";
  const before = await evaluate(colours);
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  await pause(3000);
  if ((await evaluate(colours)) === before) fail("plots stay light after dusk");
}

async function run() {
  if (pictures) mkdirSync(pictures, { recursive: true });
  const { targetInfos } = await send("Target.getTargets");
  const { targetId } = targetInfos.find(({ type }) => type === "page");
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
  events.set("Runtime.exceptionThrown", ({ exceptionDetails }) =>
    fail(`script error: ${exceptionDetails.exception?.description || exceptionDetails.text}`));
  events.set("Runtime.consoleAPICalled", ({ type, args }) => {
    if (type === "error" || type === "warning" || type === "assert") {
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
