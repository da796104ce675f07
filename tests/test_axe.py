"""What axe-core finds on every page, and on two of them as wide as a phone: no serious violation in either theme, with
all of an explorer open that opens."""

import pytest
from browsing import ROOT, pages
from live import ask

pytestmark = pytest.mark.browser
AXE = ROOT / "node_modules/axe-core/axe.min.js"
BAD = ("serious", "critical")
NARROW = ("lessons/05_destationary_attention.html", "lessons/21_compare.html")
WIDTHS = [*((name, 1280) for name in pages()), *((name, 390) for name in NARROW)]
OPEN = """async el => {
  await el.explorer.ready;
  el.querySelector("[data-pin]").click();
  el.querySelector("[data-preset]:has([aria-hidden])")?.click();
  const cell = el.querySelector(".ts-cell, .ts-bar"), box = cell?.getBoundingClientRect();
  cell?.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + 1 }));
  while (cell && el.dataset.sways !== "shown") await new Promise(later => setTimeout(later, 10));
  return true;
}"""
RUN = """async (page, theme) => {
  page.dataset.theme = theme;
  const found = await axe.run({ resultTypes: ["violations"] });
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target, failureSummary }) => [impact, id, target.join(" "), failureSummary]));
}"""


@pytest.mark.parametrize(("name", "width"), WIDTHS)
def test_no_page_has_a_serious_violation(browser, served, name, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(served + name)
    if name == "index.html":
        page.wait_for_url("**/book/index.html")
    page.evaluate(AXE.read_text("utf8"))
    for explorer in page.locator("[data-explorer]").all():
        ask(explorer, OPEN)
    for theme in ("light", "dark"):
        assert [one for one in ask(page.locator("html"), RUN, theme) if one[0] in BAD] == [], theme
    page.close()
