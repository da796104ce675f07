// What is tried at every handle to see how strongly it moves a number, and what the answers say.
//
// A handle is tried a hundredth of its range to either side (on the logarithm for a log slider, one whole number for
// an integer one, the other position of a switch). Its slope is the central difference per 1 of the handle, per
// doubling, or for being switched on; its reach, by which handles are ranked, is that slope times the whole range.
// Where a handle has nothing in between, its positions are tried, and what they lead to are jumps: every other word
// of a choice, a window one place on, a text with one of its pieces taken out of its place.
import { nested } from "./cells.js";
import { clamp } from "./controls.js";
import { cut } from "./pieces.js";

const ROUNDING = 2 ** -20; // the last digits of float32
const STAIRS = 2 ** -14; // below this share of a number, float32 itself climbs in steps
const HALVINGS = 20; // down to a millionth of a step: log(s + δ) climbs so steeply at 0, and does not jump

// `{ input, i?, moves, per, … }` for every handle; `skipped` for cells that are not tried.
export function handles(inputs, state, inSight) {
  return inputs.flatMap((input) => {
    const { name } = input, value = state[name];
    const discrete = (per, values, more) => ({ input, per, moves: values.map((v) => ({ [name]: v })), ...more });
    if (input.kind === "toggle") return [{ input, by: 1, range: 1, unit: 1, per: "on", moves: [{ [name]: true }, { [name]: false }] }];
    if (input.kind === "choice") {
      const options = input.options.filter((option) => option !== value);
      return [discrete("option", options, { options })];
    }
    if (input.kind === "window") return [value < input.max ? discrete("onward", [value + 1]) : discrete("back", [value - 1])];
    if (input.kind === "tokens") return cut(input, value).texts.map((text, i) => discrete("without", [{ text: value, without: i }], { i, text }));
    if (input.kind === "slider") return [between(input, value, (v) => ({ [name]: v }))];
    const flat = value.flat();
    const moved = (i) => (v) => ({ [name]: nested(flat.with(i, v), input) });
    return flat.map((v, i) => (inSight(input, i) ? { ...between(input, v, moved(i)), i } : { input, i, skipped: true }));
  });
}

function between(input, value, moved) {
  const to = input.log ? Math.log2 : (v) => v, from = input.log ? (p) => 2 ** p : (p) => p;
  const range = to(input.max) - to(input.min), step = input.integer ? 1 : range / 100;
  const at = (p) => moved(clamp(from(p), input));
  const [low, high] = [-step, step].map((by) => clamp(from(to(value) + by), input));
  const float = input.integer ? (v) => v : Math.fround; // the distance that the graph sees
  return { input, by: to(float(high)) - to(float(low)), range, ...measure(input, range),
    moves: [moved(high), moved(low)], middle: to(value), ends: [to(low), to(high)], at };
}

// The step for which a slope is told: 1, or the power of ten that goes five times or more into a range below 2.
function measure({ log, integer }, range) {
  if (log) return { per: "doubling", unit: 1 };
  return { per: "one", unit: integer || range >= 2 ? 1 : 10 ** Math.floor(Math.log10(range / 5)) };
}

// How a handle moves entry `i`: `now` are the step's numbers at the state, `handle.answers` those of its moves.
// `whole`: the step holds whole numbers, which have no slope. `change` is what is told: the slope in the handle's unit.
export function sway(handle, now, i, whole) {
  const raw = handle.answers.map((answer) => answer[i]), here = Number(now[i]), there = raw.map(Number);
  const most = Math.max(...there.map((v, k) => (same(raw[k], now[i]) ? 0 : Math.abs(v - here))));
  if (most === 0) return { kind: "none" };
  if (![here, ...there].every(Number.isFinite)) return { kind: "sick" };
  if (!whole && most <= ROUNDING * Math.max(...[here, ...there].map(Math.abs))) return { kind: "rounding", slope: 0, reach: 0 };
  if (!handle.by) return { ...leaps(there.map((v) => v - here)), from: now[i], to: raw, whole };
  const [up, down] = there;
  if (whole) return leap(handle, down, here, up);
  const slope = (up - down) / handle.by;
  return { kind: "slope", slope, change: slope * handle.unit, reach: Math.abs(slope * handle.range) };
}

function same(a, b) {
  return Object.is(a, b) || a === b;
}

// A jump for each position that was tried; `change` is the largest.
function leaps(changes) {
  const change = changes.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
  return { kind: "jump", changes, change, slope: change, reach: Math.abs(change) };
}

// A jump from `from` to `to`; `change` is its size as the handle goes up.
export function leap(handle, a, b, c) {
  const up = Math.abs(c - b) >= Math.abs(b - a), slope = handle.per === "on" ? c - a : up ? c - b : b - a;
  return { kind: "jump", from: b, to: up ? c : a, way: handle.per === "on" ? "on" : up ? "up" : "down", slope, change: slope, reach: Math.abs(slope) };
}

// Whether the three answers lie so unevenly that the number may jump (or only bends).
export function uneven(handle, [a, b, c]) {
  const most = Math.max(Math.abs(c - b), Math.abs(b - a));
  if (!handle.at || handle.input.integer || most <= STAIRS * Math.max(Math.abs(a), Math.abs(b), Math.abs(c))) return false;
  return Math.abs(c - 2 * b + a) > 0.5 * most;
}

// Halves the stretch in which most of the change lies, again and again: a change most of which stays is a jump.
// `ask(handle.at(…))` answers with the number there, or undefined to stop.
export async function jumps(handle, [a, b, c], ask) {
  const upper = Math.abs(c - b) > Math.abs(b - a);
  let [left, right] = upper ? [handle.middle, handle.ends[1]] : [handle.ends[0], handle.middle];
  let [low, high] = upper ? [b, c] : [a, b];
  const whole = Math.abs(high - low);
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (left + right) / 2, found = await ask(handle.at(middle));
    if (found === undefined) return false;
    if (Math.abs(found - low) > Math.abs(high - found)) [right, high] = [middle, found];
    else [left, low] = [middle, found];
    if (Math.abs(high - low) <= 0.5 * whole) return false;
  }
  return true;
}

// The axis along which every row of a tensor is a distribution: nothing below 0, sums of 1. The last one that is.
export function shared(now, dims) {
  if (!(now instanceof Float32Array) || now.some((v) => !(v >= 0))) return undefined;
  let inner = 1;
  for (let axis = dims.length - 1; axis >= 0; axis--) {
    const n = dims[axis];
    if (n > 1 && rows(now.length, n, inner).every((row) => Math.abs(row.reduce((sum, i) => sum + now[i], 0) - 1) < 1e-4)) return axis;
    inner *= n;
  }
  return undefined;
}

function rows(size, n, inner) {
  const starts = Array.from({ length: size }, (_, i) => i).filter((i) => Math.floor(i / inner) % n === 0);
  return starts.map((start) => Array.from({ length: n }, (_, k) => start + k * inner));
}
