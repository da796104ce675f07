// One-click states. One with a question asks first: it moves when the reader has a guess, and then tells the answer.
import { quietly } from "./store.js";

export function presets({ element, spec, setAll }) {
  const buttons = [...element.querySelectorAll("[data-preset]")], sheets = [...element.querySelectorAll("[data-sheet]")];
  const go = quietly(setAll);

  // Opens one sheet, or none; "answered" shows its answer.
  function turnTo(name, answered = false) {
    for (const sheet of sheets) {
      const open = sheet.dataset.sheet === name;
      sheet.hidden = !open;
      sheet.querySelector(".ts-answer").hidden = !answered;
      sheet.querySelector("[data-guess]").hidden = answered;
      buttons[sheet.dataset.sheet].setAttribute("aria-expanded", open);
      if (open) sheet.scrollIntoView({ block: "nearest" }); // where a page cannot keep it in sight
    }
  }

  const at = (node) => node.focus({ preventScroll: true }); // the reader looks at the pictures

  element.querySelector("[data-reset]").addEventListener("click", () => {
    turnTo("");
    go({});
  });
  buttons.forEach((button, i) => {
    const { question, values } = spec.presets[i];
    button.addEventListener("click", () => {
      turnTo(question ? String(i) : "");
      if (question) at(element.querySelector(`[data-guess="${i}"]`));
      else go(values);
    });
  });
  for (const sheet of sheets) {
    const name = sheet.dataset.sheet, button = buttons[name];
    sheet.querySelector("[data-guess]").addEventListener("click", async () => {
      at(button);
      await go(spec.presets[name].values);
      turnTo(name, true);
    });
    sheet.querySelector("[data-close]").addEventListener("click", () => {
      turnTo("");
      at(button);
    });
  }
  turnTo("");
}
