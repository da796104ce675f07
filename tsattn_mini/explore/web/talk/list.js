// All keys of a talk, on the key ?.
import { words } from "../words.js";

export function list(talk) {
  const say = words("talk");
  const box = document.createElement("dialog"), table = document.createElement("table"), title = document.createElement("h2");
  box.className = "ts-keys";
  title.textContent = say.keys;
  for (const [keys, act] of say.keyList) {
    const row = table.insertRow(), head = document.createElement("th");
    head.scope = "row";
    head.textContent = keys;
    row.append(head);
    row.insertCell().textContent = act;
  }
  box.append(title, table);
  talk.root.append(box);

  const close = () => box.close();
  box.addEventListener("close", () => talk.open.delete(close));
  box.addEventListener("click", close);
  const toggle = () => {
    if (box.open) return close();
    talk.open.add(close);
    return box.showModal();
  };
  talk.key("?", toggle);
  talk.button("?", toggle, say.keys).ariaLabel = say.keys;
}
