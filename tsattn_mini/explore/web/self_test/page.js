// The page that asks every question of the book. The questions are those of the lessons and mount as they do there;
// here is what stands around them.
import { onProgress } from "../progress.js";
import { filters } from "./filters.js";
import { scores } from "./scores.js";
import { sheet } from "./sheet.js";
import { tools } from "./tools.js";

export function mountSelfTest(root) {
  const items = [...root.querySelectorAll(".ts-asked")].map((el) => {
    const fold = el.closest(".ts-group");
    const { question: id, kind, difficulty } = el.querySelector("[data-question]").dataset;
    return { el, id, fold, lesson: fold.dataset.group, kind, difficulty };
  });
  const update = scores(root, items);
  update();
  onProgress(update);
  const { showAll } = filters(root, items);
  tools(root, items);
  sheet(root, items);

  // An address that ends in a question or a lesson of this page opens its fold, whatever the filters left out.
  function openTarget() {
    const target = document.getElementById(location.hash.slice(1));
    const fold = target?.closest(".ts-group");
    if (!fold) return;
    if (target.closest("[hidden]")) showAll();
    fold.open = true;
    target.scrollIntoView();
  }

  openTarget();
  addEventListener("hashchange", openTarget);
}
