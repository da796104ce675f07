// Other numbers for a number question. Answer and slips come from its graph, or in Jupyter from the kernel.
import { able } from "../able.js";
import { draw, filled } from "../draw.js";
import { fill, words } from "../words.js";

const say = words("draw");
const TRIES = 100; // how often numbers are drawn again whose slips come too near
const GAP = 1.001; // of the tolerance; the rounding of the graph must not decide it

/** Brings the two buttons to life; `data` always holds what judges the numbers that are shown. → {draw(seed)} */
export function drawn(el, data, { reset, backendFor }) {
  const { draws, answer, slips, right, wrong } = data;
  const row = el.querySelector(".ts-q-draw"), line = row.querySelector("[data-drawn]");
  const places = { text: el.querySelector("legend"), hint: el.querySelector(".ts-q-hint p") };
  const first = { seed: 0, answer, slips, texts: { text: places.text.innerHTML, hint: places.hint?.innerHTML, right, wrong } };
  let backend, newest = 0, wanted = 0, shown = first.texts.text;

  /** Asks the question with the numbers of `seed`; 0 stands for the first ones. Where it would be asked as in the text `before`, with those of the next. */
  async function set(seed, before) {
    wanted = seed;
    newest = Math.max(newest, seed);
    if (!backend) line.textContent = words("explorer").loading;
    backend ??= backendFor(draws);
    try {
      const found = seed ? await compute(draws, data.tolerance, backend, seed) : first;
      if (seed !== wanted) return;
      if (found.texts.text === before) await set(seed + 1, before);
      else show(found);
    } catch (error) {
      line.textContent = fill(say.failed, { why: error.message });
      throw error;
    }
  }

  function show({ seed, answer, slips, texts }) {
    shown = texts.text;
    Object.assign(data, { seed, answer, slips, right: texts.right, wrong: texts.wrong });
    for (const name in places) if (places[name]) places[name].innerHTML = texts[name];
    // The decimal keypad of a phone has no minus sign.
    el.querySelector("input").inputMode = Math.min(answer, ...slips.map(({ value }) => value)) < 0 ? "text" : "decimal";
    row.querySelector("[data-draw=first]").hidden = !newest; // there is nothing to go back from before
    reset();
    const heard = document.createElement("span");
    heard.className = "ts-q-heard";
    heard.append(places.text.textContent);
    line.replaceChildren(`${seed ? fill(say.seed, { seed }) : say.atFirst} `, heard);
  }

  const press = (name, act) => row.querySelector(`[data-draw=${name}]`).addEventListener("click", () => act().catch(() => {}));
  press("new", () => set(newest + 1, shown));
  press("first", () => set(0));
  row.hidden = !able();
  return { draw: (seed) => set(seed).then(() => structuredClone(data)) };
}

async function compute({ inputs, steps, texts, slips }, tolerance, backend, seed) {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const numbers = draw(inputs, seed, attempt);
    const out = await backend.run(numbers);
    const plain = Object.fromEntries(steps.map(({ name, dims }) => [name, { dims, data: Array.from(out[name], Number) }]));
    const value = (what) => (typeof what === "string" ? (plain[what]?.data ?? numbers[what])[0] : what);
    const targets = ["answer", ...slips.map((slip) => slip.value)].map(value);
    if (!apart(targets, GAP * tolerance) || !Object.values(plain).every(({ data }) => data.every(Number.isFinite))) continue;
    const given = inputs.map(({ name, dims, places }) => [name, { dims, data: numbers[name], places }]);
    const say = (text) => filled(text, { ...Object.fromEntries(given), ...plain });
    return {
      seed, answer: targets[0],
      slips: slips.map(({ feedback }, i) => ({ value: targets[i + 1], feedback: say(feedback) })),
      texts: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, say(text)])),
    };
  }
  throw new Error(fill(say.none, { seed }));
}

function apart(numbers, gap) {
  return numbers.every((a, i) => numbers.every((b, j) => j <= i || Math.abs(a - b) > gap));
}
