// A slide outside of the deck, at a size of its own: on paper, or beside the speaker's notes.

export function makeLeaf([width, height]) {
  const leaf = document.createElement("div");
  leaf.className = "ts-leaf reveal";
  leaf.style.cssText = `width: ${width}px; height: ${height}px`;
  leaf.innerHTML = '<div class="slides"></div>';
  return leaf;
}
