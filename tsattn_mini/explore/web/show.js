// "Show me": brings the explorer of a question to the state that proves the answer, on this page or on the lesson's.
import { fill, words } from "./words.js";

const say = words("question");

/** Returns what offers the link, or takes it back. */
export function mountShow(el) {
  const box = el.querySelector(".ts-q-show");
  if (!box) return () => {};
  const link = box.querySelector("a");
  const said = box.querySelector("[aria-live]");

  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab or window of its own
    const explorer = document.querySelector(`[data-explorer="${CSS.escape(link.dataset.show)}"]`);
    const inBook = !link.getAttribute("href").startsWith("#");
    if (!explorer && inBook) return; // the page of the lesson shows it
    event.preventDefault();
    said.textContent = explorer ? "" : fill(say.elsewhere, { lesson: el.dataset.lesson.slice(0, 2) });
    if (!explorer) return;
    if (inBook) location.hash = explorer.id; // the browser's way back leads to the question
    explorer.tabIndex = -1;
    explorer.focus({ preventScroll: true });
    explorer.scrollIntoView({ block: "start" });
    try {
      await explorer.explorer?.show(JSON.parse(link.dataset.state));
    } catch (error) {
      said.textContent = fill(say.unshown, { why: error.message });
    }
  });
  return (offered) => { box.hidden = !offered; };
}
