// How much is tried and solved, in all and per lesson, and which sections to read again.
import { progress, storageState } from "../progress.js";
import { fill, words } from "../words.js";

/** Returns what brings every number of the page up to date with the reader's progress. */
export function scores(root, items) {
  const say = words("selfTest");
  const folds = [...root.querySelectorAll(".ts-group")];
  const storage = root.querySelector("[data-storage]");

  function update() {
    const known = progress();
    for (const { el, id } of items) {
      const state = !known[id] ? "open" : known[id].right ? "solved" : "wrong";
      el.dataset.state = state;
      el.querySelector("[data-says]").textContent = state === "open" ? "" : say.states[state];
    }
    for (const fold of folds) write(fold, items.filter((item) => item.fold === fold));
    write(root.querySelector(".ts-desk"), items);
    reread();
    const where = storageState();
    storage.hidden = where === "kept";
    storage.textContent = say[where];
  }

  function write(box, some) {
    const wrong = some.filter(({ el }) => el.dataset.state === "wrong").length;
    const solved = some.filter(({ el }) => el.dataset.state === "solved").length;
    const tried = solved + wrong, all = some.length;
    box.querySelector("[data-score]").textContent = fill(say.score, { solved, tried, all });
    const bar = box.querySelector("[data-bar]");
    bar.style.setProperty("--solved", solved / all);
    bar.style.setProperty("--tried", tried / all);
  }

  function reread() {
    const wrong = items.filter(({ el }) => el.dataset.state === "wrong");
    const list = document.createElement("dl");
    for (const fold of folds) {
      const sections = new Map(wrong.filter((item) => item.fold === fold).map(({ el }) => {
        const link = el.querySelector(".ts-asked-at a");
        return [link.href, link.cloneNode(true)];
      }));
      if (!sections.size) continue;
      list.append(entry("dt", fold.querySelector("h2").textContent), entry("dd", ...sections.values()));
    }
    const count = list.querySelectorAll("a").length;
    root.querySelector("[data-reread]").replaceChildren(entry("p", count ? say.rereadSome : say.rereadNone), list);
    root.querySelector("[data-tally=reread]").textContent = count ? `(${count})` : "";
  }

  return update;
}

function entry(tag, ...inner) {
  const element = document.createElement(tag);
  element.append(...inner);
  return element;
}
