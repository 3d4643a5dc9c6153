// The study, unpacked from this file: arrays by target and row. portbench/page/data.py describes each part.

let study;

/** A packed part: base64 of gzip of JSON. */
async function unpack(id) {
  const text = byId(id).textContent.trim();
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

async function readStudy() {
  study = await unpack("data-index");
  const rows = study.rows.function.length;
  study.size = rows;
  study.lower = study.rows.function.map((name) => name.toLowerCase());
  study.hasMachines = new Set(study.targets.map((target) => target.machine)).size > 1;
  study.targets.forEach((target, number) => {
    const columns = study.cells[number];
    target.number = number;
    target.isPredicted = target.evidence === "predicted";
    target.key = `${target.name}@${target.machine}${target.sync === "complete" ? "" : `/${target.sync}`}`;
    target.status = new Int8Array(rows).fill(-1);
    target.categories = new Uint16Array(rows);
    target.marks = new Uint8Array(rows);
    for (const name of ["passed", "ran", "tests"]) target[name] = new Uint32Array(rows);
    for (const name of ["cold_ns", "steady_ns"]) target[name] = new Float64Array(rows).fill(NaN);
    columns.row.forEach((row, place) => {
      for (const name of ["status", "categories", "marks", "passed", "ran", "tests"]) target[name][row] = columns[name][place];
      for (const name of ["cold_ns", "steady_ns"]) target[name][row] = columns[name][place] ?? NaN;
    });
    target.isFrameworkOf = (row) => study.rows.framework[row] === target.framework;
  });
  delete study.cells;
  study.columns = columnsOf(study.targets);
}

/** Targets of several frameworks on one device share a column: a row belongs to one framework. */
function columnsOf(targets) {
  const columns = [];
  for (const target of [...targets].sort(byDevice)) {
    const same = (one) => ["device", "machine", "sync", "model"].every((key) => one[key] === target[key]);
    const shared = columns.find((column) => same(column.targets[0]) && column.targets.every((one) => one.framework !== target.framework));
    if (shared) shared.targets.push(target);
    else columns.push({ targets: [target], field: `c${columns.length}`, isPredicted: target.isPredicted });
  }
  // Those of which only times are known come last.
  const isKnown = (column) => column.targets.some(isRated);
  return columns.sort((a, b) => Number(isKnown(b)) - Number(isKnown(a)));
}

/** The target of a column that has the function of a row; undefined where none does. */
const targetIn = (column, row) => column.targets.find((target) => target.isFrameworkOf(row));

const columnOf = (target) => study.columns.find((column) => column.targets.includes(target));

/** The name of a status; "absent" where the manifest lists the function and nothing ran, null of another framework. */
function statusOf(target, row) {
  const number = target.status[row];
  if (number >= 0) return study.statuses[number];
  return target.isFrameworkOf(row) && !study.rows.successor_of[row] ? "absent" : null;
}

const named = (bits, names) => names.filter((_, place) => bits & (1 << place));
const categoriesOf = (target, row) => named(target.categories[row], study.categories);
const marksOf = (target, row) => named(target.marks[row], study.marks);

function titleOf(row) {
  const former = study.rows.successor_of[row];
  return former ? `${study.rows.function[row]} (successor of ${former})` : study.rows.function[row];
}

/** A target in words. */
function targetTitle(target) {
  const clock = target.sync === "complete" ? "" : ", synchronization as published";
  return `${target.name} on ${target.machine}${clock}`;
}

const targetOf = (key) => study.targets.find((target) => target.key === key);

function rowOf(name, former) {
  return study.rows.function.findIndex((found, row) => found === name && study.rows.successor_of[row] === former);
}

const blocks = new Map();

/** The tests of a function on a target, each with ``said`` for its results; an empty list where there are none. */
async function testsOf(target, row) {
  const place = study.blocks.findLastIndex((first) => first <= row);
  if (place < 0) return [];
  if (!blocks.has(place)) blocks.set(place, unpack(`data-block-${place}`));
  const { said, cells } = await blocks.get(place);
  return (cells[row]?.[target.number] ?? []).map((test) => ({
    ...test,
    results: test.results.map(([run, pass, outcome, number]) => ({ run: study.runs[run], pass, outcome, said: said[number] })),
  }));
}
