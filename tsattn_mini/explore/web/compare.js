// A pinned state: while the reader moves on, the pictures show the difference to it.
import { fill, words } from "./words.js";
import { exact, place, signed } from "./where.js";

const MOST = 4; // moved entries that are named

export function compare(stage) {
  const { element, spec, pictures, paint, tell } = stage;
  const say = words("compare"), button = element.querySelector("[data-pin]"), line = element.querySelector("[data-say]");
  const plain = pictures.map(({ data, scale }) => ({ data, scale }));
  let pinned;

  button.addEventListener("click", () => {
    if (pinned) unpin();
    else pin();
    button.textContent = pinned ? say.unpin : say.pin;
    paint.show();
    paint.finish();
  });

  function pin() {
    pinned = { inputs: stage.inputs(), values: stage.values() };
    pictures.forEach((picture, i) => {
      const before = pinned.values[picture.step.name];
      Object.assign(picture, { data: difference(plain[i].data, before), scale: plain[i].scale === "none" ? "none" : "signed", sign: true });
      picture.figure.dataset.diff = say.badge;
      picture.figure.firstChild.after(badge());
    });
    tell(say.pinned);
  }

  function unpin() {
    pinned = undefined;
    pictures.forEach((picture, i) => {
      Object.assign(picture, plain[i], { sign: false });
      delete picture.figure.dataset.diff;
      picture.figure.querySelector(".ts-badge").remove();
    });
    tell(say.unpinned);
  }

  function badge() {
    return Object.assign(document.createElement("span"), { className: "ts-badge", textContent: say.badge });
  }

  // What a number is now, and what it was.
  stage.describe = (step, i) => {
    const now = stage.values()[step.name][i];
    if (!pinned) return exact(now);
    const before = pinned.values[step.name][i];
    return fill(say.value, { now: exact(now), before: exact(before), by: signed(now - before) });
  };

  stage.on("rest", () => {
    const moved = pinned && since(pinned.inputs, stage.inputs());
    if (moved?.length) tell(`${line.textContent} ${fill(say.since, { moved: moved.join(", ") })}`);
  });

  // Which inputs moved, entry by entry; as the graph sees them, in float32.
  function since(before, now) {
    const all = spec.inputs.flatMap((input) => [before[input.name]].flat(2).map((was, i) => {
      const is = [now[input.name]].flat(2)[i];
      const name = input.label + (input.kind === "cells" ? place(i, input, spec.labels) : "");
      return same(was, is) ? "" : fill(say.moved, { name, before: short(was), now: short(is) });
    })).filter(Boolean);
    return all.length > MOST ? [...all.slice(0, MOST), fill(say.more, { count: all.length - MOST })] : all;
  }
}

function same(a, b) {
  return a === b || (typeof a === "number" && Math.fround(a) === Math.fround(b));
}

function short(v) {
  return typeof v === "number" ? exact(v) : v;
}

// `now()` minus `before`, worked out once for each answer.
function difference(now, before) {
  let asked, answer;
  return () => {
    if (now() !== asked) {
      asked = now();
      answer = asked.map((v, i) => (v === before[i] ? v.constructor(0) : v - before[i])); // ∞ that stays did not move
    }
    return answer;
  };
}
