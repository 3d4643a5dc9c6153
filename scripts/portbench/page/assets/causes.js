// Why tests did not pass: a line for each cause, by target; and what passes in each module.

const LARGE = 300;
const FIRST_CAUSES = 12;

/** The cause that a choice such as "0:3" names: the number of its target, and its own. */
function causeOf(chosen) {
  const [target, number] = chosen.split(":");
  return chosen ? study.causes[target]?.[number] : undefined;
}

/** Of a large study the causes are open: nobody reads a thousand rows first. */
function makeCauses() {
  const failing = study.targets.filter((target) => study.causes[target.number].length).sort(byDevice);
  if (failing.length) {
    const parts = failing.map((target, place) => causesOf(target, place === 0));
    byId("causes").append(section("Why tests did not pass", study.size > LARGE, parts));
  }
  if (study.modules.names.length > 1) byId("causes").append(section("What passes in each module", false, moduleTable()));
}

function section(title, open, parts) {
  const made = el("details", { class: "over-time" }, el("summary", {}, title), parts);
  made.open = open;
  return made;
}

function causesOf(target, open) {
  const causes = study.causes[target.number];
  const tests = causes.reduce((sum, cause) => sum + cause.tests, 0);
  const [first, rest] = [causes.slice(0, FIRST_CAUSES), causes.slice(FIRST_CAUSES)];
  const body = el("tbody", {}, first.map((cause, number) => causeRow(target, cause, number)));
  const more = el("button", { type: "button", hidden: "" }, `${count(rest.length, "more cause")}`);
  more.hidden = !rest.length;
  more.addEventListener("click", () => {
    body.append(...rest.map((cause, number) => causeRow(target, cause, FIRST_CAUSES + number)));
    more.hidden = true;
  });
  const titles = ["cause", "category", "tests", "functions", ...(study.by_use[target.number] ? ["use %"] : []), "for example"];
  const head = el("tr", {}, titles.map((title) => el("th", { scope: "col", class: ["tests", "functions", "use %"].includes(title) ? "number" : "" }, title)));
  const title = `${targetTitle(target)}: ${count(tests, target.isPredicted ? "refused test" : "failing test")}, ${count(causes.length, "cause")}`;
  const frame = el("div", { class: "over-time-table", tabindex: "0", role: "region", "aria-label": shown(title) }, el("table", {}, el("thead", {}, head), body));
  const made = el("details", { class: "causes" }, el("summary", {}, shown(title)), frame, more);
  made.open = open;
  return made;
}

function causeRow(target, cause, number) {
  const use = study.by_use[target.number];
  const show = () => {
    choose({ view: "matrix", ...onlyTarget(target), status: [], category: [], marks: [], text: "", cause: `${target.number}:${number}` }, true);
    byId("toolbar").scrollIntoView();
  };
  const [name, test] = cause.example;
  const open = () => choose({ function: name, of: "", target: target.key }, true);
  const numbers = [whole(cause.tests), whole(cause.rows.length), ...(use ? [((100 * cause.uses) / use[1]).toFixed(1)] : [])];
  return el(
    "tr", {},
    el("td", {}, el("button", { type: "button", class: "link", title: "Show the functions of this cause", onclick: show }, shown(cause.words))),
    el("td", {}, shown(cause.categories.map(spaced).join(", "))),
    numbers.map((text) => el("td", { class: "number" }, text)),
    el("td", {}, el("button", { type: "button", class: "link", title: shown(`${name} ${test}`), onclick: open }, shown(name))),
  );
}

function moduleTable() {
  const targets = study.targets.filter((target) => study.modules.passed[target.number].length).sort(byDevice);
  const head = el("tr", {}, el("th", { scope: "col" }, "module"), targets.map((target) => el("th", { scope: "col", class: "number" }, shown(targetTitle(target)))));
  const cell = (found) => (found?.[1] ? `${((100 * found[0]) / found[1]).toFixed(0)} % of ${whole(found[1])}` : "");
  const rows = study.modules.names.map((name, place) =>
    el("tr", {}, el("td", {}, shown(name)), targets.map((target) => el("td", { class: "number" }, cell(study.modules.passed[target.number][place])))),
  );
  const note = el("p", { class: "soft" }, "Share of the functions with a status whose tests all pass; tables/ has all counts.");
  return [el("div", { class: "over-time-table", tabindex: "0", role: "region", "aria-label": "By module" }, el("table", {}, el("thead", {}, head), el("tbody", {}, rows))), note];
}
