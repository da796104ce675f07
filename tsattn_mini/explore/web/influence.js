// What moves a number: the reader chooses one in a picture, and every handle is tried in idle moments.
import { pick } from "./pick.js";
import { handles, jumps, leap, shared, sway, uneven } from "./probes.js";
import { report, tooltip } from "./report.js";
import { inIdle, rarely } from "./idle.js";
import { inSight } from "./sight.js";
import { sways } from "./sways.js";
import { fill, words } from "./words.js";
import { exact, place } from "./where.js";

const SUSPECTS = 16; // handles that are searched for a jump

export function influence(store) {
  const { element, spec, backend, pictures } = store;
  const say = words("influence"), marks = sways(element, spec), tip = tooltip(element), tell = report(element, spec);
  const { mark, redraw } = pick(pictures, { look, choose, drop });
  let chosen, turn = 0, known = {}; // what has been tried at this state: step → answers

  store.on("answer", () => {
    turn++;
    known = {};
    redraw();
    if (chosen) marks.stale();
  });
  store.on("rest", () => { if (chosen) measure(); });
  const moved = rarely(() => { if (chosen && element.isConnected && unseen()) measure(true); });
  document.addEventListener("scroll", moved, { capture: true, passive: true }); // the page's own, or that of a box around it
  addEventListener("resize", moved);

  function look(step, i, box, plot) {
    if (step) tip.show(fill(say.value, { place: name(step, i), value: store.describe?.(step, i) ?? exact(store.values()[step.name][i]) }), box, plot);
    else tip.hide();
  }

  function choose(step, i) {
    chosen = { step, i };
    store.stepTo(step.name);
    mark(step, i);
    measure();
  }

  function drop() {
    chosen = undefined;
    turn++;
    mark();
    marks.clear();
    tell.busy(false);
    tell.hint();
  }

  const name = (step, i) => step.label + place(i, step, spec.labels);

  // `again`: only other cells came into sight, and the words stay until the new ones are there.
  async function measure(again = false) {
    const { step, i } = chosen, mine = ++turn, still = () => mine === turn;
    const base = store.inputs();
    const ask = (moves) => inIdle(moves, (some) => backend.many(base, some, step.name), backend.atOnce, still);
    if (again) known = {};
    else tell.value(step, i, store.values()[step.name][i]);
    tell.busy(true);
    try {
      const tried = known[step.name] ?? await trials(step, base, ask);
      if (!tried || !still()) return;
      known[step.name] = tried;
      const found = tried.list.map((handle) => ({ handle, ...(handle.skipped ? { kind: "skipped" } : sway(handle, tried.now, i, step.type === "int64")) }));
      show(step, i, tried, found);
      if (await suspects(found, tried, i, ask) && still()) show(step, i, tried, found);
      if (still() && unseen()) await measure(true); // the page was scrolled meanwhile
    } catch (error) {
      if (still()) tell.failed(error);
    } finally {
      if (still()) tell.busy(false);
    }
  }

  async function trials(step, base, ask) {
    const list = handles(spec.inputs, base, inSight(spec.inputs, store.fields));
    const tried = list.filter(({ skipped }) => !skipped);
    const answers = await ask([{}, ...tried.flatMap(({ moves }) => moves)]);
    if (!answers) return undefined;
    const now = answers.shift(), axis = shared(now, step.dims);
    for (const handle of tried) handle.answers = answers.splice(0, handle.moves.length);
    return { list, now, axis };
  }

  // Searches the handles whose two sides differ for a jump; true when one was found.
  async function suspects(found, { now }, i, ask) {
    let any = false;
    const three = ({ handle: { answers: [up, down] } }) => [down[i], now[i], up[i]].map(Number);
    const list = found.filter((one) => one.kind === "slope" && uneven(one.handle, three(one)));
    for (const one of list.sort((a, b) => b.reach - a.reach).slice(0, SUSPECTS)) {
      const at = three(one);
      if (!(await jumps(one.handle, at, async (moved) => (await ask([moved]))?.[0][i]))) continue;
      Object.assign(one, leap(one.handle, ...at));
      any = true;
    }
    return any;
  }

  function show(step, i, tried, found) {
    marks.show(found, name(step, i));
    tell.show(step, i, tried, found);
  }

  // Whether a cell that can be seen was not tried.
  function unseen() {
    const seen = inSight(spec.inputs, store.fields);
    return (known[chosen.step.name]?.list ?? []).some(({ skipped, input, i }) => skipped && seen(input, i));
  }
}
