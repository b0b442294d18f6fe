// The console: what the server's own interface tells, drawn. Texts go in by textContent alone.

const $ = (id) => document.getElementById(id);
const EVERY = 2000; // milliseconds between two looks
const MAP_POINTS = 500;
const PAGE = 20;
const SHOWN = 100;

let chosen = null;
let next = null;
let before = null;
let shown = "";

// ---- the server

async function ask(method, path, body) {
  const headers = {};
  const key = sessionStorage.getItem("key");
  if (key) headers["api-key"] = key;
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(failure(text) || `${answer.status} ${answer.statusText}`);
  return text;
}

function failure(text) {
  try {
    return JSON.parse(text).status.error;
  } catch {
    return text;
  }
}

// Integers beyond 2^53 stay what they are: as text.
function read(text) {
  return JSON.parse(text, (key, value, context) => {
    const beyond = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return beyond && context ? context.source : value;
  });
}

const result = async (method, path, body) => read(await ask(method, path, body)).result;
const at = (name, rest = "") => `/collections/${encodeURIComponent(name)}${rest}`;

// ---- texts

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${count < 10 && unit ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}

const number = (count) => count.toLocaleString("en");

function element(name, text, kind) {
  const own = document.createElement(name);
  if (text !== undefined) own.textContent = text;
  if (kind) own.className = kind;
  return own;
}

function row(...cells) {
  const own = element("tr");
  for (const cell of cells) {
    const place = element("td");
    if (cell instanceof Node) place.append(cell);
    else place.textContent = cell;
    own.append(place);
  }
  return own;
}

function say(error) {
  $("notice").hidden = !error;
  $("notice").textContent = error ? error.message : "";
}

async function trying(work) {
  try {
    await work();
    say(null);
  } catch (error) {
    say(error);
  }
}

// ---- live load

function counters(text) {
  const found = { requests: 0, rejected: 0, classes: new Map(), gauges: {}, recalls: new Map() };
  for (const line of text.split("\n")) {
    const match = line.match(/^(\w+)(?:\{(.*)\})? (\S+)$/);
    if (!match) continue;
    const [, name, labels = "", value] = match;
    const count = Number(value);
    const isSearch = labels.includes('op="query');
    if (name === "pageway_requests_total") found.requests += count;
    else if (name === "pageway_rejected_total") found.rejected += count;
    else if (name === "pageway_request_seconds_bucket" && isSearch) {
      const most = labels.match(/le="([^"]+)"/)[1];
      found.classes.set(most, (found.classes.get(most) || 0) + count);
    } else if (name === "pageway_recall_sampled") found.recalls.set(labels.match(/"(.*)"/)[1], count);
    else if (!labels) found.gauges[name] = count;
  }
  return found;
}

// Upper end of the class in which so large a part of the searches since the last look lies.
function quantile(now, then, part) {
  const classes = [...now.classes].map(([most, count]) => [most, count - (then.classes.get(most) || 0)]);
  const all = classes.length ? classes[classes.length - 1][1] : 0;
  if (!all) return "–";
  const found = classes.find(([, count]) => count >= part * all);
  return found[0] === "+Inf" ? "> 10 s" : `≤ ${1000 * Number(found[0])} ms`;
}

// How much of one counter came with each of another since the last look.
function rate(now, then, name, of) {
  const since = (own) => (now.gauges[own] || 0) - (then.gauges[own] || 0);
  return since(of) ? (since(name) / since(of)).toFixed(1) : "–";
}

async function look() {
  const now = { time: performance.now(), ...counters(await ask("GET", "/metrics")) };
  const then = before || now;
  const seconds = (now.time - then.time) / 1000 || 1;
  const facts = [
    ["requests/s", ((now.requests - then.requests) / seconds).toFixed(1)],
    ["search p50", quantile(now, then, 0.5)],
    ["p99", quantile(now, then, 0.99)],
    ["pages/search", rate(now, then, "pageway_pages_read_total", "pageway_searches_total")],
    ["sampled recall", now.recalls.has(chosen) ? now.recalls.get(chosen).toFixed(3) : "–"],
    ["waiting", number(now.gauges.pageway_queue_length || 0)],
    ["rejected", number(now.rejected)],
  ];
  $("live").replaceChildren(
    ...facts.map(([name, value]) => {
      const pair = element("div");
      pair.append(element("dt", name), element("dd", value));
      return pair;
    }),
  );
  before = now;
  return now;
}

// ---- bars

function bar(place, parts, whole) {
  const shown = parts.filter(([, size]) => size > 0);
  place.replaceChildren(
    ...shown.map(([name, size], at) => {
      const own = element("span", undefined, `part-${at % 6}`);
      own.style.width = `${(100 * size) / whole}%`;
      own.title = `${name}: ${bytes(size)}`;
      return own;
    }),
  );
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", shown.map(([name, size]) => `${name} ${bytes(size)}`).join(", "));
}

function legend(parts) {
  const own = element("p", undefined, "legend");
  parts
    .filter(([, size]) => size > 0)
    .forEach(([name, size], at) => {
      own.append(element("span", undefined, `swatch part-${at % 6}`), `${name} ${bytes(size)}   `);
    });
  return own;
}

// ---- collections

async function collections() {
  const { gauges } = await look();
  const { collections: all } = await result("GET", "/pageway/collections");
  // Those that are closed stay closed.
  const each = await Promise.all(
    all.slice(0, SHOWN).map(async (one) => {
      try {
        return { ...one, info: one.open ? await result("GET", at(one.name)) : null };
      } catch (error) {
        return { ...one, error };
      }
    }),
  );
  const budget = gauges.pageway_budget_bytes || 1;
  const parts = all.map((one) => [one.name, one.memory_bytes]);
  bar($("budget"), parts, budget);
  const open = gauges.pageway_collections_open || 0;
  $("budget-words").textContent =
    `${bytes(parts.reduce((sum, [, size]) => sum + size, 0))} of ${bytes(budget)} in use, ` +
    `${number(open)} of ${number(all.length)} collections open` +
    (all.length > each.length ? `; the first ${each.length} are shown` : "");
  $("none").hidden = all.length > 0;
  $("collections").replaceChildren(...each.map(collection));
}

function collection({ name, info, memory_bytes: memory, error }) {
  const pick = element("button", name, "link");
  pick.addEventListener("click", () => trying(() => choose(name)));
  if (error) return row(pick, element("span", error.message, "red"), "", "", "");
  if (!info) return row(pick, "closed", "", "", "");
  return row(
    pick,
    element("span", info.status, info.status),
    element("span", number(info.points_count), "number"),
    element("span", number(info.segments_count), "number"),
    element("span", bytes(memory), "number"),
  );
}

async function choose(name) {
  const info = await result("GET", at(name));
  chosen = name;
  next = null;
  $("chosen").hidden = false;
  $("chosen-title").textContent = name;
  $("chosen-title").focus();
  $("settings").textContent = JSON.stringify(info.config, null, 2);
  const vectors = info.config.params.vectors || {};
  const names = "size" in vectors ? [""] : Object.keys(vectors);
  $("using").replaceChildren(...names.map((own) => option(own, own || "the only one")));
  const fields = Object.entries(info.payload_schema);
  $("fields").textContent =
    fields.map(([field, { data_type: kind, points }]) => `${field}: ${kind}, ${number(points)} points`).join(" · ") ||
    "None is declared; filters work on all.";
  $("colour").replaceChildren(option("", "nothing"));
  for (const place of ["answers", "points", "answer-words", "filter-wrong", "plan", "map-words"]) $(place).replaceChildren();
  $("map").setAttribute("hidden", "");
  await indexes();
  await points();
}

function option(value, text) {
  const own = element("option", text);
  own.value = value;
  return own;
}

async function indexes() {
  if (chosen === null) return;
  const own = await result("GET", `/pageway${at(chosen)}`);
  // What has not changed stays, and with it what one points at.
  const text = JSON.stringify([chosen, own.indexes]);
  if (text === shown) return;
  shown = text;
  $("indexes").replaceChildren(...own.indexes.flatMap(index));
}

function index({ vector, memory, changes, calibration, segments }) {
  const parts = memory.parts.map(([name, size]) => [String(name).replaceAll("_", " "), size]);
  const title = element("h3", vector ? `Index of ${vector}` : "Index");
  const place = element("div", undefined, "bar");
  bar(place, parts, memory.budget_bytes);
  const state = [
    `${number(changes.rows)} rows`,
    `${number(changes.segments)} segments`,
    `${number(changes.delta_rows)} rows in memory`,
    `${number(changes.dead)} dead`,
    `${bytes(changes.segment_bytes + changes.log_bytes)} on disk`,
    `${number(changes.flushes)} flushes and ${number(changes.merges)} merges since it was opened`,
    ...changes.background.map(({ work, stage, done, total }) => `${work}: ${stage} ${number(done)} of ${number(total)}`),
  ];
  if (!changes.background.length) state.push("no merge runs");
  if (changes.background_failed) state.push(changes.background_failed);
  const words = element("p", `${state.join(" · ")} · memory ${bytes(memory.budget_bytes)}`, "legend");
  return [title, place, legend(parts), words, ...listed(segments), ...curve(calibration.curves)];
}

// Segments: rows, what of them died, and versions since each was made.
function listed(segments) {
  if (!segments.length) return [];
  const list = element("ul", undefined, "segments");
  for (const { rows, dead, age } of segments) {
    const share = Math.round((1000 * dead) / rows) / 10;
    list.append(element("li", `segment of ${number(rows)} rows, ${share} % deleted, made ${number(age)} versions ago`, "legend"));
  }
  return [list];
}

// ---- recall and the pages that it takes, as measured when segments were made

function drawn(name, attributes) {
  const own = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) own.setAttribute(key, value);
  return own;
}

function curve(curves) {
  const own = curves.find(({ k }) => k === 10) || curves[0];
  if (!own) return [element("p", "Recall is measured once there is a segment.", "legend")];
  const least = Math.min(...own.rows.map(({ recall }) => recall));
  const most = Math.max(...own.rows.map(({ pages }) => pages)) || 1;
  const places = own.rows.map(({ recall, pages }) => [
    10 + (280 * pages) / most,
    110 - (100 * (recall - least)) / (1 - least || 1),
  ]);
  const picture = drawn("svg", { viewBox: "0 0 300 120", class: "curve", role: "img" });
  picture.setAttribute("aria-label", `Recall of ${own.k} nearest against pages read`);
  picture.append(drawn("polyline", { points: places.map((place) => place.map((one) => one.toFixed(1)).join(",")).join(" ") }));
  const words = element("p", undefined, "legend");
  const tell = ({ recall, pages, list_size: list }) => {
    words.textContent = `recall@${own.k} ${recall.toFixed(3)} takes ${pages.toFixed(1)} pages with a list of ${list}`;
  };
  own.rows.forEach((row, at) => {
    const [cx, cy] = places[at];
    const dot = drawn("circle", { cx, cy, r: 3.5, tabindex: 0, "aria-label": `recall ${row.recall.toFixed(3)}, ${row.pages.toFixed(1)} pages` });
    for (const event of ["mouseenter", "focus"]) dot.addEventListener(event, () => tell(row));
    picture.append(dot);
  });
  tell(own.rows.find(({ recall }) => recall >= 0.95) || own.rows[own.rows.length - 1]);
  return [picture, words];
}

// ---- points

const payload = (own) => (own && Object.keys(own).length ? JSON.stringify(own) : "");

async function points() {
  const body = { limit: PAGE, with_payload: true };
  if (next !== null) body.offset = next;
  const page = await result("POST", at(chosen, "/points/scroll"), body);
  for (const point of page.points) {
    const pick = element("button", String(point.id), "link");
    pick.title = "Search for points like this";
    pick.addEventListener("click", () => {
      $("query").value = JSON.stringify(point.id);
      trying(search);
    });
    $("points").append(row(pick, payload(point.payload)));
  }
  for (const point of page.points) offer(point.payload);
  next = page.next_page_offset;
  $("more").hidden = next === null;
}

function offer(own) {
  const known = new Set([...$("colour").options].map((one) => one.value));
  for (const [key, value] of Object.entries(own || {})) {
    const tells = ["string", "number", "boolean"].includes(typeof value);
    if (tells && !known.has(key) && known.size < 30) {
      known.add(key);
      $("colour").append(option(key, key));
    }
  }
}

// ---- queries

function parsed(place, wrong) {
  const text = $(place).value.trim();
  if (wrong) $(wrong).textContent = "";
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!wrong) return text; // a UUID, without quotes
    $(wrong).textContent = error.message;
    throw new Error("The filter is no JSON");
  }
}

async function search() {
  const body = {
    query: parsed("query"),
    filter: parsed("filter", "filter-wrong"),
    limit: Number($("limit").value),
    with_payload: true,
    params: { exact: $("exact").checked, pageway: { recall: Number($("recall").value), explain: true } },
  };
  if ($("using").value) body.using = $("using").value;
  const began = performance.now();
  let text;
  try {
    text = await ask("POST", at(chosen, "/points/query"), body);
  } catch (error) {
    if (body.filter && /filter|condition|field/i.test(error.message)) $("filter-wrong").textContent = error.message;
    throw error;
  }
  const took = performance.now() - began;
  const answer = read(text);
  $("answers").replaceChildren(
    ...answer.result.points.map(({ id, score, payload: own }) =>
      row(String(id), element("span", score.toFixed(5), "number"), payload(own)),
    ),
  );
  $("answer-words").textContent =
    `${answer.result.points.length} points in ${(1000 * answer.time).toFixed(1)} ms, ${took.toFixed(0)} ms with the way here`;
  $("plan").replaceChildren(...plan(answer.result.pageway).map((words) => element("li", words)));
}

// How the searches of an answer went, in words.
function plan({ searches }) {
  return searches.map((own) => {
    const facts = [];
    if (own.exact) facts.push("every vector that matches is compared");
    else facts.push(own.filter ? own.filter.strategy.replaceAll("-", " ") : `a walk with a list of ${number(own.list_size)}`);
    if (own.filter) facts.push(`${number(own.filter.matches)} rows of segments match`);
    if (own.expected_recall) facts.push(`recall ${own.expected_recall.toFixed(3)} is expected`);
    facts.push(`${number(own.pages)} pages read, ${number(own.page_hits)} found in memory`);
    facts.push(`${number(own.exact_distances)} distances, ${number(own.approximate_distances)} estimates`);
    return facts.join(" · ");
  });
}

async function random() {
  const body = { query: { sample: "random" }, limit: 1, with_payload: false };
  const { points: found } = await result("POST", at(chosen, "/points/query"), body);
  if (!found.length) throw new Error("The collection is empty");
  $("query").value = JSON.stringify(found[0].id);
  await search();
}

// ---- the map

async function draw() {
  const using = $("using").value;
  const query = { sample: "random" };
  const body = { query, limit: MAP_POINTS, with_payload: true, with_vector: using ? [using] : true };
  const page = await result("POST", at(chosen, "/points/query"), body);
  const rows = page.points
    .map((point) => ({ point, vector: using ? point.vector[using] : point.vector }))
    .filter(({ vector }) => Array.isArray(vector));
  if (rows.length < 3) throw new Error("A map takes three points with vectors");
  const places = plane(rows.map(({ vector }) => vector));
  const key = $("colour").value;
  const values = [...new Set(rows.map(({ point }) => String(point.payload?.[key])))].sort();
  const dots = rows.map(({ point }, at) => {
    const [x, y] = places[at];
    const dot = drawn("circle", {
      cx: (20 + 560 * x).toFixed(1),
      cy: (380 - 360 * y).toFixed(1),
      r: 4,
      tabindex: -1,
      class: `part-${key ? values.indexOf(String(point.payload?.[key])) % 6 : 0}`,
    });
    const tell = () => {
      $("map-words").textContent = `${point.id}  ${payload(point.payload)}`;
    };
    dot.addEventListener("mouseenter", tell);
    dot.addEventListener("focus", tell);
    return dot;
  });
  $("map").replaceChildren(...dots);
  $("map").removeAttribute("hidden");
  $("map-words").textContent = `${rows.length} points; point at one to see what it is, or go through them with the arrows`;
}

// The arrows go from point to point.
function stroll(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const dots = [...$("map").children];
  if (!step || !dots.length) return;
  event.preventDefault();
  const at = dots.indexOf(document.activeElement);
  dots[(at + step + dots.length) % dots.length].focus();
}

// Places in the unit square along the first two principal components, by power iteration.
function plane(vectors) {
  const dimension = vectors[0].length;
  const mean = new Float64Array(dimension);
  for (const vector of vectors) for (let at = 0; at < dimension; at += 1) mean[at] += vector[at] / vectors.length;
  const centred = vectors.map((vector) => Float64Array.from(vector, (value, at) => value - mean[at]));
  const axes = [];
  for (let axis = 0; axis < 2; axis += 1) {
    let own = Float64Array.from({ length: dimension }, (_, at) => Math.sin(at + 1 + axis));
    for (let round = 0; round < 30; round += 1) {
      const product = new Float64Array(dimension);
      for (const vector of centred) {
        const share = dot(vector, own);
        for (let at = 0; at < dimension; at += 1) product[at] += share * vector[at];
      }
      for (const other of axes) {
        const share = dot(product, other);
        for (let at = 0; at < dimension; at += 1) product[at] -= share * other[at];
      }
      const length = Math.sqrt(dot(product, product)) || 1;
      own = product.map((value) => value / length);
    }
    axes.push(own);
  }
  const places = centred.map((vector) => axes.map((axis) => dot(vector, axis)));
  return places.map((place) => place.map((value, axis) => scaled(value, places.map((own) => own[axis]))));
}

function dot(one, other) {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += one[at] * other[at];
  return sum;
}

function scaled(value, all) {
  const least = Math.min(...all);
  return (value - least) / (Math.max(...all) - least || 1);
}

// ---- what is done by hand

function on(id, event, work) {
  $(id).addEventListener(event, (given) => {
    given.preventDefault();
    trying(work);
  });
}

on("key-form", "submit", async () => {
  sessionStorage.setItem("key", $("key").value);
  await collections();
});
on("query-form", "submit", search);
on("random", "click", random);
on("more", "click", points);
on("draw", "click", draw);
$("map").addEventListener("keydown", stroll);
on("colour", "change", async () => {
  if (!$("map").hasAttribute("hidden")) await draw();
});
on("delete-form", "submit", async () => {
  if ($("delete-name").value !== chosen) throw new Error("That is not its name");
  await result("DELETE", at(chosen));
  $("delete-name").value = "";
  $("chosen").hidden = true;
  chosen = null;
  await collections();
});
$("recall").addEventListener("input", () => {
  $("recall-words").textContent = Number($("recall").value).toFixed(2).slice(1);
});

async function turn() {
  if (!document.hidden) {
    await trying(async () => {
      await collections();
      await indexes();
    });
  }
  setTimeout(turn, EVERY);
}
turn();
