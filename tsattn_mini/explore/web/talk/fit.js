// Every slide fits its room: as large as it can be, and never clipped. CSS `zoom`, under which a slide is laid out anew
// at each size, and a drag on an explorer still finds its cell.
const LINES = 16; // lines of text in the height of a window at the largest size
const SMALLEST = 0.2, FINEST = 0.02;

export function fitting({ deck, slides, onClose }) {
  for (const slide of slides) slide.scrollers = [slide.body, ...[...slide.body.querySelectorAll("*")].filter(scrolls)];
  const shown = () => slides.filter(({ section }) => section.offsetParent);

  // Growing is for new slides and windows; a text that grew while somebody moves a handle only makes it smaller.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const slide = slides.find(({ body }) => body === target);
      if (slide.zoom && !fits(slide)) fit(slide);
    }
  });
  const all = () => shown().forEach(fit);
  for (const { body } of slides) watch.observe(body);
  for (const event of ["slidechanged", "overviewshown", "overviewhidden", "resize"]) deck.on(event, all);
  addEventListener("resize", all);
  onClose(() => {
    watch.disconnect();
    removeEventListener("resize", all);
  });
  all();
}

export function fit(slide) {
  let low = SMALLEST, high = innerHeight / LINES / 24;
  if (put(slide, high)) return;
  while (high - low > FINEST) {
    const middle = (low + high) / 2;
    if (put(slide, middle)) low = middle;
    else high = middle;
  }
  put(slide, low);
}

function put(slide, zoom) {
  slide.body.style.zoom = slide.zoom = zoom;
  return fits(slide);
}

function fits({ room, body, scrollers }) {
  if (body.getBoundingClientRect().height > room.getBoundingClientRect().height + 0.5) return false;
  return scrollers.every((part) => part.scrollWidth <= part.clientWidth + 1);
}

function scrolls(part) {
  return /auto|scroll/.test(getComputedStyle(part).overflowX);
}
