// Puts new numbers into a picture that Python has laid out (see figures.py): nothing here knows a formula.
import { brief, number } from "./number.js";

export function drawing(plot, { view, scale }) {
  const svgs = [...plot.querySelectorAll("svg")];
  const draw = { heat, bars, lines }[view](plot, scale);
  const inOrder = view === "lines" ? along(plot) : (data) => data;
  return { draw, speak: (label, data) => svgs.forEach((svg, i) => speak(svg, label, inOrder(data), i, svgs.length)) };
}

function heat(plot, scale) {
  const cells = [...plot.querySelectorAll(".ts-cell")];
  const rects = cells.map((cell) => cell.querySelector("rect"));
  const texts = cells.map((cell) => cell.querySelector("text"));
  const short = plot.querySelector(".ts-brief") ? brief : number;
  return (data) => {
    const top = spread(data);
    for (let i = 0; i < cells.length; i++) {
      rects[i].style.setProperty("--v", shade(Number(data[i]), scale, top));
      if (texts[i]) write(texts[i], short(data[i]));
    }
    return top;
  };
}

function bars(plot) {
  const rects = [...plot.querySelectorAll(".ts-bar")];
  const texts = [...plot.querySelectorAll(".ts-value")];
  return (data) => {
    const top = spread(data);
    rects.forEach((rect, i) => {
      const on = shade(Number(data[i]), "signed", top);
      rect.setAttribute("y", Math.min(on, 0));
      rect.setAttribute("height", Math.abs(on));
    });
    texts.forEach((text, i) => write(text, number(data[i])));
    return top;
  };
}

function lines(plot) {
  const curves = curvesOf(plot);
  const ends = [".ts-low", ".ts-high"].map((name) => plot.querySelector(name));
  return (data) => {
    const [low, high] = span(data);
    for (const { curve, from, by, points } of curves) {
      const spots = [];
      for (let i = 0; i < points; i++) {
        const v = Number(data[from + i * by]);
        if (Number.isFinite(v)) spots.push(`${i / Math.max(1, points - 1)},${(v - low) / (high - low)}`);
      }
      curve.setAttribute("points", spots.join(" "));
    }
    write(ends[0], number(low));
    write(ends[1], number(high));
    return high;
  };
}

function curvesOf(plot) {
  return [...plot.querySelectorAll("polyline")].map((curve) => ({
    curve, from: Number(curve.dataset.from), by: Number(curve.dataset.by), points: Number(curve.dataset.points),
  }));
}

// The numbers curve by curve, as Python reads them out: a table of time by variable is spoken variable by variable.
function along(plot) {
  const places = curvesOf(plot).flatMap(({ from, by, points }) => Array.from({ length: points }, (_, i) => from + i * by));
  return (data) => places.map((i) => data[i]);
}

export function spread(data) {
  let top = 0;
  for (const v of data) if (Number.isFinite(Number(v))) top = Math.max(top, Math.abs(Number(v)));
  return top || 1;
}

export function shade(v, scale, top) {
  if (!Number.isFinite(v)) return 0;
  return scale === "unit" ? Math.sqrt(Math.min(1, Math.max(0, v))) : Math.min(1, Math.max(-1, v / top));
}

function span(data) {
  let low = Infinity, high = -Infinity;
  for (const v of data) {
    if (!Number.isFinite(Number(v))) continue;
    low = Math.min(low, Number(v));
    high = Math.max(high, Number(v));
  }
  if (low > high) return [0, 1];
  const room = Math.max(0.5, Math.abs(low) * 1e-6);
  return high > low ? [low, high] : [low - room, low + room];
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function speak(svg, label, data, i, parts) {
  const size = data.length / parts;
  const mine = Array.from(data.slice(i * size, (i + 1) * size));
  const more = mine.length > 24 ? ` … (${mine.length} numbers)` : "";
  const head = svg.getAttribute("aria-label").split(":")[0] || label;
  svg.setAttribute("aria-label", `${head}: ${mine.slice(0, 24).map(number).join(" ")}${more}`);
}
