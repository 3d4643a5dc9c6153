// Filters: what is chosen of each kind, which rows and targets are left.

const KINDS = [
  { key: "framework", title: "Framework", ofTargets: true },
  { key: "device", title: "Device", ofTargets: true },
  { key: "version", title: "Version", ofTargets: true },
  { key: "machine", title: "Machine", ofTargets: true },
  { key: "evidence", title: "Evidence", ofTargets: true },
  { key: "status", title: "Status" },
  { key: "category", title: "Category" },
  { key: "marks", title: "Marks" },
  { key: "decile", title: "Decile" },
];

/** The values of a kind that occur in the study: [value, word]. */
function valuesOf(kind) {
  if (kind.ofTargets) return [...new Set(study.targets.map((target) => target[kind.key]))].map((value) => [value, value]);
  if (kind.key === "status") return [...study.statuses, "absent"].filter(occurs).map((value) => [value, STATUS[value].word]);
  if (kind.key === "category") return seen("categories", study.categories).map((value) => [value, spaced(value)]);
  if (kind.key === "marks") return seen("marks", study.marks).map((value) => [value, MARK[value].word]);
  const deciles = [...new Set(study.rows.decile)].filter((value) => value !== null).sort((a, b) => a - b);
  const top = study.rows.top20.some(Boolean) ? [["top20", "top 20"]] : [];
  return [...top, ...deciles.map((value) => [String(value), String(value)])];
}

function occurs(status) {
  return study.targets.some((target) => {
    for (let row = 0; row < study.size; row += 1) if (statusOf(target, row) === status) return true;
    return false;
  });
}

function seen(column, names) {
  const bits = study.targets.reduce((all, target) => target[column].reduce((found, one) => found | one, all), 0);
  return named(bits, names);
}

/** The filters as menus of boxes to tick; a kind with nothing to choose from has none. */
function makeFilters() {
  for (const kind of KINDS) {
    const values = valuesOf(kind);
    if (values.length < 2) continue;
    const summary = el("summary", {});
    const boxes = values.map(([value, word]) =>
      el("label", {}, el("input", { type: "checkbox", value, onchange: tick }), kind.key === "status" ? chip(value) : null, shown(word)),
    );
    const menu = el("details", { class: "menu", "data-kind": kind.key }, summary, el("fieldset", {}, el("legend", {}, kind.title), boxes));
    function tick() {
      const ticked = [...menu.querySelectorAll("input:checked")].map((box) => box.value);
      choose({ [kind.key]: ticked });
    }
    kind.show = () => {
      const chosen = state[kind.key];
      for (const box of menu.querySelectorAll("input")) box.checked = chosen.includes(box.value);
      const words = values.filter(([value]) => chosen.includes(value)).map(([, word]) => shown(word));
      summary.textContent = words.length ? `${kind.title}: ${words.length > 2 ? words.length : words.join(", ")}` : kind.title;
      menu.classList.toggle("chosen", words.length > 0);
    };
    byId("filters").append(menu);
  }
  document.addEventListener("click", (event) => closeMenus(event.target.closest?.("details.menu")));
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (!open) return;
    open.open = false;
    open.querySelector("summary").focus();
    event.stopImmediatePropagation();
  });
  byId("text").addEventListener("input", (event) => choose({ text: event.target.value }));
  byId("more").addEventListener("click", () => {
    const open = byId("toolbar").classList.toggle("open");
    byId("more").setAttribute("aria-expanded", String(open));
  });
  byId("reset").addEventListener("click", () => {
    choose({ ...Object.fromEntries(KINDS.map(({ key }) => [key, []])), text: "", cause: "", changes: [] });
  });
  byId("cause").addEventListener("click", () => choose({ cause: "" }));
}

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
}

function showFilters() {
  if (byId("text").value !== state.text) byId("text").value = state.text;
  const chosen = KINDS.filter((kind) => state[kind.key].length);
  for (const kind of KINDS) kind.show?.();
  const cause = causeOf(state.cause);
  byId("cause").hidden = !cause;
  byId("cause").textContent = cause ? `Cause: ${shown(cause.words)} \u00d7` : "";
  byId("reset").hidden = !chosen.length && !state.text && !cause && !state.changes.length;
  byId("more").textContent = chosen.length ? `Filters (${chosen.length})` : "Filters";
}

const isChosen = (key, value) => !state[key].length || state[key].includes(value);

/** The targets that are shown. */
function chosenTargets() {
  return study.targets.filter((target) => KINDS.every((kind) => !kind.ofTargets || isChosen(kind.key, target[kind.key])));
}

/** Which rows are shown (1 or 0 each): those with a cell in ``targets`` that has a chosen status, category and mark. */
function chosenRows(targets) {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const bitsOf = (key, names) => state[key].reduce((bits, value) => bits | (names.includes(value) ? 1 << names.indexOf(value) : 0), 0);
  const categories = bitsOf("category", study.categories);
  const marks = bitsOf("marks", study.marks);
  const byCell = state.status.length || state.category.length || state.marks.length;
  const mask = new Uint8Array(study.size);
  const cause = causeOf(state.cause);
  const caused = cause && new Set(cause.rows);
  for (let row = 0; row < study.size; row += 1) {
    if (caused && !caused.has(row)) continue;
    if (!words.every((word) => study.lower[row].includes(word))) continue;
    if (!isChosen("framework", study.rows.framework[row])) continue;
    if (state.decile.length && !isOfDecile(row)) continue;
    mask[row] = targets.some((target) => {
      const status = statusOf(target, row);
      if (status === null) return false;
      if (!byCell) return true;
      return (
        isChosen("status", status) &&
        (!state.category.length || (target.categories[row] & categories) !== 0) &&
        (!state.marks.length || (target.marks[row] & marks) !== 0)
      );
    });
  }
  return mask;
}

function isOfDecile(row) {
  const decile = study.rows.decile[row];
  return (decile !== null && state.decile.includes(String(decile))) || (study.rows.top20[row] && state.decile.includes("top20"));
}
