// The step bar: one transform at a time, with its formula, axes, shape, sentence and line of code. It stays in sight
// over a long chain, brings the picture of the chosen step into sight and marks what that was computed from.
import { thumbs } from "./thumb.js";
import { words } from "./words.js";

const PACE = 3500; // milliseconds for one step while playing
const ROOM = 3; // pixels beside a button that is brought into sight

export function steps(stage) {
  const { element, spec } = stage;
  const buttons = [...element.querySelectorAll("[data-go]")];
  const about = [...element.querySelectorAll("[data-about]")];
  const panels = [...element.querySelectorAll("[data-step]")];
  const boxes = [...element.querySelectorAll("[data-input]")];
  const more = [...element.querySelectorAll("[data-more]")], say = words("steps");
  const play = element.querySelector("[data-play]");
  let now = 0, next;

  function go(to, by = "start") {
    now = (to + buttons.length) % buttons.length;
    const { name, sources, handles } = spec.steps[now];
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i === now);
      button.tabIndex = i === now ? 0 : -1;
      button.classList.toggle("ts-from", sources.includes(button.dataset.go));
    });
    about.forEach((text, i) => text.classList.toggle("ts-here", i === now));
    for (const panel of panels) {
      panel.classList.toggle("ts-now", panel.dataset.step === name);
      panel.classList.toggle("ts-from", sources.includes(panel.dataset.step));
    }
    for (const box of boxes) box.classList.toggle("ts-from", handles.includes(box.dataset.input));
    if (by === "key") buttons[now].focus();
    if (by !== "start") inSight(buttons[now]);
    if (by !== "start" && by !== "choice") panels[now].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Moves the chain alone, never the page.
  function inSight(button) {
    const [strip, own] = [button.closest("ol"), button].map((node) => node.getBoundingClientRect());
    button.closest("ol").scrollLeft += Math.min(0, own.left - strip.left - ROOM) + Math.max(0, own.right - strip.right + ROOM);
  }

  function stop() {
    clearInterval(next);
    play.setAttribute("aria-pressed", "false");
  }

  // From the last step it begins anew; at the last step it ends.
  function start() {
    go(now === buttons.length - 1 ? 0 : now, "play");
    play.setAttribute("aria-pressed", "true");
    next = setInterval(() => {
      go(now + 1, "play");
      if (now === buttons.length - 1) stop();
    }, PACE);
  }

  // On a narrow screen axes, sources and code are folded away: for all steps or for none, so that walking moves nothing.
  for (const button of more) {
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") === "false";
      for (const each of more) {
        each.setAttribute("aria-expanded", open);
        each.textContent = open ? say.less : say.more;
      }
    });
  }
  play.addEventListener("click", () => (play.getAttribute("aria-pressed") === "true" ? stop() : start()));
  for (const what of ["pointerdown", "keydown"]) {
    element.addEventListener(what, ({ target }) => { if (!play.contains(target)) stop(); }, true);
  }

  buttons.forEach((button, i) => {
    button.addEventListener("click", () => go(i, "click"));
    button.addEventListener("keydown", (event) => {
      const to = { ArrowRight: now + 1, ArrowDown: now + 1, ArrowLeft: now - 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
      if (to === undefined) return;
      go(to, "key");
      event.preventDefault();
    });
  });
  for (const button of element.querySelectorAll("[data-walk]")) {
    button.addEventListener("click", () => go(now + Number(button.dataset.walk), "click"));
  }
  // The step of a number that was chosen; its picture is where the reader looks, so nothing is scrolled to.
  stage.stepTo = (name) => {
    const to = spec.steps.findIndex((step) => step.name === name);
    if (to !== now) go(to, "choice");
  };
  go(0);
  thumbs(stage, buttons.map((button) => button.querySelector("canvas")));
}
