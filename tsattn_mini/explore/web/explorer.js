// Brings one explorer to life: controls → backend → pictures. The backend is a graph or a kernel.
import { control } from "./controls.js";
import { drawing, spread } from "./drawing.js";
import { number } from "./number.js";
import { split, unzip } from "./packed.js";
import { walk } from "./walk.js";
import { fill, words } from "./words.js";

export function mountExplorer(element, backendFor) {
  const say = words("explorer");
  const spec = JSON.parse(element.querySelector("[data-spec]").textContent);
  if (typeof WebAssembly === "undefined") return still(element);

  const backend = backendFor(spec);
  const message = element.querySelector("[data-say]");
  const pictures = spec.steps.map((step) => picture(element, step));
  const kinds = Object.fromEntries(spec.inputs.map((input) => [input.name, input]));
  const controls = Object.fromEntries(spec.inputs.map((input) => [input.name, control(element, input, set, tell)]));
  const first = copy(Object.fromEntries(spec.inputs.map((input) => [input.name, input.value])));
  let state = copy(first);
  let values = {};
  let wanted = 0, answered = 0, running = null, told = null, tellLater;

  const ready = unzip(spec.first).then((bytes) => {
    values = split(bytes, spec.steps);
    if (backend.now) show(...backend.now());
    told = values;
  });

  function show(inputs, out) {
    state = copy(inputs);
    for (const name in controls) controls[name].show(state[name]);
    draw(out);
  }

  function draw(out) {
    values = out;
    for (const { step, plot, top } of pictures) {
      const reach = plot.draw(out[step.name]);
      if (top) top.textContent = `± ${number(reach)}`;
    }
    clearTimeout(tellLater);
    tellLater = setTimeout(() => tell(summary()), 400);
  }

  function tell(text) {
    clearTimeout(tellLater); // a summary that waits would take the place of a refusal
    message.textContent = text;
  }

  // What a listener hears once the hand rests: the number that moved most.
  function summary() {
    for (const { step, plot } of pictures) plot.speak(step.label, values[step.name]);
    let most = null, size = 0;
    for (const { step } of pictures) {
      const before = told[step.name], after = values[step.name], reach = spread(after);
      for (let i = 0; i < after.length; i++) {
        const now = Number(after[i]), by = Math.abs(now - Number(before[i])) / reach;
        if (Number.isNaN(now)) return fill(say.nan, { step: step.label });
        if (by > size) [most, size] = [{ step, i, before: before[i], after: after[i] }, by];
      }
    }
    told = values;
    if (!most) return say.same;
    return fill(say.changed, { step: most.step.label, at: place(most.i, most.step.dims), before: number(most.before), after: number(most.after) });
  }

  // Resolves once the newest inputs are on the picture; while one answer is under way the next ones wait as one.
  function answer() {
    wanted++;
    running ??= (async () => {
      try {
        if (!answered) tell(say.loading);
        while (answered < wanted) {
          const turn = wanted;
          const out = await backend.run(state);
          answered = turn;
          draw(out);
        }
      } catch (error) {
        answered = wanted;
        tell(fill(say.failed, { why: error.message }));
        throw error;
      } finally {
        running = null;
      }
    })();
    return running;
  }

  async function set(name, value) {
    if (!(name in kinds)) throw new RangeError(`inputs: ${Object.keys(kinds).join(", ")}; got ${name}`);
    await ready;
    state = { ...state, [name]: controls[name].check(value) };
    controls[name].show(state[name]);
    await answer();
    return api.values();
  }

  async function setAll(moved) {
    await ready;
    state = { ...copy(first), ...copy(moved) };
    for (const name in controls) controls[name].show(state[name]);
    await answer();
  }

  element.querySelector("[data-reset]").addEventListener("click", () => setAll({}));
  for (const button of element.querySelectorAll("[data-preset]")) {
    button.addEventListener("click", () => setAll(spec.presets[button.dataset.preset].values));
  }
  walk(element, spec.steps);
  backend.onMove?.(show);

  const api = {
    inputs: () => copy(state),
    set,
    values: () => Object.fromEntries(spec.steps.map(({ name, dims }) => [name, { dims, data: Array.from(values[name]) }])),
    ready,
  };
  element.explorer = api;
}

function picture(element, step) {
  const figure = element.querySelector(`[data-step="${CSS.escape(step.name)}"]`);
  return { step, top: figure.querySelector("[data-top]"), plot: drawing(figure.querySelector(".ts-plot"), step) };
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
