// What the reader has tried: {version, questions: {id: {tries, right, last}}} in localStorage.
// `right` stays true once it was; `last` is the answer given last: a key (choice), what was typed (number), a list of
// keys (several, order), { left: right } (match), { text, points } with the numbers of the ticked points (written). Where storage is blocked, or holds a
// version this page does not know, the page remembers until it is closed and leaves the storage alone.

const KEY = "tsattn:progress";
const VERSION = 1;
let memory = {};

/** All entries by question id. */
export function progress() {
  return stored() ?? memory;
}

/** Counts one more try. */
export function record(id, right, last) {
  const all = progress();
  const { tries, right: before } = all[id] ?? { tries: 0, right: false };
  const questions = { ...all, [id]: { tries: tries + 1, right: before || right, last } };
  if (stored() === null) memory = questions;
  else write(questions);
}

function stored() {
  let kept;
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    return null;
  }
  try {
    const { version, questions } = JSON.parse(kept);
    if (version > VERSION) return null;
    return Object.fromEntries(Object.entries(questions).filter(([, entry]) => isEntry(entry)));
  } catch {
    return {};
  }
}

function write(questions) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ version: VERSION, questions }));
  } catch {
    memory = questions;
  }
}

function isEntry(entry) {
  return Number.isInteger(entry?.tries) && entry.tries > 0 && typeof entry.right === "boolean";
}
