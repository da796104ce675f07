// Brings one explorer to life: controls → backend → pictures. The backend is a graph or a kernel.
import { able } from "./able.js";
import { compare } from "./compare.js";
import { drawing } from "./drawing.js";
import { influence } from "./influence.js";
import { maps } from "./map.js";
import { messages } from "./message.js";
import { painter } from "./painter.js";
import { presets } from "./presets.js";
import { steps } from "./steps.js";
import { makeStore } from "./store.js";
import { take } from "./take.js";

const FEATURES = [presets, steps, maps, compare, influence, take]; // each gets the stage, and finds its own part of the element

export function mountExplorer(element, backendFor, ...more) {
  const spec = JSON.parse(element.querySelector("[data-spec]").textContent);
  if (!able()) return still(element);

  const backend = backendFor(spec);
  const say = messages(element, spec);
  const store = makeStore(element, spec, backend, say);
  const pictures = spec.steps.map((step) => picture(element, step, () => store.values()[step.name]));
  const paint = painter(pictures);
  const stage = { ...store, backend, pictures, paint, tell: say.tell };

  store.on("answer", paint.show);
  store.on("answer", say.answered);
  store.on("finish", paint.finish);
  store.on("rest", (values) => {
    for (const { step, speak } of pictures) speak(step.label, values[step.name]);
    say.rested(values, store.notes());
  });
  store.on("answer", () => element.dispatchEvent(new Event("answer")));
  store.ready.then(() => say.start(store.values()), () => still(element));

  for (const feature of [...FEATURES, ...more]) feature(stage);

  const values = () => Object.fromEntries(spec.steps.map(({ name, dims }) => [name, { dims, data: Array.from(store.values()[name], plain) }]));
  element.explorer = {
    inputs: store.inputs,
    set: async (name, value) => {
      await store.set(name, value);
      return values();
    },
    show: async (state) => store.setAll(store.checked(state)), // some inputs, all others as the page came; or the label of a preset
    values,
    ready: store.ready,
  };
}

// Whole numbers leave as ordinary ones while those hold them exactly.
function plain(v) {
  return typeof v === "bigint" && Number.isSafeInteger(Number(v)) ? Number(v) : v;
}

function picture(element, step, data) {
  const figure = element.querySelector(`[data-step="${CSS.escape(step.name)}"]`);
  return drawing({ step, figure, data, scale: step.scale, sign: false, inSight: true });
}

function still(element) {
  for (const part of element.querySelectorAll(".ts-live")) part.hidden = true;
  element.querySelector("[data-still]").hidden = false;
}
