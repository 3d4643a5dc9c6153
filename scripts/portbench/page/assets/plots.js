// Plots: the raw samples of a test, and the latencies of two targets against each other.

const DARK = matchMedia("(prefers-color-scheme: dark)");
const plots = new Set();

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Keeps a plot in the width of its element and in the colours of the scheme, until the element is gone. */
function keepPlot(element, make) {
  forget(element);
  const entry = { element, width: 0, draw: () => {
    entry.plot?.destroy();
    entry.width = element.clientWidth;
    entry.plot = make(Math.max(200, entry.width));
  } };
  entry.observer = new ResizeObserver(() => {
    if (!element.isConnected) forget(element);
    else if (element.clientWidth && element.clientWidth !== entry.width) entry.draw();
  });
  plots.add(entry);
  entry.draw();
  entry.observer.observe(element);
}

function forget(element) {
  for (const entry of plots) {
    if (entry.element !== element && entry.element.isConnected) continue;
    entry.observer.disconnect();
    entry.plot?.destroy();
    plots.delete(entry);
  }
}

DARK.addEventListener("change", () => plots.forEach((entry) => entry.element.clientWidth && entry.draw()));

function axis(label, values, more = {}) {
  const line = colour("line");
  return {
    label, labelSize: 22, size: 68, labelFont: "12px system-ui", font: "11px system-ui", stroke: colour("soft"),
    grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, values, ...more,
  };
}

/** A mark at each power of ten, and between them where there are few. */
const marksBetween = (low, high) => () => {
  const steps = Math.round(Math.log10(high / low)) > 1 ? [1] : [1, 2, 5];
  const found = [];
  for (let power = low; power <= high * 1.001; power *= 10) for (const step of steps) if (power * step <= high * 1.001) found.push(power * step);
  return found;
};
// uPlot passes null for a mark without room.
const inUnits = (plot, splits) => splits.map((value) => (value === null ? null : duration(value).replace(/\.0+(?= )/, "")));

/** A range of whole powers of ten. */
const powers = (values) => {
  const positive = values.filter((value) => value > 0);
  if (!positive.length) return [1, 10];
  const low = 10 ** Math.floor(Math.log10(Math.min(...positive)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...positive)));
  return [low, high > low ? high : low * 10];
};

/** Samples in the order in which they were taken: first calls as circles, calls after the warm-up as squares. */
function plotSamples(element, cold, steady) {
  const length = Math.max(cold.length, steady.length, 1);
  const range = (values) => Array.from({ length }, (_, place) => values[place] ?? null);
  const all = powers([...cold, ...steady]);
  keepPlot(element, (width) =>
    new uPlot(
      {
        width, height: 170, padding: [8, 12, 0, 0], cursor: { drag: { x: false, y: false }, y: false },
        scales: { x: { time: false, range: [0, length + 1] }, y: { distr: 3, range: () => all } },
        axes: [axis("sample", (plot, splits) => splits.map((value) => (Number.isInteger(value) && value > 0 ? value : null)), { size: 34, labelSize: 18 }), axis("time of a call", inUnits, { splits: marksBetween(...all) })],
        series: [
          { label: "sample", value: (plot, value) => value ?? NOTHING },
          dots("first call", colour("cold"), (path, x, y) => path.arc(x, y, 4 * devicePixelRatio, 0, 7)),
          dots("steady state", colour("steady"), (path, x, y) => { const side = 6 * devicePixelRatio; path.rect(x - side / 2, y - side / 2, side, side); }),
        ],
      },
      [Array.from({ length }, (_, place) => place + 1), range(cold), range(steady)],
      element,
    ),
  );
}

function dots(label, stroke, shape) {
  return {
    label, stroke, fill: stroke, value: (plot, value) => duration(value ?? NaN),
    paths: (plot, series, from, to) => {
      const path = new Path2D();
      for (let place = from; place <= to; place += 1) {
        const value = plot.data[series][place];
        if (value === null || value <= 0) continue;
        const x = plot.valToPos(plot.data[0][place], "x", true);
        const y = plot.valToPos(value, "y", true);
        const one = new Path2D();
        shape(one, x, y);
        path.addPath(one);
      }
      return { stroke: null, fill: path, flags: 3 };
    },
    points: { show: false },
  };
}

/**
 * Latencies of two targets, both on the same logarithmic scale. ``points``: {row, x, y} in ns; ``limit``: the ratio from
 * which on the second is intolerable; ``hover(point or null)`` and ``press(point)`` are called for the pointer.
 */
function plotScatter(element, points, titles, limit, hover, press) {
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const [low, high] = powers(sorted.flatMap(({ x, y }) => [x, y]));
  const range = () => [low, high];
  const splits = marksBetween(low, high);
  let near = null;
  keepPlot(element, (width) => {
    const plot = new uPlot(
      {
        width, height: Math.min(440, Math.max(300, width * 0.6)), padding: [12, 16, 0, 0], legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false }, dataIdx: (plot) => (find(plot), null) },
        scales: { x: { time: false, distr: 3, range }, y: { distr: 3, range } },
        axes: [axis(titles[0], inUnits, { size: 40, splits }), axis(titles[1], inUnits, { splits })],
        series: [{}, { ...dots("", `${colour("steady")}b0`, (path, x, y) => path.arc(x, y, 3.5 * devicePixelRatio, 0, 7)) }],
        hooks: { drawAxes: [(plot) => { diagonal(plot, 1, colour("soft"), []); diagonal(plot, limit, colour("all_fail"), [6, 4]); }], draw: [ring] },
      },
      [sorted.map((point) => point.x), sorted.map((point) => point.y)],
      element,
    );
    plot.over.addEventListener("click", () => near && press(near));
    plot.over.addEventListener("mouseleave", () => setNear(plot, null));
    return plot;
  });

  function setNear(plot, found) {
    if (found === near) return;
    near = found;
    plot.over.style.cursor = near ? "pointer" : "";
    hover(near);
    plot.redraw(false);
  }

  function find(plot) {
    let best = 14 ** 2;
    let found = null;
    const { left, top } = plot.cursor;
    if (left >= 0) {
      for (const point of sorted) {
        const square = (plot.valToPos(point.x, "x") - left) ** 2 + (plot.valToPos(point.y, "y") - top) ** 2;
        if (square < best) [best, found] = [square, point];
      }
    }
    if (found !== near) queueMicrotask(() => setNear(plot, found));
  }

  function ring({ ctx, valToPos }) {
    if (!near) return;
    ctx.save();
    ctx.beginPath();
    ctx.strokeStyle = colour("ink");
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.arc(valToPos(near.x, "x", true), valToPos(near.y, "y", true), 7 * devicePixelRatio, 0, 7);
    ctx.stroke();
    ctx.restore();
  }

  function diagonal(plot, ratio, stroke, dash) {
    const { ctx, bbox } = plot;
    const at = (value, axis) => plot.valToPos(value, axis, true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.beginPath();
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.moveTo(at(low, "x"), at(low * ratio, "y"));
    ctx.lineTo(at(high, "x"), at(high * ratio, "y"));
    ctx.stroke();
    ctx.restore();
  }
}
