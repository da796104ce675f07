// The talk on paper or as a PDF: a page for each slide, with all its steps, its explorers as they stand at the moment. The
// slides themselves move onto the pages and back, so that nothing is drawn twice; the browser's own Print does the same,
// and an address with `print` opens the pages.
import { words } from "../words.js";
import { button } from "./bar.js";
import { fitAll } from "./fit.js";
import { makeLeaf } from "./leaf.js";

const SIZE = [1280, 720]; // pixels, as the page in talk.css
const HIDING = ["hidden", "aria-hidden"]; // set by reveal.js on slides that are not at hand

export function paper(talk) {
  const { root, slides, onClose } = talk;
  const say = words("talk");
  const leaves = document.createElement("div");
  let staying = false; // on the screen too, until somebody leaves
  leaves.className = "ts-leaves";

  function lay() {
    if (talk.putBack) return;
    const ways = [wear(), ...slides.map(({ section }) => leave(section))];
    for (const { section } of slides) {
      const leaf = makeLeaf(SIZE);
      leaf.firstChild.append(section);
      leaves.append(leaf);
    }
    root.append(leaves);
    fitAll(slides);
    talk.putBack = () => {
      talk.putBack = undefined;
      for (const way of ways) way();
      leaves.replaceChildren();
      leaves.remove();
      talk.deck.layout(); // it may have measured a deck without room
      talk.fit();
    };
  }

  function clear() {
    if (!staying) talk.putBack?.();
  }

  function stay() {
    staying = true;
    lay();
    leaves.prepend(choices());
    talk.open.add(goBack);
  }

  function goBack() {
    staying = false;
    unask();
    clear();
  }

  function choices() {
    const line = document.createElement("nav");
    line.className = "ts-talk-bar";
    line.ariaLabel = say.print;
    line.append(button(say.print, print, say.printHint), button(say.back, () => talk.press("Escape"), ""));
    return line;
  }

  // Pages have their size from nobody; reveal.js, whose slides are gone, would seek one without end.
  const hold = (event) => { if (talk.putBack) event.stopImmediatePropagation(); };

  addEventListener("resize", hold, true);
  addEventListener("beforeprint", lay);
  addEventListener("afterprint", clear);
  onClose(() => {
    removeEventListener("resize", hold, true);
    removeEventListener("beforeprint", lay);
    removeEventListener("afterprint", clear);
    talk.putBack?.();
    unask();
  });
  talk.key("e", print);
  talk.button(say.print, print, say.printHint);
  if (new URLSearchParams(location.search).has("print")) settled(root).then(stay);
}

const print = () => self.print();

// What the whole page wears while it is printed: light colours, and none of what reveal.js does to a page on paper.
function wear() {
  const page = document.documentElement, { theme } = page.dataset, at = document.activeElement;
  page.dataset.theme = "light";
  page.classList.add("ts-printing", "print-pdf");
  return () => {
    page.classList.remove("ts-printing", "print-pdf");
    page.dataset.theme = theme;
    at?.focus({ preventScroll: true });
  };
}

// A slide leaves a comment in its place; returns its way back.
function leave(section) {
  const place = document.createComment(""), was = HIDING.map((name) => [name, section.getAttribute(name)]);
  for (const name of HIDING) section.removeAttribute(name);
  section.replaceWith(place);
  return () => {
    place.replaceWith(section);
    for (const [name, value] of was) if (value !== null) section.setAttribute(name, value);
  };
}

// The address no longer asks for the pages.
function unask() {
  const address = new URL(location);
  address.searchParams.delete("print");
  if (address.href !== location.href) history.replaceState(history.state, "", address);
}

// Every explorer awake, and in the state that the address gives it.
function settled(root) {
  return Promise.all([...root.querySelectorAll("[data-explorer]")].map((element) => element.restored));
}
