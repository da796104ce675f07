// One option is right: radio buttons.
import { words } from "../words.js";

const say = words("question");

export const choice = {
  // The same question may stand on a page twice, and each is a group of its own.
  mount(el, { id }) {
    const group = `${id}-${Math.random().toString(36).slice(2)}`;
    for (const radio of el.querySelectorAll("[type=radio]")) radio.name = group;
  },
  read(el) {
    const chosen = el.querySelector("input:checked");
    return chosen ? { value: chosen.value, last: chosen.value } : { refused: say.chooseOne };
  },
  judge: (data, key) => ({ right: key === data.answer, feedback: data.feedback[key] }),
  empty(el) {
    for (const radio of el.querySelectorAll("[type=radio]")) radio.checked = false;
  },
};
