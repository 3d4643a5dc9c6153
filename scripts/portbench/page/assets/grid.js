// A Tabulator grid for the keyboard: Tab reaches one cell, arrows lead to the others, Enter presses it.

/** Makes the grid. ``press(data, field, back)`` is called for a click or Enter on a cell; ``back()`` returns the focus to it. */
function makeGrid(element, options, press) {
  const table = new Tabulator(element, {
    height: "100%",
    layout: "fitData",
    renderVerticalBuffer: 120,
    keybindings: false,
    index: "id",
    columnDefaults: { resizable: false, headerHozAlign: "left" },
    ...options,
  });
  let current = null;
  let held = null;
  const cellOf = (node) => node.closest?.(".tabulator-cell");

  table.on("cellClick", (event, cell) => press(cell.getData(), cell.getField(), () => focusCell(table, cell.getRow(), cell.getField())));
  // Set on demand: there are thousands of cells.
  element.addEventListener("mouseover", (event) => {
    const cell = cellOf(event.target);
    if (cell && !cell.title) cell.title = cell.getAttribute("aria-label") ?? "";
  });
  element.addEventListener("focusin", (event) => {
    const cell = cellOf(event.target);
    if (!cell) return;
    if (current) current.tabIndex = -1;
    current = cell;
    current.tabIndex = 0;
    held = { row: table.getRow(cell.closest(".tabulator-row")), field: cell.getAttribute("tabulator-field") };
  });
  // Rows that are drawn again lose the focus: their cell gets it back, unless the reader went elsewhere.
  const release = (event) => { if (!element.contains(event.target)) held = null; };
  for (const name of ["focusin", "pointerdown"]) document.addEventListener(name, release);
  table.on("renderComplete", () => {
    if (held && document.activeElement === document.body) focusCell(table, held.row, held.field);
  });
  const offerFirst = () => {
    if (current?.isConnected) return;
    current = element.querySelector(".tabulator-row .tabulator-cell");
    if (current) current.tabIndex = 0;
  };
  for (const name of ["renderComplete", "scrollVertical"]) table.on(name, offerFirst);
  element.addEventListener("keydown", (event) => {
    const cell = cellOf(event.target);
    if (cell && !event.altKey && !event.metaKey) walk(table, cell, event, press);
  });
  return table;
}

function walk(table, element, event, press) {
  const row = table.getRow(element.closest(".tabulator-row"));
  const field = element.getAttribute("tabulator-field");
  if (!row) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    press(row.getData(), field, () => focusCell(table, row, field));
    return;
  }
  const fields = table.getColumns().filter((column) => column.isVisible()).map((column) => column.getField());
  const rows = table.getRows("active");
  const place = { x: fields.indexOf(field), y: row.getPosition() - 1 };
  const many = Math.max(1, Math.floor(table.element.clientHeight / row.getElement().clientHeight) - 2);
  const steps = {
    ArrowUp: () => (place.y -= 1), ArrowDown: () => (place.y += 1),
    ArrowLeft: () => (place.x -= 1), ArrowRight: () => (place.x += 1),
    PageUp: () => (place.y -= many), PageDown: () => (place.y += many),
    Home: () => { place.x = 0; if (event.ctrlKey) place.y = 0; },
    End: () => { place.x = fields.length - 1; if (event.ctrlKey) place.y = rows.length - 1; },
  };
  if (!steps[event.key]) return;
  event.preventDefault();
  steps[event.key]();
  const x = Math.min(Math.max(place.x, 0), fields.length - 1);
  const y = Math.min(Math.max(place.y, 0), rows.length - 1);
  focusCell(table, rows[y], fields[x]);
}

/** Brings a cell into view and gives it the focus. */
async function focusCell(table, row, field) {
  await table.scrollToRow(row, "nearest", false).catch(() => {});
  const cell = row.getCell(field)?.getElement();
  if (!cell) return;
  cell.tabIndex = 0;
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
}
