// The slides of a page, as its marks say: what stands on each, and what is said beside it.
import { readCells } from "../marks.js";

// [{ number, kind, heading, cells: [{cell, parts, late}], notes: [{cell, parts}] }], in order.
export function readTalk() {
  const slides = [];
  const cells = readCells();
  for (const cell of cells) {
    if (!cell.slide) continue;
    const { heading, kind } = cell;
    const slide = (slides[cell.slide - 1] ??= { number: Number(cell.slide), kind, heading, cells: [], notes: [] });
    slide.cells.push({ cell: cell.cell, parts: cell.parts, late: cell.fragment !== undefined });
  }
  for (const { cell, notes, parts } of cells) {
    for (const number of notes?.split(" ") ?? []) slides[number - 1].notes.push({ cell, parts });
  }
  return slides;
}
