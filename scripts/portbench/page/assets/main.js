// Builds the page, and updates what a choice changes.

const ELSEWHERE = new Set(["function", "of", "target"]);

async function show(changed) {
  const has = (...keys) => !changed || keys.some((key) => changed.has(key));
  for (const view of ["matrix", "compare", "about"]) byId(`view-${view}`).hidden = state.view !== view;
  for (const button of document.querySelectorAll("#views button")) {
    if (button.dataset.view === state.view) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  document.body.dataset.view = state.view;
  const others = changed ? [...changed].filter((key) => !ELSEWHERE.has(key)) : ["all"];
  if (others.length) {
    showFilters();
    const found = state.view === "matrix" ? showMatrix(changed) : state.view === "compare" ? await showCompare() : "";
    byId("count").textContent = found;
  }
  if (has(...ELSEWHERE)) await showDetail();
}

let lastShown = Promise.resolve();

/** Shows one choice after the other: the next may come while data are unpacked or a grid is built. */
function showInOrder(changed) {
  lastShown = lastShown.then(() => show(changed)).catch(problem);
  return lastShown;
}

function showAbout() {
  const started = study.runs.map((run) => run.started_at).filter(Boolean).sort();
  const results = study.targets.reduce((sum, target) => sum + target.tests.reduce((all, one) => all + one, 0), 0);
  const between = started.length ? `, ${[...new Set([started[0], started.at(-1)].map((time) => time.slice(0, 10)))].join(" to ")}` : "";
  byId("summary").textContent =
    `${count(study.size, "function")} on ${count(study.targets.length, "target")}, ${count(results, "test")}, ${count(study.runs.length, "run file")}${between}`;
  const notes = [
    "Status: by how many of a function's tests passed in every run in which they ran: all tests pass, some fail, all tests fail. not testable: none could be run; such functions do not count in percentages, nor do successors, which are tried where a version lacks a function.",
    "First-call times are by the paper's method: the mean over the passing tests of each test's mean over its first calls, waiting included, and runs. Steady-state times are robust: medians after the warm-up.",
    study.targets.some((target) => target.isPredicted) ? `${PREDICTED}. Such targets have hatched columns, and are in no headline, figure or comparison of latencies.` : "",
    study.strict_placement ? "Strict placement: a test that passed, but not wholly on the device, counts as failed." : "",
    study.classified ? "Categories were derived again by portbench classify." : "Categories are those of the runners.",
    study.most_samples < 200 ? `Of each test and protocol the page carries ${study.most_samples} samples at most; the study's tables have all.` : "",
    "Keys: Tab to the grid, arrows, Page Up and Down, Home and End to walk, Enter to open a cell, Escape to close it.",
  ];
  const rows = study.runs.map((run) =>
    el("tr", {}, [`${run.framework}-${run.version}-${run.device}`, run.machine, run.sync, run.manifest, run.protocol, run.started_at ?? "", run.run_id].map((text) => el("td", {}, shown(text)))),
  );
  byId("about").append(
    el("h2", {}, "How to read it"), ...notes.filter(Boolean).map((note) => el("p", {}, note)),
    el("h2", {}, "Targets"),
    ...study.targets.map((target) => el("details", {}, el("summary", {}, shown(targetTitle(target) + (target.model ? `: ${target.model}` : ""))),
      el("dl", {}, target.environment.filter(([, text]) => text).flatMap(([word, text]) => [el("dt", {}, word), el("dd", {}, shown(text))])))),
    el("h2", {}, "Run files"),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["target", "machine", "sync", "manifest", "protocol", "started", "run"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, rows))),
  );
}

function problem(error) {
  const said = byId("problem");
  said.hidden = false;
  said.textContent = `The page cannot show this: ${error.message ?? error}. It needs a browser of 2023 or later.`;
  console.error(error);
}

async function start() {
  await readStudy();
  showAbout();
  makeOverview();
  makeFilters();
  makeCompare();
  for (const button of document.querySelectorAll("#views button")) button.addEventListener("click", () => choose({ view: button.dataset.view }, true));
  document.querySelector('[data-view="compare"]').hidden = study.targets.length < 2;
  byId("download").addEventListener("click", download);
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("detail").hidden) closeDetail();
  });
  addEventListener("hashchange", readAddress);
  readAddress();
  byId("view-matrix").hidden = false;
  document.body.dataset.view = "matrix";
  dock();
  await makeMatrix();
  onChange(showInOrder);
  await showInOrder(null);
  performance.mark("portbench-shown");
  document.body.dataset.ready = "true";
}

start().catch(problem);
