// What a reader's hands do in a page, through the keyboard of Firefox: each function says what came of it.

const flat = (value) => Array.isArray(value) ? value.flatMap(flat) : [value];
const ends = ({ min, max }, value) => [["End", max], ["Home", min]].filter(([, end]) => end !== value).map(([key]) => [0, [key]]);

// What may move a handle that stands at a value: [place of the field, keys pressed in it], each tried in turn.
const TRIES = {
  slider: ends,
  window: ends,
  toggle: () => [[0, [" "]]],
  choice: ({ options }, value) => options.filter((option) => option !== value)
    .map((option) => [0, ["Home", ...Array(options.indexOf(option)).fill("ArrowDown")]]),
  cells: ({ max }, value) => flat(value).slice(0, 12).map((v, i) => [i, [v < max ? "ArrowUp" : "ArrowDown"]]),
  tokens: ({ pieces }) => {
    const longest = pieces.reduce((a, b) => b.length > a.length ? b : a);
    return [[0, [...longest + longest, "Enter"]]];
  },
};

async function press(page, selector, key) {
  await page.$eval(selector, (el) => el.focus());
  await page.keyboard.press(key);
}

// Milliseconds until the first try that moves a number had moved the picture; null when none does.
async function move(page, at, input) {
  const value = await page.$eval(at, (el, name) => el.explorer.inputs()[name], input.name);
  for (const [place, keys] of TRIES[input.kind](input, value)) {
    await page.$eval(at, (el, { name, kind }, i) => {
      const field = el.querySelectorAll(`[data-input="${CSS.escape(name)}"] :is(input, select)`)[i];
      self.eyes.keep(el, "before");
      field.focus();
      if (kind === "tokens") field.select();
    }, input, place);
    for (const key of keys) await page.keyboard.press(key);
    const took = await page.$eval(at, (el, name) => self.eyes.moved(el, "before", name), input.name);
    if (took !== null) return took;
  }
  return null;
}

const about = (page, at) => page.$eval(`${at} [data-spec]`, (script) => JSON.parse(script.textContent));

// Every handle, at the first state and, where that moves no number, after each preset; then Reset.
async function explorer(page, id) {
  const at = `[data-explorer="${id}"]`, took = [];
  const { inputs, presets } = await about(page, at);
  await page.$eval(at, (el) => self.eyes.keep(el, "first"));
  let still = inputs;
  for (const preset of [null, ...presets]) {
    if (preset && still.length) await page.$eval(at, (el, label) => el.explorer.show(label), preset.label);
    const left = [];
    for (const input of still) {
      took.push(await move(page, at, input));
      if (took.at(-1) === null) left.push(input);
    }
    still = left;
  }
  await press(page, `${at} [data-reset]`, "Enter");
  return { still: still.map(({ name }) => name), took: took[0], back: await page.$eval(at, (el) => self.eyes.returned(el, "first")) };
}

export async function explorers(page) {
  const found = {};
  for (const id of await page.$$eval("[data-explorer]", (all) => all.map((el) => el.dataset.explorer))) found[id] = await explorer(page, id);
  return found;
}

// A wrong and the right answer to the first question of one choice: the verdicts.
export async function question(page) {
  const at = `[data-kind="choice"][data-question]`, verdicts = [];
  const data = await page.$eval(`${at} script`, (script) => JSON.parse(script.textContent));
  await page.$eval(at, (el) => {
    for (let fold = el.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  });
  for (const answer of [Object.keys(data.feedback).find((key) => key !== data.answer), data.answer]) {
    await press(page, `${at} input[value="${answer}"]`, " ");
    await press(page, `${at} .ts-q-row button`, "Enter");
    verdicts.push(await page.$eval(`${at} .ts-q-feedback`, (says) => says.dataset.verdict));
  }
  return verdicts;
}

// All questions on one page: what the score says before and after one was answered.
export async function score(page) {
  const read = () => page.$eval("[data-score]", (el) => el.textContent);
  const before = await read();
  return { before, verdicts: await question(page), after: await read() };
}

// The button of the theme, until the page is dark: what the style sheets then say.
export async function theme(page) {
  for (let i = 0; i < 3 && await page.evaluate(() => document.documentElement.dataset.theme) !== "dark"; i++) {
    await press(page, ".theme-switch-button", "Enter");
  }
  return page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--ts-scheme").trim());
}

const slide = (page) => page.evaluate(async () => {
  await self.eyes.until(() => document.querySelector(".ts-talk.ts-ready"));
  return document.querySelector(".ts-talk").talk.deck.getIndices().h + 1;
});

// T opens the slides, a key leads on, a handle moves on its slide, End leads to the end, Escape back to the page.
export async function talk(page) {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("t");
  await slide(page);
  await page.keyboard.press("Home");
  const seen = { first: await slide(page) };
  await page.keyboard.press("PageDown");
  seen.then = await slide(page);
  await page.evaluate(() => {
    const { deck, slides } = document.querySelector(".ts-talk").talk;
    deck.slide(slides.find(({ kind }) => kind === "explorer").number - 1);
  });
  await page.keyboard.press("Tab"); // a control that was reached so keeps its own keys
  const live = ".ts-talk section.present [data-explorer]";
  for (const input of (await about(page, live)).inputs) {
    seen.took = await move(page, live, input);
    if (seen.took !== null) break;
  }
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("End");
  seen.last = await slide(page);
  seen.count = await page.evaluate(() => document.querySelector(".ts-talk").talk.slides.length);
  await page.keyboard.press("Escape");
  seen.left = await page.evaluate(() => self.eyes.until(() => !document.querySelector(".ts-talk")));
  return seen;
}

// S opens the speaker's window; a step in it is a step of the slides.
export async function speaker(page) {
  await page.keyboard.press("t");
  const before = await slide(page), opened = new Promise((resolve) => page.once("popup", resolve));
  await page.keyboard.press("s");
  const view = await opened;
  await view.evaluate(async () => {
    while (!document.querySelector(".ts-speaker.ts-ready")) await new Promise((later) => setTimeout(later, 5));
  });
  await view.keyboard.press("PageDown");
  const after = await page.evaluate(async (from) => {
    const { deck } = document.querySelector(".ts-talk").talk;
    await self.eyes.until(() => deck.getIndices().h + 1 > from);
    return deck.getIndices().h + 1;
  }, before);
  await view.close();
  await page.keyboard.press("Escape");
  return [before, after];
}
