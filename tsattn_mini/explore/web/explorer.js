// Brings one explorer to life: controls → backend → pictures. The backend is a graph or a kernel.
import { control } from "./controls.js";
import { drawing, spread } from "./drawing.js";
import { number } from "./number.js";
import { painter } from "./painter.js";
import { split, unzip } from "./packed.js";
import { walk } from "./walk.js";
import { fill, words } from "./words.js";

const NEEDED = ["WebAssembly", "DecompressionStream", "structuredClone"];

export function mountExplorer(element, backendFor) {
  const say = words("explorer");
  const spec = JSON.parse(element.querySelector("[data-spec]").textContent);
  if (!NEEDED.every((name) => name in globalThis)) return still(element);

  const backend = backendFor(spec);
  const message = element.querySelector("[data-say]");
  const pictures = spec.steps.map((step) => picture(element, step));
  const paint = painter(pictures);
  const kinds = Object.fromEntries(spec.inputs.map((input) => [input.name, input]));
  const controls = Object.fromEntries(spec.inputs.map((input) => [input.name, control(element, input, quietly(move), tell)]));
  const first = copy(Object.fromEntries(spec.inputs.map((input) => [input.name, input.value])));
  let state = copy(first), shown = state;
  let values = {};
  let wanted = 0, answered = 0, running = null, told = null, tellLater;

  const ready = unzip(spec.first).then((bytes) => {
    values = split(bytes, spec.steps);
    if (backend.now) show(...backend.now());
    else moveTo(state); // a browser that goes back puts old values into the controls
    told = values;
    element.querySelector(".ts-inputs").disabled = false;
  });
  ready.catch(() => still(element));

  function show(inputs, out) {
    moveTo(copy(inputs));
    shown = state;
    draw(out);
  }

  function moveTo(inputs) {
    state = inputs;
    for (const name in controls) controls[name].show(state[name]);
  }

  function draw(out) {
    values = out;
    paint.show(out);
    clearTimeout(tellLater);
    tellLater = setTimeout(() => tell([...notes(), summary()].join(" ")), 400);
  }

  function tell(text) {
    clearTimeout(tellLater); // a summary that waits would take the place of a refusal
    message.textContent = text;
  }

  // What a control did with its value beside taking it.
  function notes() {
    return Object.values(controls).map((control) => control.note?.()).filter(Boolean);
  }

  // What a listener hears once the hand rests: the number that moved most.
  function summary() {
    for (const { step, speak } of pictures) speak(step.label, values[step.name]);
    const sick = spec.steps.find(({ name }) => values[name].some((v) => Number.isNaN(Number(v))));
    const moves = spec.steps.map((step) => ({ step, ...largest(told[step.name], values[step.name]) }));
    told = values;
    if (sick) return fill(say.nan, { step: sick.label });
    const most = moves.reduce((a, b) => (b.size > a.size ? b : a));
    const last = moves.at(-1);
    if (!most.size) return say.same;
    return [...new Set([most, last])].map(sentence).join(" ");
  }

  function sentence({ step, size, i, before, after }) {
    if (size < 1e-6) return fill(say.stayed, { step: step.label });
    return fill(say.changed, { step: step.label, at: place(i, step.dims), before: number(before), after: number(after) });
  }

  // Resolves once the newest inputs are on the picture; while one answer is under way the next ones wait as one.
  function answer() {
    wanted++;
    running ??= (async () => {
      try {
        if (!answered) tell(say.loading);
        while (answered < wanted) {
          const turn = wanted, inputs = state;
          const out = await backend.run(inputs);
          answered = turn;
          shown = inputs;
          draw(out);
        }
      } catch (error) {
        answered = wanted;
        moveTo(shown);
        tell(fill(say.failed, { why: error.message }));
        throw error;
      } finally {
        running = null;
      }
    })();
    return running;
  }

  async function move(name, value) {
    if (!Object.hasOwn(kinds, name)) throw new RangeError(`inputs: ${Object.keys(kinds).join(", ")}; got ${name}`);
    await ready;
    state = { ...state, [name]: controls[name].check(value) };
    controls[name].show(state[name]);
    await answer();
  }

  async function set(name, value) {
    await move(name, value);
    paint.finish();
    return api.values();
  }

  async function setAll(moved) {
    await ready;
    moveTo({ ...copy(first), ...copy(moved) });
    await answer();
    paint.finish();
  }

  element.querySelector("[data-reset]").addEventListener("click", () => quietly(setAll)({}));
  for (const button of element.querySelectorAll("[data-preset]")) {
    button.addEventListener("click", () => quietly(setAll)(spec.presets[button.dataset.preset].values));
  }
  walk(element, spec.steps);
  backend.onMove?.(show);

  const api = {
    inputs: () => copy(state),
    set,
    values: () => Object.fromEntries(spec.steps.map(({ name, dims }) => [name, { dims, data: Array.from(values[name], plain) }])),
    ready,
  };
  element.explorer = api;
}

// A hand needs no rejected promise: the message under the picture has said it.
function quietly(act) {
  return (...moved) => act(...moved).catch(() => {});
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

// Whole numbers leave as ordinary ones while those hold them exactly.
function plain(v) {
  return typeof v === "bigint" && Number.isSafeInteger(Number(v)) ? Number(v) : v;
}

function picture(element, step) {
  const figure = element.querySelector(`[data-step="${CSS.escape(step.name)}"]`);
  return { step, figure, inSight: true, ...drawing(figure, step) };
}

function still(element) {
  for (const part of element.querySelectorAll(".ts-live")) part.hidden = true;
  element.querySelector("[data-still]").hidden = false;
}

function place(i, dims) {
  const at = [];
  for (const n of [...dims].reverse()) {
    if (n > 1) at.unshift(i % n);
    i = Math.floor(i / n);
  }
  return at.length ? `[${at.join(",")}]` : "";
}

function copy(values) {
  return structuredClone(values);
}
