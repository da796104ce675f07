// What a listener hears once the hand rests: the number that moved most, and the one of the last step.
import { spread } from "./drawing.js";
import { goesOn } from "./horizon.js";
import { number } from "./number.js";
import { fill, words } from "./words.js";
import { unravel } from "./where.js";

export function summary({ steps, labels }, before, after) {
  const say = words("explorer");
  const sick = steps.find(({ name }) => after[name].some((v) => Number.isNaN(Number(v))));
  if (sick) return fill(say.nan, { step: sick.label });
  const moves = steps.map((step) => ({ step, ...largest(before[step.name], after[step.name]) }));
  const most = moves.reduce((a, b) => (b.size > a.size ? b : a));
  if (!most.size) return say.same;
  return [...new Set([most, moves.at(-1)])].map((move) => sentence(move, after, labels)).join(" ");
}

function sentence({ step, size, i, before, after }, values, labels) {
  const say = words("explorer");
  if (size < 1e-6) return fill(say.stayed, { step: step.label });
  if (step.joined) return goesOn(step, i, values[step.name], labels);
  const [was, is] = told(before, after);
  return fill(say.changed, { step: step.label, at: place(i, step.dims), before: was, after: is });
}

// Two numbers with as many digits as it takes to tell them apart.
function told(...pair) {
  const digits = [3, 4, 5, 6, 7].map((count) => (v) => Number(v).toPrecision(count));
  const write = [number, ...digits].find((form) => form(pair[0]) !== form(pair[1])) ?? number;
  return pair.map(write);
}

// The entry that moved most, as a share of the largest number.
function largest(before, after) {
  const reach = spread(after);
  let most = { size: 0 };
  for (let i = 0; i < after.length; i++) {
    const size = before[i] === after[i] ? 0 : Math.abs(Number(after[i]) - Number(before[i])) / reach;
    if (size > most.size) most = { size, i, before: before[i], after: after[i] };
  }
  return most;
}

function place(i, dims) {
  const at = unravel(i, dims).filter((_, axis) => dims[axis] > 1);
  return at.length ? `[${at.join(",")}]` : "";
}
