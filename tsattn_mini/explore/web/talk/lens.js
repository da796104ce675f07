// A lens: the picture under the pointer fills the slide, then the cell of it; everything in it stays alive.
const PICTURE = "[data-step], [data-input], figure, table, mjx-container, pre, svg, img, .admonition, .ts-question, p, li";
const CELL = ".ts-cell, .ts-bar, td, th";
const FILLS = [[PICTURE, 0.96, 6], [CELL, 0.4, 12]]; // what, its share of the slide, how much larger at most

export function lens(talk) {
  const { deck, root } = talk;
  const box = root.querySelector(".reveal");
  let level = 0, at = null, now = { k: 1, x: 0, y: 0 };

  const close = () => {
    talk.open.delete(close);
    level = 0;
    show({ k: 1, x: 0, y: 0 });
  };

  function show(view) {
    now = view;
    box.classList.toggle("ts-close-up", view.k > 1);
    box.style.setProperty("--close-up", `translate(${view.x}px, ${view.y}px) scale(${view.k})`);
  }

  // One step closer to what is there, and out again after the last.
  function closer(target) {
    const [what, share, most] = FILLS[level] ?? [];
    const part = what && target?.closest?.(what);
    if (!part || !box.contains(part) || deck.isOverview()) return level ? close() : undefined;
    talk.open.delete(close);
    talk.open.add(close);
    level++;
    return show(view(part.getBoundingClientRect(), share, most));
  }

  // A view in which a part of the slide stands in the middle, and no edge of the slide comes into sight.
  function view(part, share, most) {
    const { left, top, width, height } = box.getBoundingClientRect();
    const k = Math.max(1, Math.min(most, share * width * now.k / part.width, share * height * now.k / part.height));
    const middle = (start, size, edge, moved) => (start + size / 2 - edge - moved) / now.k;
    const put = (room, center) => Math.min(0, Math.max(room * (1 - k), room / 2 - k * center));
    return {
      k,
      x: put(width, middle(part.left, part.width, left, now.x)),
      y: put(height, middle(part.top, part.height, top, now.y)),
    };
  }

  function pointed() {
    const under = at && document.elementFromPoint(...at);
    const focused = document.activeElement !== document.body && document.activeElement;
    return [under, focused, root.querySelector(`.present :is(${PICTURE})`)].find((one) => one && box.contains(one) && one.closest(PICTURE));
  }

  root.addEventListener("pointermove", ({ clientX, clientY }) => { at = [clientX, clientY]; });
  root.addEventListener("click", (event) => {
    if (!event.altKey || !box.contains(event.target)) return;
    event.preventDefault();
    event.stopPropagation();
    closer(event.target);
  }, true);
  deck.on("slidechanged", () => { if (level) close(); });
  talk.key("z", () => closer(pointed()));
}
