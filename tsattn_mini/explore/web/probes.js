// What is tried at every handle to see how strongly it moves a number, and what the answers say.
//
// A handle is tried a hundredth of its range to either side (on the logarithm for a log slider, one whole number for
// an integer one, the other position of a switch). Its slope is the central difference per 1 of the handle, per
// doubling, or for being switched on; its reach, by which handles are ranked, is that slope times the whole range.
import { nested } from "./cells.js";
import { clamp } from "./controls.js";

export const MOST = 128; // cells in one go; of more, only those in sight
const ROUNDING = 2 ** -20; // the last digits of float32
const STAIRS = 2 ** -14; // below this share of a number, float32 itself climbs in steps
const HALVINGS = 6;

// `{ input, i?, by, range, per, up, down }` for every handle; `skipped` for those that cannot be tried.
export function handles(inputs, state, inSight) {
  return inputs.flatMap((input) => {
    const value = state[input.name];
    if (input.kind === "toggle") return [{ input, by: 1, range: 1, per: "on", up: { [input.name]: true }, down: { [input.name]: false } }];
    if (input.kind !== "cells") return "min" in input ? [between(input, value, (v) => ({ [input.name]: v }))] : [{ input, skipped: "words" }];
    const flat = value.flat();
    const moved = (i) => (v) => ({ [input.name]: nested(flat.with(i, v), input) });
    return flat.map((v, i) => (inSight(input, i) ? { ...between(input, v, moved(i)), i } : { input, i, skipped: "block" }));
  });
}

function between(input, value, moved) {
  const to = input.log ? Math.log2 : (v) => v, from = input.log ? (p) => 2 ** p : (p) => p;
  const range = to(input.max) - to(input.min), step = input.integer ? 1 : range / 100;
  const at = (p) => moved(clamp(from(p), input));
  const [low, high] = [-step, step].map((by) => clamp(from(to(value) + by), input));
  const float = input.integer ? (v) => v : Math.fround; // the distance that the graph sees
  return { input, by: to(float(high)) - to(float(low)), range, per: input.log ? "doubling" : "one",
    up: moved(high), down: moved(low), middle: to(value), ends: [to(low), to(high)], at };
}

// How a handle moves entry `i`: `now`, `up` and `down` are the step's numbers at the state and to its either side.
// `whole`: the step holds whole numbers, which have no slope.
export function sway(handle, now, up, down, i, whole) {
  const [a, b, c] = [down[i], now[i], up[i]].map(Number);
  if (a === b && b === c) return { kind: "none" };
  if (![a, b, c].every(Number.isFinite)) return { kind: [a, b, c].every((v) => Object.is(v, b)) ? "none" : "sick" };
  const most = Math.max(Math.abs(c - b), Math.abs(b - a));
  if (whole) return leap(handle, a, b, c);
  if (most <= ROUNDING * Math.max(Math.abs(a), Math.abs(b), Math.abs(c))) return { kind: "rounding", slope: 0, reach: 0 };
  const slope = (c - a) / handle.by;
  return { kind: "slope", slope, reach: Math.abs(slope * handle.range) };
}

// A jump from `from` to `to`; `slope` is its size as the handle goes up.
export function leap(handle, a, b, c) {
  const up = Math.abs(c - b) >= Math.abs(b - a), slope = handle.per === "on" ? c - a : up ? c - b : b - a;
  return { kind: "jump", from: b, to: up ? c : a, way: handle.per === "on" ? "on" : up ? "up" : "down", slope, reach: Math.abs(slope) };
}

// Whether the three answers lie so unevenly that the number may jump (or only bends).
export function uneven(handle, [a, b, c]) {
  const most = Math.max(Math.abs(c - b), Math.abs(b - a));
  if (!handle.at || handle.input.integer || most <= STAIRS * Math.max(Math.abs(a), Math.abs(b), Math.abs(c))) return false;
  return Math.abs(c - 2 * b + a) > 0.5 * most;
}

// Halves the stretch in which most of the change lies, again and again: a change that stays whole is a jump.
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
  }
  return Math.abs(high - low) > 0.5 * whole;
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
