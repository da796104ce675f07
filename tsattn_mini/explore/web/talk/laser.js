// A light that follows the pointer, as that of a remote control does; also when the pointer is in the speaker's window.

export function makeDot(box) {
  const dot = document.createElement("div");
  dot.className = "ts-laser";
  dot.hidden = true;
  dot.ariaHidden = true;
  box.append(dot);
  return {
    put(at) {
      dot.hidden = !at;
      if (at) [dot.style.left, dot.style.top] = at.map((share) => `${100 * share}%`);
    },
  };
}

// Where a pointer is in a box, in shares of its sides; null outside.
export function placeIn(box, { clientX, clientY }) {
  const { left, top, width, height } = box.getBoundingClientRect();
  const at = [(clientX - left) / width, (clientY - top) / height];
  return at.every((share) => share >= 0 && share <= 1) ? at : null;
}

export function laser(talk) {
  const { root, onClose } = talk;
  const box = root.querySelector(".reveal"), dot = makeDot(box);
  talk.laser = false;
  talk.point = dot.put;

  function turn(on) {
    talk.laser = on;
    root.classList.toggle("ts-pointing", on);
    if (!on) dot.put(null);
    if (on) talk.open.add(off);
    else talk.open.delete(off);
    talk.changed?.();
  }

  const off = () => turn(false);
  const follow = (event) => {
    if (!talk.laser) return;
    const at = placeIn(box, event);
    dot.put(at);
    talk.pointed?.(at);
  };
  root.addEventListener("pointermove", follow);
  talk.key("l", () => turn(!talk.laser));
  onClose(off);
}
