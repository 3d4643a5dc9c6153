// The list of functions: search and filters. What is chosen is in the address, so that a view can be linked.
"use strict";
(() => {
  const SYMBOLS = ["✓", "◐", "✕", "–"];
  const MARKS = { host: "on the host", mixed: "partly on the host", wrong: "wrong values", flaky: "flaky", contaminated: "failed after others", unproven: "synchronization check failed" };
  const KEYS = ["framework", "device", "version", "machine", "evidence", "tests", "status", "category", "mark", "decile"];
  const OF_TARGET = ["framework", "device", "version", "machine", "evidence", "tests"];
  const STEP = 100;
  const site = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en-US");
  const rows = [];
  let loading = null;
  let shown = STEP;

  /** Text with invisible characters written as escapes, as everywhere on the site. */
  const safe = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

  function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  window.portbenchData = ({ folder, framework, targets, rows: found }) => {
    for (const [name, slug, statuses, notes, uses, decile, top20] of found) {
      const cells = new Map();
      targets.forEach((target, place) => {
        if (statuses[place] !== "-") cells.set(target, { status: Number(statuses[place]), categories: 0, marks: 0 });
      });
      for (const [place, categories, marks] of notes) Object.assign(cells.get(targets[place]), { categories, marks });
      rows.push({ name, lower: name.toLowerCase(), page: `${folder}/${encodeURIComponent(slug || name)}/index.html`, framework, cells, uses, decile, top20 });
    }
  };

  /** Loads all functions, once. */
  function load() {
    loading ??= Promise.all(site.scripts.map((name) => new Promise((done, failed) => {
      const script = el("script", { src: name });
      script.onload = done;
      script.onerror = () => failed(new Error(name));
      document.head.append(script);
    }))).then(() => rows.sort((a, b) => (b.uses ?? -1) - (a.uses ?? -1) || (a.framework < b.framework ? -1 : a.framework > b.framework ? 1 : a.name < b.name ? -1 : 1)));
    return loading;
  }

  const bitOf = (names, name) => 1 << names.indexOf(name);
  const chosen = () => Object.fromEntries(KEYS.map((key) => [key, byId(`filter-${key}`).value]));

  /** The rows that fit, and the targets that are shown. A function fits if one of these targets does. */
  function filtered() {
    const choice = chosen();
    const targets = site.targets.filter((target) => OF_TARGET.every((key) => !choice[key] || target[key] === choice[key]));
    const words = byId("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const statuses = site.statuses.findIndex(([status]) => status === choice.status);
    const category = choice.category && bitOf(site.categories, choice.category);
    const mark = choice.mark && bitOf(site.marks, choice.mark);
    const fits = (cell) => cell && (statuses < 0 || cell.status === statuses) && (!category || cell.categories & category) && (!mark || cell.marks & mark);
    const restricts = statuses >= 0 || category || mark;
    const ofTargets = OF_TARGET.some((key) => choice[key]);
    const found = rows.filter((row) => words.every((word) => row.lower.includes(word))
      && (!choice.decile || (choice.decile === "top20" ? row.top20 : row.decile === Number(choice.decile)))
      && (!choice.framework || row.framework === choice.framework)
      && (!(restricts || ofTargets) || targets.some(({ number: one }) => fits(row.cells.get(one)))));
    const used = targets.filter((target) => found.some((row) => row.cells.has(target.number)));
    return { found, targets: used, isHit: (cell) => Boolean(restricts && fits(cell)) };
  }

  function said(cell) {
    const categories = site.categories.filter((name) => cell.categories & bitOf(site.categories, name)).map((name) => name.replaceAll("_", " "));
    const marks = site.marks.filter((name) => cell.marks & bitOf(site.marks, name)).map((name) => MARKS[name]);
    const notes = [...categories, ...marks].join(", ");
    return `${site.statuses[cell.status][1]}${notes ? ` (${notes})` : ""}`;
  }

  function show() {
    const { found, targets, isHit } = filtered();
    const head = [...byId("grid").tHead.rows[0].cells];
    for (const cell of head) if (cell.dataset.target) cell.hidden = !targets.some((target) => String(target.number) === cell.dataset.target);
    const lines = found.slice(0, shown).map((row) => el(
      "tr", {},
      el("th", { scope: "row" }, el("a", { href: row.page }, safe(row.name))),
      el("td", { class: "number" }, row.uses === null ? "" : number.format(row.uses)),
      ...targets.map((target) => {
        const cell = row.cells.get(target.number);
        if (!cell) return el("td", {});
        const kind = `${site.statuses[cell.status][0]}${target.evidence === "predicted" ? " predicted" : ""}${isHit(cell) ? " hit" : ""}`;
        return el("td", { class: kind, title: said(cell) }, el("span", { "aria-hidden": "true" }, SYMBOLS[cell.status]), el("span", { class: "vh" }, said(cell)));
      }),
    ));
    byId("grid").tBodies[0].replaceChildren(...lines);
    byId("count").textContent = `${number.format(found.length)} of ${number.format(rows.length)} functions on ${number.format(targets.length)} targets`;
    byId("more").hidden = found.length <= shown;
  }

  function keep() {
    const entries = Object.entries({ ...chosen(), text: byId("text").value.trim() }).filter(([, value]) => value);
    const address = new URLSearchParams(entries).toString();
    history.replaceState(null, "", `#${address || "functions"}`);
  }

  async function update() {
    shown = STEP;
    byId("count").textContent ||= "Loading…";
    try {
      await load();
      show();
    } catch (error) {
      byId("count").textContent = `${error.message} cannot be loaded: copy the whole folder of the site.`;
    }
  }

  function fill(key, values) {
    if (values.length < 2) byId(`filter-${key}`).parentElement.hidden = true;
    byId(`filter-${key}`).append(el("option", { value: "" }, "all"), ...values.map(([value, word]) => el("option", { value }, safe(word))));
  }

  function restore() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const known = [...KEYS, "text"].filter((key) => wanted.has(key));
    for (const key of KEYS) byId(`filter-${key}`).value = wanted.get(key) ?? "";
    for (const key of KEYS) if (byId(`filter-${key}`).selectedIndex < 0) byId(`filter-${key}`).value = "";
    byId("text").value = wanted.get("text") ?? "";
    if (known.length || rows.length) update();
    if (known.length) byId("functions").scrollIntoView();
  }

  for (const key of OF_TARGET) fill(key, [...new Set(site.targets.map((target) => target[key]))].map((value) => [value, value]));
  fill("status", site.statuses);
  fill("category", site.categories.map((name) => [name, name.replaceAll("_", " ")]));
  fill("mark", site.marks.map((name) => [name, MARKS[name]]));
  fill("decile", [["top20", "top 20"], ...Array.from({ length: 10 }, (_, place) => [String(place + 1), String(place + 1)])]);
  const form = byId("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { keep(); update(); });
  form.addEventListener("reset", () => setTimeout(() => { keep(); update(); }));
  // The data begin to load when somebody reaches for the filters, not before.
  form.addEventListener("focusin", load, { once: true });
  byId("more").addEventListener("click", async () => { shown += rows.length ? STEP : 0; await load(); show(); });
  byId("more").hidden = false;
  addEventListener("hashchange", restore);
  restore();
})();
