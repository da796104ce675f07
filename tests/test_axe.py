"""What axe-core finds on explorers: no serious violation in them, in either theme, at rest and with every feature open."""

import pytest
from browsing import ROOT, pages
from live import ask

pytestmark = pytest.mark.browser
AXE = (ROOT / "node_modules/axe-core/axe.min.js").read_text("utf8")
BAD = ("serious", "critical")
RUN = """async el => {
  const found = await axe.run(el, { resultTypes: ["violations"] });
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target, failureSummary }) => [impact, id, target.join(" "), failureSummary]));
}"""
OPEN = """async el => {
  await el.explorer.ready;
  el.querySelector("[data-pin]").click();
  const cell = el.querySelector(".ts-cell, .ts-bar"), box = cell?.getBoundingClientRect();
  cell?.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + 1 }));
  for (let i = 0; cell && el.dataset.sways !== "shown" && i < 500; i++) await new Promise(later => setTimeout(later, 10));
  return true;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", pages("data-explorer="))
def test_no_explorer_has_a_serious_violation(browser, served, name, theme):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(f"localStorage.mode = '{theme}'; localStorage.theme = '{theme}'")
    page.goto(served + name)
    page.evaluate(AXE)
    for explorer in page.locator("[data-explorer]").all():
        for script in (None, OPEN):
            if script:
                ask(explorer, script)
            found = [one for one in ask(explorer, RUN) if one[0] in BAD]
            assert found == [], f"{explorer.get_attribute('data-explorer')} {'open' if script else 'at rest'}"
    context.close()
