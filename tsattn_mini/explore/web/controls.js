// One control per input. Each has `check` (a value, or an error that says what it takes) and `show`.
import { number } from "./number.js";
import { cells } from "./cells.js";
import { readNumber } from "./read_number.js";
import { tokens } from "./tokens.js";
import { fill, words } from "./words.js";

export function control(element, input, set, tell) {
  const box = element.querySelector(`[data-input="${CSS.escape(input.name)}"]`);
  return { slider, window: stretch, cells, choice, toggle, tokens }[input.kind](box, input, (value) => set(input.name, value), tell);
}

function slider(box, input, set, tell) {
  const [range, exact] = box.querySelectorAll("input");
  const toRange = (v) => (input.log ? Math.log10(v) : v);
  const places = digits(input);
  const write = (v) => (input.integer ? String(v) : brief(v, places));
  const fromRange = (p) => clamp(Number(write(input.log ? 10 ** p : p)), input); // as the field shows it
  let now = input.value;

  range.addEventListener("input", () => set(fromRange(Number(range.value))));
  field(exact, input, set, tell, () => write(now));

  return {
    check: (value) => within(value, input),
    show(value) {
      now = value;
      range.value = toRange(value);
      range.setAttribute("aria-valuetext", number(value));
      exact.value = write(value);
    },
  };
}

// A slider over the start of a window, which is shown on the series in small.
function stretch(box, input, set, tell) {
  const part = box.querySelector(".ts-stretch"), said = box.querySelector("[data-stretch]"), start = slider(box, input, set, tell);
  const stamp = (place) => input.stamps?.[place] ?? place;
  return {
    ...start,
    show(value) {
      start.show(value);
      part.setAttribute("x", value / (input.max + input.length));
      said.textContent = input.stamps && input.length === 1 ? stamp(value) : `${stamp(value)} … ${stamp(value + input.length - 1)}`;
      box.querySelector("input").setAttribute("aria-valuetext", said.textContent);
    },
  };
}

function choice(box, input, set) {
  const select = box.querySelector("select");
  select.addEventListener("change", () => set(select.value));
  return {
    check(value) {
      if (!input.options.includes(value)) throw new RangeError(`${input.name}: ${input.options.join(", ")}; got ${value}`);
      return value;
    },
    show: (value) => { select.value = value; },
  };
}

function toggle(box, input, set) {
  const tick = box.querySelector("input");
  tick.addEventListener("change", () => set(tick.checked));
  return {
    check(value) {
      if (typeof value !== "boolean") throw new RangeError(`${input.name}: true, false; got ${value}`);
      return value;
    },
    show: (value) => { tick.checked = value; },
  };
}

// A typed number goes in when it fits. When it does not, the message says what would, and the last value comes back.
export function field(node, input, set, tell, last) {
  node.addEventListener("change", () => {
    const { value } = readNumber(node.value);
    try {
      set(within(value, input));
    } catch {
      const say = words("explorer");
      node.value = last();
      tell(fill(input.integer ? say.refusedWhole : say.refused, { name: input.label, min: number(input.min), max: number(input.max) }));
    }
  });
  node.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") node.value = last();
  });
}

export function within(value, { name, min, max, integer }) {
  if (typeof value !== "number" || !(value >= min && value <= max) || (integer && !Number.isInteger(value))) {
    throw new RangeError(`${name}: ${integer ? "a whole number" : "a number"} from ${min} to ${max}; got ${value}`);
  }
  return value;
}

export function clamp(value, { min, max }) {
  return Math.min(max, Math.max(min, value));
}

// Significant digits that tell a thousandth of the range apart.
function digits({ min, max, log }) {
  return log ? 4 : Math.max(4, 3 + Math.ceil(Math.log10(Math.max(Math.abs(min), Math.abs(max)) / (max - min))));
}

export function brief(value, places = 3) {
  return String(Number(value.toPrecision(places)));
}
