// Where a number stands in its tensor, by the names of its axes: "[L 2, S 1]", or "[L 2, V temp]" where they have labels.
import { number } from "./number.js";

export function place(i, { axes, dims }, labels = {}) {
  const names = axes.split(" "), at = unravel(i, dims);
  const parts = names.map((axis, k) => `${axis} ${labels[axis]?.[at[k]] ?? at[k]}`).filter((_, k) => dims[k] > 1);
  return parts.length ? `[${parts.join(", ")}]` : "";
}

export function unravel(i, dims) {
  const at = [];
  for (const n of [...dims].reverse()) {
    at.unshift(i % n);
    i = Math.floor(i / n);
  }
  return at;
}

export function ravel(at, dims) {
  return at.reduce((i, k, axis) => i * dims[axis] + k, 0);
}

// Six digits, or every digit of a whole number.
export function exact(v) {
  if (typeof v === "bigint") return String(v);
  return Number.isFinite(v) ? String(Number(v.toPrecision(6))) : number(v);
}

export function signed(v) {
  return `${v > 0 ? "+" : ""}${number(v)}`;
}
