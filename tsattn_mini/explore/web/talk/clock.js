// The time of a talk: how long it has run, and what one minute a slide would have it show. Both windows keep the clock, and the one
// that was set last holds, so that either can be closed.
export const MINUTE = 60; // seconds, of a slide

export const unset = () => ({ spent: 0, since: null, set: 0 });

// Seconds.
export function elapsed({ spent, since }, now = Date.now()) {
  return spent + (since === null ? 0 : (now - since) / 1000);
}

export function start(clock, now = Date.now()) {
  return { spent: elapsed(clock, now), since: now, set: now };
}

export function pause(clock, now = Date.now()) {
  return { spent: elapsed(clock, now), since: null, set: now };
}

export function reset(clock, now = Date.now()) {
  return { spent: 0, since: clock.since === null ? null : now, set: now };
}

export const later = (one, other) => (other?.set > one.set ? other : one);

// Seconds ahead of the plan at a slide that is counted from 1, negative behind it; 0 within its minute.
export function ahead(seconds, slide) {
  return Math.max(0, (slide - 1) * MINUTE - seconds) - Math.max(0, seconds - slide * MINUTE);
}

export function written(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
