// Every slide fits its room: as large as it can be, and never clipped. CSS `zoom`, under which a slide is laid out anew
// at each size, and a drag on an explorer still finds its cell.
const LINES = 16; // lines of text in the height of a slide at the largest size
const SMALLEST = 0.2, FINEST = 0.02;

export function fitting(talk) {
  const { deck, slides, onClose } = talk;
  slides.forEach(findScrollers);
  const shown = () => slides.filter(({ section }) => section.offsetParent);

  // Growing is for new slides and windows; a text that grew while somebody moves a handle only makes it smaller.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const slide = slides.find(({ body }) => body === target);
      if (slide.zoom && !fits(slide)) fit(slide);
    }
  });
  const all = talk.fit = () => fitAll(shown());
  for (const { body } of slides) watch.observe(body);
  for (const event of ["slidechanged", "overviewshown", "overviewhidden", "resize"]) deck.on(event, all);
  addEventListener("resize", all);
  onClose(() => {
    watch.disconnect();
    removeEventListener("resize", all);
  });
  all();
}

// The parts of a slide that would scroll sideways where they do not fit; sought in the page, where styles hold.
export function findScrollers(slide) {
  slide.scrollers = [slide.body, ...[...slide.body.querySelectorAll("*")].filter(scrolls)];
}

export function fit(slide) {
  fitAll([slide]);
}

// Of several slides at once, each try is laid out only once for all of them.
export function fitAll(slides) {
  const ranges = slides.map((slide) => ({ slide, low: SMALLEST, high: slide.section.clientHeight / LINES / 24 }));
  let open = tooLarge(ranges, ({ high }) => high);
  const small = open;
  while (open.length) {
    const middle = ({ low, high }) => (low + high) / 2, large = tooLarge(open, middle);
    for (const range of open) range[large.includes(range) ? "high" : "low"] = range.slide.zoom;
    open = open.filter(({ low, high }) => high - low > FINEST);
  }
  tooLarge(small, ({ low }) => low);
}

// Sets each slide to the size that `zoom` gives it; returns those that are too large for their room.
function tooLarge(ranges, zoom) {
  for (const range of ranges) range.slide.body.style.zoom = range.slide.zoom = zoom(range);
  return ranges.filter(({ slide }) => !fits(slide));
}

function fits({ room, body, scrollers }) {
  if (body.getBoundingClientRect().height > room.getBoundingClientRect().height + 0.5) return false;
  return scrollers.every((part) => part.scrollWidth <= part.clientWidth + 1);
}

function scrolls(part) {
  return /auto|scroll/.test(getComputedStyle(part).overflowX);
}
