// Progress as a file, out and in, and a fresh start.
import { forget, merge, progress } from "../progress.js";
import { save } from "../save.js";
import { fill, words } from "../words.js";
import { asText, entriesOf, Refused } from "./file.js";

const NAMED = 5; // ids that a message names before it counts

export function tools(root, items) {
  const say = words("selfTest");
  const told = root.querySelector("[data-told]"), dialog = root.querySelector("[data-dialog]");
  const known = new Set(items.map(({ id }) => id));

  root.querySelector("[data-export]").addEventListener("click", () => {
    save(`tsattn-mini-progress-${new Date().toISOString().slice(0, 10)}.json`, "application/json", asText(progress()));
  });

  root.querySelector("[data-import]").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    if (!file) return;
    try {
      told.textContent = add(file.name, await entriesOf(file));
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      told.textContent = fill(say[refused.message], { name: file.name, ...refused.values });
    }
    target.value = ""; // the same file may be chosen again
  });

  function add(name, { entries, skipped }) {
    merge(entries);
    showAnew();
    const all = Object.values(entries), unknown = Object.keys(entries).filter((id) => !known.has(id));
    return [
      fill(say.merged, { name, count: all.length, solved: all.filter(({ right }) => right).length }),
      ...(unknown.length ? [fill(say.unknown, { ids: named(unknown) })] : []),
      ...(skipped.length ? [fill(say.skipped, { ids: named(skipped) })] : []),
    ].join(" ");
  }

  function named(ids) {
    const first = ids.slice(0, NAMED).join(", ");
    return ids.length > NAMED ? fill(say.more, { ids: first, count: ids.length - NAMED }) : first;
  }

  root.querySelector("[data-clear]").addEventListener("click", () => {
    const all = Object.values(progress());
    if (!all.length) {
      told.textContent = say.clearNone;
      return;
    }
    const counts = { tried: all.length, solved: all.filter(({ right }) => right).length };
    dialog.querySelector("[data-clear-text]").textContent = fill(say.clearText, counts);
    dialog.returnValue = "";
    dialog.showModal();
  });
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "clear") return;
    forget();
    showAnew();
    told.textContent = say.cleared;
  });

  function showAnew() {
    for (const { el } of items) el.querySelector("[data-question]").question.reset();
  }
}
