// The page on paper: the questions that are shown, all folds open, with or without the answers.

export function sheet(root, items) {
  let closed = [], drawn = [], ready = false;
  const asked = items.map(({ el }) => {
    const legend = el.querySelector("legend");
    return { legend, text: legend.innerHTML };
  });

  for (const { el } of items) {
    const [, answer] = el.querySelector(".ts-q-answer").children;
    el.querySelector(".ts-key").append(answer.cloneNode(true)); // the script takes the folded answer away
    el.querySelectorAll(".ts-q-order > li").forEach((line, i) => line.style.setProperty("--place", i));
  }

  for (const button of root.querySelectorAll("[data-print]")) {
    button.addEventListener("click", () => {
      root.dataset.sheet = button.dataset.print;
      print();
    });
  }
  addEventListener("beforeprint", () => {
    if (ready) return; // announced twice
    ready = true;
    closed = [...root.querySelectorAll(".ts-group:not([open])")];
    for (const fold of closed) fold.open = true;
    // Numbers that were drawn anew give way to the first ones, which the answers belong to.
    drawn = asked.filter(({ legend, text }) => legend.innerHTML !== text).map(({ legend, text }) => {
      const now = legend.innerHTML;
      legend.innerHTML = text;
      return { legend, now };
    });
  });
  addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    for (const { legend, now } of drawn) legend.innerHTML = now;
    delete root.dataset.sheet;
    ready = false;
  });
}
