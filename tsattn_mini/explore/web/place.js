// The place of a reader in a lesson: the cell at the top of the window, and how far from the top it stands.
import { readCells } from "./marks.js";

const TOP = 80; // pixels below the upper edge of the window, under the bar of the page

// {cell, top, slide}: from a page that was not scrolled yet, a talk starts at its first slide.
export function here() {
  const cells = readCells().filter(({ parts }) => top(parts) !== undefined);
  const at = cells.findLast(({ parts }) => top(parts) <= TOP) ?? cells[0];
  const before = cells.slice(0, cells.indexOf(at) + 1).findLast(({ slide }) => slide);
  return { cell: at.cell, top: top(at.parts), slide: scrollY < TOP ? 1 : Number(before?.slide ?? 1) };
}

export function back({ cell, top: then }) {
  const { parts } = readCells().find((one) => one.cell === cell) ?? { parts: [] };
  const now = top(parts);
  if (now !== undefined) scrollBy({ top: now - then, behavior: "instant" });
}

export function toCell(cell) {
  back({ cell, top: TOP });
}

function top(parts) {
  return parts.find((part) => part.getClientRects().length)?.getBoundingClientRect().top;
}
