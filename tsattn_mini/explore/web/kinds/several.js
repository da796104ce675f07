// Several options may hold: checkboxes. Right is the whole set; what is missed or too many is told one by one.
import { fill, words } from "../words.js";
import { remarks } from "./remarks.js";

const say = words("question");

export const several = {
  read(el) {
    const keys = Array.from(el.querySelectorAll("input:checked"), (tick) => tick.value);
    return keys.length ? { value: keys, last: keys } : { refused: say.tickOne };
  },
  judge({ answer, feedback }, keys, el) {
    const text = (key) => el.querySelector(`[value="${CSS.escape(key)}"] + span`).innerHTML;
    const missed = answer.filter((key) => !keys.includes(key));
    const extra = keys.filter((key) => !answer.includes(key));
    if (!missed.length && !extra.length) return { right: true, feedback: remarks(keys.map((key) => [text(key), feedback[key]])) };
    const hit = answer.length - missed.length;
    return {
      right: false,
      feedback: fill(extra.length ? say.extra : say.found, { hit, all: answer.length, count: extra.length }) + remarks([
        ...extra.map((key) => [fill(say.ticked, { text: text(key) }), feedback[key]]),
        ...missed.map((key) => [fill(say.missed, { text: text(key) }), feedback[key]]),
      ]),
    };
  },
  empty(el) {
    for (const tick of el.querySelectorAll("input")) tick.checked = false;
  },
};
