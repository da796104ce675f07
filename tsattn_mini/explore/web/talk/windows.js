// The windows of one talk, the slides and the speaker's view, tell each other what happens. Messages also pass between pages
// from the disk, where no window can look into another.
const fromDisk = location.protocol === "file:";

// `hear(what, value)` listens; returns `tell(what, value)`, which tells all windows known so far, `know(window)` and `others()`.
export function windows({ hear, onClose }) {
  const known = new Set();

  function listen({ data, source, origin }) {
    const same = fromDisk ? !origin.startsWith("http") : origin === location.origin;
    if (!same || !source || data?.talk !== location.pathname) return;
    known.add(source);
    hear(data.what, data.value);
  }

  function others() {
    for (const other of known) if (other.closed) known.delete(other);
    return [...known];
  }

  addEventListener("message", listen);
  onClose(() => removeEventListener("message", listen));
  return {
    others,
    know: (other) => { if (other) known.add(other); },
    tell(what, value) {
      for (const other of others()) other.postMessage({ talk: location.pathname, what, value }, fromDisk ? "*" : location.origin);
    },
  };
}
