// Which cells are tried: all of them, or of very many only those that the reader can see.
const MOST = 128;

// A function of an input and the place of a cell in it. `fields(name)` are the cells of an input on the page.
export function inSight(inputs, fields) {
  const of = new Map(inputs.filter(({ kind }) => kind === "cells").map((input) => [input, fields(input.name)]));
  const all = [...of.values()].flat();
  if (all.length <= MOST) return () => true;
  const seen = all.filter((field) => {
    const { top, bottom, left, right } = field.getBoundingClientRect();
    return bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  });
  const block = new Set((seen.length ? seen : all).slice(0, MOST));
  return (input, i) => block.has(of.get(input)[i]);
}
