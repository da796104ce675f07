// A lesson in reading order. Before each cell stands an empty `template` that says what the cell is to a talk.

// Every cell: the data of its mark (cell, slide, kind, fragment, notes), its elements, and the heading above them.
export function readCells() {
  const marks = [...document.querySelectorAll("template[data-cell]")];
  let heading = null;
  return marks.map((mark, i) => {
    const parts = [];
    for (const part of between(mark, marks[i + 1])) {
      if (part.matches("h1, h2")) heading = part;
      else if (!part.matches("script")) parts.push(part);
    }
    return { ...mark.dataset, mark, parts, heading };
  });
}

function* between(mark, end) {
  for (let node = onward(mark); node && node !== end;) {
    const inside = node.matches("section") ? node.firstElementChild : null;
    if (!inside) yield node;
    if (inside === end) return;
    node = inside ?? onward(node);
  }
}

// What comes after an element, also where its section ends.
function onward(node) {
  while (!node.nextElementSibling) {
    node = node.parentElement;
    if (!node.matches("section")) return null;
  }
  return node.nextElementSibling;
}
