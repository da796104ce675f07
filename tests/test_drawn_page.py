"""New numbers for a question, in a page: the buttons, the same numbers as in Python, nothing loaded beforehand."""

import json
import struct

import pytest
import torch
from browsing import watched
from sample_draws import LOGIT
from sample_questions import SHIFT

from tsattn_mini.explore.element import front_end, words
from tsattn_mini.explore.question import inline, render
from tsattn_mini.explore.question.draw import draw, word
from tsattn_mini.explore.question.template import written

pytestmark = pytest.mark.browser
SAY = words("draw")
SEEDS = range(1, 21)
SHOWN = """el => ({ text: el.querySelector("legend").innerHTML, hint: el.querySelector(".ts-q-hint p").innerHTML,
  said: el.querySelector("[data-drawn]").textContent, keypad: el.querySelector("input").inputMode })"""
SEEN = f"""async (el, seeds) => {{
  const found = [];
  for (const seed of seeds) found.push({{ data: await el.question.draw(seed), shown: ({SHOWN})(el) }});
  return found;
}}"""
MODULE = """([source, asked]) => import("data:text/javascript," + encodeURIComponent(source)).then(module => ({
  words: asked.seeds.map(seed => [0, 1, 99].map(attempt => module.word(seed, attempt, seed % 7))),
  draws: asked.seeds.map(seed => module.draw(asked.inputs, seed, 2)),
  texts: asked.numbers.map(([v, places]) => module.written(v, places ?? undefined)),
}))"""
DIFFICULT = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 0.125, 0.375, 1e-12, -3e-14, 1e15, 999.96, 99999.5, 1000.0, 1 / 3, 0.3]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    """A page with two questions, one of them to draw anew, as the book builds it."""
    folder = tmp_path_factory.mktemp("drawn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSATTN_BOOK", "1")
        body = "".join(map(render, (LOGIT, SHIFT)))
    (folder / "ts").symlink_to(book / "ts")
    (folder / "page.html").write_text(
        "<!doctype html><html lang='en'><meta charset='utf8'><title>Questions</title><link rel='icon' href='data:,'>"
        "<meta name='viewport' content='width=device-width'><link rel='stylesheet' href='ts/style.css'>"
        f"<script defer src='ts/book.js'></script><body><main>{body}</main>", encoding="utf8")
    return folder


@pytest.fixture
def page(browser, folder):
    """The page, opened from the disk; what goes wrong on it fails the test."""
    context, problems, site = browser.new_context(), [], folder.as_uri() + "/"
    context.set_default_timeout(10_000)
    page = watched(context, site, problems)
    page.goto(f"{site}page.html")
    yield page
    context.close()
    assert problems == []


def field(page):
    return page.locator("[data-question='97-logit']")


def answer(question, number):
    question.get_by_role("textbox").fill(str(number))
    question.get_by_role("textbox").press("Enter")
    return question.locator(".ts-q-feedback")


def said(question, text):
    question.locator("[data-drawn]").get_by_text(text).wait_for()


def test_the_page_draws_and_computes_what_python_does(page):
    found = field(page).evaluate(SEEN, [*SEEDS, 0])
    for seed, seen in zip([*SEEDS, 0], found, strict=True):
        want, data = LOGIT.at(seed).data(), seen["data"]
        assert seen["shown"]["text"] == inline(LOGIT.at(seed).text)
        assert seen["shown"]["hint"] == inline(LOGIT.at(seed).hint)
        assert [data["right"], data["wrong"]] == [want["right"], want["wrong"]]
        assert [slip["feedback"] for slip in data["slips"]] == [slip["feedback"] for slip in want["slips"]]
        values = [[d["answer"], *(slip["value"] for slip in d["slips"])] for d in (data, want)]
        torch.testing.assert_close(*map(torch.tensor, values), rtol=1e-5, atol=1e-5)
        assert seen["shown"]["keypad"] == "text"
    assert len({seen["shown"]["text"] for seen in found}) == len(found)


def test_chance_and_the_writing_of_numbers_are_the_same_in_both_languages(page):
    seeds = [*range(1, 999), 2**31, 2**32 - 1]
    floats = [struct.unpack("f", struct.pack("I", word(seed, 0, 5)))[0] for seed in seeds]
    numbers = [*DIFFICULT, *(v for v in floats if abs(v) < 1e15)]
    asked = [[v, places] for v in numbers for places in (None, 0, 2)]
    got = page.evaluate(MODULE, [front_end("draw.js"), {
        "seeds": seeds, "inputs": LOGIT.drawing.data()["inputs"], "numbers": asked}])
    assert got["words"] == [[word(seed, attempt, seed % 7) for attempt in (0, 1, 99)] for seed in seeds]
    assert got["draws"] == [{name: x.flatten().tolist() for name, x in draw(LOGIT.drawing.draws, seed, 2).items()}
                            for seed in seeds]
    assert got["texts"] == [written(*one) for one in asked]


def test_new_numbers_are_asked_said_judged_and_taken_back(page):
    logit = field(page)
    first = logit.evaluate(SHOWN)
    assert first["text"] == inline(LOGIT.text)
    answer(logit, LOGIT.answer())
    new, back = (logit.get_by_role("button", name=SAY[name]) for name in ("new", "first"))
    assert not back.is_visible()
    assert not [url for url in page.asked if "wasm" in url]
    new.press("Enter")
    said(logit, SAY["seed"].format(seed=1))
    assert back.is_visible()
    assert new.evaluate("el => el === document.activeElement")
    assert logit.locator("[data-drawn]").text_content().endswith(logit.locator("legend").text_content())
    assert logit.get_by_role("textbox").input_value() == ""
    assert logit.locator(".ts-q-status").inner_text() == words("question")["solved"]
    one = LOGIT.at(1)
    assert answer(logit, one.slips["root"].number()).get_attribute("data-verdict") == "wrong"
    assert answer(logit, round(one.answer(), 3)).inner_text().endswith(one.right)
    kept = json.loads(page.evaluate("localStorage.getItem('tsattn:progress')"))["questions"]["97-logit"]
    assert kept == {"tries": 3, "right": True, "last": f"{round(one.answer(), 3)} #1"}
    new.click()
    new.click()
    said(logit, SAY["seed"].format(seed=3))
    assert logit.locator(".ts-q-feedback").inner_text() == ""
    back.click()
    said(logit, SAY["atFirst"])
    assert {**logit.evaluate(SHOWN), "said": ""} == first
    assert answer(logit, LOGIT.answer()).inner_text().endswith(LOGIT.right)
    new.click()
    said(logit, SAY["seed"].format(seed=4))
    assert len([url for url in page.asked if "wasm" in url]) == 1


def test_a_runtime_that_is_missing_is_named_and_the_numbers_stay(browser, folder, tmp_path):
    for name in ("book.js", "style.css"):
        (tmp_path / "ts").mkdir(exist_ok=True)
        (tmp_path / "ts" / name).write_text((folder / "ts" / name).read_text("utf8"), "utf8")
    (tmp_path / "page.html").write_text((folder / "page.html").read_text("utf8"), "utf8")
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    field(page).get_by_role("button", name=SAY["new"]).click()
    said(field(page), SAY["failed"].split("{")[0])
    assert field(page).locator("legend").inner_html() == inline(LOGIT.text)
    assert answer(field(page), LOGIT.answer()).get_attribute("data-verdict") == "right"
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_buttons_are_large_enough_and_nothing_sticks_out(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    buttons = field(page).locator(".ts-q-draw button").all()
    assert min(button.bounding_box()["height"] for button in buttons) >= 40
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    before = field(page).bounding_box()["height"]
    buttons[0].click()
    said(field(page), SAY["seed"].format(seed=1))
    assert field(page).bounding_box()["height"] == before


def test_without_a_script_there_are_no_buttons(browser, folder):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "page.html").as_uri())
    assert page.locator("input:visible, button:visible").count() == 0
    assert field(page).locator("legend").inner_html() == inline(LOGIT.text)
    context.close()
