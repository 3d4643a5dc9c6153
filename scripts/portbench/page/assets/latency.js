// Latencies of functions on two targets, as in portbench/analysis/paper_method.py and latency.py: over tests that were timed on both.

const METHODS = {
  paper: ["paper's method (first call)", "paper's method: mean over the tests that every run timed on both, of each test's mean over its first calls and runs; the ratio is that of the means"],
  robust: ["robust (steady state)", "robust: median of each test after the warm-up, geometric mean over the tests timed on both"],
};
let times = null;

/** The times of each target: row → [from, to) in its columns. */
function readTimes() {
  times ??= unpack("data-times").then((targets) =>
    targets.map((columns) => {
      const places = new Map();
      columns.row.forEach((row, place) => {
        const range = places.get(row);
        if (range) range[1] = place + 1;
        else places.set(row, [place, place + 1]);
      });
      return { columns, places };
    }),
  );
  return times;
}

/** {first, second, ratio, tests} in ns of a function on two targets; null where no test was timed on both. */
function latencyOf(first, second, row, method) {
  const [a, b] = [first.places.get(row), second.places.get(row)];
  if (!a || !b) return null;
  const sums = method === "paper" ? meanOfTests() : meanOfLogarithms();
  let tests = 0;
  for (let [i, j] = [a[0], b[0]]; i < a[1] && j < b[1]; ) {
    const difference = first.columns.test[i] - second.columns.test[j];
    if (difference === 0 && sums.add(first.columns, i, second.columns, j)) tests += 1;
    if (difference <= 0) i += 1;
    if (difference >= 0) j += 1;
  }
  if (!tests) return null;
  const found = sums.means(tests);
  return { ...found, ratio: found.second / found.first, tests };
}

function meanOfTests() {
  const sums = [0, 0];
  return {
    add(a, i, b, j) {
      // -1: no time.
      if (!(a.cold_ns[i] >= 0 && b.cold_ns[j] >= 0)) return false;
      sums[0] += a.cold_ns[i];
      sums[1] += b.cold_ns[j];
      return true;
    },
    means: (tests) => ({ first: sums[0] / tests, second: sums[1] / tests }),
  };
}

function meanOfLogarithms() {
  const sums = [0, 0];
  return {
    add(a, i, b, j) {
      if (!(a.steady_ns[i] > 0 && b.steady_ns[j] > 0)) return false;
      sums[0] += Math.log(a.steady_ns[i]);
      sums[1] += Math.log(b.steady_ns[j]);
      return true;
    },
    means: (tests) => ({ first: Math.exp(sums[0] / tests), second: Math.exp(sums[1] / tests) }),
  };
}
