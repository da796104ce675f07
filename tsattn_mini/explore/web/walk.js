// The step bar: one transform at a time, with its formula, axes, shape and sentence.
export function walk(element, steps) {
  const caption = element.querySelector("[data-caption]");
  const buttons = [...element.querySelectorAll("[data-go]")];
  let now = 0;

  function go(to, focus) {
    now = (to + steps.length) % steps.length;
    const { name, label, axes, dims, eq, note } = steps[now];
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i === now);
      button.tabIndex = i === now ? 0 : -1;
    });
    if (focus) buttons[now].focus();
    for (const panel of element.querySelectorAll("[data-step]")) panel.classList.toggle("ts-now", panel.dataset.step === name);
    const shape = axes.split(" ").filter(Boolean).map((axis, i) => `${axis} ${dims[i]}`).join(" × ");
    caption.replaceChildren(part("b", label), part("code", eq), part("span", shape), part("span", note));
  }

  buttons.forEach((button, i) => {
    button.addEventListener("click", () => go(i));
    button.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      go(now + by, true);
      event.preventDefault();
    });
  });
  for (const button of element.querySelectorAll("[data-walk]")) {
    button.addEventListener("click", () => go(now + Number(button.dataset.walk)));
  }
  go(0);
}

function part(tag, text) {
  const node = document.createElement(tag);
  node.textContent = text ?? "";
  node.hidden = !text;
  return node;
}
