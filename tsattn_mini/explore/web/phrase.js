// One influence in words: as a sentence without its end, and as the short mark on its handle.
import { brief, number } from "./number.js";
import { fill, words } from "./words.js";
import { exact, place, signed } from "./where.js";

export function phrase(one, spec) {
  const say = words("influence"), { kind, slope, change, from, to, way, handle } = one, about = { handle: named(handle, spec) };
  if (kind === "jump" && !way) return fill(say.leaps, { leaps: leaps(one, about.handle).join(", ") });
  if (kind === "jump") return fill(say[{ up: "jumpUp", down: "jumpDown", on: "jumpOn" }[way]], { ...about, from: exact(from), to: exact(to) });
  if (kind === "slope") return fill(slope ? say[handle.per] : say.turn, { ...about, by: signed(change), unit: handle.unit });
  return fill(kind === "skipped" ? say.unseen : say[kind], about);
}

// What each position of a handle leads to: the difference and the number, or a whole number alone.
function leaps({ handle, to, changes, whole }, name) {
  const say = words("influence");
  return to.map((v, k) => {
    const where = fill(say[handle.per], { handle: name, option: handle.options?.[k] });
    const text = !changes[k] ? say.leapNone : whole ? say.leapTo : say.leapBy;
    return fill(text, { by: signed(changes[k]), to: exact(v), where });
  });
}

export function named({ input, i, text }, { labels }) {
  if (text !== undefined) return fill(words("influence").piece, { name: input.label, i, text: text.replaceAll(" ", "␣") });
  return input.label + (i === undefined ? "" : place(i, input, labels));
}

// A signed number, the numbers between which it jumps, "none", or "?" where nothing was tried.
export function mark({ kind, change, changes, to, whole }, narrow) {
  if (kind === "none") return words("influence").markNone;
  if (kind === "rounding") return "≈0";
  if (kind === "skipped" || kind === "sick") return "?";
  if (whole && changes) return `→ ${ends(to).map(exact).join(" … ")}`;
  const write = (v) => `${v > 0 ? "+" : ""}${narrow ? brief(v) : number(v)}`;
  if (changes) return `↕${ends(changes).map(write).join(" … ")}`;
  return (kind === "jump" ? "↕" : "") + write(change);
}

// The lowest and the highest, or the one that there is.
function ends(values) {
  const [low, high] = [values.reduce((a, b) => (b < a ? b : a)), values.reduce((a, b) => (b > a ? b : a))];
  return low === high ? [low] : [low, high];
}
