// A typed number is right within a tolerance; known slips have an answer of their own.
import { readNumber } from "../read_number.js";
import { fill, words } from "../words.js";
import { drawn } from "./drawn.js";

const say = words("question");

export const number = {
  mount: (el, { data, ...hooks }) => data.draws && drawn(el, data, hooks),
  read(el, { unit, seed }) {
    const at = el.querySelector("input");
    const { value, plain, problem } = readNumber(at.value, unit);
    const typed = at.value.trim();
    if (problem) return { refused: fill(say[problem], { typed: brief(typed) }), at };
    return { value, last: seed ? `${typed} #${seed}` : typed, note: plain ? "" : fill(say.readAs, { typed: brief(typed), value: short(value) }) };
  },
  judge(data, value) {
    const off = (target) => Math.abs(value - target);
    const near = (target) => off(target) <= data.tolerance * (1 + 1e-9);
    if (near(data.answer)) return { right: true, feedback: data.right };
    const [slip] = data.slips.filter((s) => near(s.value)).sort((a, b) => off(a.value) - off(b.value));
    return { right: false, feedback: slip?.feedback ?? data.wrong };
  },
  empty(el) {
    el.querySelector("input").value = "";
  },
};

function brief(typed) {
  return typed.length > 40 ? `${typed.slice(0, 40)}…` : typed;
}

function short(value) {
  return String(Number(value.toPrecision(6)));
}
