// Brings newest numbers into the pictures without making a hand wait: while moves keep coming, each draws a few
// parts of what is in sight, in quick colours, and goes on with the next parts at the next move. Once the hand
// rests for a moment, everything is drawn to the last digit.
const MOST = 240; // cost of one move, in cells without a number
const REST = 80; // milliseconds

export function painter(pictures) {
  const parts = pictures.flatMap((picture) => picture.parts.map((part) => ({ part, picture, late: false, quick: false })));
  let next = 0, rest;
  watch(pictures, finish);

  function show() {
    for (const each of parts) each.late = true;
    let cost = 0;
    for (let i = 0; i < parts.length && cost < MOST; i++) {
      const each = parts[next];
      next = (next + 1) % parts.length;
      if (!each.picture.inSight) continue;
      draw(each, true);
      cost += each.part.cost;
    }
    clearTimeout(rest);
    rest = setTimeout(finish, REST);
  }

  function finish() {
    clearTimeout(rest);
    for (const each of parts) if (each.late || each.quick) draw(each, false);
  }

  function draw(each, quick) {
    each.part.draw(each.picture.data(), quick);
    each.late = false;
    each.quick = quick;
  }

  return { show, finish };
}

// Keeps `inSight` of every picture, and calls `seen` when one comes into sight.
function watch(pictures, seen) {
  const of = new Map(pictures.map((picture) => [picture.figure, picture]));
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) of.get(target).inSight = isIntersecting;
    if (entries.some(({ isIntersecting }) => isIntersecting)) seen();
  });
  for (const { figure } of pictures) observer.observe(figure);
}
