// Numbers for cells, written as `figures.number` and `figures.brief` write them in Python.
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

export function brief(v) {
  if (typeof v === "bigint" || !Number.isFinite(v)) return number(v);
  const size = Math.abs(v);
  if (v === 0 || (Number.isInteger(v) && size < 1000)) return String(v + 0);
  if (size >= 999.5) return v.toExponential(0).replace("e+", "e");
  const text = v.toFixed(size >= 9.95 ? 0 : size >= 0.995 ? 1 : 2);
  if (text === "0.00" || text === "-0.00") return ".00";
  return size < 0.995 ? text.replace("0.", ".") : text;
}

// The number of fewest digits that is the same in float32, which is what graphs compute in.
export function single(v) {
  const digits = [6, 7, 8].find((places) => Math.fround(Number(v.toPrecision(places))) === Math.fround(v)) ?? 9;
  return Number(v.toPrecision(digits));
}
