// Every kind of question. Each has
//   mount?(el, hooks)         what it needs once, with { id, data, reset, backendFor }; what it returns joins the handle,
//   read(el, data)            { value, last, note? }, where `last` is what is remembered, or { refused, at? } with why and where,
//   judge(data, value, el)    { right, feedback }; the feedback is HTML made in Python, and says what of an answer is right,
//   empty(el, data)           takes the answer back.
export { choice } from "./choice.js";
export { match } from "./match.js";
export { number } from "./number.js";
export { order } from "./order.js";
export { several } from "./several.js";
export { written } from "./written.js";
