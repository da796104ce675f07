// What a reader can take home: the shown numbers, the picture, and the lines of Python that bring the state back.
import { toClipboard } from "./clipboard.js";
import { single } from "./number.js";
import { save } from "./save.js";
import { pictureOf } from "./svg.js";
import { words } from "./words.js";
import { unravel } from "./where.js";

export function take(stage) {
  const { element, spec, inputs, on, paint, ready, tell, values } = stage;
  const menu = element.querySelector("[data-take]"), lines = menu.querySelector("[data-python]");
  const make = {
    json: () => ["application/json", asJson(spec, inputs(), values())],
    csv: () => ["text/csv", asCsv(spec, values())],
    svg: () => {
      paint.finish();
      return ["image/svg+xml", pictureOf(stage)];
    },
  };

  for (const button of menu.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => save(`${spec.id}.${button.dataset.save}`, ...make[button.dataset.save]()));
  }
  menu.querySelector("[data-copy=python]").addEventListener("click", async () => {
    await toClipboard(asPython(spec, inputs()));
    tell(words("take").copied);
  });

  const write = () => { if (menu.open) lines.textContent = asPython(spec, inputs()); };
  menu.addEventListener("toggle", write);
  on("rest", write);
  ready.then(write, () => {});
}

// Whole numbers keep all 64 bits; what is no number stands in quotes, since JSON has no sign for it.
function asJson(spec, inputs, values) {
  const number = (v) => (Number.isFinite(Number(v)) ? text(v) : JSON.stringify(text(v)));
  const steps = spec.steps.map(({ name, axes, dims, type }) =>
    `${JSON.stringify(name)}: {"axes": ${JSON.stringify(axes)}, "dims": [${dims.join(", ")}], "type": "${type}", "data": ${nested(Array.from(values[name], number), dims)}}`);
  const head = { explorer: spec.id, title: spec.title, inputs };
  return `{${JSON.stringify(head).slice(1, -1)},\n"steps": {\n${steps.join(",\n")}\n}}\n`;
}

// One row per number: step, the letters of its axes, its place along them, its value.
function asCsv(spec, values) {
  const rows = spec.steps.flatMap(({ name, axes, dims }) =>
    Array.from(values[name], (v, i) => [quoted(name), quoted(axes), unravel(i, dims).join(" "), text(v)].join(",")));
  return ["step,axes,index,value", ...rows, ""].join("\r\n");
}

function asPython(spec, inputs) {
  const set = Object.entries(inputs).map(([name, value]) => `${name}=${literal(value)}`).join(", ");
  return `from tsattn_mini.explore import Explorer\nex = Explorer.called(${JSON.stringify(spec.id)})\nex.set(${set})\n`;
}

function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "boolean") return value ? "True" : "False";
  return typeof value === "number" ? text(value) : JSON.stringify(value);
}

function text(v) {
  return typeof v === "bigint" || !Number.isFinite(v) ? String(v) : String(single(v));
}

function nested(texts, dims) {
  if (!dims.length) return texts[0];
  const size = texts.length / dims[0];
  return `[${Array.from({ length: dims[0] }, (_, i) => nested(texts.slice(i * size, (i + 1) * size), dims.slice(1))).join(", ")}]`;
}

// A program for tables takes what begins so for a formula, and would run it.
function quoted(words) {
  const inert = /^[=+\-@\t\r]/.test(words) ? `'${words}` : words;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
