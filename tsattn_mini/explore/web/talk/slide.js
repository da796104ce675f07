// One slide: a heading, the cells that stand on it, moved here and moved back in the end, and the speaker's notes.
import { words } from "../words.js";

export function makeSlide(slide, talk) {
  const section = document.createElement("section");
  section.dataset.kind = slide.kind;
  section.innerHTML = '<div class="ts-head"></div><div class="ts-room"><div class="ts-body bd-article"></div></div>';
  const [head, room] = section.children, body = room.firstChild;
  if (slide.kind === "explorer") room.dataset.preventSwipe = ""; // a finger there moves handles
  head.append(title(slide));
  for (const { parts, late } of slide.cells) {
    const box = late ? step(body) : body;
    for (const part of parts) move(part, box, talk);
  }
  for (const question of body.querySelectorAll("[data-question]")) reveal(question, body);
  section.append(notes(slide));
  return Object.assign(slide, { section, room, body }).section;
}

function title({ heading, kind }) {
  const line = document.createElement(kind === "title" ? "h1" : "h2");
  line.append(...(heading?.cloneNode(true).childNodes ?? []));
  line.querySelector(".headerlink")?.remove();
  return line;
}

function step(body) {
  const box = document.createElement("div");
  box.className = "fragment";
  body.append(box);
  return box;
}

// The same element, alive as it is, leaves a comment where it belongs.
function move(part, to, { onClose }) {
  const place = document.createComment("");
  part.replaceWith(place);
  to.append(part);
  onClose(() => place.replaceWith(part));
}

// The audience predicts; the next step shows what is right.
function reveal(element, body) {
  const { answer } = element.question ?? {};
  if (!answer) return;
  const box = step(body), label = document.createElement("strong");
  box.classList.add("ts-reveal");
  label.textContent = words("talk").answer;
  box.append(label, ...answer.cloneNode(true).childNodes);
}

function notes(slide) {
  const aside = document.createElement("aside");
  aside.className = "notes";
  for (const part of slide.notes.flatMap(({ parts }) => parts)) {
    const copy = part.cloneNode(true);
    copy.querySelector("summary")?.remove();
    for (const named of [copy, ...copy.querySelectorAll("[id]")]) named.removeAttribute("id");
    aside.append(...(copy.matches("details") ? copy.childNodes : [copy]));
  }
  return aside;
}

// What is shown later on a slide, one step each.
export const steps = ({ section }) => [...section.querySelectorAll(".fragment")];
