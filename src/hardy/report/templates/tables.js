// Tables that sort by a click on a heading, and filters over their rows.
(() => {
  "use strict";
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text);
    return text === "" ? null : Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b
      : typeof a === "number" ? -1 : typeof b === "number" ? 1
      : a < b ? -1 : a > b ? 1 : 0;

  const sort = (heading) => {
    const table = heading.closest("table");
    const body = table.tBodies[0];
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map((row) => [value(row, heading.cellIndex), row]);
    rows.sort(([a], [b]) =>
      a === null ? (b === null ? 0 : 1) : b === null ? -1 : compare(a, b) * (down ? -1 : 1));
    for (const [, row] of rows) body.append(row);
  };
  for (const button of document.querySelectorAll("table.sortable thead button")) {
    button.addEventListener("click", () => sort(button.closest("th")));
  }

  // Every control has data-filter: the name of a data attribute of the rows, or "text".
  for (const form of document.querySelectorAll("form.filters")) {
    const controls = [...form.querySelectorAll("[data-filter]")];
    const rows = [...document.querySelectorAll("tbody tr[data-text]")];
    const ranked = rows.filter((row) => !row.classList.contains("published"));
    const told = form.querySelector("output");
    const apply = () => {
      for (const row of rows) {
        row.hidden = !controls.every(({ dataset, value }) =>
          dataset.filter === "text"
            ? row.dataset.text.includes(value.trim().toLowerCase())
            : value === "" || (row.dataset[dataset.filter] ?? "not stated") === value);
      }
      for (const part of document.querySelectorAll(".part")) {
        part.hidden = !part.querySelector("tbody tr:not([hidden])");
      }
      const left = ranked.filter((row) => !row.hidden).length;
      told.textContent = `${left} of ${ranked.length}`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }
})();
