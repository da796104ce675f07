// The state of every explorer of a page in its address, `?s=…`: written when a hand rests, read when the page opens.
// It holds what differs from the page as it came: JSON { id: { input: value } or label of a preset } in base64, without signs that need %.
import { toClipboard } from "./clipboard.js";
import { single } from "./number.js";
import { fill, words } from "./words.js";

export function link({ element, spec, first, ready, checked, setAll, inputs, on, tell }) {
  const say = words("link");
  const button = element.querySelector("[data-copy=link]");

  async function restore() {
    const states = read();
    const speaker = document.querySelector("[data-explorer]") === element; // one of them speaks for the page
    if (states === null) return speaker && tell(say.broken);
    if (speaker && Object.keys(states).some((id) => !explorer(id))) tell(say.gone);
    const mine = Object.hasOwn(states, spec.id) ? states[spec.id] : {};
    if (!Object.keys(mine).length) return undefined;
    let moved;
    try {
      moved = checked(mine);
    } catch (error) {
      return tell(fill(say.outdated, { why: error.message.slice(0, 200) }));
    }
    return setAll(moved);
  }

  function write() {
    const now = inputs();
    const mine = spec.inputs.filter(({ name }) => JSON.stringify(now[name]) !== JSON.stringify(first[name]));
    const states = Object.fromEntries(Object.entries(read() ?? {}).filter(([id]) => id !== spec.id && explorer(id)));
    if (mine.length) states[spec.id] = Object.fromEntries(mine.map((input) => [input.name, short(now[input.name], input)]));
    const address = new URL(location);
    if (Object.keys(states).length) address.searchParams.set("s", encode(states));
    else address.searchParams.delete("s");
    if (address.href !== location.href) history.replaceState(history.state, "", address);
  }

  element.restored = ready.then(restore).catch(() => {}); // settled: the explorer stands where the address puts it
  element.restored.then(() => {
    on("rest", write);
    addEventListener("popstate", write); // back to a heading: the pictures stay, and the address follows them
  });
  button.hidden = false;
  button.addEventListener("click", async () => {
    write();
    const address = new URL(location);
    address.hash = element.id;
    await toClipboard(address.href);
    tell(say.copied);
  });
}

function explorer(id) {
  return document.querySelector(`[data-explorer="${CSS.escape(id)}"]`);
}

// What the address says; null where it cannot be read.
function read() {
  const text = new URLSearchParams(location.search).get("s");
  if (text === null) return {};
  try {
    const states = decode(text);
    const isState = (part) => typeof part === "string" || part?.constructor === Object;
    return states?.constructor === Object && Object.values(states).every(isState) ? states : null;
  } catch {
    return null;
  }
}

function encode(states) {
  const bytes = new TextEncoder().encode(JSON.stringify(states));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decode(text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(letters, (c) => c.charCodeAt(0))));
}

// Numbers without the digits that float32 does not have, unless they would leave the range.
function short(value, input) {
  if (Array.isArray(value)) return value.map((v) => short(v, input));
  if (typeof value !== "number") return value;
  const near = single(value);
  return near >= input.min && near <= input.max ? near : value;
}
