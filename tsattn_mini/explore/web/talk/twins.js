// Explorers of two windows stand alike: a handle that is moved in one moves in the other.

// Tells each move as ("explorer", { id, inputs }); returns `take` for what the other window tells, and `tellAll`.
export function twins({ root, onClose }, tell) {
  const taking = new Map(); // element → how many moves from the other window are under way
  const find = (id) => root.querySelector(`[data-explorer="${CSS.escape(id)}"]`);
  const say = (element) => tell("explorer", { id: element.dataset.explorer, inputs: element.explorer.inputs() });
  const all = [...root.querySelectorAll("[data-explorer]")].filter(({ explorer }) => explorer);

  function moved({ currentTarget }) {
    if (!taking.get(currentTarget)) say(currentTarget);
  }

  for (const element of all) element.addEventListener("answer", moved);
  onClose(() => { for (const element of all) element.removeEventListener("answer", moved); });

  return {
    async take({ id, inputs }) {
      const element = find(id);
      if (!element?.explorer || stands(element, inputs)) return;
      taking.set(element, (taking.get(element) ?? 0) + 1);
      await element.explorer.show(inputs).catch(() => {}); // what went wrong stands below the explorer
      taking.set(element, taking.get(element) - 1);
      if (!taking.get(element) && !stands(element, inputs)) say(element); // a hand was on it here, too
    },
    async tellAll() {
      await Promise.all(all.map(({ restored }) => restored));
      all.forEach(say);
    },
  };
}

function stands({ explorer }, inputs) {
  return JSON.stringify(explorer.inputs()) === JSON.stringify(inputs);
}
