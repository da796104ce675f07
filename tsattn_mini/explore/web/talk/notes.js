// What the speaker says at a slide, and what people ask there: paragraphs of the notes that open with a question in quotes.
const QUOTED = /^["“„«]/;

export function noteTexts({ section }, say) {
  const parts = [...section.querySelector("aside.notes").children].map((part) => part.cloneNode(true));
  if (!parts.length) return [line("p", say.noNotes)];
  for (const link of parts.flatMap((part) => [...part.querySelectorAll("a")])) {
    link.target = "_blank"; // this window stays
    if (link.getAttribute("href").startsWith("#")) link.search = ""; // the page, not one more view of the speaker
  }
  const first = parts.findIndex(asked);
  if (first >= 0) parts.splice(first, 0, line("h3", say.asked));
  for (const part of parts) part.classList.toggle("ts-asked", asked(part));
  return parts;
}

function asked({ tagName, firstChild }) {
  return tagName === "P" && firstChild?.nodeName === "EM" && QUOTED.test(firstChild.textContent);
}

function line(tag, text) {
  return Object.assign(document.createElement(tag), { textContent: text });
}
