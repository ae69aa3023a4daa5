"use strict";
// Curves over steps. Each figure already holds a sketch; it is replaced if the chart library is there.
(() => {
  if (typeof uPlot === "undefined") {
    document.querySelectorAll(".scale").forEach((button) => button.remove());
    return;
  }
  const { data, colour, drawn, number } = sickbay;
  const FONT = "12px system-ui, sans-serif";

  // What is drawn: each line, and below it the range of its extremes where it stands for more values than it has points.
  function layout(chart) {
    return chart.lines.flatMap((line) => [
      { line, values: line.values, part: "middle" },
      ...(line.low.length && line.role !== "soft" ? [{ line, values: line.high, part: "high" }, { line, values: line.low, part: "low" }] : []),
    ]);
  }

  // Lines with their own steps, on one axis: [steps, values, values...].
  function table(drawing, scale) {
    const parts = drawing.map(({ line, values }) => [line.steps, values.map(scale.to)]);
    return uPlot.join(parts, parts.map(() => [0, 2]));
  }

  // How values become heights and back. The library labels no axis beyond 17 digits, and losses do explode that far: so
  // a logarithmic axis is a linear one of exponents, and very large or small values are counted in a unit.
  function scaled(chart, log) {
    if (log) return { log, to: (v) => (v === null || v <= 0 ? null : Math.log10(v)), from: (p) => 10 ** p };
    const largest = Math.max(0, ...chart.lines.flatMap((line) => [...line.values, ...line.high]).map(Math.abs));
    const unit = largest > 1e9 || (largest > 0 && largest < 1e-6) ? 10 ** Math.floor(Math.log10(largest)) : 1;
    return { log, to: (v) => (v === null ? null : v / unit), from: (p) => p * unit };
  }

  function series(chart, drawing, scale) {
    const solid = chart.lines.filter((line) => line.role !== "soft").length;
    return drawing.map(({ line, part }) => {
      const own = chart.lines.indexOf(line);
      const stroke = line.role === "soft" ? colour("faint") : solid > 2 ? shade(line.role, own) : colour(line.role);
      if (part !== "middle") return { label: `${line.label} ${part}`, stroke: "transparent", width: 0, points: { show: false }, spanGaps: false };
      return {
        label: line.label,
        stroke,
        width: line.role === "soft" ? 1 : 1.6,
        dash: line.role === "eval" ? [5, 3] : undefined,
        spanGaps: false,
        points: { show: line.steps.length < 40, size: line.role === "eval" ? 7 : 4 },
        value: (u, v) => number(v === null ? null : scale.from(v)),
      };
    });
  }

  // The ranges, filled: uPlot's bands name the two series that enclose one (1-based, as series 0 are the steps).
  function bands(drawing) {
    return drawing.flatMap(({ line, part }, i) => (part === "high" ? [{ series: [i + 1, i + 2], fill: `color-mix(in srgb, ${colour(line.role)} 20%, transparent)` }] : []));
  }

  // Several lines of one role (a GAN's two losses) keep the role's hue and differ in lightness.
  const shade = (role, i) => `color-mix(in oklab, ${colour(role)} ${100 - 22 * (i % 4)}%, ${colour("ink")})`;

  function band(u, [low, high]) {
    const { ctx, bbox } = u;
    const clip = (y) => Math.max(bbox.top, Math.min(bbox.top + bbox.height, y));
    const [top, bottom] = [clip(u.valToPos(high, "y", true)), clip(u.valToPos(low, "y", true))];
    ctx.fillStyle = colour("well-wash");
    ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
  }

  // Steps that matter: a line at the first, a bar along the top to the last, the label below it; each mark in its own row.
  function marks(u, list) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    const right = bbox.left + bbox.width;
    const inside = (x) => Math.max(bbox.left, Math.min(right, x));
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    list.forEach((mark, row) => {
      const from = u.valToPos(mark.first, "x", true);
      const to = u.valToPos(mark.last, "x", true);
      if (to < bbox.left || from > right) return;
      const top = bbox.top + 17 * row * ratio;
      const label = mark.first === mark.last ? `${mark.label}, step ${mark.first}` : `${mark.label}, from step ${mark.first}`;
      const width = ctx.measureText(label).width;
      const left = Math.max(bbox.left, Math.min(inside(from) + 5 * ratio, right - width - 2 * ratio));
      ctx.fillStyle = colour("sick");
      ctx.globalAlpha = 0.55;
      if (from >= bbox.left) ctx.fillRect(from, bbox.top, ratio, bbox.height);
      ctx.fillRect(inside(from), top, Math.max(ratio, inside(to) - inside(from)), 2 * ratio);
      ctx.globalAlpha = 0.8;
      ctx.fillStyle = colour("paper");
      ctx.fillRect(left - 2 * ratio, top + 3 * ratio, width + 4 * ratio, 12 * ratio);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colour("sick");
      ctx.fillText(label, left, top + 4 * ratio);
    });
    ctx.restore();
  }

  // NaN and infinity have no height: small triangles along the bottom say where they were.
  function broken(u, lines) {
    const { ctx, bbox } = u;
    const size = 4 * devicePixelRatio;
    ctx.fillStyle = colour("sick");
    for (const step of lines.flatMap((line) => line.nonfinite)) {
      const x = u.valToPos(step, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x - size, bbox.top + bbox.height - 2 * size);
      ctx.lineTo(x + size, bbox.top + bbox.height - 2 * size);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.fill();
    }
  }

  // Ticks of a logarithmic axis: at most six powers of ten; between two powers 1, 2 and 5; nothing of its own if still too few.
  function exponents(low, high) {
    const whole = [];
    for (let p = Math.ceil(low); p <= high; p += 1) whole.push(p);
    const every = Math.ceil(whole.length / 6);
    if (whole.length > 2) return whole.filter((p) => p % every === 0);
    const fine = [];
    for (let p = Math.floor(low); p <= high; p += 1) fine.push(...[1, 2, 5].map((m) => p + Math.log10(m)));
    return fine.filter((p) => p >= low && p <= high);
  }

  function range(chart, scale) {
    return (u, low, high) => {
      if (low === null) return [0, 1];
      if (chart.band) [low, high] = [Math.min(low, scale.to(chart.band[0])), Math.max(high, scale.to(chart.band[1]))];
      if (scale.log && high - low > 1.5) return [Math.floor(low), Math.ceil(high)];
      if (low === high) return [low - Math.abs(low) * 0.1 - 1e-3, high + Math.abs(high) * 0.1 + 1e-3];
      const room = (high - low) * 0.08;
      return [!scale.log && low >= 0 && low - room < 0 ? 0 : low - room, high + room];
    };
  }

  function vertical(axis, scale) {
    const own = (u, index, low, high) => {
      const found = exponents(low, high);
      return found.length > 1 ? found : [0.2, 0.5, 0.8].map((share) => low + share * (high - low));
    };
    return { ...axis, size: 54, gap: 6, space: 36, ...(scale.log ? { splits: own } : {}), values: (u, v) => v.map((p) => number(scale.from(p))) };
  }

  function span(chart) {
    const steps = chart.lines.flatMap((line) => [line.steps[0], line.steps[line.steps.length - 1], ...line.nonfinite]);
    const [low, high] = [Math.min(...steps), Math.max(...steps)];
    return low === high ? [low - 1, high + 1] : [low, high];
  }

  function options(chart, drawing, list, scale, width, height) {
    const axis = {
      stroke: colour("soft"), font: FONT,
      grid: { stroke: colour("rule"), width: 1 }, ticks: { show: false },
    };
    const whole = span(chart);
    return {
      width, height,
      padding: [8, 10, 0, 0],
      cursor: { points: { size: 7 }, drag: { x: true, y: false }, y: false },
      legend: { live: true },
      scales: {
        x: { time: false, range: (u, low, high) => (low === null || high === low ? whole : [low, high]) },
        y: { range: range(chart, scale) },
      },
      axes: [
        { ...axis, size: 26, gap: 4, grid: { show: false }, values: (u, v) => v.map((s) => (Number.isInteger(s) ? s.toLocaleString("en") : "")) },
        vertical(axis, scale),
      ],
      series: [{ label: chart.axis, value: (u, v) => (v === null ? "–" : v.toLocaleString("en")) }, ...series(chart, drawing, scale)],
      bands: bands(drawing),
      hooks: {
        drawClear: [(u) => chart.band && band(u, chart.band.map(scale.to))],
        draw: [(u) => { broken(u, chart.lines); marks(u, list); }],
      },
    };
  }

  function figure(element) {
    const chart = data.charts[element.dataset.chart];
    const plot = element.querySelector(".plot");
    const button = element.querySelector(".scale");
    const mine = element.dataset.marks;
    const list = data.marks.filter((mark) => (mine === "all" ? chart.key === "loss" : mark.rank === Number(mine)));
    const height = element.classList.contains("wide") ? 300 : element.closest(".show") ? 190 : 220;
    const positive = chart.lines.some((line) => line.values.some((v) => v > 0));
    let log = chart.log && positive;
    let live = null;
    if (!positive) button.remove();

    const drawing = layout(chart);
    const width = () => Math.max(120, Math.floor(plot.clientWidth));
    const draw = () => {
      if (live) live.destroy();
      plot.replaceChildren();
      const scale = scaled(chart, log);
      live = new uPlot(options(chart, drawing, list, scale, width(), height), table(drawing, scale), plot);
      // The ranges belong to their lines and need no entry of their own in the legend.
      drawing.forEach(({ part }, i) => plot.querySelectorAll(".u-legend .u-series")[i + 1].classList.toggle("range", part !== "middle"));
    };
    drawn(draw);
    button.addEventListener("click", () => {
      log = !log;
      button.setAttribute("aria-pressed", String(log));
      draw();
    });
    new ResizeObserver(() => { if (width() !== live.width) live.setSize({ width: width(), height }); }).observe(plot);
  }

  document.querySelectorAll("figure.chart").forEach(figure);
})();
