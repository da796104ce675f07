// The window with the slides: opens the speaker's view, does what is asked there, and tells it where the talk stands.
import { words } from "../words.js";
import { later, start, unset } from "./clock.js";
import { twins } from "./twins.js";
import { windows } from "./windows.js";

const STEPS = ["slidechanged", "fragmentshown", "fragmenthidden"], VIEWS = ["paused", "resumed", "overviewshown", "overviewhidden"];
const OWN = ["s", "f", "e", "?"]; // keys that mean the window they are pressed in

export function together(talk) {
  const { deck, root, onClose } = talk;
  const say = words("talk"), box = root.querySelector(".reveal");
  const met = new Set(); // speaker's views that were told everything once
  let clock = unset(), view;

  const hears = {
    hello({ id, clock: theirs }) {
      clock = later(clock, theirs);
      if (!met.has(id)) both.tellAll();
      met.add(id);
      share();
    },
    press({ key, shiftKey }) {
      const closes = talk.open.size || deck.isPaused() || deck.isOverview();
      if (!OWN.includes(key) && (key !== "Escape" || closes)) talk.press(key, { shiftKey });
    },
    clock(theirs) { clock = later(clock, theirs); },
    explorer: (move) => both.take(move),
    point: (at) => { if (talk.laser) talk.point(at); },
  };
  const { know, others, tell } = windows({ hear: (what, value) => hears[what]?.(value), onClose });
  const both = twins(talk, tell);

  function share() {
    const steps = [...root.querySelectorAll(".present .fragment")];
    tell("state", {
      slide: deck.getIndices().h, shown: steps.filter((step) => step.matches(".visible")).length, steps: steps.length,
      black: deck.isPaused(), overview: deck.isOverview(), laser: talk.laser, code: root.matches(".ts-with-code"),
      size: [box.clientWidth, box.clientHeight], clock,
    });
  }

  const begin = () => { if (!clock.set) clock = start(clock); };
  for (const step of STEPS) deck.on(step, begin);
  for (const event of [...STEPS, ...VIEWS]) deck.on(event, share);
  talk.changed = share;
  talk.pointed = (at) => tell("point", at);

  function openView() {
    const address = new URL(location);
    address.searchParams.set("speaker", "");
    if (view && !view.closed && others().includes(view)) return view.focus();
    view = self.open(address.href, "tsattn-speaker", "popup,width=1280,height=800");
    if (view) return know(view);
    return blocked(address.href);
  }

  function blocked(href) {
    const note = document.createElement("p"), link = document.createElement("a");
    note.className = "ts-blocked";
    note.role = "alert";
    Object.assign(link, { href, target: "_blank", rel: "opener", textContent: say.blockedLink });
    note.append(say.blocked, " ", link);
    const close = () => note.remove();
    link.addEventListener("click", () => {
      talk.open.delete(close);
      close();
    });
    talk.open.add(close);
    root.append(note);
  }

  talk.key("s", openView);
  talk.button(say.speaker, openView, say.speakerHint);
}
