// Download of what is shown, as CSV (RFC 4180).

/** Text that a spreadsheet would take for a formula gets an apostrophe before it; figures stay as they are. */
function field(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line for each cell that is shown: functions in the order of the grid, then targets. */
function matrixLines() {
  const lines = [[
    "function", "successor_of", "framework", "version", "device", "machine", "sync", "evidence", "decile", "uses", "status",
    "tests_passed", "tests_ran", "tests", "categories", "marks", "cold_mean_ns", "steady_median_ns",
  ]];
  for (const { id } of matrix.getData("active")) {
    for (const target of matrixTargets) {
      const status = statusOf(target, id);
      if (status === null) continue;
      lines.push([
        study.rows.function[id], study.rows.successor_of[id], target.framework, target.version, target.device,
        target.machine, target.sync, target.evidence, study.rows.decile[id], study.rows.uses[id], status === "absent" ? "" : status,
        target.passed[id], target.ran[id], target.tests[id], categoriesOf(target, id).join(" "), marksOf(target, id).join(" "),
        target.cold_ns[id], target.steady_ns[id],
      ]);
    }
  }
  return lines;
}

function comparisonLines() {
  const [first, second] = comparedTargets();
  const lines = [["function", "successor_of", "first", "second", "first_status", "second_status", "changes", "method", "tests", "first_ns", "second_ns", "ratio"]];
  for (const { id, latency, changes } of comparison.getData("active")) {
    lines.push([
      study.rows.function[id], study.rows.successor_of[id], first.key, second.key, statusOf(first, id), statusOf(second, id),
      changes.join("; "), state.method, latency?.tests, latency?.first, latency?.second, latency?.ratio,
    ]);
  }
  return lines;
}

function download() {
  const isMatrix = state.view !== "compare" || !comparison;
  const lines = (isMatrix ? matrixLines() : comparisonLines()).map((line) => line.map(field).join(","));
  const link = el("a", {
    href: URL.createObjectURL(new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv;charset=utf-8" })),
    download: isMatrix ? "portbench-functions.csv" : "portbench-comparison.csv",
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
