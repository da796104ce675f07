// The clock of the speaker's view: time of day, time of the talk, and how far it is ahead of a minute a slide, or behind.
import { fill, words } from "../words.js";
import { button } from "./bar.js";
import { MINUTE, ahead, elapsed, later, pause, reset, start, unset, written } from "./clock.js";

export function timer(talk, header) {
  const say = words("talk"), count = part("strong"), time = part("strong"), pace = part("span"), day = part("time");
  time.role = "timer";
  const turn = button("", () => set(talk.clock.since === null ? start(talk.clock) : pause(talk.clock)), "");
  header.append(count, time, pace, turn, button(say.reset, () => set(reset(talk.clock)), say.resetHint), day);
  talk.clock = unset();
  talk.hearClock = (clock) => { talk.clock = later(talk.clock, clock); };

  function set(clock) {
    talk.clock = clock;
    talk.tellClock(clock);
    write();
  }

  function write() {
    const seconds = elapsed(talk.clock), slide = talk.state.slide + 1, off = Math.round(ahead(seconds, slide));
    count.textContent = fill(say.count, { slide, all: talk.slides.length });
    time.textContent = fill(say.spent, { time: written(seconds), all: written(talk.slides.length * MINUTE) });
    pace.textContent = fill(off > 0 ? say.ahead : off < 0 ? say.behind : say.inTime, { time: written(Math.abs(off)) });
    pace.dataset.off = Math.sign(off);
    turn.textContent = talk.clock.since === null ? say.start : say.pause;
    day.textContent = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
  }

  talk.told = write;
  const ticks = setInterval(write, 250);
  talk.onClose(() => clearInterval(ticks));
}

function part(tag) {
  return document.createElement(tag);
}
