// Every kind of question. Each has
// mount?(el, {id, data}): what it needs once,
// read(el, data): what the inputs say, as {value, last, note?}, where `last` is what is remembered, or {refused, at?} with the reason and the input,
// judge(data, value): {right, feedback}; the feedback is HTML made in Python,
// empty(el, data): takes the answer back.
export { choice } from "./choice.js";
export { number } from "./number.js";
