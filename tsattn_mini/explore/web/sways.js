// Influences on the handles themselves: a ring whose strength and sign can be seen, a number, and words at the pointer.
import { mark, phrase } from "./phrase.js";

export function sways(element, spec) {
  const spots = {}; // input → its marks, one per cell or piece
  let shown = false;

  function spotsOf(input) {
    if (input.kind === "tokens") spots[input.name] = underChips(input); // each text has chips of its own
    spots[input.name] ??= input.kind === "cells" ? overCells(input) : [under(boxOf(input), boxOf(input).querySelector("input, select"))];
    return spots[input.name];
  }

  const boxOf = ({ name }) => element.querySelector(`[data-input="${CSS.escape(name)}"]`);

  function overCells(input) {
    const grid = boxOf(input).querySelector(".ts-grid"), layer = document.createElement("div");
    layer.className = "ts-grid ts-sways";
    layer.setAttribute("aria-hidden", "true");
    const fields = [...grid.querySelectorAll("input")];
    const marks = fields.map((field) => ({ node: layer.appendChild(document.createElement("span")), field }));
    grid.append(layer);
    return marks;
  }

  function underChips(input) {
    const chips = [...boxOf(input).querySelectorAll(".ts-chips li")];
    return chips.map((chip, i) => (spots[input.name]?.[i]?.field === chip ? spots[input.name][i] : under(chip, chip)));
  }

  function under(box, field) {
    const node = document.createElement("span");
    node.className = "ts-sway-dial";
    node.setAttribute("aria-hidden", "true");
    box.append(node);
    return { node, field };
  }

  function show(found, of) {
    const most = Math.max(...found.map(({ reach = 0 }) => reach));
    const narrow = new Map(), on = new Map();
    for (const one of found) {
      const { input, i = 0 } = one.handle;
      if (!on.has(input)) on.set(input, spotsOf(input));
      const spot = on.get(input)[i];
      if (!narrow.has(input)) narrow.set(input, input.kind === "cells" && spot.field.clientWidth < 36);
      spot.node.dataset.kind = one.kind;
      spot.node.dataset.slope = one.slope ?? "";
      spot.node.dataset.sign = Math.sign(one.slope ?? 0);
      spot.node.style.setProperty("--reach", most ? ((one.reach ?? 0) / most).toFixed(3) : 0);
      spot.node.textContent = mark(one, narrow.get(input));
      spot.field.title = `${of}: ${phrase(one, spec)}`;
    }
    element.dataset.sways = "shown";
    shown = true;
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
