"""Every page of the built book, over http and from the disk: quiet, no wider than its window, live or still.

Where the way a page came by changes nothing, one of the two is enough.
"""

import json

import pytest
from answering import answers, give
from browsing import of_every_kind, pages, specs
from live import first_values, picture_fault

from tsattn_mini.explore.element import words
from tsattn_mini.figures import number

pytestmark = pytest.mark.browser
WIDE, NARROW, ENLARGED = (1280, 900), (390, 844), (320, 568)  # the last: 640 pixels, twice as large
TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter(el => {
  const { right, width } = el.getBoundingClientRect();
  return document.scrollingElement.scrollWidth > innerWidth && width && right > innerWidth;
}).map(el => `${el.tagName}.${el.className}`).slice(0, 5)"""
LESSONS = pages("data-explorer=")
from_the_disk = pytest.mark.parametrize("site", ["file"], indirect=True)
SCHEME = "getComputedStyle(document.documentElement).getPropertyValue('--ts-scheme').trim()"
SETTLED = """() => Promise.all([document.fonts.ready, self.MathJax?.startup?.promise,
  ...[...document.querySelectorAll("[data-explorer]")].map(el => el.explorer.ready)])"""


@pytest.mark.parametrize("name", pages())
def test_a_page_is_quiet_and_fits_its_window_by_day_and_by_night(visit, site, name):
    first, other = ("light", "dark") if site.startswith("http") else ("dark", "light")
    page = visit(name, *WIDE, color_scheme=first)
    if name == "index.html":
        page.wait_for_url("**/book/index.html")
    for scheme, sizes in ((first, [WIDE, NARROW, ENLARGED]), (other, [NARROW, WIDE])):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"() => document.documentElement.dataset.theme === '{scheme}'")
        assert page.evaluate(SCHEME) == scheme
        for width, height in sizes:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(SETTLED)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width, page.evaluate(TOO_WIDE)


@from_the_disk
@pytest.mark.parametrize("name", LESSONS)
def test_without_a_script_the_picture_stands_still_and_says_so(visit, name):
    stands_still(visit(name, java_script_enabled=False), name)


@pytest.mark.parametrize("name", of_every_kind())
@pytest.mark.parametrize("missing", ["WebAssembly", "DecompressionStream"])
def test_without_a_runtime_the_picture_stands_still_and_says_so(visit, name, missing):
    stands_still(visit(name, before=f"delete globalThis.{missing}"), name)


def stands_still(page, name):
    """Every explorer of the page shows its first values and says why it does not move."""
    assert page.locator(".ts-explorer").count() == len(specs(name)) > 0
    for id, spec in specs(name).items():
        explorer = page.locator(f"[data-explorer='{id}']")
        said = [text.inner_text() for text in explorer.locator(".ts-still:visible").all()]
        assert said == [words("explorer")["still"]]
        assert explorer.locator(":is(input, select, button):visible:enabled").count() == 0
        values = first_values(spec)
        for step in spec["steps"]:
            plot = explorer.locator(f"[data-step='{step['name']}'] .ts-plot")
            assert plot.locator("svg").first.is_visible()
            assert picture_fault(step, values[step["name"]], plot.inner_html(), None, spec["labels"]) is None
            assert number(values[step["name"]].flat[0].item()) in plot.locator("svg").first.get_attribute("aria-label")


@from_the_disk
@pytest.mark.parametrize("name", [name for name in pages("data-question=") if "self_test" not in name])
def test_every_answer_to_a_question_gets_its_own_words(visit, name):
    page = visit(name)
    for question in page.locator("[data-question]").all():
        data = json.loads(question.locator("script").text_content())
        heard = [give(question, data, answer) for answer in answers(data)]
        verdicts = [verdict for verdict, _ in heard]
        assert verdicts == ["wrong"] * (len(heard) - 1) + ["right"], heard
        assert len(set(heard)) == len(heard), heard
