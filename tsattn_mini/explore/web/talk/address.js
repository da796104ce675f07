// Which slide an address means, and the address that follows the slides.

// The index of a slide: `at` is its number, or the id of a cell that it shows or says; else the target of the fragment leads.
export function slideAt(slides, at) {
  const number = Number(at);
  if (at && Number.isInteger(number)) return Math.min(Math.max(number, 1), slides.length) - 1;
  const holds = ({ cells, notes }) => [...cells, ...notes].some(({ cell }) => cell === at);
  return Math.max(0, at ? slides.findIndex(holds) : slideOf(slides, target()));
}

// The index of the slide that an element of the page stands on, or of the first one of the section that it is.
function slideOf(slides, element) {
  if (!element) return -1;
  const on = ({ cells }) => cells.some(({ parts }) => parts.some((part) => part.contains(element)));
  const found = slides.findIndex(on);
  return found < 0 ? slides.findIndex(({ heading }) => heading?.parentElement === element) : found;
}

function target() {
  return document.getElementById(decodeURIComponent(location.hash.slice(1)));
}

export function follow({ deck, slides, onClose }) {
  function write() {
    const address = new URL(location);
    address.searchParams.set("talk", deck.getIndices().h + 1);
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  }

  // A link to a place of this lesson leads to the slide that holds it.
  function jump() {
    const to = slideOf(slides, target());
    if (to >= 0) deck.slide(to);
  }

  deck.on("slidechanged", write);
  write();
  addEventListener("hashchange", jump);
  onClose(() => removeEventListener("hashchange", jump));
}
