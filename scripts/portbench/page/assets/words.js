// Words, symbols and small builders. All text of the study is set as textContent, never as HTML.

const STATUS = {
  all_pass: { symbol: "✓", word: "all tests pass", says: "every test that ran passed in every run" },
  some_fail: { symbol: "◐", word: "some fail", says: "some of its tests fail" },
  all_fail: { symbol: "✕", word: "all tests fail", says: "all of its tests fail" },
  not_testable: { symbol: "–", word: "not testable", says: "none of its tests could be run, or no outcome is known" },
  absent: { symbol: "·", word: "not run", says: "the study has no result of it" },
};
const MARK = {
  host: { symbol: "H", word: "on the host", says: "a test passed, but its work was done on the host" },
  mixed: { symbol: "M", word: "partly on the host", says: "a test passed, but part of its work was done on the host" },
  wrong: { symbol: "≠", word: "wrong values", says: "the call succeeded and gave wrong values" },
  flaky: { symbol: "~", word: "flaky", says: "a test passed in some runs only" },
  contaminated: { symbol: "!", word: "failed after others", says: "a test failed after others in its process, and was run again alone" },
  unproven: { symbol: "?", word: "synchronization check failed", says: "the synchronization check failed: the clock may not see the device's work" },
};
const PREDICTED = "Predicted: no such device was there, and nothing ran; accepted tests count as passed";
const OUTCOME = { passed: "✓", failed: "✕", timed_out: "⧖", crashed: "☠", skipped: "–", unknown: "?", error: "!" };
const NOTHING = "–";

const spaced = (word) => word.replaceAll("_", " ");

/** Text with invisible characters written as escapes, as in the report on the terminal. */
const shown = (text) =>
  String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

/** ``shown``, line by line. */
const shownLines = (text) => String(text).replaceAll("\t", "    ").split("\n").map(shown).join("\n");

/** An element with attributes (``on…`` are listeners) and children, which are elements or text. */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const byId = (id) => document.getElementById(id);

// Created once: creating one costs more than using it.
const FORMATS = [0, 1, 2, 3, 4, 5].map(
  (digits) => new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }),
);
const whole = (number) => FORMATS[0].format(number);

/** Three significant digits, or all digits before the point. */
function significant(value) {
  const decimals = [100, 10, 1, 0.1, 0.01, 0.001].findIndex((limit) => value >= limit);
  if (decimals >= 0) return FORMATS[decimals].format(value);
  return value ? value.toPrecision(2) : "0";
}

const inMs = (ns) => (Number.isFinite(ns) ? significant(ns / 1e6) : NOTHING);
const inUs = (ns) => (Number.isFinite(ns) ? significant(ns / 1e3) : NOTHING);
const count = (number, noun) => `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;

/** ns as a duration with the unit that fits. */
function duration(ns) {
  if (!Number.isFinite(ns)) return NOTHING;
  const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([size]) => ns >= size) ?? [1, "ns"];
  return `${significant(ns / unit)} ${name}`;
}

/** The sign of a status: colour and symbol; only an outline where it is predicted. */
function chip(status, isPredicted = false) {
  return el("span", { class: `chip ${status}${isPredicted ? " predicted" : ""}`, "aria-hidden": "true" }, STATUS[status].symbol);
}
