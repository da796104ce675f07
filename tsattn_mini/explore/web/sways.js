// Influences on the handles themselves: a ring whose strength and sign can be seen, a number, and words at the pointer.
import { brief, number } from "./number.js";
import { phrase } from "./report.js";
import { words } from "./words.js";

export function sways(element, spec) {
  const say = words("influence");
  const spots = {}; // input → its marks, one per cell
  let shown = false;

  function spotsOf(input) {
    spots[input.name] ??= input.kind === "cells" ? overCells(input) : [underDial(input)];
    return spots[input.name];
  }

  const boxOf = ({ name }) => element.querySelector(`[data-input="${CSS.escape(name)}"]`);

  function overCells(input) {
    const grid = boxOf(input).querySelector(".ts-grid"), layer = document.createElement("div");
    layer.className = "ts-grid ts-sways";
    layer.setAttribute("aria-hidden", "true");
    layer.style.cssText = grid.style.cssText;
    const fields = [...grid.querySelectorAll("input")];
    const marks = fields.map((field) => ({ node: layer.appendChild(document.createElement("span")), field }));
    grid.append(layer);
    return marks;
  }

  function underDial(input) {
    const box = boxOf(input), node = document.createElement("span");
    node.className = "ts-sway-dial";
    node.setAttribute("aria-hidden", "true");
    box.append(node);
    return { node, field: box.querySelector("input, select") };
  }

  function show(found, of) {
    const most = Math.max(...found.map(({ reach = 0 }) => reach));
    const narrow = new Map();
    for (const one of found) {
      const { input, i = 0 } = one.handle, spot = spotsOf(input)[i];
      if (!narrow.has(input)) narrow.set(input, input.kind === "cells" && spot.field.clientWidth < 36);
      spot.node.dataset.kind = one.kind;
      spot.node.dataset.slope = one.slope ?? "";
      spot.node.dataset.sign = Math.sign(one.slope ?? 0);
      spot.node.style.setProperty("--reach", most ? ((one.reach ?? 0) / most).toFixed(3) : 0);
      spot.node.textContent = text(one, narrow.get(input));
      spot.field.title = `${of}: ${phrase(one, spec)}`;
    }
    element.dataset.sways = "shown";
    shown = true;
  }

  // What a mark says: a signed number, "none", or "?" where nothing was tried.
  function text({ kind, slope }, narrow) {
    if (kind === "none") return say.markNone;
    if (kind === "rounding") return "≈0";
    if (kind === "skipped" || kind === "sick") return "?";
    return `${kind === "jump" ? "↕" : ""}${slope > 0 ? "+" : ""}${narrow ? brief(slope) : number(slope)}`;
  }

  function stale() {
    if (shown && element.dataset.sways !== "stale") element.dataset.sways = "stale";
  }

  function clear() {
    shown = false;
    delete element.dataset.sways;
    for (const { field } of Object.values(spots).flat()) field.removeAttribute("title");
  }

  return { show, stale, clear };
}
