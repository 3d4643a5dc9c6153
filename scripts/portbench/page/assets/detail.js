// The panel next to the matrix: everything about one function on one target, the cause first.

const WORST = ["error", "failed", "flaky", "passed", "unknown", "skipped"];
const LONG = ["traceback", "printed", "error", "caused by"];
const VERDICT = { passed: "all_pass", failed: "all_fail", flaky: "some_fail", skipped: "not_testable", unknown: "not_testable", error: "not_testable" };
let goBack = null;

/** Opens the panel; ``back`` is called when it is closed, and gives the focus back. */
function openDetail(target, row, back) {
  if (!target) return;
  goBack = back;
  choose({ function: study.rows.function[row], of: study.rows.successor_of[row], target: target.key }, true);
}

function closeDetail() {
  choose({ function: "", of: "", target: "" }, true);
  goBack?.();
  goBack = null;
}

async function showDetail() {
  const panel = byId("detail");
  const row = state.function ? rowOf(state.function, state.of) : -1;
  const target = targetOf(state.target);
  panel.hidden = row < 0 || !target;
  markOpen(target, row);
  document.body.classList.toggle("has-detail", !panel.hidden);
  if (panel.hidden) return;
  const wanted = `${state.function}\n${state.of}\n${state.target}`;
  const status = statusOf(target, row) ?? "absent";
  const title = el("h2", { id: "detail-title", tabindex: "-1" }, shown(titleOf(row)));
  const body = el("div", { class: "detail-body", "aria-busy": "true" });
  panel.replaceChildren(
    el("div", { class: "detail-head" }, title, el("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Escape)", onclick: closeDetail }, "×")),
    el("p", { class: "detail-status" }, chip(status, target.isPredicted), el("b", {}, STATUS[status].word), " on ", others(target, row)),
    body,
  );
  panel.scrollTop = 0;
  if (!document.body.classList.contains("docked")) byId("toolbar").scrollIntoView();
  title.focus({ preventScroll: true });
  const tests = await testsOf(target, row);
  // The reader may have opened another cell meanwhile.
  if (wanted !== `${state.function}\n${state.of}\n${state.target}`) return;
  body.replaceChildren(...facts(target, row), ...testList(target, row, tests), environmentOf(target, tests));
  body.removeAttribute("aria-busy");
  for (const open of body.querySelectorAll("details.test[open]")) open.dispatchEvent(new Event("toggle"));
}

/** The same function on the other targets. */
function others(now, row) {
  const own = study.targets.filter((target) => statusOf(target, row) !== null);
  if (own.length < 2) return shown(targetTitle(now));
  const choice = el("select", { "aria-label": "Target", onchange: () => choose({ target: choice.value }, true) });
  for (const target of own) {
    const status = statusOf(target, row);
    choice.append(el("option", { value: target.key, selected: target === now }, `${STATUS[status].symbol} ${shown(targetTitle(target))}: ${STATUS[status].word}`));
  }
  return choice;
}

/** Marks the cell whose panel is open. */
function markOpen(target, row) {
  for (const cell of document.querySelectorAll(".tabulator-cell.open")) cell.classList.remove("open");
  if (row >= 0 && target) matrix.getRow(row).getCell(columnOf(target).field)?.getElement().classList.add("open");
}

function facts(target, row) {
  const { decile, uses, top20, listed_as } = study.rows;
  const notes = marksOf(target, row).map((mark) => el("li", {}, el("b", { class: `mark ${mark}` }, MARK[mark].symbol), ` ${MARK[mark].says}`));
  const use = [
    uses[row] === null ? "" : `${count(uses[row], "use")} in the corpus`,
    decile[row] === null ? "" : `decile ${decile[row]}`,
    top20[row] ? "one of the top 20" : "",
    listed_as[row] ? `published as ${shown(listed_as[row])}` : "",
  ].filter(Boolean);
  const times = [
    target.cold_ns[row] >= 0 ? `first call ${duration(target.cold_ns[row])} (mean of the tests' means, paper's method)` : "",
    target.steady_ns[row] >= 0 ? `steady state ${duration(target.steady_ns[row])} (median of medians, robust)` : "",
  ].filter(Boolean);
  return [
    target.isPredicted ? el("p", { class: "predicted" }, `${PREDICTED}. Figures are the compiler's; at least: a lower bound of the time, not measured.`) : null,
    use.length ? el("p", { class: "soft" }, use.join(", ")) : null,
    times.length ? el("p", { class: "soft" }, times.join("; ")) : null,
    notes.length ? el("ul", { class: "marks" }, notes) : null,
  ].filter(Boolean);
}

function testList(target, row, tests) {
  if (!tests.length) return [el("p", {}, "No result: the manifest lists this function, and nothing of it was run on this target.")];
  const sorted = [...tests].sort((a, b) => WORST.indexOf(a.verdict) - WORST.indexOf(b.verdict));
  const verdicts = WORST.map((verdict) => [verdict, tests.filter((test) => test.verdict === verdict).length]).filter(([, number]) => number);
  return [
    el("h3", {}, "Tests ", el("small", {}, verdicts.map(([verdict, number]) => `${number} ${verdict}`).join(", "))),
    ...sorted.map((test, place) => testEntry(target, row, test, place === 0)),
  ];
}

function testEntry(target, row, test, isOpen) {
  const outcomes = test.results.map((result) => OUTCOME[result.outcome]).join(" ");
  const said = test.results.map((result) => spaced(result.outcome)).join(", ");
  const entry = el(
    "details", { class: "test", open: isOpen },
    el(
      "summary", {},
      chip(VERDICT[test.verdict], target.isPredicted),
      el("span", { class: "id" }, shown(test.id)),
      test.category ? el("span", { class: "category" }, spaced(test.category)) : null,
      el("span", { class: "outcomes", "aria-label": said, title: `runs: ${said}` }, outcomes),
    ),
  );
  // The content is costly to build: only when the entry is opened.
  entry.addEventListener("toggle", () => {
    if (entry.open && entry.children.length === 1) {
      const content = el("div", { class: "test-body" });
      entry.append(content);
      content.append(...evidenceOf(target, test), ...samplesOf(test), repeatOf(row, test));
      const plot = content.querySelector(".samples");
      if (plot) plotSamples(plot, test.cold_ns, test.steady_ns);
    }
  });
  return entry;
}

/** The evidence of each run; runs with the same evidence are shown together. */
function evidenceOf(target, test) {
  const groups = [];
  for (const result of test.results) {
    const same = groups.find((group) => group[0].said === result.said && group[0].outcome === result.outcome);
    if (same) same.push(result);
    else groups.push([result]);
  }
  groups.sort((a, b) => Number(a[0].outcome === "passed") - Number(b[0].outcome === "passed"));
  return groups.map((group) => {
    const passes = group.map((result) => result.pass);
    const runs = passes.length > 1 ? `runs ${passes.join(", ")}` : `run ${passes[0]}`;
    const pairs = group[0].said.filter(([, text]) => text);
    return el(
      "div", { class: "evidence" },
      el("h4", {}, `${OUTCOME[group[0].outcome]} ${target.isPredicted ? "predicted: " : ""}${spaced(group[0].outcome)} in ${runs}`),
      el("dl", {}, pairs.flatMap(([word, text]) => [el("dt", {}, word), el("dd", {}, textNode(word, text))])),
    );
  });
}

function textNode(word, text) {
  if (!LONG.includes(word) && !text.includes("\n")) return shown(text);
  const block = el("pre", {}, shownLines(text));
  return ["traceback", "printed"].includes(word) ? el("details", {}, el("summary", {}, `${text.split("\n").length} lines`), block) : block;
}

function samplesOf(test) {
  if (!test.cold_samples && !test.steady_samples) return [];
  const stable = test.stable === false ? ", not stable within the budget" : "";
  const words = `${count(test.cold_samples, "first call")}, ${count(test.steady_samples, "steady-state sample")}${stable}`;
  const least = Math.max(test.cold_samples - test.cold_ns.length, test.steady_samples - test.steady_ns.length);
  const cut = least > 0 ? `; this page carries the first ${study.most_samples} of each` : "";
  const [cold, steady] = [median(test.cold_ns), median(test.steady_ns)];
  const medians = `median: first call ${duration(cold)}, steady state ${duration(steady)}`;
  const described = `Raw samples. ${words}${cut}. ${medians}`;
  return [el("p", { class: "soft" }, described), test.cold_ns.length + test.steady_ns.length ? el("div", { class: "samples", role: "img", "aria-label": described }) : null].filter(Boolean);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length ? (sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2) : NaN;
}

/** Quotes a word for a POSIX shell, as Python's shlex.quote does. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

function repeatOf(row, test) {
  const failing = test.results.find((result) => result.outcome !== "passed") ?? test.results[0];
  const repeat = study.repeats[failing.run.repeat];
  if (!repeat.before) return el("div", { class: "repeat" }, repeat.notes.map((note) => el("p", { class: "soft" }, shown(note))));
  const wanted = study.rows.successor_of[row] || study.rows.function[row];
  const after = test.verdict === "passed" ? repeat.after_passed : repeat.after_failed;
  const command = `${repeat.before} --function ${quoted(wanted)} --test ${quoted(test.id)} ${after}`;
  const copy = el("button", { type: "button", class: "copy" }, "Copy");
  const text = el("code", { class: "command" }, shown(command));
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      copy.textContent = "Selected";
    }
  });
  return el(
    "div", { class: "repeat" },
    el("h4", {}, "To run it again, alone, in a clone of portbench"),
    el("div", { class: "command-line" }, text, copy),
    repeat.notes.map((note) => el("p", { class: "soft" }, shown(note))),
  );
}

function environmentOf(target, tests) {
  const runs = new Set(tests.flatMap((test) => test.results.map((result) => result.run)));
  const pairs = [...target.environment, ...[...runs].map((run) => ["run file", run.started_at ? `${run.run_id}, ${run.started_at}` : run.run_id])];
  const packages = Object.entries(target.packages).map(([name, version]) => `${name} ${version}`).join("\n");
  return el(
    "details", { class: "environment" },
    el("summary", {}, el("h3", {}, "Environment")),
    el("dl", {}, pairs.filter(([, text]) => text).flatMap(([word, text]) => [el("dt", {}, word), el("dd", {}, shown(text))])),
    el("details", {}, el("summary", {}, count(Object.keys(target.packages).length, "package")), el("pre", {}, shownLines(packages))),
  );
}
