// One control per input. Each has `check` (a value, or an error that says what it takes) and `show`.
import { number } from "./number.js";
import { cells } from "./cells.js";
import { fill, words } from "./words.js";

export function control(element, input, set, tell) {
  const box = element.querySelector(`[data-input="${CSS.escape(input.name)}"]`);
  return { slider, cells, choice, toggle }[input.kind](box, input, (value) => set(input.name, value), tell);
}

function slider(box, input, set, tell) {
  const [range, exact] = box.querySelectorAll("input");
  const toRange = (v) => (input.log ? Math.log10(v) : v);
  const fromRange = (p) => clamp(Number((input.log ? 10 ** p : p).toPrecision(4)), input); // as the field shows it

  range.addEventListener("input", () => set(fromRange(Number(range.value))));
  exact.addEventListener("change", () => attempt(exact, input, set, tell));

  return {
    check: (value) => within(value, input),
    show(value) {
      range.value = toRange(value);
      range.setAttribute("aria-valuetext", number(value));
      exact.removeAttribute("aria-invalid");
      exact.value = brief(value, 4);
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

// A typed number goes in when it fits; otherwise the field says so and the last value stays.
export function attempt(field, input, set, tell) {
  const value = field.value.trim() === "" ? NaN : Number(field.value);
  try {
    within(value, input);
  } catch {
    field.setAttribute("aria-invalid", "true");
    return tell(fill(words("explorer").refused, { name: input.label, min: number(input.min), max: number(input.max) }));
  }
  field.removeAttribute("aria-invalid");
  return set(value);
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

export function brief(value, places = 3) {
  return String(Number(value.toPrecision(places)));
}
