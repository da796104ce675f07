// Influences in words: the number that was chosen, what moves it most, what does not, and what it shares a sum with.
import { named, phrase } from "./phrase.js";
import { reachable } from "./scrolls.js";
import { fill, words } from "./words.js";
import { exact, place, ravel, signed, unravel } from "./where.js";

const TOP = 3;
const EDGE = 4; // pixels by which a sign may reach out of its picture, which stand free above it

export function report(element, spec) {
  const say = words("influence"), line = element.querySelector("[data-sway]");
  const name = (step, i) => step.label + place(i, step, spec.labels);
  reachable(line);

  function put(head, list = [], rest = []) {
    const items = list.map((text) => Object.assign(document.createElement("li"), { textContent: text }));
    const first = Object.assign(document.createElement("p"), { textContent: head });
    const order = Object.assign(document.createElement("ol"), { hidden: !items.length });
    const last = Object.assign(document.createElement("p"), { textContent: rest.filter(Boolean).join(" "), hidden: !rest.some(Boolean) });
    order.append(...items);
    const said = [first, order, last];
    if (said.every((part, k) => line.children[k]?.isEqualNode(part))) return; // a listener has heard it
    line.replaceChildren(...said);
    line.scrollTop = 0;
  }

  const value = (step, i, v) => fill(say.value, { place: name(step, i), value: exact(v) });

  return {
    busy: (on) => line.setAttribute("aria-busy", on), // a listener hears the words once they are final
    hint: () => put(say.hint),
    value: (step, i, v) => put(`${value(step, i, v)}. ${say.measuring}`),
    failed: ({ message }) => put(fill(say.failed, { why: message })),
    show(step, i, { now, axis }, found) {
      const moving = found.filter(({ reach }) => reach > 0).sort((a, b) => b.reach - a.reach);
      const none = found.filter(({ kind }) => kind === "none");
      const tried = found.filter(({ kind }) => kind !== "skipped");
      const list = moving.slice(0, TOP).map((one) => phrase(one, spec));
      const head = list.length ? `${moving.length > TOP ? say.most : say.only}:` : tried.length === none.length ? say.noneAll : "";
      put(`${value(step, i, now[i])}. ${head}`, list, [
        none.length && list.length && fill(say.noneCount, { count: none.length, all: tried.length }),
        ...found.filter(({ kind }) => kind === "sick").slice(0, TOP).map((one) => `${phrase(one, spec)}.`),
        row(step, i, axis, moving),
        step.type === "int64" && say.whole,
        moving.some(({ handle }) => handle.per === "without") && say.emptied,
        inSight(found),
      ]);
    },
  };

  function inSight(found) {
    const cells = found.filter(({ handle }) => handle.input.kind === "cells"), tried = cells.filter(({ handle }) => !handle.skipped);
    return tried.length < cells.length && fill(say.block, { count: tried.length, all: cells.length });
  }

  // Numbers that share a sum of 1: what one gains by a handle, the others lose.
  function row(step, i, axis, moving) {
    const one = moving.find(({ kind }) => kind === "slope");
    if (axis === undefined || !one) return "";
    const at = unravel(i, step.dims), { handle } = one;
    const others = Array.from({ length: step.dims[axis] }, (_, k) => ravel(at.with(axis, k), step.dims)).filter((j) => j !== i);
    const [up, down] = handle.answers, change = (j) => ((up[j] - down[j]) / handle.by) * handle.unit;
    const other = others.reduce((a, b) => (change(b) * one.slope < change(a) * one.slope ? b : a));
    return fill(one.slope > 0 ? say.gains : say.loses, { axis: step.axes.split(" ")[axis], place: name(step, i), handle: named(handle, spec), other: name(step, other), by: signed(change(other)) });
  }
}

// A small sign above what the pointer or the keyboard is on; below it where the formula of the picture would be covered. What it says is also in the line for listeners.
export function tooltip(element) {
  const tip = Object.assign(document.createElement("div"), { className: "ts-tip", hidden: true });
  tip.setAttribute("aria-hidden", "true");
  element.append(tip);
  return {
    show(text, box, plot) {
      if (tip.textContent !== text) tip.textContent = text;
      tip.hidden = false;
      const own = element.getBoundingClientRect(), middle = (box.left + box.right) / 2 - own.left - tip.offsetWidth / 2;
      tip.style.left = `${Math.min(Math.max(4, middle), Math.max(4, own.width - tip.offsetWidth - 8))}px`;
      const above = Math.max(box.top - tip.offsetHeight - 6, plot.top - EDGE), covers = above + tip.offsetHeight - box.top;
      tip.style.top = `${(covers > EDGE ? box.bottom + 2 : above) - own.top}px`;
    },
    hide() { tip.hidden = true; },
  };
}
