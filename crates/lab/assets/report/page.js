// The page around figures and tables: heading, contents, sections, findings.
"use strict";

const VERDICTS = [
  ["agrees", "agrees"],
  ["partly", "partly"],
  ["differs", "differs"],
  ["not_measured", "not measured"],
];

function badge(verdict) {
  const [, words] = VERDICTS.find(([name]) => name === verdict) || [null, verdict];
  return make("span", { class: `badge ${verdict}` }, words);
}

function addHead(main, report) {
  const facts = report.facts.map(([name, value]) =>
    make("div", { class: value.length > 60 ? "long" : null }, make("dt", {}, name), make("dd", {}, value)));
  const head = make("header", { class: "head", id: "top" },
    make("p", { class: "eyebrow" }, "Benchmark report"),
    make("h1", {}, report.title));
  if (report.warnings.length) {
    head.append(make("aside", { class: "warnings", "aria-label": "Warnings" },
      make("p", { class: "warnings-name" }, report.warnings.length === 1 ? "Read this first" : "Read these first"),
      make("ul", {}, ...report.warnings.map((words) => make("li", {}, words)))));
  }
  if (facts.length) head.append(make("dl", { class: "facts" }, ...facts));
  main.append(head);
}

// All findings at a glance: how many of each verdict, and each with a link to its numbers.
function addGlance(main, report) {
  const findings = report.sections.flatMap((section) =>
    section.findings.map((finding) => ({ ...finding, section })));
  if (!findings.length) return;
  const list = make("ul", { class: "glance-list" }, ...findings.map((finding) =>
    make("li", { "data-verdict": finding.verdict }, badge(finding.verdict),
      make("span", {}, finding.claim, " ",
        make("a", { href: `#section-${finding.section.id}` }, finding.section.title)))));
  let chosen = null;
  const chips = VERDICTS.map(([verdict, words]) => {
    const count = findings.filter((finding) => finding.verdict === verdict).length;
    return make("button", { type: "button", class: `chip ${verdict}`, "aria-pressed": "false",
      disabled: count === 0, onclick: () => choose(verdict) },
      make("strong", {}, String(count)), ` ${words}`);
  });
  const choose = (verdict) => {
    chosen = chosen === verdict ? null : verdict;
    chips.forEach((chip, at) => chip.setAttribute("aria-pressed", String(VERDICTS[at][0] === chosen)));
    for (const entry of list.children) {
      entry.hidden = chosen !== null && entry.dataset.verdict !== chosen;
    }
  };
  const fold = make("details", { open: findings.length <= 10 },
    make("summary", {}, "All findings"), list);
  const opening = () => { fold.open = true; };
  chips.forEach((chip) => chip.addEventListener("click", opening));
  main.append(make("section", { class: "glance", id: "findings" },
    make("h2", {}, "Published findings, and what was measured here"),
    make("div", { class: "chips" }, ...chips), fold));
}

function addSection(main, section) {
  const element = make("section", { class: "experiment", id: `section-${section.id}` },
    make("h2", {}, section.title));
  if (section.source) element.append(make("p", { class: "source" }, section.source));
  if (section.method.length) element.append(methodOf(section.method));
  if (section.findings.length) element.append(findingList(section));
  main.append(element);
  for (const figure of section.figures) addFigure(element, figure);
  for (const table of section.tables) {
    const card = make("div", { class: "card" });
    element.append(card);
    addTable(card, table);
  }
}

// Sentences, and settings such as `Data: photo-sift-1m.` under each other.
function methodOf(method) {
  const setting = /^([A-Z][a-z]{2,11}): (.*?)\.?$/;
  const parts = method.map((words) => {
    const [, name, value] = words.match(setting) || [];
    return name
      ? make("p", { class: "setting" }, make("span", {}, name), make("span", {}, value))
      : make("p", {}, words);
  });
  return make("div", { class: "method" }, ...parts);
}

function findingList({ findings, source }) {
  return make("ul", { class: "findings" }, ...findings.map((finding) =>
    make("li", { class: finding.verdict }, badge(finding.verdict),
      make("div", {},
        make("p", { class: "claim" }, finding.claim,
          finding.source && finding.source !== source ? make("cite", {}, ` ${finding.source}`) : null),
        finding.measured ? make("p", { class: "measured" }, finding.measured) : null))));
}

function addContents(report) {
  const links = report.sections.map((section) =>
    make("a", { href: `#section-${section.id}`, "data-section": section.id },
      make("span", {}, section.title),
      make("span", { class: "dots", "aria-hidden": "true" },
        ...section.findings.map(({ verdict }) => make("i", { class: `dot ${verdict}` })))));
  const body = make("div", { class: "contents" },
    make("a", { href: "#top", class: "home" }, report.title),
    make("div", { class: "links" }, ...links), seriesFilter());
  const menu = make("details", { class: "menu" }, make("summary", {}, "Contents"), body);
  const wide = window.matchMedia("(min-width: 1040px)");
  const fit = () => { menu.open = wide.matches; };
  wide.addEventListener("change", fit);
  fit();
  body.addEventListener("click", (event) => {
    if (!wide.matches && event.target.closest("a")) menu.open = false;
  });
  document.getElementById("side").append(menu);
  watchSections(links);
}

// Hides a series all over the report; offered for those that several figures have.
function seriesFilter() {
  const counts = d3.rollup(figures.flatMap((view) => view.state.series), (found) => found.length,
    (series) => series.name);
  const names = [...styles.keys()].filter((name) => counts.get(name) >= 3);
  if (names.length < 2) return null;
  const entry = (name) => {
    const button = make("button", { type: "button", class: "entry", "aria-pressed": "true",
      "data-series": name, onclick: () => {
        const show = button.getAttribute("aria-pressed") === "false";
        button.setAttribute("aria-pressed", String(show));
        showEverywhere(name, show);
      } }, swatchOf(name), make("span", {}, name));
    return button;
  };
  return make("div", { class: "filter" }, make("p", {}, "Show in all plots"), ...names.map(entry));
}

function showEverywhere(name, show) {
  for (const view of figures.filter(({ state }) => state.series.some((one) => one.name === name))) {
    if (show) view.state.hidden.delete(name);
    else view.state.hidden.add(name);
    view.state.zoom = null;
    redraw(view);
  }
}

function watchSections(links) {
  const sections = links.map((link) => document.getElementById(`section-${link.dataset.section}`));
  const mark = () => {
    const line = window.innerHeight * 0.3;
    const at = d3.bisector((section) => section.getBoundingClientRect().top).right(sections, line) - 1;
    links.forEach((link, nth) => link.classList.toggle("here", nth === at));
  };
  let asked = false;
  window.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; mark(); });
  }, { passive: true });
  mark();
}

function addPage({ report }) {
  const main = document.getElementById("content");
  addHead(main, report);
  addGlance(main, report);
  for (const section of report.sections) addSection(main, section);
  addContents(report);
  redrawAll();
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

addPage(embedded);
