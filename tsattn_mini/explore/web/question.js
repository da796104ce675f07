// Brings a question made by question.py to life: native inputs, feedback in a live region, no kernel.

import { progress, record } from "./progress.js";
import { readNumber } from "./read_number.js";
import { fill, words } from "./words.js";

const say = words("question");

// read: what the inputs say, as {value, text, note?}, or {refused} with the reason.
// judge: {right, feedback} for such a value; the feedback is HTML made by question.py.
const kinds = {
  choice: {
    read(el) {
      const chosen = el.querySelector("input:checked");
      return chosen ? { value: chosen.value, text: chosen.value } : { refused: say.chooseOne };
    },
    judge: (data, key) => ({ right: key === data.answer, feedback: data.feedback[key] }),
  },
  number: {
    read(el, { unit }) {
      const text = el.querySelector("input").value;
      const { value, plain, problem } = readNumber(text, unit);
      const typed = text.trim();
      if (problem) return { refused: fill(say[problem], { typed }) };
      return { value, text: typed, note: plain ? "" : fill(say.readAs, { typed, value: short(value) }) };
    },
    judge(data, value) {
      const off = (target) => Math.abs(value - target);
      const near = (target) => off(target) <= data.tolerance * (1 + 1e-9);
      if (near(data.answer)) return { right: true, feedback: data.right };
      const [slip] = data.slips.filter((s) => near(s.value)).sort((a, b) => off(a.value) - off(b.value));
      return { right: false, feedback: slip?.feedback ?? data.wrong };
    },
  },
};

// The shapes differ, not only the colours: a tick, a cross, a question mark.
const icons = {
  right: "M3 10l4 4 8-10",
  wrong: "M4 4l10 10M14 4L4 14",
  refused: "M6 6.5C6 1.5 13 2 12.5 6.5C12.2 9 9 9 9 11.5M9 14.4v1",
};

/** Makes the fieldset answerable once; later calls return the same handle: {id, check() → {right}, reset()}. */
export function mountQuestion(el) {
  if (el.question) return el.question;
  const id = el.dataset.question;
  const data = JSON.parse(el.querySelector("script").textContent);
  const kind = kinds[data.kind];
  const feedback = el.querySelector(".ts-q-feedback");
  const status = el.querySelector(".ts-q-status");
  const inputs = [...el.querySelectorAll("input")];

  /** Judges what the inputs say now and shows why; `right` is null when there is nothing to judge. */
  function check() {
    const { value, text, note = "", refused } = kind.read(el, data);
    if (refused) {
      show("refused", refused);
      if (data.kind === "number") inputs[0].setAttribute("aria-invalid", "true");
      return { right: null };
    }
    const { right, feedback: why } = kind.judge(data, value);
    record(id, right, text);
    status.replaceChildren();
    show(right ? "right" : "wrong", note, right ? say.right : say.wrong, why);
    return { right };
  }

  /** Empties the inputs; what the reader has solved stays solved. */
  function reset() {
    for (const input of inputs) {
      if (input.type === "radio") input.checked = false;
      else input.value = "";
    }
    clear();
    status.replaceChildren(...(progress()[id]?.right ? [icon("right"), say.solved] : []));
  }

  function clear() {
    feedback.replaceChildren();
    feedback.removeAttribute("data-verdict");
    for (const input of inputs) input.removeAttribute("aria-invalid");
  }

  function show(verdict, note, title = "", html = "") {
    const why = document.createElement("p");
    why.innerHTML = html;
    const strong = document.createElement("strong");
    strong.textContent = title;
    why.prepend(...(title ? [strong, " "] : []), ...(note ? [note, " "] : []));
    feedback.replaceChildren(icon(verdict), why);
    feedback.dataset.verdict = verdict;
  }

  // The same question may stand on a page twice, and each is a group of its own.
  const group = `${id}-${Math.random().toString(36).slice(2)}`;
  for (const input of inputs) if (input.type === "radio") input.name = group;
  el.querySelector(".ts-q-answer").remove();
  el.disabled = false;
  el.addEventListener("input", clear);
  el.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.matches("input")) return;
    event.preventDefault();
    check();
  });
  el.querySelector("button").addEventListener("click", check);
  reset();
  el.question = { id, check, reset };
  return el.question;
}

function icon(name) {
  const box = document.createElement("span");
  box.className = `ts-q-icon ts-q-${name}`;
  box.innerHTML = `<svg viewBox="0 0 18 18" aria-hidden="true"><path d="${icons[name]}"/></svg>`;
  return box;
}

function short(value) {
  return String(Number(value.toPrecision(6)));
}
