// Puts new numbers into a picture that Python has laid out (see figures.py): nothing here knows a formula.
import { joined, speakJoined } from "./horizon.js";
import { map } from "./map.js";
import { brief, number } from "./number.js";

const BAND = 36; // cells of a heat map that are drawn in one go

// `parts` of the picture, each with what it costs to draw (in cells without a number), `speak`, and its `curves`.
// `picture.data()` are the numbers to draw, on the colour scale `picture.scale`, with a sign if `picture.sign`.
export function drawing(picture) {
  const { figure, step: { view } } = picture;
  const plot = figure.querySelector(".ts-plot");
  const svgs = [...plot.querySelectorAll("svg")];
  const curves = curvesOf(plot);
  const inOrder = view === "lines" ? along(curves) : (data) => data;
  picture.curves = curves;
  picture.parts = { heat, digits: heat, map, bars, lines, joined }[view](picture, plot);
  picture.speak = view === "joined" ? (_, data) => speakJoined(picture, plot, data) : (label, data) => svgs.forEach((svg, i) => speak(svg, label, inOrder(data), i, svgs.length));
  return picture;
}

function heat(picture, plot) {
  const top = picture.figure.querySelector("[data-top]");
  const cells = [...plot.querySelectorAll(".ts-cell")].map((cell) => [cell.querySelector("rect"), cell.querySelector("text")]);
  const short = plot.querySelector(".ts-digits") ? String : plot.querySelector(".ts-brief") ? brief : number;
  const reach = remembered(spread), dyes = remembered(() => quickly(plot));
  const band = (from) => {
    const mine = cells.slice(from, from + BAND);
    const texts = mine.filter(([, text]) => text).length;
    return {
      cost: mine.length + 4 * texts,
      draw(data, quick) {
        const most = reach(data), dye = quick ? dyes(data) : exactly;
        mine.forEach(([rect, text], i) => {
          dye(rect, shade(Number(data[from + i]), picture.scale, most));
          if (text) put(text, (picture.sign && data[from + i] > 0 ? "+" : "") + short(data[from + i]));
        });
        if (top && !from) put(top, `± ${number(most)}`);
      },
    };
  };
  return Array.from({ length: Math.ceil(cells.length / BAND) }, (_, i) => band(i * BAND));
}

// The style sheet turns `--v` into a colour of the theme, which is dear; a colour mixed here is cheap, and knows one theme.
function exactly(rect, on) {
  rect.style.removeProperty("fill");
  rect.style.setProperty("--v", on);
}

function quickly(plot) {
  const theme = getComputedStyle(plot.querySelector("svg")); // a gate has colours of its own
  const [zero, warm, cool] = ["zero", "warm", "cool"].map((name) => theme.getPropertyValue(`--ts-${name}`));
  return (rect, on) => {
    rect.style.fill = `color-mix(in oklab, ${on > 0 ? warm : cool} ${(100 * Math.abs(on)).toFixed(1)}%, ${zero})`;
  };
}

// Bars stand on 0, which moves so that the furthest numbers above and below it just fit.
function bars(picture, plot) {
  const rects = [...plot.querySelectorAll(".ts-bar")];
  const texts = [...plot.querySelectorAll(".ts-value")];
  const zero = plot.querySelector(".ts-zero"), short = plot.querySelector(".ts-brief") ? brief : number;
  return [{
    cost: 2 * rects.length + 4 * texts.length,
    draw(data) {
      const [low, high] = around(data), share = (v) => v / (high - low);
      rects.forEach((rect, i) => {
        const v = Number(data[i]), on = Number.isFinite(v) ? share(v) : 0;
        rect.setAttribute("y", share(-low) + Math.min(on, 0));
        rect.setAttribute("height", Math.abs(on));
      });
      for (const end of ["y1", "y2"]) zero.setAttribute(end, share(-low));
      texts.forEach((text, i) => put(text, (picture.sign && data[i] > 0 ? "+" : "") + short(data[i])));
    },
  }];
}

// The stretch that bars fill: from the lowest number to the highest, with 0 in it.
function around(data) {
  let low = 0, high = 0;
  for (const v of data) {
    if (!Number.isFinite(Number(v))) continue;
    low = Math.min(low, Number(v));
    high = Math.max(high, Number(v));
  }
  return high > low ? [low, high] : [0, 1];
}

function lines({ curves }, plot) {
  const [low, high] = [".ts-low", ".ts-high"].map((name) => plot.querySelector(name));
  return [{
    cost: 20 * curves.length,
    draw(data) {
      const [from, to] = span(data);
      for (const curve of curves) curve.node.setAttribute("points", spots(curve, data, from, to));
      put(low, number(from));
      put(high, number(to));
    },
  }];
}

function spots({ from, by, points }, data, low, high) {
  const found = [];
  for (let i = 0; i < points; i++) {
    const v = Number(data[from + i * by]);
    if (Number.isFinite(v)) found.push(`${i / Math.max(1, points - 1)},${(v - low) / (high - low)}`);
  }
  return found.join(" ");
}

function curvesOf(plot) {
  return [...plot.querySelectorAll("polyline")].map((node) => ({
    node, from: Number(node.dataset.from), by: Number(node.dataset.by), points: Number(node.dataset.points),
  }));
}

// The numbers curve by curve, as Python reads them out: a table of time by variable is spoken variable by variable.
function along(curves) {
  const places = curves.flatMap(({ from, by, points }) => Array.from({ length: points }, (_, i) => from + i * by));
  return (data) => places.map((i) => data[i]);
}

// A function that keeps its last answer.
function remembered(find) {
  let asked, answer;
  return (about) => {
    if (about !== asked) [asked, answer] = [about, find(about)];
    return answer;
  };
}

export function spread(data) {
  let top = 0;
  for (const v of data) if (Number.isFinite(Number(v))) top = Math.max(top, Math.abs(Number(v)));
  return top || 1;
}

export function shade(v, scale, top) {
  if (!Number.isFinite(v) || scale === "none") return 0;
  if (scale === "signed") return Math.min(1, Math.max(-1, v / top));
  const on = Math.min(1, Math.max(0, v));
  return scale === "gate" ? on : Math.sqrt(on);
}

// Lowest and highest finite number, pulled apart when they coincide: the ends of a line plot's axis.
export function span(data) {
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

// The text node stays: a new one would be laid out from nothing.
function put({ firstChild }, text) {
  if (firstChild.data !== text) firstChild.data = text;
}

function speak(svg, label, data, i, parts) {
  const size = data.length / parts;
  const mine = Array.from(data.slice(i * size, (i + 1) * size));
  const more = mine.length > 24 ? ` … (${mine.length} numbers)` : "";
  const head = headOf(svg) || label;
  svg.setAttribute("aria-label", `${head}: ${mine.slice(0, 24).map(number).join(" ")}${more}`);
}

// What a listener hears before the numbers; a name in it may hold a colon of its own.
export function headOf(svg) {
  const said = svg.getAttribute("aria-label");
  return said.slice(0, said.lastIndexOf(":"));
}
