// One-click states. One with a question asks first: it moves when the reader has a guess, and then tells the answer.
import { quietly } from "./store.js";

export function presets({ element, spec, setAll }) {
  const sheets = [...element.querySelectorAll("[data-sheet]")];
  const go = quietly(setAll);

  // Shows one sheet of the question box, all of which lie on the same place; "answered" adds its answer.
  function turnTo(name, answered = false) {
    for (const sheet of sheets) {
      sheet.classList.toggle("ts-open", sheet.dataset.sheet === name);
      sheet.classList.toggle("ts-answered", answered);
    }
  }

  element.querySelector("[data-reset]").addEventListener("click", () => {
    turnTo("");
    go({});
  });
  for (const button of element.querySelectorAll("[data-preset]")) {
    const name = button.dataset.preset, { question, values } = spec.presets[name];
    button.addEventListener("click", () => {
      turnTo(question ? name : "");
      if (!question) go(values);
    });
    element.querySelector(`[data-guess="${name}"]`)?.addEventListener("click", async () => {
      await go(values);
      turnTo(name, true);
      button.focus();
    });
  }
}
