// Marked words: pointing at one, tapping it or reaching it by keyboard shows its entry, which lies in the page.
import { words } from "./words.js";

const REST = 120, LEAVE = 300; // milliseconds: the pointer rests on a word; time to move on from it into the card
const GAP = 4, EDGE = 8; // pixels between word and card, and between card and window

export function mountTerms() {
  const entries = document.querySelector("template[data-terms]");
  if (!entries) return;
  const card = makeCard();
  let shown = null, finger = false, later;

  function show(term) {
    clearTimeout(later);
    if (shown === term) return;
    hide();
    const entry = entries.content.querySelector(`[data-term="${CSS.escape(key(term))}"]`);
    card.say.replaceChildren(...entry.cloneNode(true).childNodes);
    card.more.href = term.href;
    card.more.textContent = words("terms")[key(term).startsWith("symbol") ? "notation" : "glossary"];
    (shown = term).setAttribute("aria-describedby", card.say.id);
    term.closest("main, body").append(card.box);
    card.box.hidden = false;
    put(card.box, term);
  }

  function hide() {
    clearTimeout(later);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    card.box.hidden = true;
  }

  function soon(act, milliseconds) {
    clearTimeout(later);
    later = setTimeout(act, milliseconds);
  }

  document.addEventListener("pointerdown", (event) => {
    finger = event.pointerType !== "mouse";
    if (!event.target.closest(".ts-term, .ts-card")) hide();
  });
  document.addEventListener("pointerover", (event) => {
    const term = event.target.closest(".ts-term");
    if (event.pointerType !== "mouse") return;
    if (term) soon(() => show(term), REST);
    else if (event.target.closest(".ts-card")) clearTimeout(later);
    else if (document.activeElement === shown) clearTimeout(later);
    else soon(hide, LEAVE);
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target.matches(".ts-term:focus-visible")) show(target);
    else if (!target.closest(".ts-card, .ts-term")) hide();
  });
  document.addEventListener("click", (event) => {
    const term = event.target.closest(".ts-term");
    if (!term || !finger || term === shown) return; // the second tap follows the link
    event.preventDefault();
    show(term);
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  addEventListener("resize", hide);
  addEventListener("pagehide", hide); // the way back leads to the text
}

const key = (term) => decodeURIComponent(term.hash.slice(1));

function makeCard() {
  const box = document.createElement("aside"), say = document.createElement("div"), more = document.createElement("a");
  box.className = "ts-card mathjax_ignore";
  box.setAttribute("aria-label", words("terms").card);
  box.hidden = true;
  say.id = "ts-card";
  box.append(say, more);
  return { box, say, more };
}

// Below the line of the word, or above it where the window ends; the card scrolls with the text.
function put(card, term) {
  card.style.left = card.style.top = "0";
  const line = term.getClientRects()[0], from = card.getBoundingClientRect();
  const left = Math.max(EDGE, Math.min(line.left, document.documentElement.clientWidth - from.width - EDGE));
  const above = line.top - GAP - from.height, below = line.bottom + GAP;
  const top = below + from.height <= innerHeight || above < 0 ? below : above;
  card.style.left = `${left - from.left}px`;
  card.style.top = `${top - from.top}px`;
}
