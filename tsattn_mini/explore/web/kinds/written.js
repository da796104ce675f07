// An answer in words: written, then compared with a model answer, then graded by the reader, point by point.
import { fill, words } from "../words.js";

const say = words("question");

export const written = {
  mount(el) {
    model(el).firstElementChild.after(el.querySelector(".ts-q-answer blockquote"));
  },
  read(el) {
    const at = el.querySelector("textarea");
    const text = at.value.trim();
    if (!text) return { refused: say.writeFirst, at };
    if (model(el).hidden) {
      open(el, true);
      return { refused: say.gradeNow };
    }
    const points = ticks(el).flatMap((tick, i) => (tick.checked ? [i] : []));
    return { value: points, last: { text, points } };
  },
  judge(_, points, el) {
    const all = ticks(el);
    const missing = all.filter((_, i) => !points.includes(i)).map((tick) => `<li>${tick.nextElementSibling.innerHTML}</li>`);
    const list = missing.length ? ` ${say.missing}<ul class="ts-q-remarks">${missing.join("")}</ul>` : "";
    return { right: !missing.length, feedback: fill(say.points, { hit: points.length, all: all.length }) + list };
  },
  empty(el) {
    el.querySelector("textarea").value = "";
    for (const tick of ticks(el)) tick.checked = false;
    open(el, false);
  },
};

function model(el) {
  return el.querySelector(".ts-q-model");
}

function ticks(el) {
  return [...model(el).querySelectorAll("input")];
}

function open(el, yes) {
  model(el).hidden = !yes;
  el.querySelector(".ts-q-row button").textContent = yes ? say.grade : say.compare;
}
