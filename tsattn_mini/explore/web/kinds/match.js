// One partner for each line: a select of its own. Right are all pairs; each wrong one is told why.
import { fill, words } from "../words.js";
import { remarks } from "./remarks.js";

const say = words("question");

export const match = {
  read(el) {
    const rows = [...el.querySelectorAll("select")];
    const at = rows.find((row) => !row.value);
    const pairs = Object.fromEntries(rows.map((row) => [row.dataset.key, row.value]));
    return at ? { refused: say.chooseEach, at } : { value: pairs, last: pairs };
  },
  judge({ answer, feedback, pairs }, chosen, el) {
    const rows = [...el.querySelectorAll("select")].map((row) => ({
      key: row.dataset.key,
      title: `${row.previousElementSibling.innerHTML} → ${row.selectedOptions[0].innerHTML}`,
      right: chosen[row.dataset.key] === answer[row.dataset.key],
    }));
    const said = ({ key }) => pairs.find(({ first, second }) => first === key && second === chosen[key])?.feedback ?? feedback[key];
    const wrong = rows.filter((row) => !row.right);
    const hit = rows.length - wrong.length;
    const told = (wrong.length ? wrong : rows).map((row) => [row.title, said(row)]);
    return { right: !wrong.length, feedback: (wrong.length ? fill(say.paired, { hit, all: rows.length }) : "") + remarks(told) };
  },
  empty(el) {
    for (const row of el.querySelectorAll("select")) row.value = "";
  },
};
