// Several remarks as HTML. Titles and texts are HTML made in Python.
export function remarks(list) {
  return `<ul class="ts-q-remarks">${list.map(([title, text]) => `<li><strong>${title}</strong><br>${text}</li>`).join("")}</ul>`;
}
