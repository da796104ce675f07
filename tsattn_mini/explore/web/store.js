// The state of one explorer: where its inputs stand and what the backend answered. Drawing and speaking listen.
import { control } from "./controls.js";
import { split, unzip } from "./packed.js";

const REST = 400; // milliseconds without an answer: the hand rests

export function makeStore(element, spec, backend, say) {
  const controls = Object.fromEntries(spec.inputs.map((input) => [input.name, control(element, input, quietly(move), say.tell)]));
  const first = copy(Object.fromEntries(spec.inputs.map(({ name, value }) => [name, value])));
  const listeners = { answer: [], rest: [], finish: [] };
  let state = copy(first), shown = state;
  let values = {};
  let wanted = 0, answered = 0, running = null, later;

  const ready = unzip(spec.first).then((bytes) => {
    values = split(bytes, spec.steps);
    if (backend.now) show(...backend.now());
    else moveTo(state); // a browser that goes back puts old values into the controls
    element.querySelector(".ts-inputs").disabled = false;
  });
  backend.onMove?.(show);

  function show(inputs, out) {
    moveTo(copy(inputs));
    shown = state;
    take(out);
  }

  function moveTo(inputs) {
    state = inputs;
    for (const name in controls) controls[name].show(state[name]);
  }

  function take(out) {
    values = out;
    hear("answer");
    clearTimeout(later);
    later = setTimeout(() => hear("rest"), REST);
  }

  function hear(what) {
    for (const listen of listeners[what]) listen(values);
  }

  // Resolves once the newest inputs are on the picture; while one answer is under way the next ones wait as one.
  function answer() {
    wanted++;
    running ??= (async () => {
      try {
        if (!answered) say.waking();
        while (answered < wanted) {
          const turn = wanted, inputs = state;
          const out = await backend.run(inputs);
          answered = turn;
          shown = inputs;
          take(out);
        }
      } catch (error) {
        answered = wanted;
        moveTo(shown);
        say.failed(error);
        throw error;
      } finally {
        running = null;
      }
    })();
    return running;
  }

  // A value as its control takes it; throws a RangeError that says what it takes.
  function check(name, value) {
    if (!Object.hasOwn(controls, name)) throw new RangeError(`inputs: ${Object.keys(controls).join(", ")}; got ${name}`);
    return controls[name].check(value);
  }

  async function move(name, value) {
    await ready;
    state = { ...state, [name]: check(name, value) };
    controls[name].show(state[name]);
    await answer();
  }

  async function set(name, value) {
    await move(name, value);
    hear("finish");
  }

  // What brings a state: some inputs by name, or the label of a preset.
  function checked(state) {
    if (typeof state !== "string") return Object.fromEntries(Object.entries(state).map(([name, value]) => [name, check(name, value)]));
    const preset = spec.presets.find(({ label }) => label === state);
    if (!preset) throw new RangeError(`presets: ${spec.presets.map(({ label }) => label).join(", ")}; got ${state}`);
    return preset.values;
  }

  // The inputs of `moved`, and all others as the page came with them.
  async function setAll(moved) {
    await ready;
    moveTo({ ...copy(first), ...copy(moved) });
    await answer();
    hear("finish");
  }

  return {
    element, spec, backend, first, ready, checked, set, setAll,
    inputs: () => copy(state),
    values: () => values,
    fields: (name) => [...element.querySelectorAll(`[data-input="${CSS.escape(name)}"] input`)],
    notes: () => Object.values(controls).map((control) => control.note?.()).filter(Boolean),
    on: (what, listen) => listeners[what].push(listen), // "answer": newest numbers, "rest": the hand rests, "finish": draw all now
  };
}

// A hand needs no rejected promise: the message under the picture has said it.
export function quietly(act) {
  return (...moved) => act(...moved).catch(() => {});
}

function copy(values) {
  return structuredClone(values);
}
