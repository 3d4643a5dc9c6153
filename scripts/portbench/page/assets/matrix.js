// The matrix of functions by targets.

const SHOW = {
  cause: ["Status and cause", (target, row) => causeWords(target, row)],
  tests: ["Tests passed", (target, row) => (target.ran[row] ? `${target.passed[row]}/${target.ran[row]}` : "")],
  cold: ["First call ms (paper's method)", (target, row) => (target.cold_ns[row] >= 0 ? inMs(target.cold_ns[row]) : "")],
  steady: ["Steady state µs (robust)", (target, row) => (target.steady_ns[row] >= 0 ? inUs(target.steady_ns[row]) : "")],
};
const SHORT = { not_implemented: "not impl.", precision: "precision", removed: "removed" };
const NARROW = matchMedia("(max-width: 640px)");

let matrix;
let matrixTargets = [];
let matrixMask = null;

function causeWords(target, row) {
  const status = statusOf(target, row);
  const found = categoriesOf(target, row).map((name) => SHORT[name] ?? spaced(name));
  if (status === "all_pass") return "";
  if (found.length) return found.length > 1 ? `${found[0]} +${found.length - 1}` : found[0];
  if (status !== "not_testable") return "";
  return target.cold_ns[row] >= 0 ? "timed only" : "skipped";
}

function makeMatrix() {
  const show = byId("show");
  for (const [key, [word]] of Object.entries(SHOW)) show.append(el("option", { value: key }, word));
  show.addEventListener("change", () => choose({ show: show.value }));
  byId("legend").append(
    ...Object.entries(STATUS).map(([name, { word, says }]) => el("span", { title: says }, chip(name), word)),
    ...(study.targets.some((target) => target.isPredicted) ? [el("span", { title: PREDICTED }, chip("all_pass", true), "predicted, nothing ran")] : []),
    ...Object.entries(MARK).map(([, { symbol, word, says }]) => el("span", { title: says }, el("b", { class: "mark" }, symbol), word)),
  );
  const [field, direction] = sortChoice();
  matrix = makeGrid(
    byId("matrix"),
    {
      data: Array.from({ length: study.size }, (_, id) => ({ id })),
      columns: [nameColumn(), ...strataColumns(), ...study.targets.map(targetColumn)],
      placeholder: "No function fits these filters.",
      rowHeight: 34,
      initialSort: field ? [{ column: field, dir: direction }] : [],
      initialFilter: (data) => !matrixMask || matrixMask[data.id] === 1,
    },
    (data, field, back) => openDetail(targetOfField(field) ?? worstTarget(data.id), data.id, back),
  );
  matrix.on("tableBuilt", () => matrix.on("dataSorted", keepSort));
  return new Promise((done) => matrix.on("tableBuilt", done));
}

function nameColumn(width = 300) {
  return {
    field: "name", title: "Function", frozen: true, width: NARROW.matches ? 150 : width, cssClass: "name",
    titleFormatter: () => headerButton("Function"),
    formatter: (cell) => cellNode(cell, titleOf(cell.getData().id), el("span", {}, shown(titleOf(cell.getData().id)))),
    sorter: (a, b, first, second) => compareText(titleOf(first.getData().id), titleOf(second.getData().id)),
  };
}

/** How much a function is used, where the manifests say. */
function strataColumns() {
  if (study.rows.uses.every((uses) => uses === null)) return [];
  return [
    {
      field: "uses", title: "Uses", width: 76, visible: !NARROW.matches, hozAlign: "right", cssClass: "uses",
      titleFormatter: () => headerButton("Uses", "in corpus"),
      formatter: (cell) => {
        const uses = study.rows.uses[cell.getData().id];
        const decile = study.rows.decile[cell.getData().id];
        const said = uses === null ? "uses not known" : `${count(uses, "use")} in the corpus${decile === null ? "" : `, decile ${decile}`}`;
        return cellNode(cell, said, uses === null ? NOTHING : whole(uses));
      },
      sorter: (a, b, first, second, column, dir) =>
        compareNumbers(study.rows.uses[first.getData().id], study.rows.uses[second.getData().id], dir),
    },
  ];
}

function targetColumn(target) {
  const lines = [
    ...(target.isPredicted ? ["predicted"] : []), `${target.framework} ${target.version}`, ...(study.hasMachines ? [target.machine] : []),
    ...(target.sync === "complete" ? [] : ["sync as published"]),
  ];
  // Names of targets often differ at their ends only, so they are not cut.
  const width = Math.min(220, Math.max(112, 36 + 6.3 * Math.max(...lines.map((line) => line.length))));
  return {
    field: `t${target.number}`, title: "", width, cssClass: "cell",
    titleFormatter: () => {
      const header = headerButton(target.device, ...lines, rateOf(target));
      header.classList.toggle("predicted", target.isPredicted);
      return header;
    },
    formatter: (cell) => targetCell(cell, target, cell.getData().id),
    sorter: (a, b, first, second, column, dir) => compareCells(target, first.getData().id, second.getData().id, dir),
  };
}

/** The share of passing functions; where no outcome is known, what is known instead. */
function rateOf(target) {
  const rated = [0, 1, 2].map((status) => countStatus(target, status));
  const all = rated.reduce((sum, one) => sum + one, 0);
  if (all) return `${((100 * rated[0]) / all).toFixed(1)} % ${target.isPredicted ? "accepted" : "pass"}`;
  if (target.isPredicted) return "not predicted";
  return target.cold_ns.some((time) => time >= 0) ? "timings only" : "nothing ran";
}

function countStatus(target, status) {
  let found = 0;
  for (let row = 0; row < study.size; row += 1) if (target.status[row] === status && !study.rows.successor_of[row]) found += 1;
  return found;
}

function headerButton(title, ...lines) {
  const said = [title, ...lines].map(shown);
  return el("button", { type: "button", class: "sort", title: said.join("\n") }, el("b", {}, said[0]), said.slice(1).map((line) => el("small", {}, line)));
}

function cellNode(cell, label, ...children) {
  const element = cell.getElement();
  element.setAttribute("aria-label", shown(label));
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  return el("div", { class: "inner" }, ...children);
}

function targetCell(cell, target, row) {
  const status = statusOf(target, row);
  if (status === null) return cellNode(cell, `${titleOf(row)} is no function of ${target.framework}`, "");
  const marks = marksOf(target, row);
  const text = SHOW[state.show]?.[1](target, row) ?? "";
  cell.getElement().dataset.status = status;
  cell.getElement().dataset.evidence = target.evidence;
  return cellNode(
    cell,
    cellWords(target, row),
    chip(status, target.isPredicted),
    text ? el("span", { class: "text" }, text) : null,
    marks.map((mark) => el("b", { class: `mark ${mark}` }, MARK[mark].symbol)),
  );
}

/** A cell in words: what a screen reader says, and the tooltip. */
function cellWords(target, row) {
  const status = statusOf(target, row);
  const tests = target.ran[row] ? `, ${target.passed[row]} of ${count(target.ran[row], "test")} ${target.isPredicted ? "accepted" : "passed"}` : "";
  const why = categoriesOf(target, row).map(spaced);
  const more = [...why, ...marksOf(target, row).map((mark) => MARK[mark].word)];
  return `${titleOf(row)} on ${target.name}: ${STATUS[status].word}${tests}${more.length ? ` (${more.join(", ")})` : ""}`;
}

const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Unknown values come last in both directions. */
function compareNumbers(a, b, direction) {
  const [hasA, hasB] = [Number.isFinite(a), Number.isFinite(b)];
  if (hasA && hasB) return a - b;
  if (!hasA && !hasB) return 0;
  return (hasA ? -1 : 1) * (direction === "desc" ? -1 : 1);
}

const RANK = { all_fail: 0, some_fail: 1, all_pass: 2, not_testable: 3, absent: 4 };

function compareCells(target, first, second, direction) {
  if (state.show === "cold" || state.show === "steady") {
    const times = target[`${state.show}_ns`];
    return compareNumbers(times[first], times[second], direction);
  }
  if (state.show === "tests") {
    const share = (row) => (target.ran[row] ? target.passed[row] / target.ran[row] : NaN);
    return compareNumbers(share(first), share(second), direction);
  }
  const rank = (row) => RANK[statusOf(target, row)];
  return compareNumbers(rank(first), rank(second), direction) || compareText(causeWords(target, first), causeWords(target, second));
}

const targetOfField = (field) => (/^t\d+$/.test(field) ? study.targets[Number(field.slice(1))] : undefined);

/** The target on which a function does worst, of those that are shown. */
function worstTarget(row) {
  const own = (matrixTargets.length ? matrixTargets : study.targets).filter((target) => statusOf(target, row) !== null);
  return own.sort((a, b) => RANK[statusOf(a, row)] - RANK[statusOf(b, row)])[0];
}

/** The address has the sort by the target's name: numbers change when a study grows. */
function sortChoice() {
  const found = /^(.*):(asc|desc)$/.exec(state.sort);
  if (!found) return ["", "asc"];
  const target = targetOf(found[1]);
  return [target ? `t${target.number}` : ["name", "uses"].includes(found[1]) ? found[1] : "", found[2]];
}

function keepSort(sorters) {
  const [one] = sorters;
  choose({ sort: one ? `${targetOfField(one.field)?.key ?? one.field}:${one.dir}` : "" });
}

/** Shows what is chosen now. ``changed``: the keys that changed, null for all. */
function showMatrix(changed) {
  matrixTargets = chosenTargets();
  matrixMask = chosenRows(matrixTargets);
  const isShown = new Set(matrixTargets);
  const toChange = study.targets.filter((target) => matrix.getColumn(`t${target.number}`).isVisible() !== isShown.has(target));
  if (toChange.length) {
    matrix.blockRedraw();
    for (const target of toChange) matrix.toggleColumn(`t${target.number}`);
    matrix.restoreRedraw();
  }
  byId("show").value = state.show in SHOW ? state.show : DEFAULTS.show;
  if (changed?.has("show")) {
    for (const row of matrix.getRows()) row.reformat();
    const [sorter] = matrix.getSorters();
    if (sorter) matrix.setSort(sorter.field, sorter.dir);
  }
  if (changed?.has("sort")) {
    const [field, direction] = sortChoice();
    const [now] = matrix.getSorters();
    if (field && (now?.field !== field || now?.dir !== direction)) matrix.setSort(field, direction);
  }
  matrix.refreshFilter();
  const functions = matrixMask.reduce((sum, one) => sum + one, 0);
  return `${whole(functions)} of ${count(study.size, "function")}, ${matrixTargets.length} of ${count(study.targets.length, "target")}`;
}
