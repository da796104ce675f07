// The door to the talk: a button in the header of a lesson, the key T, an address with ?talk. The slides are loaded when
// it opens first. The address follows them (?talk=12), so that a reload finds them again; the browser's Back leaves.
import { addScript, addStyle } from "./beside.js";
import { back, here, toCell } from "./place.js";
import { fill, words } from "./words.js";

const say = words("talk");

export function mountDoor() {
  const header = document.querySelector(".article-header-buttons");
  if (!header || !document.querySelector("template[data-slide]")) return;
  let talk, opening = false;

  function enter() {
    const place = here();
    const address = new URL(location);
    address.searchParams.set("talk", place.slide);
    history.pushState({ ...history.state, talk: place }, "", address);
    sync();
  }

  function leave() {
    if (history.state?.talk) return history.back();
    const address = new URL(location);
    address.searchParams.delete("talk");
    history.replaceState(history.state, "", address);
    return sync();
  }

  // Brings what is on the screen in line with the address.
  async function sync() {
    const at = new URLSearchParams(location.search).get("talk");
    if (at === null) close();
    else if (talk) talk.go(at);
    else if (!opening) {
      opening = true;
      try {
        await open(at);
      } catch (error) {
        button.title = fill(say.missing, { why: error.message });
      }
      opening = false;
    }
  }

  async function open(at) {
    const place = history.state?.talk;
    const start = await load();
    if (!new URLSearchParams(location.search).has("talk")) return; // left again while the slides were on their way
    talk = await start({ at, leave, place });
  }

  function close() {
    if (!talk) return;
    const { place, cell } = talk.close();
    talk = undefined;
    if (place) back(place);
    else toCell(cell);
  }

  const button = document.createElement("button");
  button.className = "btn btn-sm ts-present";
  button.type = "button";
  button.title = say.hint;
  button.textContent = say.open;
  button.addEventListener("click", enter);
  header.prepend(button);
  addEventListener("keydown", (event) => {
    if (opening && event.key === "Escape") leave();
    if (talk || opening || event.key.toLowerCase() !== "t" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    enter();
  });
  addEventListener("popstate", sync);
  sync();
}

let loaded;

function load() {
  loaded ??= Promise.all([
    new Promise((resolve, reject) => {
      self.tsattnTalk = resolve; // called by the script: a page opened from disk cannot fetch
      addScript("talk.js", reject);
    }),
    addStyle("talk.css"),
    self.MathJax?.startup?.promise,
  ]).then(([start]) => start);
  loaded.catch(() => { loaded = undefined; }); // the next press tries again
  return loaded;
}
