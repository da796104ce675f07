// The glossary in another order: its words A to Z, their Chinese names by pronunciation, or lesson by lesson.
import { words } from "./words.js";

export function mountSorting() {
  const list = document.querySelector("dl.ts-glossary");
  if (!list) return;
  const items = [...list.querySelectorAll(":scope > dt")].map((dt) => ({
    nodes: [dt, dt.nextElementSibling],
    english: dt.querySelector("strong").textContent,
    chinese: dt.querySelector(".ts-zh").textContent,
    lesson: dt.nextElementSibling.querySelector(".ts-lesson").textContent,
  }));
  const english = new Intl.Collator("en"), chinese = new Intl.Collator("zh-CN-u-co-pinyin");
  const orders = {
    english: (a, b) => english.compare(a.english, b.english),
    chinese: (a, b) => chinese.compare(a.chinese, b.chinese),
    lesson: (a, b) => english.compare(a.lesson, b.lesson) || english.compare(a.english, b.english),
  };
  const label = document.createElement("label"), select = document.createElement("select");
  label.className = "ts-sort";
  label.append(words("terms").sort, " ", select);
  for (const order in orders) select.add(new Option(words("terms")[order], order));
  select.addEventListener("change", () => list.append(...items.sort(orders[select.value]).flatMap(({ nodes }) => nodes)));
  list.before(label);
}
