// The step bar: one transform at a time, with its formula, axes, shape and sentence. It stays in sight over a long
// chain, and brings the picture of the chosen step into sight.
export function walk({ element, spec: { steps } }) {
  const caption = element.querySelector("[data-caption]");
  const buttons = [...element.querySelectorAll("[data-go]")];
  const panels = [...element.querySelectorAll("[data-step]")];
  let now = 0;

  function go(to, by = "start") {
    now = (to + steps.length) % steps.length;
    const { name, label, axes, dims, eq, note } = steps[now];
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i === now);
      button.tabIndex = i === now ? 0 : -1;
    });
    for (const panel of panels) panel.classList.toggle("ts-now", panel.dataset.step === name);
    if (by === "key") buttons[now].focus();
    if (by !== "start") for (const seen of [buttons[now], panels[now]]) seen.scrollIntoView({ block: "nearest", inline: "nearest" });
    const shape = axes.split(" ").filter(Boolean).map((axis, i) => `${axis} ${dims[i]}`).join(" × ");
    caption.replaceChildren(part("b", label), part("code", eq), part("span", shape), part("span", note));
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
  go(0);
}

function part(tag, text) {
  const node = document.createElement(tag);
  node.textContent = text ?? "";
  node.hidden = !text;
  return node;
}
