"use strict";
// What every part of the page needs: the data, colours from the style sheet, and small conveniences for tables and code.
const sickbay = (() => {
  document.documentElement.classList.add("scripted");
  const data = JSON.parse(document.getElementById("data").textContent);
  const redraws = [];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // Draw now, and again whenever the colours change: the system's scheme, or paper.
  function drawn(draw) {
    redraws.push(draw);
    draw();
  }
  const again = () => redraws.forEach((draw) => draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("print").addEventListener("change", again);

  function number(v) {
    if (v == null || Number.isNaN(v)) return "–";
    const size = Math.abs(v);
    if (v !== 0 && (size < 1e-3 || size >= 1e6)) return v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
    if (size >= 1e4) return Math.round(v).toLocaleString("en");
    return String(Number(v.toPrecision(4)));
  }

  // Columns of a table, on request by mouse or keyboard.
  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (head.classList.contains("axis")) return;
      head.tabIndex = 0;
      const sort = () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
        };
        const rows = [...table.tBodies[0].rows].sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          const order = typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
          return down ? -order : order;
        });
        table.tBodies[0].append(...rows);
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (e) => {
        if (e.key !== "Enter" && e.key !== " ") return;
        e.preventDefault();
        sort();
      });
    });
  }

  function filterable(input) {
    const rows = [...document.getElementById(input.dataset.filter).tBodies[0].rows];
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    });
  }

  async function copy(button) {
    const text = button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // No clipboard for this page (an old browser, a sandboxed frame): the old way.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("input[data-filter]").forEach(filterable);
  document.querySelectorAll("button.copy").forEach((b) => b.addEventListener("click", () => copy(b)));
  return { data, colour, drawn, number };
})();
