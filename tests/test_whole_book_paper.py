"""A lesson on A4: its title stands above it, nothing would have to be scrolled, nothing stands beyond the edge, and
what was chosen is still to be seen."""

import pytest

pytestmark = pytest.mark.browser
LESSONS = ("lessons/06_forecast_chain.html", "lessons/09_knowledge_guided_conditioning.html")
WIDTH = round(186 / 25.4 * 96)  # of A4 without margins of 12 mm, in pixels
READY = """() => Promise.all([document.fonts.ready, self.MathJax?.startup?.promise,
  ...[...document.querySelectorAll("[data-explorer]")].map(el => el.explorer.ready)])"""
CLIPPED = """() => [...document.querySelectorAll("article *:not(mjx-container *, .visually-hidden)")].filter(el => {
  const { right, width } = el.getBoundingClientRect();
  const scrolls = /auto|scroll|hidden/.test(getComputedStyle(el).overflowX);
  return width && (right > innerWidth + 1 || (scrolls && el.clientWidth && el.scrollWidth > el.clientWidth + 1));
}).map(el => `${el.tagName}.${el.className} ${el.textContent.slice(0, 60)}`)"""


@pytest.mark.parametrize("name", LESSONS)
def test_the_title_is_there_and_nothing_is_clipped(browser, served, name):
    page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
    page.goto(served + name)
    page.evaluate(READY)
    page.emulate_media(media="print")
    assert page.locator("article pre, article .ts-explorer, article div.math").count() > 30
    assert page.locator("article h1").is_visible()
    assert page.evaluate(CLIPPED) == []
    page.close()


def test_what_was_chosen_stays_chosen_on_paper(browser, served):
    page = browser.new_page(color_scheme="dark")
    page.goto(served + "lessons/05_destationary_attention.html")
    page.evaluate(READY)
    page.locator("[data-question] [type=radio]").first.check()
    select = page.locator("[data-question] select")
    select.first.select_option(index=1)
    page.emulate_media(media="print")
    style = "el => [getComputedStyle(el).appearance, getComputedStyle(el).colorScheme]"
    assert page.locator("[type=radio]:checked").evaluate(style) == ["auto", "light"]
    assert [select.nth(i).is_visible() for i in (0, 1)] == [True, False]
    page.close()
