// Past and forecast in one picture (see horizon.py): a plot for each variable, whose pieces say where their numbers lie.
import { headOf, span } from "./drawing.js";
import { number } from "./number.js";
import { fill, words } from "./words.js";

// One part for each variable, as `drawing.js` wants them.
export function joined(picture, plot) {
  return plotsOf(picture, plot).map(({ svg, pieces, v }) => {
    const [low, high] = [".ts-low", ".ts-high"].map((name) => svg.querySelector(name).firstChild);
    return {
      cost: 20 * pieces.length,
      draw(data) {
        const scale = span(numbers(picture, data, v).flat());
        for (const piece of pieces) piece.node.setAttribute("points", spots(piece, data, picture.step.joined.length, scale));
        low.data = number(scale[0]);
        high.data = number(scale[1]);
      },
    };
  });
}

export function speakJoined(picture, plot, data) {
  for (const { svg, v } of plotsOf(picture, plot)) {
    svg.setAttribute("aria-label", `${headOf(svg)}: ${spoken(picture.step.joined, numbers(picture, data, v))}`);
  }
}

// One sentence on the variable of entry `i`: where its forecast goes now.
export function goesOn(step, i, data, labels) {
  const { past, variables } = step.joined, all = numbers({ step }, data, i % variablesOf(step));
  const name = variables && ` ${labels[variables]?.[i % all.count] ?? `${variables} ${i % all.count}`}`;
  return fill(words("joined").moved, { step: step.label + name, now: number(all[0][past - 1]), end: number(all[0].at(-1)) });
}

// Where numbers stand in the picture, as `pick.js` wants it: the nearest in time, on the nearest curve.
export function joinedGround(picture, plot) {
  const plots = plotsOf(picture, plot), { length, past } = picture.step.joined, count = plots.length;
  const spot = (v, curve, place) => {
    const all = numbers(picture, picture.data(), v), [low, high] = span(all.flat());
    return { i: (curve * length + place) * count + v, x: place / Math.max(1, length - 1), y: (all[curve][place] - low) / (high - low) };
  };
  return {
    moves: true,
    across: picture.step.dims.at(-1) === count && count > 1 ? -2 : -1,
    find({ target, clientX, clientY }) {
      const one = plots.find(({ svg }) => svg.contains(target));
      if (!one) return undefined;
      const at = new DOMPoint(clientX, clientY).matrixTransform(one.unit.getScreenCTM().inverse());
      const place = Math.min(length - 1, Math.max(0, Math.round(at.x * (length - 1))));
      const curves = picture.step.joined.curves.map((_, curve) => curve).filter((curve) => !curve || place >= past);
      const near = curves.map((curve) => spot(one.v, curve, place)).filter(({ y }) => Number.isFinite(y));
      return near.sort((a, b) => Math.abs(a.y - at.y) - Math.abs(b.y - at.y))[0]?.i;
    },
    frame(path, i, name) {
      const v = i % count, place = Math.floor(i / count) % length;
      const { x, y } = spot(v, Math.floor(i / count / length), place);
      path.setAttribute("class", `${name} ts-dot`);
      path.setAttribute("d", Number.isFinite(y) ? `M${x} ${y}h0` : `M${x} 0V1`);
      if (path.parentNode !== plots[v].unit) plots[v].unit.append(path);
    },
  };
}

// In small: every variable's past and forecast as one line each, and the line of now.
export function joinedThumb(pen, { width, height }, data, picture, ink) {
  const { past, length } = picture.step.joined, at = (place) => (width * place) / Math.max(1, length - 1);
  for (let v = 0; v < variablesOf(picture.step); v++) {
    const [line] = numbers(picture, data, v), [low, high] = span(line);
    pen.lineWidth = 3;
    pen.strokeStyle = ink.curves[v % ink.curves.length];
    pen.beginPath();
    line.forEach((y, place) => { if (Number.isFinite(y)) pen.lineTo(at(place), 3 + (height - 6) * (1 - (y - low) / (high - low))); });
    pen.stroke();
  }
  pen.fillStyle = ink.text;
  pen.fillRect(at(past - 1) - 1, 0, 2, height);
}

function plotsOf(picture, plot) {
  return [...plot.querySelectorAll("svg")].map((svg, v) => ({ svg, v, unit: svg.querySelector("g"), pieces: [...svg.querySelectorAll("[data-start]")].map(pieceOf) }));
}

function pieceOf(node) {
  const { from, back, by, points, start } = node.dataset;
  return { node, by: Number(by), points: Number(points), start: Number(start), ways: [from, back].filter(Boolean).map(Number) };
}

// A curve, or the two edges of a band: there along the first, and back along the second.
function spots({ ways, by, points, start }, data, length, [low, high]) {
  return ways.flatMap((from, way) => {
    const found = [];
    for (let i = 0; i < points; i++) {
      const v = Number(data[from + i * by]);
      if (Number.isFinite(v)) found.push(`${(start + i) / Math.max(1, length - 1)},${(v - low) / (high - low)}`);
    }
    return way ? found.reverse() : found;
  }).join(" ");
}

function variablesOf({ dims, joined }) {
  return dims.reduce((a, b) => a * b, 1) / joined.curves.length / joined.length;
}

// The curves of one variable, each as a list of numbers.
function numbers({ step }, data, v) {
  const count = variablesOf(step), { curves, length } = step.joined;
  return Object.assign(curves.map((_, curve) => Array.from({ length }, (_, place) => Number(data[(curve * length + place) * count + v]))), { count });
}

function spoken({ curves, past, length }, all) {
  const say = words("joined"), line = all[0], around = all.filter((_, i) => ["low", "high", "particle"].includes(curves[i])).map((one) => one.at(-1));
  const said = [fill(say.goes, { first: number(line[0]), now: number(line[past - 1]), end: number(line.at(-1)), past, future: length - past })];
  if (curves.includes("truth")) said.push(fill(say.came, { end: number(all[curves.indexOf("truth")].at(-1)) }));
  if (around.length) said.push(fill(say.around, { low: number(Math.min(...around)), high: number(Math.max(...around)) }));
  return said.join(" ");
}
