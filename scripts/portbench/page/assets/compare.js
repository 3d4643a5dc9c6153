// Compares two targets: what changes from the first to the second, and how long each takes.

const CHANGES = {
  "newly failing": "all tests pass on the first, not on the second",
  "newly passing": "all tests pass on the second, not on the first",
  "fails more": "some tests fail on the first, all on the second",
  "fails less": "all tests fail on the first, some on the second",
  "another category": "fails on both, for another reason",
  "another place": "ran on another part of the machine",
  "only on the first": "nothing of it was run on the second",
  "only on the second": "nothing of it was run on the first",
  slower: "a test is slower on the second by the verdict of portbench compare: more than noise",
  faster: "a test is faster on the second by the verdict of portbench compare: more than noise",
  unclear: "a test's time differs, and noise may explain it, by the verdict of portbench compare",
  "intolerably slower": "at least the limit's times as slow on the second",
  "no change": "none of these changes",
};
/** The order of the list: what a reader looks for first. */
const BY_WEIGHT = Object.keys(CHANGES);
const PROTOCOL = { paper: "cold", robust: "steady" };
const PROTOCOL_WORDS = { cold: "First call", steady: "Steady state" };
let comparison = null;
let compared = [];
let verdicts = null;

/** What portbench compare says of two targets; undefined where this page does not carry it. */
async function verdictsOf(first, second) {
  verdicts ??= unpack("data-comparisons");
  return (await verdicts).find((one) => one.first === first.number && one.second === second.number);
}

function makeCompare() {
  for (const [id, key] of [["first", "first"], ["second", "second"]]) {
    const choice = byId(id);
    for (const target of study.targets) choice.append(el("option", { value: target.key }, shown(targetTitle(target))));
    choice.addEventListener("change", () => choose({ [key]: choice.value }));
  }
  for (const [key, [word]] of Object.entries(METHODS)) byId("method").append(el("option", { value: key }, word));
  byId("method").addEventListener("change", () => choose({ method: byId("method").value }));
  byId("swap").addEventListener("click", () => {
    const [first, second] = comparedTargets();
    choose({ first: second.key, second: first.key });
  });
  for (const [name, says] of Object.entries(CHANGES)) {
    byId("changes").append(
      el("button", { type: "button", title: says, "data-change": name, "aria-pressed": "false", onclick: () => {
        const has = state.changes.includes(name);
        choose({ changes: has ? state.changes.filter((one) => one !== name) : [...state.changes, name] });
      } }),
    );
  }
}

/** The chosen pair; else the most comparable one, else the first two. */
function comparedTargets() {
  const [first, second] = study.pairs[0] ?? [0, Math.min(1, study.targets.length - 1)];
  return [targetOf(state.first) ?? study.targets[first], targetOf(state.second) ?? study.targets[second]];
}

async function showCompare() {
  if (study.targets.length < 2) return "";
  const [first, second] = comparedTargets();
  const method = state.method in METHODS ? state.method : DEFAULTS.method;
  for (const [id, value] of [["first", first.key], ["second", second.key], ["method", method]]) byId(id).value = value;
  const [all, found] = [await readTimes(), await verdictsOf(first, second)];
  const mask = chosenRows([first, second]);
  compared = [];
  for (let row = 0; row < study.size; row += 1) {
    if (mask[row] && (first.status[row] >= 0 || second.status[row] >= 0)) compared.push(rowOfComparison(first, second, row, all, method, found));
  }
  compared.sort((a, b) => weight(a) - weight(b) || a.id - b.id);
  showSummary(first, second, method);
  showVerdicts(first, second, found);
  showChips();
  const listed = compared.filter((entry) => !state.changes.length || entry.changes.some((change) => state.changes.includes(change)));
  const points = listed.filter((entry) => entry.latency).map(({ id, latency }) => ({ row: id, x: latency.first, y: latency.second }));
  byId("scatter-figure").hidden = !points.length;
  if (points.length) drawScatter(first, second, points, method);
  await showTable(first, second, listed);
  return `${count(listed.length, "function")} of ${whole(compared.length)}`;
}

const weight = (entry) => Math.min(...entry.changes.map((change) => BY_WEIGHT.indexOf(change)));

function rowOfComparison(first, second, row, all, method, found) {
  const latency = latencyOf(all[first.number], all[second.number], row, method);
  const verdict = found?.rows[row];
  return { id: row, latency, verdict, changes: changesOf(first, second, row, latency, verdict?.[PROTOCOL[method]]) };
}

/** Counts of verdicts in words: "2 slower, 1 similar". */
const verdictWords = (counts) => study.verdicts.map((name, place) => [name, counts?.[place]]).filter(([, number]) => number).map(([name, number]) => `${whole(number)} ${name}`).join(", ");

function showVerdicts(first, second, found) {
  const said = byId("verdicts");
  said.hidden = first.framework !== second.framework || first === second;
  if (said.hidden) return;
  if (!found) {
    const why = first.isPredicted === second.isPredicted ? "This page does not carry them for these two in this order." : "A prediction and a measurement are not compared.";
    said.replaceChildren(el("p", {}, el("b", {}, "No verdicts of portbench compare. "), why));
    return;
  }
  const changes = Object.entries(found.changes).map(([name, number]) => `${whole(number)} ${name}`).join(", ") || "no change";
  const lines = Object.entries(found.times).filter(([, one]) => one.tests).map(([protocol, one]) => {
    const interval = one.interval ? ` (95 % ${significant(one.interval[0])} to ${significant(one.interval[1])})` : "";
    const noise = one.has_noise ? "" : " One run on each side: noise between runs is not covered.";
    return el("p", {}, el("b", {}, `${PROTOCOL_WORDS[protocol]}: `), `×${significant(one.ratio)}${interval} over ${count(one.tests, "test")}: ${verdictWords(one.verdicts)}.${noise}`);
  });
  said.replaceChildren(
    el("p", {}, el("b", {}, "Verdicts of portbench compare. "), `Outcomes of ${count(found.compared, "test")}: ${changes}.`), ...lines,
    el("p", { class: "soft" }, el("code", {}, shown(`${found.command} STUDY`))),
  );
}

function changesOf(first, second, row, latency, verdict) {
  const [before, after] = [first, second].map((target) => statusOf(target, row));
  const ran = (status) => ["all_pass", "some_fail", "all_fail"].includes(status);
  const found = [];
  if (ran(before) && !ran(after)) found.push("only on the first");
  else if (ran(after) && !ran(before)) found.push("only on the second");
  else if (ran(before)) {
    if (before === "all_pass" && after !== "all_pass") found.push("newly failing");
    else if (after === "all_pass" && before !== "all_pass") found.push("newly passing");
    else if (before === "some_fail" && after === "all_fail") found.push("fails more");
    else if (before === "all_fail" && after === "some_fail") found.push("fails less");
    if (before !== "all_pass" && after !== "all_pass" && first.categories[row] !== second.categories[row]) found.push("another category");
    const place = (target) => marksOf(target, row).filter((mark) => mark === "host" || mark === "mixed").join();
    if (place(first) !== place(second)) found.push("another place");
  }
  for (const [place, name] of study.verdicts.entries()) if (verdict?.[place] && name in CHANGES) found.push(name);
  if (latency?.ratio >= study.intolerable) found.push("intolerably slower");
  return found.length ? found : ["no change"];
}

function showSummary(first, second, method) {
  const ratios = compared.filter((entry) => entry.latency).map((entry) => entry.latency.ratio);
  const said = byId("compare-summary");
  if (!ratios.length) {
    const reason = first.framework === second.framework ? "No test was timed on both." : "They are of different frameworks and have no function in common.";
    said.replaceChildren(...predictedNote(first, second), reason);
    return;
  }
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  const slow = ratios.filter((ratio) => ratio >= study.intolerable).length;
  const slower = ratios.filter((ratio) => ratio > 1).length;
  const percent = (part) => `${((100 * part) / ratios.length).toFixed(1)} %`;
  said.replaceChildren(
    ...predictedNote(first, second),
    el("b", {}, `×${significant(mean)}`), ` is the geometric mean of second over first for the ${count(ratios.length, "function")} timed on both. `,
    el("b", {}, percent(slower)), " are slower on the second, ",
    el("b", {}, percent(slow)), ` at least ${study.intolerable} times. `,
    el("span", { class: "soft" }, METHODS[method][1], "."),
  );
}

/** The note where one of the two targets is predicted. */
function predictedNote(first, second) {
  const predicted = [first, second].filter((target) => target.isPredicted);
  if (!predicted.length) return [];
  const names = predicted.map(targetTitle).map(shown).join(" and ");
  return [el("b", {}, `${names}: nothing ran there. `), "Differences are predicted, not measured. "];
}

function showChips() {
  for (const button of byId("changes").children) {
    const name = button.dataset.change;
    const number = compared.filter((entry) => entry.changes.includes(name)).length;
    button.textContent = `${name} ${whole(number)}`;
    button.hidden = !number && !state.changes.includes(name);
    button.setAttribute("aria-pressed", String(state.changes.includes(name)));
  }
}

function drawScatter(first, second, points, method) {
  const caption = byId("scatter-caption");
  const usual = `Each point is a function. Solid line: as fast on both; dashed: ${study.intolerable} times slower on the second.`;
  caption.textContent = usual;
  const titles = [first, second].map((target) => `${shown(target.name)}, ${METHODS[method][0]}`);
  const hover = (point) => {
    caption.textContent = point ? `${shown(titleOf(point.row))}: ${duration(point.x)} and ${duration(point.y)}, ×${significant(point.y / point.x)}` : usual;
  };
  plotScatter(byId("scatter"), points, titles, study.intolerable, hover, (point) => openDetail(second, point.row, () => byId("main").focus()));
}

async function showTable(first, second, listed) {
  if (comparison) {
    await comparison.replaceData(listed);
    return;
  }
  const side = (which) => ({
    field: which, title: "", width: 130, cssClass: "cell",
    titleFormatter: () => headerButton(which === "first" ? "First" : "Second"),
    formatter: (cell) => targetCell(cell, comparedTargets()[which === "first" ? 0 : 1], cell.getData().id),
    sorter: (a, b, one, other, column, dir) => compareCells(() => comparedTargets()[which === "first" ? 0 : 1], one.getData().id, other.getData().id, dir),
  });
  const figure = (field, title, value, format) => ({
    field, title: "", width: 112, hozAlign: "right",
    titleFormatter: () => headerButton(title),
    formatter: (cell) => cellNode(cell, format(value(cell.getData())), format(value(cell.getData()))),
    sorter: (a, b, one, other, column, dir) => compareNumbers(value(one.getData()), value(other.getData()), dir),
  });
  comparison = makeGrid(
    byId("comparison"),
    {
      data: listed,
      rowHeight: 34,
      placeholder: "No function fits.",
      columns: [
        nameColumn(220), side("first"), side("second"),
        {
          field: "verdict", title: "", width: 170,
          titleFormatter: () => headerButton("Verdict on times", "tests, by portbench compare"),
          formatter: (cell) => {
            const { verdict } = cell.getData();
            const words = verdictWords(verdict?.[PROTOCOL[state.method]]) || NOTHING;
            return cellNode(cell, words, words);
          },
          sorter: (a, b, one, other) => compareText(verdictWords(one.getData().verdict?.[PROTOCOL[state.method]]), verdictWords(other.getData().verdict?.[PROTOCOL[state.method]])),
        },
        figure("ratio", "Ratio", (data) => data.latency?.ratio, (value) => (value === undefined ? NOTHING : `×${significant(value)}`)),
        figure("first_ms", "First ms", (data) => data.latency?.first, inMs),
        figure("second_ms", "Second ms", (data) => data.latency?.second, inMs),
        figure("tests", "Tests", (data) => data.latency?.tests, (value) => value ?? NOTHING),
        {
          field: "changes", title: "", width: 240,
          titleFormatter: () => headerButton("Change"),
          formatter: (cell) => cellNode(cell, cell.getData().changes.join(", "), cell.getData().changes.join(", ")),
          sorter: (a, b) => compareText(a.join(), b.join()),
        },
      ],
    },
    (data, field, back) => openDetail(comparedTargets()[field === "first" ? 0 : 1], data.id, back),
  );
  await new Promise((done) => comparison.on("tableBuilt", done));
}
