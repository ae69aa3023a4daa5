"use strict";
// One number per layer and sampled step, in logarithmic colours. A cell is log10 in thousandths (int16); see html.py.
(() => {
  const { data, colour, drawn, number } = sickbay;
  const holder = document.querySelector("figure.heat");
  if (!holder || !data.heatmaps.length) return;

  const [NOT_MEASURED, ZERO, NOT_FINITE] = [-32768, -32767, 32767];
  const STOPS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];
  const BROKEN = [208, 62, 112];
  const canvas = holder.querySelector(".surface canvas");
  const tip = holder.querySelector(".tip");
  const filter = document.getElementById("heat-filter");
  const FOOT = 22; // pixels below the map for the steps

  let map = null;
  let rows = []; // indices into map.rows that pass the filter
  let cursor = null; // [row, column] of the cell that the tip tells about
  let box = { left: 0, width: 0, row: 0 };

  function load(source) {
    const bytes = Uint8Array.from(atob(source.cells), (c) => c.charCodeAt(0));
    return { ...source, rows: data.names[source.names], codes: new Int16Array(bytes.buffer) };
  }
  const maps = data.heatmaps.map(() => null);
  const pick = (i) => (maps[i] ??= load(data.heatmaps[i]));
  const code = (row, column) => map.codes[rows[row] * map.steps.length + column];

  function ramp(share) {
    const at = Math.max(0, Math.min(1, share)) * (STOPS.length - 1);
    const i = Math.min(STOPS.length - 2, Math.floor(at));
    return STOPS[i].map((a, k) => Math.round(a + (STOPS[i + 1][k] - a) * (at - i)));
  }

  function paint(value, blank) {
    if (value === NOT_MEASURED) return blank;
    if (value === NOT_FINITE) return BROKEN;
    if (value === ZERO) return [0, 0, 0];
    return ramp((value / 1000 - map.low) / (map.high - map.low || 1));
  }

  // The end of a layer's name tells most, so what is cut is the beginning.
  function fitted(ctx, text, width) {
    if (ctx.measureText(text).width <= width) return text;
    let cut = 1;
    while (cut < text.length && ctx.measureText(`…${text.slice(cut)}`).width > width) cut += 1;
    return `…${text.slice(cut)}`;
  }

  function image() {
    const made = document.createElement("canvas");
    made.width = map.steps.length;
    made.height = Math.max(1, rows.length);
    const ctx = made.getContext("2d");
    const pixels = ctx.createImageData(made.width, made.height);
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    probe.fillStyle = colour("raised");
    probe.fillRect(0, 0, 1, 1);
    const blank = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
    for (let r = 0; r < rows.length; r += 1) {
      for (let c = 0; c < map.steps.length; c += 1) {
        const at = 4 * (r * map.steps.length + c);
        pixels.data.set([...paint(code(r, c), blank), 255], at);
      }
    }
    ctx.putImageData(pixels, 0, 0);
    return made;
  }

  function draw() {
    const width = holder.clientWidth;
    const ratio = devicePixelRatio || 1;
    const row = Math.max(1.4, Math.min(20, 420 / Math.max(1, rows.length)));
    const height = Math.max(40, Math.ceil(row * rows.length)) + FOOT;
    const ctx = canvas.getContext("2d");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    ctx.scale(ratio, ratio);
    ctx.font = "11px ui-monospace, Menlo, Consolas, monospace";
    const longest = rows.reduce((w, r) => Math.max(w, ctx.measureText(map.rows[r].slice(-60)).width), 0);
    const left = Math.ceil(Math.min(longest + 10, width * (width < 600 ? 0.32 : 0.24)));
    box = { left, width: width - left, row };
    labels(ctx, height);
    ctx.imageSmoothingEnabled = false;
    if (rows.length) ctx.drawImage(image(), left, 0, box.width, row * rows.length);
    else ctx.fillText("No layer has that name.", left, 20);
    outline(ctx);
    canvas.setAttribute("aria-label", `${map.title} of ${rows.length} layers over ${map.steps.length} sampled steps. Arrow keys read single cells.`);
  }

  function labels(ctx, height) {
    ctx.fillStyle = colour("soft");
    ctx.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(13 / box.row));
    for (let r = 0; r < rows.length; r += every) {
      ctx.fillText(fitted(ctx, map.rows[rows[r]], box.left - 8), 0, box.row * (r + (every > 1 ? 0 : 0.5)) + (every > 1 ? 6 : 0));
    }
    const count = Math.max(2, Math.min(map.steps.length, Math.floor(box.width / 90)));
    ctx.textBaseline = "alphabetic";
    for (let i = 0; i < count; i += 1) {
      const column = Math.round((i * (map.steps.length - 1)) / (count - 1 || 1));
      const text = (i === 0 ? "step " : "") + map.steps[column].toLocaleString("en");
      const x = box.left + ((column + 0.5) * box.width) / map.steps.length;
      const wide = ctx.measureText(text).width;
      ctx.fillText(text, Math.max(box.left, Math.min(box.left + box.width - wide, x - wide / 2)), height - 6);
    }
  }

  function outline(ctx) {
    if (!cursor || cursor[0] >= rows.length) return;
    const cell = box.width / map.steps.length;
    ctx.strokeStyle = colour("ink");
    ctx.lineWidth = 1.5;
    ctx.strokeRect(box.left + cursor[1] * cell, cursor[0] * box.row, Math.max(3, cell), Math.max(3, box.row));
  }

  function legend() {
    const strip = holder.querySelector(".legend canvas");
    strip.width = 256;
    const ctx = strip.getContext("2d");
    for (let x = 0; x < 256; x += 1) {
      ctx.fillStyle = `rgb(${ramp(x / 255).join(",")})`;
      ctx.fillRect(x, 0, 1, 10);
    }
    holder.querySelector(".ends").textContent = `${number(10 ** map.low)} to ${number(10 ** map.high)}`;
    holder.querySelector("figcaption").textContent = map.caption;
  }

  function told(value) {
    if (value === NOT_MEASURED) return "not measured";
    if (value === NOT_FINITE) return "not finite (NaN or infinity)";
    return value === ZERO ? "0" : number(Number((10 ** (value / 1000)).toPrecision(3)));
  }

  function tell(row, column) {
    if (row < 0 || row >= rows.length || column < 0 || column >= map.steps.length) return hush();
    cursor = [row, column];
    const next = map.steps[column + 1];
    const last = next === undefined || next === map.steps[column] + 1 ? "" : ` to ${(next - 1).toLocaleString("en")}`;
    const name = document.createElement("b");
    const detail = document.createElement("span");
    name.textContent = map.rows[rows[row]];
    detail.textContent = `step ${map.steps[column].toLocaleString("en")}${last}: ${told(code(row, column))}`;
    tip.replaceChildren(name, detail);
    tip.hidden = false;
    const x = box.left + ((column + 0.5) * box.width) / map.steps.length;
    const y = (row + 1) * box.row;
    tip.style.left = `${Math.max(0, Math.min(x + 12, holder.clientWidth - tip.offsetWidth - 2))}px`;
    tip.style.top = `${y + 8}px`;
    draw();
    return undefined;
  }

  function hush() {
    cursor = null;
    tip.hidden = true;
    draw();
  }

  function choose(index) {
    map = pick(index);
    select();
    legend();
  }

  function select() {
    const wanted = (filter?.value ?? "").toLowerCase();
    rows = map.rows.map((_, i) => i).filter((i) => map.rows[i].toLowerCase().includes(wanted));
    hush();
  }

  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("pointermove", (e) => {
    const area = canvas.getBoundingClientRect();
    const [x, y] = [e.clientX - area.left - box.left, e.clientY - area.top];
    const cell = [Math.floor(y / box.row), Math.floor((x * map.steps.length) / box.width)];
    if (!cursor || cell[0] !== cursor[0] || cell[1] !== cursor[1]) tell(...cell);
  });
  canvas.addEventListener("pointerleave", hush);
  canvas.addEventListener("blur", hush);
  canvas.addEventListener("keydown", (e) => {
    if (e.key === "Escape") hush();
    if (!MOVES[e.key] || !rows.length) return;
    e.preventDefault();
    const [row, column] = cursor ?? [0, 0];
    const [down, right] = cursor ? MOVES[e.key] : [0, 0];
    tell(Math.max(0, Math.min(rows.length - 1, row + down)), Math.max(0, Math.min(map.steps.length - 1, column + right)));
  });
  filter?.addEventListener("input", select);
  const buttons = [...document.querySelectorAll("button[data-heatmap]")];
  buttons.forEach((button) => button.addEventListener("click", () => {
    buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    choose(Number(button.dataset.heatmap));
  }));

  choose(0);
  drawn(draw);
  new ResizeObserver(draw).observe(holder);
})();
