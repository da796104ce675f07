// What the reader has tried: {version, questions: {id: {tries, right, last}}} in localStorage.
// `right` stays true once it was; `last` is the answer given last: a key (choice), what was typed (number), a list of
// keys (several, order), { left: right } (match), { text, points } with the numbers of the ticked points (written). Where storage is blocked, or holds a
// version this page does not know, the page remembers until it is closed and leaves the storage alone.

const KEY = "tsattn:progress";
const MOST = 1_000_000; // tries that are counted
const listeners = new Set();
let memory;

export const VERSION = 1;

/** All entries by question id. */
export function progress() {
  return memory ?? stored() ?? {};
}

/** Counts one more try. */
export function record(id, right, last) {
  const all = progress();
  const { tries, right: before } = all[id] ?? { tries: 0, right: false };
  keep({ ...all, [id]: { tries: Math.min(tries + 1, MOST), right: before || right, last } });
}

/** Adds the entries of a file: solved in either is solved, and the longer story of tries is the one that stays. */
export function merge(entries) {
  const all = { ...progress() };
  for (const [id, entry] of Object.entries(entries)) {
    const mine = all[id] ?? entry;
    const longer = entry.tries > mine.tries ? entry : mine;
    all[id] = { ...longer, right: mine.right || entry.right };
  }
  keep(all);
}

/** Forgets every entry. */
export function forget() {
  keep({});
}

/** Calls `listen` after every change, in this tab or another one. */
export function onProgress(listen) {
  listeners.add(listen);
}

/** "kept"; or why what is done now does not outlast the page: "blocked", "full", or "later" (a later version's entries). */
export function storageState() {
  try {
    localStorage.setItem("tsattn:probe", "");
    localStorage.removeItem("tsattn:probe");
  } catch (error) {
    return error.name === "QuotaExceededError" ? "full" : "blocked";
  }
  if (stored() === null) return "later";
  return memory ? "full" : "kept";
}

export function isEntry(entry) {
  if (!Number.isInteger(entry?.tries) || entry.tries < 1 || entry.tries > MOST) return false;
  return typeof entry.right === "boolean" && (entry.last === undefined || isAnswer(entry.last));
}

function isAnswer(last) {
  const isPart = (part) => typeof part === "string" || (Array.isArray(part) && part.every(Number.isInteger));
  return isPart(last) || (typeof last === "object" && Object.values(last ?? {}).every(isPart));
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

function keep(questions) {
  if (memory || stored() === null) memory = questions;
  else {
    try {
      localStorage.setItem(KEY, JSON.stringify({ version: VERSION, questions }));
    } catch {
      memory = questions;
    }
  }
  tell();
}

function tell() {
  for (const listen of listeners) listen();
}

globalThis.addEventListener("storage", ({ key }) => {
  if (key === KEY || key === null) tell();
});
