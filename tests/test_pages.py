"""Every page of the built book, over http and from the disk: quiet, no wider than its window, live or still."""

import json

import pytest
from answering import answers, give
from browsing import pages, specs
from live import first_values, picture_fault

from tsattn_mini.explore.element import words
from tsattn_mini.figures import number

pytestmark = pytest.mark.browser
WIDE, NARROW, ENLARGED = (1280, 900), (390, 844), (320, 568)  # the last: 640 pixels, twice as large
TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter(el => {
  const { right, width } = el.getBoundingClientRect();
  return document.scrollingElement.scrollWidth > innerWidth && width && right > innerWidth;
}).map(el => `${el.tagName}.${el.className}`).slice(0, 5)"""
SETTLED = """() => Promise.all([document.fonts.ready, self.MathJax?.startup?.promise,
  ...[...document.querySelectorAll("[data-explorer]")].map(el => el.explorer.ready)])"""


@pytest.mark.parametrize("name", pages())
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_quiet_and_fits_its_window(visit, name, scheme):
    sizes = [WIDE, NARROW, ENLARGED] if scheme == "light" else [NARROW, WIDE]
    page = visit(name, *sizes[0], color_scheme=scheme)
    if name == "index.html":
        page.wait_for_url("**/book/index.html")
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(SETTLED)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width, page.evaluate(TOO_WIDE)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ts-scheme').trim()") == scheme


@pytest.mark.parametrize("name", pages("data-explorer="))
@pytest.mark.parametrize("missing", ["JavaScript", "WebAssembly", "DecompressionStream"])
def test_without_a_runtime_the_picture_stands_still_and_says_so(visit, name, missing):
    page = visit(name, java_script_enabled=missing != "JavaScript", before=f"delete globalThis.{missing}")
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


@pytest.mark.parametrize("name", [name for name in pages("data-question=") if "self_test" not in name])
def test_every_answer_to_a_question_gets_its_own_words(visit, name):
    page = visit(name)
    for question in page.locator("[data-question]").all():
        data = json.loads(question.locator("script").text_content())
        heard = [give(question, data, answer) for answer in answers(data)]
        verdicts = [verdict for verdict, _ in heard]
        assert verdicts == ["wrong"] * (len(heard) - 1) + ["right"], heard
        assert len(set(heard)) == len(heard), heard
