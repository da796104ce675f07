// The keys of a talk, also those of a remote control. A control that was reached with the keyboard keeps its own.
const TEXT = "textarea, select, [contenteditable], input:not([type=range], [type=checkbox], [type=radio])";
const OWN = "input, button, summary, a, [tabindex]";

export function keys(talk) {
  const { deck } = talk;
  const bound = {};

  talk.key = (name, act) => { bound[name] = act; };
  talk.press = (name, event = {}) => bound[name]?.(event); // from a button, or another window

  const next = () => (deck.isPaused() ? deck.togglePause() : deck.isOverview() ? deck.right() : deck.next());
  const previous = () => (deck.isOverview() ? deck.left() : deck.prev());
  for (const name of ["PageDown", "ArrowRight", "ArrowDown", "n"]) talk.key(name, next);
  for (const name of ["PageUp", "ArrowLeft", "ArrowUp", "p"]) talk.key(name, previous);
  talk.key(" ", ({ shiftKey }) => (shiftKey ? previous() : next()));
  talk.key("Enter", () => (deck.isOverview() ? deck.toggleOverview(false) : next()));
  talk.key("Home", () => deck.slide(0));
  talk.key("End", () => deck.slide(talk.slides.length - 1));
  talk.key("o", () => deck.toggleOverview());
  for (const name of [".", "b"]) talk.key(name, () => deck.togglePause());
  talk.key("f", () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()));
  talk.key("c", () => {
    talk.root.classList.toggle("ts-with-code");
    dispatchEvent(new Event("resize")); // and the slide is fitted anew
  });

  talk.open = new Set(); // what Escape closes, the last opened first; with nothing open it leaves
  talk.key("Escape", () => {
    if (talk.open.size) closeLast(talk.open);
    else if (deck.isPaused()) deck.togglePause();
    else if (deck.isOverview()) deck.toggleOverview(false);
    else talk.leave();
  });

  listen(talk, bound);
}

export function closeLast(open) {
  const close = [...open].at(-1);
  open.delete(close);
  close();
}

// Keys that are pressed in this window: `bound` holds by name what each does.
export function listen(talk, bound) {
  let tabbed = false; // the control at hand was reached by Tab, not by the pointer

  function press(event) {
    const { key, target } = event;
    if (key === "Tab") tabbed = true;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const act = bound[key.length > 1 ? key : key.toLowerCase()];
    if (talk.putBack && key !== "Escape") return; // the slides lie on paper
    if (!act || (keeps(target) && !key.startsWith("Page"))) return;
    event.preventDefault();
    event.stopPropagation();
    act(event);
  }

  function keeps(target) {
    return target.matches(TEXT) || (tabbed && target.matches(OWN));
  }

  const point = () => { tabbed = false; };
  addEventListener("keydown", press, true);
  addEventListener("pointerdown", point, true);
  talk.onClose(() => {
    removeEventListener("keydown", press, true);
    removeEventListener("pointerdown", point, true);
  });
}
