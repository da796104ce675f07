// A number for a cell, written as `figures.number` writes it in Python.
export function number(v) {
  if (typeof v === "bigint") v = Number(v);
  if (Number.isNaN(v)) return "NaN";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "-∞";
  const size = Math.abs(v);
  if (size === 0) return "0";
  if (size >= 1e5 || size < 1e-3) return v.toExponential(1).replace("e+", "e");
  if (Number.isInteger(v)) return String(v);
  return v.toFixed(size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
}
