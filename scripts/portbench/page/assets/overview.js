// What the page opens on: the findings, a card for each framework and device, and links to the files beside the page.

const FRAMEWORKS = { torch: "PyTorch", tensorflow: "TensorFlow", jax: "JAX" };
const KIND_ORDER = ["gpu", "tpu", "pjrt", "privateuse1", "pluggable", "xla", "rocm", "cpu"];
const FIRST_SENTENCES = 5;

/** The kind of a device: "tpu" of "tpu-v5e". */
const kindOf = (target) => /^(privateuse1|[a-z]+)/.exec(target.device)?.[0] ?? target.device;

/** A device in full: "GPU Tesla T4", "TPU v5e", "CPU". */
function deviceTitle(target) {
  const kind = kindOf(target).toUpperCase();
  const model = target.isPredicted ? /^tpu-?(\w+)$/.exec(target.device)?.[1] : ["gpu", "tpu"].includes(target.device) ? target.model : null;
  if (!model) return kind;
  return model.startsWith(kind) ? model : `${kind} ${model}`;
}

const frameworkTitle = (target) => `${FRAMEWORKS[target.framework] ?? target.framework} ${target.version}`;

/** The same without the version where the study has only one of this framework. */
function shortTitle(target) {
  const versions = new Set(study.targets.filter((one) => one.framework === target.framework).map((one) => one.version));
  return versions.size > 1 ? frameworkTitle(target) : FRAMEWORKS[target.framework] ?? target.framework;
}

/** GPUs before TPUs before processors; of one kind, what was measured before what was predicted. */
function byDevice(a, b) {
  const rank = (target) => (KIND_ORDER.indexOf(kindOf(target)) + KIND_ORDER.length + 1) % (KIND_ORDER.length + 1);
  return rank(a) - rank(b) || Number(a.isPredicted) - Number(b.isPredicted);
}

/** How many functions of a target have each status, as in the report; successors do not count. */
function statusCounts(target) {
  return study.counts[target.number] ?? study.statuses.map((_, status) => countStatus(target, status));
}

function makeOverview() {
  const said = study.sentences.map((sentence) => el("li", {}, shown(sentence)));
  const rest = said.splice(FIRST_SENTENCES);
  byId("findings").append(
    ...(said.length ? [el("ul", {}, said)] : []),
    ...(rest.length ? [el("details", {}, el("summary", {}, `${count(rest.length, "more headline")}`), el("ul", {}, rest))] : []),
  );
  const known = new Set([...Object.keys(FRAMEWORKS), ...study.targets.map((target) => target.framework)]);
  for (const framework of known) {
    const own = study.targets.filter((target) => target.framework === framework).sort((a, b) => Number(!isRated(a)) - Number(!isRated(b)) || byDevice(a, b));
    if (!own.length) continue;
    const title = el("h2", {}, shown(FRAMEWORKS[framework] ?? framework));
    byId("cards").append(el("section", { class: "framework" }, title, el("div", { class: "cards" }, own.map(card))));
  }
  makeCauses();
  byId("files").append(...linkList());
}

const isRated = (target) => statusCounts(target).slice(0, 3).some(Boolean);

/** The choice that shows one target alone. */
const onlyTarget = (target) => ({
  framework: [target.framework], device: [target.device], version: [target.version], machine: study.hasMachines ? [target.machine] : [], cause: "",
});

function card(target) {
  const counts = statusCounts(target);
  const [passed, some, none, untestable] = counts;
  const rated = passed + some + none;
  const verb = target.isPredicted ? "accepted" : "pass";
  const figure = rated ? `${whole(passed)} of ${whole(rated)} ${verb}` : rateOf(target);
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  for (const [place, name] of study.statuses.slice(0, 3).entries()) {
    const part = el("i", { class: name });
    part.style.flexGrow = counts[place];
    if (counts[place]) bar.append(part);
  }
  const timed = passed - countStatus(target, 0);
  const use = study.by_use[target.number];
  const notes = [use ? `${use[0].toFixed(1)} % by use` : "", untestable && rated ? `${whole(untestable)} not testable` : "", timed > 0 ? `${whole(timed)} timed only` : ""].filter(Boolean);
  const words = counts.map((number, place) => [number, STATUS[study.statuses[place]].word]).filter(([number]) => number);
  const details = words.map(([number, word]) => `${word}: ${whole(number)}`).join(", ");
  const where = `${target.isPredicted ? "Predicted" : "Measured"}, ${frameworkTitle(target)}, ${deviceTitle(target)} on ${target.machine}`;
  const pick = () => {
    choose(onlyTarget(target));
    byId("toolbar").scrollIntoView();
  };
  return el(
    "button", { type: "button", class: `card${target.isPredicted ? " predicted" : ""}`, title: shown(`${where}. ${details}. Functions of which a test ran: ${whole(rated)}.${timed > 0 ? " One that was timed only counts as passing, as in the paper." : ""}`), onclick: pick },
    el("b", {}, shown(deviceTitle(target))),
    el("small", {}, el("span", { class: "evidence-word" }, target.isPredicted ? "predicted" : "measured"), shown(` ${target.version}, ${target.machine}`)),
    el("span", { class: "figure" }, figure),
    bar,
    el("small", {}, notes.join(", ") || "\u00a0"),
  );
}

/** Links to report.md, and lists of tables and figures in each of their formats. */
function linkList() {
  return Object.entries(study.links).map(([folder, files]) => {
    const links = Object.entries(files).map(([stem, formats]) => [stem, Object.entries(formats)]);
    if (!folder) return links.map(([stem, formats]) => el("a", { href: formats[0][1] }, `${stem}.${formats[0][0]}`));
    const items = links.map(([stem, formats]) => el("li", {}, `${stem} `, formats.flatMap(([format, address]) => [el("a", { href: address }, format), " "])));
    return el("details", { class: "menu links" }, el("summary", {}, `${folder} (${whole(items.length)})`), el("ul", {}, items));
  }).flat();
}

/** Below the overview the grid fills the window. Until it does, the wheel moves the page and not the grid. */
function dock() {
  const bar = byId("toolbar");
  const measure = () => {
    document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`);
    document.body.classList.toggle("docked", bar.getBoundingClientRect().top <= 1);
  };
  new ResizeObserver(measure).observe(bar);
  new ResizeObserver(measure).observe(byId("overview"));
  addEventListener("scroll", measure, { passive: true });
  addEventListener("resize", measure);
  measure();
}
