// The line below the slides: where the talk stands, and by pointer what the keys do.
import { words } from "../words.js";

export function bar(talk) {
  const { deck, root } = talk;
  const say = words("talk");
  const line = document.createElement("nav");
  line.className = "ts-talk-bar";
  line.ariaLabel = say.bar;
  const count = document.createElement("output");

  talk.button = (text, act, title = "") => {
    const made = button(text, act, title);
    line.append(made);
    return made;
  };
  talk.button("‹", () => deck.prev(), say.previous).ariaLabel = say.previous;
  line.append(count);
  talk.button("›", () => deck.next(), say.next).ariaLabel = say.next;
  talk.button(say.overview, () => deck.toggleOverview());
  talk.button(say.leave, talk.leave, say.leaveHint);
  root.append(line);

  const look = () => {
    if (deck.isOverview()) deck.getCurrentSlide().scrollIntoView({ block: "nearest" });
  };
  const write = () => { count.textContent = `${deck.getIndices().h + 1} / ${talk.slides.length}`; };
  deck.on("slidechanged", write);
  for (const event of ["overviewshown", "slidechanged"]) deck.on(event, look);
  write();
}

export function button(text, act, title) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", textContent: text, title });
  made.addEventListener("click", act);
  return made;
}
