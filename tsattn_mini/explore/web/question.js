// Brings a question made in Python to life: native inputs, feedback in a live region, no kernel.

import * as kinds from "./kinds/kinds.js";
import { progress, record } from "./progress.js";
import { mountShow } from "./show.js";
import { words } from "./words.js";

const say = words("question");

// The shapes differ, not only the colours: a tick, a cross, a question mark.
const icons = {
  right: "M3 10l4 4 8-10",
  wrong: "M4 4l10 10M14 4L4 14",
  refused: "M6 6.5C6 1.5 13 2 12.5 6.5C12.2 9 9 9 9 11.5M9 14.4v1",
};

/**
 * Makes the fieldset answerable once; later calls return the same handle: {id, check() → {right}, reset(), answer, …}, with
 * what its kind adds. `backendFor` answers for a question that computes, as it does for explorers.
 */
export function mountQuestion(el, backendFor) {
  if (el.question) return el.question;
  const id = el.dataset.question;
  const data = JSON.parse(el.querySelector("script").textContent);
  const kind = kinds[data.kind];
  const feedback = el.querySelector(".ts-q-feedback");
  const status = el.querySelector(".ts-q-status");

  /** Judges what the inputs say now and shows why; `right` is null when there is nothing to judge. */
  function check() {
    const { value, last, note = "", refused, at } = kind.read(el, data);
    if (refused) {
      show("refused", refused);
      at?.setAttribute("aria-invalid", "true");
      return { right: null };
    }
    const { right, feedback: why } = kind.judge(data, value, el);
    record(id, right, last);
    status.replaceChildren();
    offer(true);
    show(right ? "right" : "wrong", note, right ? say.right : say.wrong, why);
    return { right };
  }

  /** Empties the inputs; what the reader has solved stays solved. */
  function reset() {
    kind.empty(el, data);
    clear();
    offer(Boolean(progress()[id]));
    status.replaceChildren(...(progress()[id]?.right ? [icon("right"), say.solved] : []));
  }

  function clear() {
    feedback.replaceChildren();
    feedback.removeAttribute("data-verdict");
    el.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
  }

  function show(verdict, note, title = "", html = "") {
    const why = document.createElement("div");
    why.innerHTML = html;
    const strong = document.createElement("strong");
    strong.textContent = title;
    why.prepend(...(title ? [strong, " "] : []), ...(note ? [note, " "] : []));
    feedback.replaceChildren(icon(verdict), why);
    feedback.dataset.verdict = verdict;
  }

  const offer = mountShow(el);
  const more = kind.mount?.(el, { id, data, reset, backendFor });
  const answer = el.querySelector(".ts-q-answer > div");
  el.querySelector(".ts-q-answer").remove();
  el.disabled = false;
  el.addEventListener("input", clear);
  el.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("input")) return;
    event.preventDefault();
    check();
  });
  el.querySelector(".ts-q-row button").addEventListener("click", check);
  reset();
  el.question = { id, check, reset, answer, ...more };
  return el.question;
}

function icon(name) {
  const box = document.createElement("span");
  box.className = `ts-q-icon ts-q-${name}`;
  box.innerHTML = `<svg viewBox="0 0 18 18" aria-hidden="true"><path d="${icons[name]}"/></svg>`;
  return box;
}
