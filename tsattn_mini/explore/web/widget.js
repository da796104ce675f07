// The same elements in Jupyter (anywidget): the kernel answers instead of a graph.
import { mountExplorer } from "./explorer.js";
import { array } from "./packed.js";
import { mountQuestion } from "./question.js";

function render({ model, el }) {
  el.innerHTML = model.get("html");
  el.dataset.lmSuppressShortcuts = "true"; // keys belong to the controls here, not to JupyterLab's cells
  el.addEventListener("keydown", (event) => event.stopPropagation());
  const element = el.firstElementChild;
  const mount = model.get("kind") === "question" ? mountQuestion : mountExplorer;
  mount(element, (spec) => kernelBackend(model, spec));
}

function kernelBackend(model, spec) {
  const waiting = new Map();
  const moved = [];
  let turns = 0;

  function decode(steps) {
    return Object.fromEntries(spec.steps.map(({ name, type }) => {
      const view = steps[name];
      return [name, array(type, view.buffer, view.byteOffset, view.byteLength)];
    }));
  }

  model.on("change:answer", () => {
    const { turn, steps, error } = model.get("answer");
    const mine = waiting.get(turn);
    waiting.delete(turn);
    if (error) mine?.reject(new Error(error));
    else if (mine) mine.resolve(decode(steps));
    else for (const listen of moved) listen(model.get("state").inputs, decode(steps));
  });

  model.on("msg:custom", ({ turn, error }, buffers) => {
    const mine = waiting.get(turn);
    waiting.delete(turn);
    if (error) mine?.reject(new Error(error));
    else mine?.resolve(buffers);
  });

  function ask(send) {
    const turn = `${model.model_id ?? ""}${Math.random()}-${++turns}`;
    return new Promise((resolve, reject) => {
      waiting.set(turn, { resolve, reject });
      send(turn);
    });
  }

  return {
    run: (inputs) => ask((turn) => {
      model.set("state", { inputs, turn });
      model.save_changes();
    }),
    atOnce: 64,
    // One step at many states, each `base` with some inputs moved; the state of the widget stays as it is.
    async many(base, moves, name) {
      const { type } = spec.steps.find((step) => step.name === name);
      const found = await ask((turn) => model.send({ turn, base, moves, step: name }));
      return found.map(({ buffer, byteOffset, byteLength }) => array(type, buffer, byteOffset, byteLength));
    },
    now: () => [model.get("state").inputs, decode(model.get("answer").steps)],
    onMove: (listen) => moved.push(listen),
  };
}

export default { render };
