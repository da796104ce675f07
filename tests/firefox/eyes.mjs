// What a reader sees of a page. It runs inside the page, before any script of its own, and is called `eyes` there.
export function open() {
  const refused = [], kept = new WeakMap();
  const plain = (_, v) => typeof v === "bigint" || (typeof v === "number" && !Number.isFinite(v)) ? String(v) : v;
  const text = (value) => JSON.stringify(value, plain);
  const picture = (el) => Array.from(el.querySelectorAll(".ts-plot"), (plot) => plot.innerHTML).join("");
  const look = (el) => ({ inputs: text(el.explorer.inputs()), values: text(el.explorer.values()), picture: picture(el) });
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sourceFile }) =>
    refused.push(`the policy's ${violatedDirective} refuses ${blockedURI} from ${sourceFile}`));

  // Resolves to whether `holds` came true while one is patient, in milliseconds.
  async function until(holds, patience = 15000) {
    for (const end = performance.now() + patience; !holds(); await new Promise((later) => setTimeout(later, 5))) {
      if (performance.now() > end) return false;
    }
    return true;
  }

  // Resolves to by how many pixels the page is wider than its window.
  async function settled() {
    await Promise.all([document.fonts.ready, self.MathJax?.startup?.promise,
      ...Array.from(document.querySelectorAll("[data-explorer]"), (el) => el.explorer.ready)]);
    return document.scrollingElement.scrollWidth - innerWidth;
  }

  // Keep how an explorer stands under a name. Once it was moved, `moved` says in how many milliseconds numbers and picture
  // followed, null when they did not; `returned` says whether inputs and numbers stand there again.
  function keep(el, name) {
    kept.set(el, { ...kept.get(el), [name]: { ...look(el), at: performance.now() } });
  }
  async function moved(el, name, input) {
    const before = kept.get(el)[name];
    if (!await until(() => text(el.explorer.inputs()) !== before.inputs, 3000)) return null;
    await el.explorer.set(input, el.explorer.inputs()[input]); // resolves when the newest state is answered
    if (text(el.explorer.values()) === before.values) return null;
    return await until(() => picture(el) !== before.picture) ? performance.now() - before.at : null;
  }
  function returned(el, name) {
    const { inputs, values } = kept.get(el)[name];
    return until(() => text(el.explorer.inputs()) === inputs && text(el.explorer.values()) === values);
  }

  self.eyes = { refused, until, settled, keep, moved, returned };
}
