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
      data: rowsByFramework(),
      columns: [nameColumn(), ...strataColumns(), ...study.columns.map(targetColumn)],
      placeholder: "No function fits these filters.",
      rowHeight: 34,
      layout: "fitColumns",
      initialSort: field ? [{ column: field, dir: direction }] : [],
      initialFilter: (data) => !matrixMask || matrixMask[data.id] === 1,
    },
    (data, field, back) => openDetail(targetOfField(field, data.id) ?? worstTarget(data.id), data.id, back),
  );
  matrix.on("tableBuilt", () => matrix.on("dataSorted", keepSort));
  return new Promise((done) => matrix.on("tableBuilt", done));
}

/** The rows in the order of the cards. */
function rowsByFramework() {
  const known = Object.keys(FRAMEWORKS);
  const rank = (id) => (known.indexOf(study.rows.framework[id]) + known.length + 1) % (known.length + 1);
  return Array.from({ length: study.size }, (_, id) => ({ id })).sort((a, b) => rank(a.id) - rank(b.id) || a.id - b.id);
}

function nameColumn(width = 270) {
  return {
    field: "name", title: "Function", frozen: true, width: NARROW.matches ? 150 : width, minWidth: NARROW.matches ? 150 : width, widthGrow: 0, cssClass: "name",
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
      field: "uses", title: "Uses", width: 86, minWidth: 86, widthGrow: 0, visible: !NARROW.matches, hozAlign: "right", cssClass: "uses",
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

function targetColumn(column) {
  const [target] = column.targets;
  const rates = column.targets.map((one) => `${shortTitle(one)}: ${rateOf(one)}`);
  const lines = [
    ...(column.isPredicted ? ["predicted"] : []), ...(study.hasMachines ? [target.machine] : []),
    ...(target.sync === "complete" ? [] : ["sync as published"]), ...rates,
  ];
  // Names of targets often differ at their ends only, so they are not cut.
  const minWidth = Math.min(260, Math.max(112, 24 + 5.6 * Math.max(...lines.map((line) => line.length))));
  return {
    field: column.field, title: "", minWidth, cssClass: "cell",
    titleFormatter: () => {
      const header = headerButton(deviceTitle(target), ...lines);
      header.title = `${column.targets.map((one) => shown(targetTitle(one))).join("\n")}\n${header.title}`;
      header.classList.toggle("predicted", column.isPredicted);
      return header;
    },
    formatter: (cell) => columnCell(cell, column, cell.getData().id),
    sorter: (a, b, first, second, _, dir) => compareCells((row) => targetIn(column, row), first.getData().id, second.getData().id, dir),
  };
}

function columnCell(cell, column, row) {
  const target = targetIn(column, row);
  return target ? targetCell(cell, target, row) : cellNode(cell, `${titleOf(row)}: no result on ${deviceTitle(column.targets[0])}`, "");
}

/** The share of functions of which all tests pass, or are accepted; where no outcome is known, what is known instead. */
function rateOf(target) {
  const rated = statusCounts(target).slice(0, 3);
  const all = rated.reduce((sum, one) => sum + one, 0);
  if (all) return `${((100 * rated[0]) / all).toFixed(1)} %`;
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
    marks.map((mark) => el("b", { class: `mark ${mark}`, title: `${MARK[mark].word}: ${MARK[mark].says}` }, MARK[mark].symbol)),
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

/** Sorts cells; ``targetOf(row)`` is the target of a row's cell. */
function compareCells(targetOf, first, second, direction) {
  const [a, b] = [targetOf(first), targetOf(second)];
  const compare = (value) => compareNumbers(a ? value(a, first) : NaN, b ? value(b, second) : NaN, direction);
  if (state.show === "cold" || state.show === "steady") return compare((target, row) => target[`${state.show}_ns`][row]);
  if (state.show === "tests") return compare((target, row) => (target.ran[row] ? target.passed[row] / target.ran[row] : NaN));
  const words = (target, row) => (target ? causeWords(target, row) : "");
  return compare((target, row) => RANK[statusOf(target, row)]) || compareText(words(a, first), words(b, second));
}

/** The target of a cell; undefined for other columns. */
function targetOfField(field, row) {
  const column = study.columns.find((one) => one.field === field);
  return column && targetIn(column, row);
}

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
  return [target ? columnOf(target).field : ["name", "uses"].includes(found[1]) ? found[1] : "", found[2]];
}

function keepSort(sorters) {
  const [one] = sorters;
  const column = one && study.columns.find((found) => found.field === one.field);
  choose({ sort: one ? `${column ? column.targets[0].key : one.field}:${one.dir}` : "" });
}

/** Shows what is chosen now. ``changed``: the keys that changed, null for all. */
function showMatrix(changed) {
  matrixTargets = chosenTargets();
  matrixMask = chosenRows(matrixTargets);
  const isShown = new Set(matrixTargets);
  const toChange = study.columns.filter(({ field, targets }) => matrix.getColumn(field).isVisible() !== targets.some((target) => isShown.has(target)));
  if (toChange.length) {
    matrix.blockRedraw();
    for (const { field } of toChange) matrix.toggleColumn(field);
    matrix.restoreRedraw();
    matrix.redraw();
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
