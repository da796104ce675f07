// The speaker's view: this slide and the next as the audience sees them, what to say, and the time. It is the same page once more,
// so that it opens from the disk, survives a reload, and goes on when the window with the slides is gone.
import { words } from "../words.js";
import { slideAt } from "./address.js";
import { button } from "./bar.js";
import { findScrollers, fitAll } from "./fit.js";
import { makeDot, placeIn } from "./laser.js";
import { makeLeaf } from "./leaf.js";
import { noteTexts } from "./notes.js";
import { readTalk } from "./read.js";
import { remote } from "./remote.js";
import { makeSlide, steps } from "./slide.js";
import { timer } from "./timer.js";

const PARTS = `<div class="ts-shelf" hidden></div>
<header></header>
<main><section class="ts-now"><h2></h2><div class="ts-stage"></div></section>
<section class="ts-then"><h2></h2><div class="ts-stage" inert></div></section>
<section class="ts-said"><h2></h2><div></div></section></main><nav class="ts-talk-bar"></nav>`;

export async function openSpeaker({ at, leave }) {
  const slides = readTalk(), say = words("talk");
  const root = document.createElement("div"), ends = [];
  root.className = "ts-talk ts-speaker";
  root.innerHTML = PARTS;
  const [now, then, said] = root.querySelectorAll("section");
  const shelf = root.firstChild, header = root.querySelector("header"), bar = root.querySelector("nav");
  said.firstChild.textContent = say.notes;
  bar.ariaLabel = say.bar;

  const talk = (root.talk = { root, slides, leave, onClose: (act) => ends.push(act) });
  talk.button = (...made) => bar.appendChild(button(...made));
  const place = slideAt(slides, at);
  shelf.append(...slides.map((slide) => makeSlide(slide, talk)));
  document.documentElement.classList.add("ts-talking");
  document.body.append(root);
  slides.forEach(findScrollers);

  const stages = [now, then].map((part) => makeStage(part.lastChild, talk));
  talk.state = { slide: place, shown: 0, steps: steps(slides[place]).length, size: [1280, 690] };
  talk.show = show;
  timer(talk, header);
  remote(talk);
  const dot = makeDot(stages[0].leaf);
  talk.point = (to) => dot.put(to);
  now.addEventListener("pointermove", (event) => {
    if (talk.state.laser) talk.pointed(placeIn(stages[0].leaf, event));
  });
  show(talk.state);
  root.classList.add("ts-ready");

  function show(state) {
    talk.state = state;
    const pair = [slides[state.slide], slides[state.slide + 1]];
    root.classList.toggle("ts-with-code", Boolean(state.code));
    shelf.append(...slides.filter((slide) => !pair.includes(slide)).map(({ section }) => section));
    stages.forEach((stage, i) => stage.put(pair[i], state.size));
    fitAll(pair.filter(Boolean));
    slides.forEach((slide) => steps(slide).forEach((step, i) => step.classList.toggle("visible", slide === pair[0] && i < state.shown)));
    now.firstChild.textContent = [say.now, state.black && say.isBlack, state.overview && say.isOverview, state.laser && say.isLaser]
      .filter(Boolean).join(" · ");
    then.firstChild.textContent = state.shown < state.steps ? say.thenStep : pair[1] ? say.then : say.thenEnd;
    if (!state.laser) dot.put(null);
    said.lastChild.replaceChildren(...noteTexts(pair[0], say));
    talk.told?.();
    address(state.slide);
  }

  return {
    go: (to) => show({ ...talk.state, slide: slideAt(slides, to), shown: 0 }),
    close() {
      for (const end of ends.reverse()) end();
      root.remove();
      document.documentElement.classList.remove("ts-talking");
      return { cell: slides[talk.state.slide].cells[0].cell };
    },
  };
}

// A place for a slide, drawn at the size of the audience's window and made as wide as the place.
function makeStage(stage, { onClose }) {
  const leaf = makeLeaf([1280, 690]);
  stage.append(leaf);
  const scale = () => { leaf.style.transform = `scale(${stage.clientWidth / leaf.offsetWidth})`; };
  const watch = new ResizeObserver(scale);
  watch.observe(stage);
  onClose(() => watch.disconnect());
  return {
    leaf,
    put(slide, [width, height]) {
      Object.assign(leaf.style, { width: `${width}px`, height: `${height}px` });
      stage.style.aspectRatio = `${width} / ${height}`;
      leaf.hidden = !slide;
      if (slide) leaf.firstChild.replaceChildren(slide.section);
      scale();
    },
  };
}

// A reload finds this slide again.
function address(slide) {
  const to = new URL(location);
  to.searchParams.set("talk", slide + 1);
  if (to.href !== location.href) history.replaceState(history.state, "", to);
}
