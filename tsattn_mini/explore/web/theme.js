// The colours of a page that stands alone: those of the reader's system, until its button is pressed.
{
  const page = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = (on) => {
    page.dataset.theme = on ? "dark" : "light";
    document.querySelector("[data-dark]")?.setAttribute("aria-pressed", on);
  };
  const follow = () => paint(dark.matches);
  follow();
  dark.addEventListener("change", follow);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-dark]");
    button.hidden = false;
    button.addEventListener("click", () => {
      dark.removeEventListener("change", follow);
      paint(page.dataset.theme === "light");
    });
    paint(page.dataset.theme === "dark");
  });
}
