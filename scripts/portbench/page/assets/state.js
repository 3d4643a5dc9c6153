// What the reader has chosen. The address has it after the #, so that a view can be kept and sent.

const DEFAULTS = {
  view: "matrix", text: "", framework: [], device: [], version: [], machine: [], evidence: [], status: [], category: [], marks: [],
  decile: [], cause: "", show: "cause", sort: "", first: "", second: "", method: "paper", changes: [],
  function: "", of: "", target: "", order: "",
};
const state = { ...DEFAULTS };
const listeners = [];

/** Calls ``listener(changed)`` with the set of changed keys whenever the choice changes. */
function onChange(listener) {
  listeners.push(listener);
}

/** Changes some of the choice. ``isStep``: the browser's Back leads to where it was. */
function choose(changes, isStep = false) {
  const changed = assign(changes);
  if (!changed.size) return;
  history[isStep ? "pushState" : "replaceState"](null, "", address());
  for (const listener of listeners) listener(changed);
}

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = Object.fromEntries(
    Object.entries(DEFAULTS).map(([key, usual]) => [
      key,
      Array.isArray(usual) ? given.getAll(key) : given.get(key) ?? usual,
    ]),
  );
  if (!["matrix", "compare", "about"].includes(found.view)) found.view = DEFAULTS.view;
  const changed = assign(found);
  if (changed.size) for (const listener of listeners) listener(changed);
}

function assign(changes) {
  const changed = new Set();
  for (const [key, value] of Object.entries(changes)) {
    if (String(state[key]) !== String(value)) changed.add(key);
    state[key] = value;
  }
  return changed;
}

function address() {
  const words = new URLSearchParams();
  for (const [key, usual] of Object.entries(DEFAULTS)) {
    if (Array.isArray(usual)) for (const value of state[key]) words.append(key, value);
    else if (state[key] !== usual) words.set(key, state[key]);
  }
  return `#${words}`;
}
