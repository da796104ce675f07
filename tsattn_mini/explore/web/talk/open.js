// A lesson as a talk: its own cells, moved onto slides and back, in a deck of reveal.js.
import Reveal from "reveal.js";
import { words } from "../words.js";
import { follow, slideAt } from "./address.js";
import { bar } from "./bar.js";
import { fitting } from "./fit.js";
import { keys } from "./keys.js";
import { laser } from "./laser.js";
import { lens } from "./lens.js";
import { list } from "./list.js";
import { paper } from "./paper.js";
import { readTalk } from "./read.js";
import { makeSlide } from "./slide.js";
import { together } from "./together.js";

const FEATURES = [fitting, follow, keys, bar, laser, lens, together, paper, list]; // each gets the talk, and adds its part to it
const HIDDEN = -1; // no fragment is shown yet
const SETTINGS = {
  embedded: true, display: "flex", width: "100%", height: "100%", margin: 0, center: false, scrollActivationWidth: null,
  keyboard: false, controls: false, progress: true, help: false, jumpToSlide: false, hash: false,
  transition: "none", backgroundTransition: "none", focusBodyOnPageVisibilityChange: false,
};

// The talk: `deck` (reveal.js), `root` (whose property `talk` it is), `slides` (as read, each with its `section`), `leave()`,
// `onClose(act)`.
export async function openTalk({ at, leave, place }) {
  const slides = readTalk();
  const root = document.createElement("div");
  root.className = "ts-talk";
  root.innerHTML = '<main><div class="reveal"><div class="slides"></div></div></main>';
  const stage = root.querySelector(".reveal"); // an application, which a `main` may not be
  stage.ariaLabel = words("talk").label.replace("{title}", document.title);
  const ends = [];
  const talk = (root.talk = { root, slides, leave, place, onClose: (act) => ends.push(act) });
  const where = slideAt(slides, at);
  for (const slide of slides) root.querySelector(".slides").append(makeSlide(slide, talk));

  document.documentElement.classList.add("ts-talking");
  document.body.append(root);
  talk.deck = new Reveal(stage, SETTINGS);
  await talk.deck.initialize();
  talk.deck.slide(where, 0, HIDDEN);
  for (const feature of FEATURES) feature(talk);
  talk.deck.layout(); // the slides leave the line below them its room
  talk.fit();
  root.classList.add("ts-ready");

  return {
    go: (to) => talk.deck.slide(slideAt(slides, to), 0, HIDDEN),
    close() {
      const { cell } = slides[talk.deck.getIndices().h].cells[0];
      for (const end of ends.reverse()) end();
      talk.deck.destroy();
      root.remove();
      document.documentElement.classList.remove("ts-talking");
      return { place, cell };
    },
  };
}
