"""Marked words in a browser: their cards by mouse, keyboard and finger, on a phone, on paper, without a script."""

import pytest
from browsing import watched
from playwright.sync_api import expect
from small_book import build
from small_glossary import lay_out

from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
SAY = words("terms")
TEXT = "Some words go before it, and only then a query. Now flow\nmatching, and last `A`."


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    lay_out(folder, first=f"# Words\n\n{TEXT}\n\n## Again\n\nA query.\n")
    return build(folder).as_uri() + "/"


@pytest.fixture
def opened(browser, site):
    """`opened(**context)` is lesson 05 with a clock that the test turns; what goes wrong on the page fails the test."""
    contexts, problems = [], []

    def visit(name="lessons/05_one.html", **context):
        contexts.append(browser.new_context(**context))
        page = watched(contexts[-1], site, problems)
        page.clock.install()
        page.goto(site + name)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


def term(page, key):
    return page.locator(f"a.ts-term[href$='#{key}']").first


def point_at(page, place):
    place.hover()
    page.clock.run_for(1000)


def test_the_mouse_shows_a_card_that_stays_under_it_and_goes_behind_it(opened):
    page = opened()
    card = page.locator(".ts-card")
    point_at(page, term(page, "term-flow-matching"))
    expect(card).to_contain_text("flow matching 流匹配")
    expect(card).to_contain_text("Learning a velocity; x < y")
    expect(card.locator("math")).to_have_count(1)
    point_at(page, card.get_by_role("link", name=SAY["glossary"]))
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    point_at(page, term(page, "symbol-05-A"))
    expect(card.get_by_role("link", name=SAY["notation"])).to_be_visible()
    point_at(page, page.get_by_role("heading", name="Again"))
    expect(card).to_be_hidden()


DESCRIBED = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).innerText"


def test_the_keyboard_stops_once_at_each_entry(opened):
    page = opened()
    card, stops = page.locator(".ts-card"), []
    while stops[-1:] != ["#symbol-05-A"]:
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.ts-term')"):
            stops.append(page.evaluate("document.activeElement.hash"))
            expect(card).to_be_visible()
            assert page.evaluate(DESCRIBED) in card.inner_text()
        else:
            expect(card).to_be_hidden()
    assert stops == ["#term-query", "#term-flow-matching", "#symbol-05-A"]
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/notation.html#symbol-05-A")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_finger_opens_the_card_first_and_the_glossary_next(opened, scheme):
    page = opened(viewport={"width": 390, "height": 700}, has_touch=True, is_mobile=True, color_scheme=scheme)
    query, card = term(page, "term-query"), page.locator(".ts-card")
    query.tap()
    expect(card).to_be_visible()
    box = card.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    page.get_by_role("heading", name="Again").tap()
    expect(card).to_be_hidden()
    query.tap()
    expect(card).to_be_visible()
    query.tap()
    page.wait_for_url("**/book/glossary.html#term-query")


def test_without_a_script_a_word_is_a_link_and_on_paper_it_is_text(opened):
    page = opened(java_script_enabled=False)
    query = term(page, "term-query")
    line = "el => getComputedStyle(el).textDecorationLine"
    assert query.evaluate(line) == "underline"
    page.emulate_media(media="print")
    assert query.evaluate(line) == "none"
    page.emulate_media(media="screen")
    query.click()
    page.wait_for_url("**/book/glossary.html#term-query")
    assert page.locator("#term-query").is_visible()


def test_the_glossary_can_be_put_in_other_orders(opened):
    page = opened("book/glossary.html")
    order = page.get_by_label(SAY["sort"])
    names = lambda: page.locator("dl.ts-glossary > dt strong").all_inner_texts()  # noqa: E731
    english = names()
    order.select_option(label=SAY["lesson"])
    assert names() == ["attention", "query", "self-attention", "flow matching", "mode"]
    order.select_option(label=SAY["chinese"])
    assert names() == ["query", "flow matching", "mode", "attention", "self-attention"]
    order.select_option(label=SAY["english"])
    assert names() == english == sorted(english)
