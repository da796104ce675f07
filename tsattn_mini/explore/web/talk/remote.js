// The speaker's view as a remote control of the window with the slides; without one it steps by itself.
import { words } from "../words.js";
import { closeLast, listen } from "./keys.js";
import { list } from "./list.js";
import { steps } from "./slide.js";
import { twins } from "./twins.js";
import { windows } from "./windows.js";

const BEAT = 1000, LOST = 3500; // milliseconds between two greetings, and without an answer
const SENT = ["PageDown", "ArrowRight", "ArrowDown", "n", "PageUp", "ArrowLeft", "ArrowUp", "p", " ", "Enter", "Home", "End", "o", ".", "b", "c", "l", "z"];

export function remote(talk) {
  const { root, slides, onClose } = talk;
  const say = words("talk"), id = crypto.getRandomValues(new Uint32Array(2)).join(" ");
  const own = { Escape: () => (talk.open.size ? closeLast(talk.open) : send("Escape")) };
  let heard = Date.now();

  const hears = {
    state(state) {
      heard = Date.now();
      lost.hidden = true;
      talk.hearClock(state.clock);
      if (JSON.stringify(shown(state)) !== JSON.stringify(shown(talk.state))) talk.show(state);
    },
    explorer: (move) => both.take(move),
    point: (at) => talk.point(at),
  };
  const { know, others, tell } = windows({ hear: (what, value) => hears[what]?.(value), onClose });
  const both = twins(talk, tell);
  know(self.opener);
  talk.open = new Set();
  talk.key = (name, act) => { own[name] = act; };
  talk.tellClock = (clock) => tell("clock", clock);
  talk.pointed = (at) => {
    talk.point(at);
    tell("point", at);
  };

  const alone = () => !others().length || Date.now() - heard > LOST;

  function send(key, { shiftKey } = {}) {
    if (!alone()) return tell("press", { key, shiftKey });
    const back = ["PageUp", "ArrowLeft", "ArrowUp", "p"].includes(key) || (key === " " && shiftKey);
    const ends = { Home: 0, End: slides.length - 1 };
    if (key in ends) return go(ends[key], 0);
    if (back) return talk.state.shown ? go(talk.state.slide, talk.state.shown - 1) : go(talk.state.slide - 1, Infinity);
    if (SENT.indexOf(key) > SENT.indexOf("End")) return undefined; // for the eyes of an audience
    return talk.state.shown < talk.state.steps ? go(talk.state.slide, talk.state.shown + 1) : go(talk.state.slide + 1, 0);
  }

  function go(slide, shown) {
    if (!slides[slide]) return;
    const all = steps(slides[slide]).length;
    talk.show({ ...talk.state, slide, shown: Math.min(shown, all), steps: all });
  }

  for (const key of SENT) talk.key(key, (event) => send(key, event));
  listen(talk, own);
  for (const [text, key, name] of [["‹", "PageUp", say.previous], ["›", "PageDown", say.next]]) {
    talk.button(text, () => send(key), name).ariaLabel = name;
  }
  for (const [text, key] of [[say.black, "b"], [say.laser, "l"], [say.overview, "o"]]) talk.button(text, () => send(key), "");
  list(talk);

  const lost = document.createElement("p");
  const open = document.createElement("button");
  lost.className = "ts-blocked";
  lost.role = "status";
  lost.hidden = true;
  Object.assign(open, { type: "button", textContent: say.reopen });
  open.addEventListener("click", () => {
    const address = new URL(location);
    address.searchParams.delete("speaker");
    know(self.open(address.href, "tsattn-slides", "popup,width=1280,height=720"));
  });
  lost.append(say.lost, " ", open);
  root.querySelector("header").after(lost);

  const greet = () => {
    tell("hello", { id, clock: talk.clock });
    lost.hidden = !alone();
  };
  const beat = setInterval(greet, BEAT);
  onClose(() => clearInterval(beat));
  greet();
}

// What of a state can be seen.
function shown({ slide, shown: count, steps: all, black, overview, laser, code, size }) {
  return [slide, count, all, Boolean(black), Boolean(overview), Boolean(laser), Boolean(code), size];
}
