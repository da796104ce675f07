// The line under the pictures: what a listener hears once the hand rests, and what could not be done.
import { summary } from "./summary.js";
import { fill, words } from "./words.js";

export function messages(element, spec) {
  const say = words("explorer");
  const line = element.querySelector("[data-say]");
  let told, said = false;

  function tell(text) {
    said = true; // a summary that waits would take the place of a refusal
    line.textContent = text;
  }

  return {
    tell,
    waking: () => tell(say.loading),
    failed: (error) => tell(fill(say.failed, { why: error.message })),
    start(values) {
      told = values;
      said = true;
    },
    answered: () => { said = false; },
    rested(values, notes) {
      if (said) return;
      tell([...notes, summary(spec, told, values)].join(" "));
      told = values;
    },
  };
}
