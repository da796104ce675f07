// Choosing one number of a picture: by pointer, by touch, or with Tab and the arrow keys; and its value under the pointer.
import { span } from "./drawing.js";
import { joinedGround as joined } from "./horizon.js";
import { mapGround as map } from "./map.js";
import { fill, words } from "./words.js";
import { ravel, unravel } from "./where.js";

const SVG = "http://www.w3.org/2000/svg";

// `look(step, i, box, plot)` when the pointer or the keyboard is on a number, `look()` when it leaves, `choose(step, i)` when
// it is taken, `drop()` at Escape. Returns `mark(step, i)`, which frames the number that is chosen.
export function pick(pictures, { look, choose, drop }) {
  const say = words("influence");
  const grounds = new Map(pictures.map((picture) => [picture.step.name, ground(picture)]));
  const frame = { chosen: document.createElementNS(SVG, "path"), seen: document.createElementNS(SVG, "path") };
  let marked, chosen = "";

  for (const { step, figure } of pictures) {
    const plot = figure.querySelector(".ts-plot"), field = grounds.get(step.name);
    let at = 0;
    plot.tabIndex = 0;
    plot.setAttribute("role", "application");
    plot.setAttribute("aria-label", fill(say.keys, { step: step.label }));
    const see = (i) => {
      field.frame(frame.seen, i, "ts-seen");
      look(step, i, frame.seen.getBoundingClientRect(), plot.getBoundingClientRect());
    };
    plot.addEventListener("pointermove", (event) => {
      if (event.buttons || event.pointerType === "touch") return;
      const i = field.find(event);
      if (i === undefined) leave();
      else see(i);
    });
    plot.addEventListener("pointerleave", leave);
    plot.addEventListener("click", (event) => {
      const i = field.find(event);
      if (i === undefined) return;
      at = i;
      if (chosen === `${step.name} ${i}`) return drop();
      choose(step, i);
      see(i);
    });
    plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) see(at); });
    plot.addEventListener("blur", leave);
    plot.addEventListener("keydown", (event) => {
      const to = event.key === "Enter" || event.key === " " ? at : field.move(at, event.key);
      if (event.key === "Escape") drop();
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      at = to;
      choose(step, at);
      see(at);
      frame.seen.scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  }

  function leave() {
    frame.seen.remove();
    look();
  }

  function mark(step, i) {
    marked = step && { field: grounds.get(step.name), i };
    chosen = step ? `${step.name} ${i}` : "";
    if (marked) marked.field.frame(frame.chosen, i, "ts-chosen");
    else frame.chosen.remove();
  }

  // A curve's point moves with its number; cells and bars stay where they are.
  function redraw() {
    if (marked?.field.moves) marked.field.frame(frame.chosen, marked.i, "ts-chosen");
  }

  return { mark, redraw };
}

// Where numbers stand in one picture: `find(event)`, `frame(path, i, class)`, `move(i, key)`.
function ground(picture) {
  const { step, figure } = picture, plot = figure.querySelector(".ts-plot");
  const places = { heat, digits: heat, map, bars, lines, joined }[step.view](picture, plot);
  const kept = step.dims.map((n, axis) => axis).filter((axis) => step.dims[axis] > 1);
  const across = kept.at(places.across ?? -1);
  const down = kept.filter((axis) => axis !== across).at(-1), deep = kept.filter((axis) => axis !== across && axis !== down).at(-1);
  const ways = { ArrowRight: [across, 1], ArrowLeft: [across, -1], ArrowDown: [down, 1], ArrowUp: [down, -1], PageDown: [deep, 1], PageUp: [deep, -1],
    Home: [across, -Infinity], End: [across, Infinity] };
  return {
    ...places,
    move(i, key) {
      if (!(key in ways)) return undefined;
      const [axis, by] = ways[key], at = unravel(i, step.dims);
      if (axis === undefined) return i;
      at[axis] = Math.min(step.dims[axis] - 1, Math.max(0, at[axis] + by));
      return ravel(at, step.dims);
    },
  };
}

function put(path, into, name, d) {
  path.setAttribute("class", name);
  path.setAttribute("d", d);
  if (path.parentNode !== into) into.append(path);
}

function heat(_, plot) {
  const cells = [...plot.querySelectorAll(".ts-cell")], order = new Map(cells.map((cell, i) => [cell, i]));
  return {
    find: ({ target }) => order.get(target.closest(".ts-cell")),
    frame(path, i, name) {
      const [x, y, w, h] = ["x", "y", "width", "height"].map((side) => Number(cells[i].querySelector("rect").getAttribute(side)));
      put(path, cells[i].ownerSVGElement, name, `M${x} ${y}h${w}v${h}h${-w}z`);
    },
  };
}

// A bar is chosen anywhere in its column, however short it is.
function bars(_, plot) {
  const unit = plot.querySelector("g"), svg = plot.querySelector("svg"), n = unit.querySelectorAll(".ts-bar").length;
  const height = svg.viewBox.baseVal.height;
  return {
    find(event) {
      const i = Math.floor(inside(unit, event).x);
      return i >= 0 && i < n ? i : undefined;
    },
    frame(path, i, name) {
      const [{ e: left }, { a: w }] = [0, 1].map((k) => unit.transform.baseVal.getItem(k).matrix);
      put(path, svg, name, `M${left + i * w} 1h${w}v${height - 2}h${-w}z`);
    },
  };
}

// On curves the nearest number in time, on the nearest curve that has one there.
function lines(picture, plot) {
  const unit = plot.querySelector("g"), curves = picture.curves;
  const point = ({ from, by, points }, k) => {
    const i = from + k * by, [low, high] = span(picture.data());
    return { i, x: k / Math.max(1, points - 1), y: (Number(picture.data()[i]) - low) / (high - low) };
  };
  return {
    moves: true,
    across: curves[0].by > 1 ? 0 : -1,
    find(event) {
      const at = inside(unit, event), last = Math.max(1, curves[0].points - 1);
      const k = Math.min(curves[0].points - 1, Math.max(0, Math.round(at.x * last)));
      const near = curves.map((curve) => point(curve, k)).filter(({ y }) => Number.isFinite(y));
      return near.sort((a, b) => Math.abs(a.y - at.y) - Math.abs(b.y - at.y))[0]?.i;
    },
    frame(path, i, name) {
      const curve = curves.find(({ from, by, points }) => (i - from) % by === 0 && i >= from && (i - from) / by < points);
      const { x, y } = point(curve, (i - curve.from) / curve.by);
      put(path, unit, `${name} ts-dot`, Number.isFinite(y) ? `M${x} ${y}h0` : `M${x} 0V1`);
    },
  };
}

function inside(node, { clientX, clientY }) {
  return new DOMPoint(clientX, clientY).matrixTransform(node.getScreenCTM().inverse());
}
