// Many small questions in idle moments: a hand that moves a handle is always served first.
const BREATH = 4; // milliseconds of work until events are let in
const PAUSE = 250; // milliseconds without a call until `rarely` acts

// The answers to `all`, asked `atOnce` at a time; undefined as soon as `still()` says that nobody waits for them.
export async function inIdle(all, ask, atOnce, still) {
  const found = [];
  while (found.length < all.length) {
    const deadline = await idle();
    do {
      const start = performance.now();
      do {
        if (!still()) return undefined;
        found.push(...(await ask(all.slice(found.length, found.length + atOnce))));
      } while (found.length < all.length && performance.now() - start < BREATH);
      await breathe();
    } while (found.length < all.length && deadline.timeRemaining() > BREATH);
  }
  return still() ? found : undefined;
}

// A function that acts once, when it has not been called for a moment.
export function rarely(act) {
  let later;
  return () => {
    clearTimeout(later);
    later = setTimeout(act, PAUSE);
  };
}

function idle() {
  if (!("requestIdleCallback" in globalThis)) return new Promise((resolve) => { setTimeout(resolve, 1, { timeRemaining: () => 0 }); });
  return new Promise((resolve) => { requestIdleCallback(resolve, { timeout: 100 }); });
}

// Lets the events that wait be handled.
function breathe() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
}
