// Cuts a text into pieces of a vocabulary, at every place the longest that fits, as the tokenizer does in Python.
const tables = new WeakMap();

// `ids` and their texts as far as the text could be spelled; `unknown` is the character that begins no piece.
export function cut(input, text) {
  const { ids: known, longest } = table(input);
  const letters = Array.from(text); // whole characters, as Python counts them
  const ids = [], texts = [];
  for (let at = 0; at < letters.length;) {
    let end = Math.min(letters.length, at + longest);
    while (end > at && !known.has(letters.slice(at, end).join(""))) end--;
    if (end === at) return { ids, texts, unknown: letters[at] };
    const piece = letters.slice(at, end).join("");
    ids.push(known.get(piece));
    texts.push(piece);
    at = end;
  }
  return { ids, texts };
}

// The ids that enter the graph: a fixed number, filled up with padding. `without`: a place that holds padding too.
export function padded(input, text, without) {
  const { ids } = cut(input, text);
  return Array.from({ length: input.length }, (_, i) => (i === without ? input.pad : ids[i] ?? input.pad));
}

// Texts that go on from `text`: its last word finished in every way the vocabulary knows, a few of them.
export function offers({ pieces, pad }, text, most = 8) {
  const at = Math.max(0, text.lastIndexOf(" "));
  const [before, begun] = [text.slice(0, at), text.slice(at)];
  if (!begun.trim()) return [];
  return pieces.filter((piece, id) => id !== pad && piece.length > begun.length && piece.startsWith(begun))
    .slice(0, most).map((piece) => before + piece);
}

function table(input) {
  if (!tables.has(input)) {
    const ids = new Map(input.pieces.map((piece, id) => [piece, id]));
    ids.delete(input.pieces[input.pad]);
    tables.set(input, { ids, longest: Math.max(0, ...Array.from(ids.keys(), (piece) => Array.from(piece).length)) });
  }
  return tables.get(input);
}
