// Brings one explorer to life: controls → backend → pictures. The backend is a graph or a kernel.
import { control } from "./controls.js";
import { drawing } from "./drawing.js";
import { painter } from "./painter.js";
import { split, unzip } from "./packed.js";
import { summary } from "./summary.js";
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
  const hearing = []; // what a feature does after every answer
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
    for (const hear of hearing) hear();
    clearTimeout(tellLater);
    tellLater = setTimeout(() => tell([...notes(), summarize()].join(" ")), 400);
  }

  function tell(text) {
    clearTimeout(tellLater); // a summary that waits would take the place of a refusal
    message.textContent = text;
  }

  // What a control did with its value beside taking it.
  function notes() {
    return Object.values(controls).map((control) => control.note?.()).filter(Boolean);
  }

  function summarize() {
    for (const { step, speak } of pictures) speak(step.label, values[step.name]);
    const said = summary(spec.steps, told, values);
    told = values;
    return said;
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
  // What a feature of its own module needs to know and to do.
  const stage = {
    element, spec, backend, pictures, paint, tell, ready, setAll,
    inputs: () => state,
    values: () => values,
    listen: (hear) => hearing.push(hear),
  };
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

function copy(values) {
  return structuredClone(values);
}
