// Lines to put in order: each has two buttons, and the arrow keys move the line whose button has the focus.
import { fill, words } from "../words.js";
import { remarks } from "./remarks.js";

const say = words("question");

export const order = {
  mount(el) {
    const list = el.querySelector(".ts-q-order");
    list.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-move]");
      if (button) move(list, button.closest("li"), Number(button.dataset.move));
    });
    list.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!by) return;
      event.preventDefault();
      move(list, event.target.closest("li"), by);
    });
  },
  read(el) {
    const keys = Array.from(lines(el), (line) => line.dataset.key);
    return { value: keys, last: keys };
  },
  judge({ answer, feedback, pairs, right }, keys, el) {
    const kept = inOrder(keys, answer);
    if (kept.length === keys.length) return { right: true, feedback: right };
    const text = Object.fromEntries(Array.from(lines(el), (line) => [line.dataset.key, line.firstElementChild.innerHTML]));
    const known = pairs.filter(({ first, second }) => keys.indexOf(first) < keys.indexOf(second));
    const told = known.flatMap(({ first, second }) => [first, second]);
    return {
      right: false,
      feedback: fill(say.inOrder, { kept: kept.length, all: keys.length }) + remarks([
        ...known.map((pair) => [fill(say.before, { first: text[pair.first], second: text[pair.second] }), pair.feedback]),
        ...keys.filter((key) => !kept.includes(key) && !told.includes(key)).map((key) => [text[key], feedback[key]]),
      ]),
    };
  },
  empty(el, { items }) {
    const list = el.querySelector(".ts-q-order");
    const place = (line) => items.indexOf(line.dataset.key);
    list.append(...[...lines(el)].sort((a, b) => place(a) - place(b)));
    ends(list);
    el.querySelector(".ts-q-moved").textContent = "";
  },
};

// The neighbour changes its place in the page, so that the focus stays where it is.
function move(list, line, by) {
  const other = by < 0 ? line.previousElementSibling : line.nextElementSibling;
  if (!other) return;
  if (by < 0) line.after(other);
  else line.before(other);
  ends(list);
  list.dispatchEvent(new Event("input", { bubbles: true }));
  const place = [...list.children].indexOf(line) + 1;
  const item = line.firstElementChild.textContent;
  list.parentElement.querySelector(".ts-q-moved").textContent = fill(say.moved, { item, place, all: list.children.length });
}

// A button that leads nowhere says so and keeps the focus.
function ends(list) {
  for (const button of list.querySelectorAll("[data-move]")) {
    const end = button.dataset.move < 0 ? list.firstElementChild : list.lastElementChild;
    button.setAttribute("aria-disabled", button.closest("li") === end);
  }
}

// The most keys that stand in the right order among themselves.
function inOrder(keys, answer) {
  const runs = [];
  for (const key of keys) {
    const before = runs.filter((run) => answer.indexOf(run.at(-1)) < answer.indexOf(key));
    runs.push([...before.reduce((best, run) => (run.length > best.length ? run : best), []), key]);
  }
  return runs.reduce((best, run) => (run.length > best.length ? run : best));
}

function lines(el) {
  return el.querySelectorAll(".ts-q-order > li");
}
