// The line under the pictures: what a listener hears once the hand rests, and what could not be done.
import { spread } from "./drawing.js";
import { number } from "./number.js";
import { fill, words } from "./words.js";

export function messages(element, spec) {
  const say = words("explorer");
  const line = element.querySelector("[data-say]");
  let told, said = false;

  function tell(text) {
    said = true; // a summary that waits would take the place of a refusal
    line.textContent = text;
  }

  // The number that moved most since the last summary, and the last step.
  function summary(values) {
    const sick = spec.steps.find(({ name }) => values[name].some((v) => Number.isNaN(Number(v))));
    const moves = spec.steps.map((step) => ({ step, ...largest(told[step.name], values[step.name]) }));
    told = values;
    if (sick) return fill(say.nan, { step: sick.label });
    const most = moves.reduce((a, b) => (b.size > a.size ? b : a));
    if (!most.size) return say.same;
    return [...new Set([most, moves.at(-1)])].map(sentence).join(" ");
  }

  function sentence({ step, size, i, before, after }) {
    if (size < 1e-6) return fill(say.stayed, { step: step.label });
    return fill(say.changed, { step: step.label, at: place(i, step.dims), before: number(before), after: number(after) });
  }

  return {
    tell,
    waking: () => tell(say.loading),
    failed: (error) => tell(fill(say.failed, { why: error.message })),
    start(values) {
      told = values;
      said = true;
    },
    answered() { said = false; },
    rested(values, notes) {
      if (!said) tell([...notes, summary(values)].join(" "));
    },
  };
}

// The entry that moved most, as a share of the largest number.
function largest(before, after) {
  const reach = spread(after);
  let most = { size: 0 };
  for (let i = 0; i < after.length; i++) {
    const size = before[i] === after[i] ? 0 : Math.abs(Number(after[i]) - Number(before[i])) / reach;
    if (size > most.size) most = { size, i, before: before[i], after: after[i] };
  }
  return most;
}

function place(i, dims) {
  const at = [];
  for (const n of [...dims].reverse()) {
    if (n > 1) at.unshift(i % n);
    i = Math.floor(i / n);
  }
  return at.length ? `[${at.join(",")}]` : "";
}
