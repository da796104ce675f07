// Which questions are shown. A question that is answered stays, whatever its new state, until a filter is moved.
import { fill, words } from "../words.js";

export function filters(root, items) {
  const say = words("selfTest");
  const selects = [...root.querySelectorAll("[data-filter]")];
  const count = root.querySelector("[data-count]");

  function apply() {
    const wanted = selects.map(({ dataset, value }) => [dataset.filter, value]).filter(([, value]) => value);
    for (const item of items) {
      const has = { ...item, state: item.el.dataset.state };
      item.el.hidden = !wanted.every(([name, value]) => has[name] === value);
    }
    const shown = items.filter(({ el }) => !el.hidden);
    for (const fold of root.querySelectorAll(".ts-group")) {
      fold.hidden = !shown.some((item) => item.fold === fold);
      fold.open = wanted.length > 0;
    }
    count.textContent = shown.length ? fill(say.count, { shown: shown.length, all: items.length }) : say.none;
    for (const button of root.querySelectorAll("[data-print]")) button.disabled = !shown.length;
  }

  function showAll() {
    for (const select of selects) select.value = "";
    apply();
  }

  for (const select of selects) select.addEventListener("change", apply);
  root.querySelector("[data-every]").addEventListener("click", showAll);
  root.querySelector(".ts-filters").disabled = false;
  apply(); // a browser that comes back may have put old choices into the filters
  return { showAll };
}
