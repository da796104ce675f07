// New numbers by a seed and texts filled with them, as question/draw.py and question/template.py do it in Python.
const HOLE = /\{(\w+)(?:\[(\d+(?:,\d+)*)\])?(?::(\d))?\}/g;

// Inputs by name, each a flat list of numbers; `attempt` counts how often what was drawn before did not do.
export function draw(inputs, seed, attempt) {
  let place = 0;
  return Object.fromEntries(inputs.map(({ name, dims, choices, places }) => [name, Array.from({ length: count(dims) }, () =>
    choices[word(seed, attempt, place++) % choices.length] / 10 ** places)]));
}

// 32 bits that look like chance, and are the same for the same three numbers.
export function word(seed, attempt, place) {
  return mixed(place + mixed(attempt + mixed(seed)));
}

function mixed(x) {
  for (const factor of [0x2c1b3c6d, 0x297a2d39]) {
    x ^= x >>> 15;
    x = Math.imul(x, factor);
  }
  return (x ^ (x >>> 16)) >>> 0;
}

// `text` with `{q}`, `{q[0]}`, `{k[1,2]}` and `{answer:2}` filled; `tensors`: name → {dims, data, places?}.
export function filled(text, tensors) {
  return text.replace(HOLE, (_, name, index, decimals) => {
    let { dims, data, places } = tensors[name];
    for (const i of index ? index.split(",").map(Number) : []) {
      dims = dims.slice(1);
      data = data.slice(i * count(dims), (i + 1) * count(dims));
    }
    return said(dims, data, decimals ? Number(decimals) : places);
  });
}

function said(dims, data, places) {
  if (!dims.length) return written(data[0], places);
  const inner = dims.slice(1), size = count(inner);
  const parts = Array.from({ length: dims[0] }, (_, i) => said(inner, data.slice(i * size, (i + 1) * size), places)).join(", ");
  return inner.length ? parts : `(${parts})`;
}

export function written(v, places) {
  if (places === undefined) for (places = 0; places < 12 && v && Math.abs(v) * 10 ** places < 1000;) places++;
  const units = Math.floor(Math.abs(v) * 10 ** places + 0.5);
  const digits = String(units).padStart(places + 1, "0"), cut = digits.length - places;
  const decimals = digits.slice(cut).replace(/0+$/, "");
  return (v < 0 && units ? "−" : "") + digits.slice(0, cut) + (decimals && `.${decimals}`);
}

function count(dims) {
  return dims.reduce((a, b) => a * b, 1);
}
