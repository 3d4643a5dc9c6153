// Every page: how old a date is, and a button that copies a command. Pages work without it.
"use strict";
(() => {
  const UNITS = [["year", 365], ["month", 30], ["week", 7], ["day", 1]];

  /** "3 weeks ago" of a moment; '' for one in the future. */
  function age(moment) {
    const days = Math.floor((Date.now() - Date.parse(moment)) / 86_400_000);
    if (!(days >= 0)) return "";
    const [unit, size] = UNITS.find(([, one]) => days >= one) ?? ["day", 1];
    return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(-Math.floor(days / size), unit);
  }

  for (const time of document.querySelectorAll("time")) {
    const words = age(time.dateTime);
    if (words) time.title = words;
    if (words && time.closest(".lead, .card, .age")) time.textContent += ` (${words})`;
  }

  for (const box of document.querySelectorAll(".command")) {
    const text = box.querySelector("code").textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(box.querySelector("code"));
        button.textContent = "Press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    box.append(button);
  }
  document.body.dataset.ready = "";
})();
