// A sentence: typed, offered word by word, and shown as the pieces it is cut into.
import { cut, offers } from "./pieces.js";
import { fill, words } from "./words.js";

export function tokens(box, input, set, tell) {
  const field = box.querySelector("input"), chips = box.querySelector("ol"), offered = box.querySelector("datalist"), note = box.querySelector("p");
  const say = words("explorer");
  let now = input.value, typing = false;
  let left = {}; // what was left out of which text, said in words

  function typed() {
    typing = true;
    const { unknown } = cut(input, field.value);
    field.setAttribute("aria-invalid", unknown !== undefined);
    offered.replaceChildren(...offers(input, field.value).map((text) => new Option("", text)));
    if (unknown === undefined) return set(field.value);
    leave(now, fill(say.unknown, { name: input.label, which: `“${unknown}”` }));
  }

  function leave(of, said) {
    left = { of, said };
    note.textContent = said;
    if (said) tell(said);
  }

  // What has been typed gives way to what went in.
  function rest() {
    typing = false;
    field.removeAttribute("aria-invalid");
    field.value = now;
  }

  field.addEventListener("input", typed);
  field.addEventListener("change", rest);
  field.addEventListener("keydown", ({ key }) => {
    if (key === "Enter" || key === "Escape") rest();
  });

  return {
    check(value) {
      const { texts, unknown } = typeof value === "string" ? cut(input, value) : { unknown: value };
      if (unknown !== undefined) throw new RangeError(`${input.name}: a text of the vocabulary's pieces; got ${unknown}`);
      const kept = texts.slice(0, input.length).join(""), rest = texts.slice(input.length).join("");
      leave(kept, rest && fill(say.cut, { name: input.label, length: input.length, rest }));
      return kept;
    },
    note: () => (left.of === now ? left.said : ""),
    show(value) {
      now = value;
      if (left.of !== now) note.textContent = "";
      const { ids, texts } = cut(input, value);
      chips.replaceChildren(...ids.map((id, i) => chip(texts[i], id)));
      if (!(typing && field === document.activeElement)) field.value = value;
    },
  };
}

function chip(text, id) {
  const item = document.createElement("li"), name = document.createElement("b");
  name.textContent = text.replaceAll(" ", "␣");
  item.append(name, ` ${id}`);
  return item;
}
