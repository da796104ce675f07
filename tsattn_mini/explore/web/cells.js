// An editable tensor: drag a cell up or down, use the arrow keys, or type a number.
import { brief, clamp, field as typed, within } from "./controls.js";
import { shade, spread } from "./drawing.js";

const PIXELS = 160; // a drag this long runs through the whole range

export function cells(box, input, set, tell) {
  const fields = [...box.querySelectorAll("input")];
  const columns = input.dims.at(-1);
  let flat = input.value.flat();
  let typing = false;

  const put = (i, value) => set(nested(flat.with(i, round(clamp(value, input), input)), input));

  function focus(i) {
    if (i < 0 || i >= fields.length) return;
    fields.forEach((field, j) => { field.tabIndex = j === i ? 0 : -1; });
    fields[i].focus();
    fields[i].select();
  }

  function key(event, i) {
    const fine = (input.max - input.min) / 100;
    const by = { ArrowUp: fine, ArrowDown: -fine, PageUp: 10 * fine, PageDown: -10 * fine }[event.key];
    const to = typing ? undefined : { ArrowLeft: i - 1, ArrowRight: i + 1, Home: i - (i % columns), End: i - (i % columns) + columns - 1 }[event.key];
    if (by !== undefined) {
      typing = false;
      put(i, flat[i] + (event.shiftKey ? 10 * by : by));
    } else if (event.key === "Enter") {
      fields[i].blur(); // takes what was typed
      focus(i + columns < fields.length ? i + columns : i);
    } else if (to !== undefined) {
      focus(to);
    } else if (event.key === "Escape") {
      typing = false;
    } else {
      return;
    }
    event.preventDefault();
  }

  // On a touch screen the first touch selects a cell, so that a page can still be scrolled over the grid.
  function drag(event, i) {
    if (event.button !== 0 || (event.pointerType === "touch" && document.activeElement !== fields[i])) return;
    const start = { y: event.clientY, value: flat[i] };
    let moved = false;
    const move = (e) => {
      if (!moved && Math.abs(e.clientY - start.y) < 4) return;
      moved = true;
      typing = false;
      put(i, start.value + ((start.y - e.clientY) / PIXELS) * (input.max - input.min));
      e.preventDefault();
    };
    fields[i].setPointerCapture(event.pointerId);
    fields[i].addEventListener("pointermove", move);
    fields[i].addEventListener("lostpointercapture", () => fields[i].removeEventListener("pointermove", move), { once: true });
  }

  fields.forEach((field, i) => {
    field.tabIndex = i ? -1 : 0;
    field.addEventListener("keydown", (event) => key(event, i));
    field.addEventListener("pointerdown", (event) => drag(event, i));
    field.addEventListener("focus", () => focus(i));
    field.addEventListener("input", () => { typing = true; });
    field.addEventListener("change", () => { typing = false; });
    typed(field, input, (value) => set(nested(flat.with(i, value), input)), tell, () => brief(flat[i]));
  });

  return {
    check(value) {
      const list = entries(value, input.dims);
      if (!list) throw new RangeError(`${input.name}: ${input.dims.join(" × ")} numbers, in rows or one after another; got ${JSON.stringify(value)}`);
      return nested(list.map((v) => within(v, input)), input);
    },
    show(value) {
      flat = value.flat();
      const top = spread(flat);
      fields.forEach((field, i) => {
        field.style.setProperty("--v", shade(flat[i], "signed", top));
        if (!(typing && field === document.activeElement)) field.value = brief(flat[i]);
      });
    },
  };
}

// The numbers of a tensor given as rows, as one list, or as { data }; undefined when their count is another.
function entries(value, dims) {
  const data = value?.data ?? value;
  if (!Array.isArray(data) && !ArrayBuffer.isView(data)) return undefined;
  const list = Array.from(data);
  const inRows = dims.length === 2 && list.length === dims[0] && list.every((row) => Array.isArray(row) && row.length === dims[1]);
  const inLine = list.length === dims.reduce((a, b) => a * b, 1) && !list.some(Array.isArray);
  return inRows || inLine ? list.flat() : undefined;
}

// A list in the rows of its input.
export function nested(list, { dims }) {
  const columns = dims.at(-1);
  if (dims.length === 1) return list;
  return Array.from({ length: list.length / columns }, (_, i) => list.slice(i * columns, (i + 1) * columns));
}

// A dragged value lands on a hundredth of the range, so that it can be read and typed again.
function round(value, { min, max }) {
  const places = Math.max(0, 2 - Math.floor(Math.log10(max - min)));
  return Number(value.toFixed(places));
}
