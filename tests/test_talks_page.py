"""The page of talks prints what the plan says, and its links open the slides that they name."""

import re
import sys
from itertools import groupby

import pytest
from browsing import BOOK, ROOT

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import notebooks, talk_entries, talk_paths
from tsbook.talk import plan

PAGE = "book/talks.html"
LESSONS = talk_entries.lessons(ROOT / "lessons")
BUILT = [number for number, path in LESSONS.items() if (BOOK / f"lessons/{path.stem}.html").exists()] or ["none"]
ROUTES = talk_paths.read(ROOT / talk_paths.FILE)
STEPS = [step for route in ROUTES for step in route.steps if step.lesson in BUILT]
FIRST = [next(steps) for _, steps in groupby(sorted(STEPS, key=lambda step: step.lesson), key=lambda step: step.lesson)]
READY = "document.querySelector('.ts-talk.ts-ready')"
SHOWN = "document.querySelector('.ts-talk section.present')"


@pytest.fixture(scope="module")
def page(book):
    return (book / PAGE).read_text("utf8")


def entry_html(page, number):
    """What stands on the page under the title of a lesson."""
    return re.search(rf'<section[^>]*id="talk-{number}".*?</section>', page, re.S)[0]


@pytest.mark.parametrize("number", BUILT)
def test_an_entry_prints_the_number_of_slides_and_links_that_exist(page, book, number):
    html, slides = entry_html(page, number), plan(notebooks.read(LESSONS[number]))
    assert f"({len(slides)} slides: {len(slides)} minutes at one a minute, " in html
    assert f'href="../lessons/{LESSONS[number].stem}.html?talk"' in html
    assert f'href="../handouts/{number}.html"' in html
    lesson = (book / f"lessons/{LESSONS[number].stem}.html").read_text("utf8")
    assert max(map(int, re.findall(r'data-slide="(\d+)"', lesson))) == len(slides)
    anchors = re.findall(rf'href="\.\./lessons/{LESSONS[number].stem}\.html#([\w-]+)"', html)
    assert len(anchors) == 5 + len(talk_entries.entry_of(ROOT, number).drop)
    for anchor in anchors:
        assert re.search(rf"""id=["']{anchor}["']""", lesson), anchor


@pytest.mark.parametrize("number", BUILT)
def test_an_entry_says_what_the_plan_in_the_speaker_notes_takes(page, number):
    plan = re.search(r"\*\*Plan, (\d+) minutes\.\*\*", LESSONS[number].read_text("utf8"))[1]
    assert f" minutes at one a minute, {plan} by the plan in its speaker notes)" in entry_html(page, number)


@pytest.mark.parametrize("number", BUILT)
def test_an_entry_says_how_long_the_talk_is_without_what_may_be_dropped(page, number):
    about, slides = talk_entries.entry_of(ROOT, number), plan(notebooks.read(LESSONS[number]))
    saved = [sum(slide.section == at for slide in slides) for at in about.drop]
    html = entry_html(page, number)
    line = re.sub(r"<[^>]*>", "", re.search(r'<p class="ts-lecture-drop">.*?</p>', html, re.S)[0])
    assert [int(n) for n in re.findall(r"\((\d+)\)", line)] == saved
    assert line.endswith(f": {len(slides) - sum(saved)} minutes are left.")


@pytest.mark.parametrize("number", BUILT)
def test_the_five_questions_are_folded_with_an_answer_each(page, number):
    html = entry_html(page, number)
    fold = re.search(r"<details class='ts-lecture-questions'>(.*?)</details>", html, re.S)[1]
    assert len(re.findall(r"<dt", fold)) == len(re.findall(r"<dd", fold)) == 5
    assert fold.count("Shown in") == 5


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: str(route.minutes))
def test_a_path_prints_slides_that_add_up_to_its_minutes(page, route):
    html = re.search(rf'<section[^>]*id="path-{route.minutes}".*?</section>', page, re.S)[0]
    words = re.sub(r"<[^>]*>", "", html)
    single = len(re.findall(r", slide \d+\.", words))
    ranges = sum(int(last) - int(first) + 1 for first, last in re.findall(r", slides (\d+) to (\d+)\.", words))
    assert single + ranges == route.minutes
    assert f"{route.minutes} minutes in all" in words
    minutes = [int(n) for n in re.findall(r"<strong>(\d+) min</strong>", html)]
    assert minutes == sorted(set(minutes))
    assert minutes[0] == 0
    links = re.findall(r'href="\.\./lessons/(\d\d)_\w+\.html\?talk#([\w-]+)"', html)
    assert links == [(step.lesson, step.at) for step in route.steps if step.lesson in BUILT]


@pytest.mark.browser
@pytest.mark.parametrize("site", ["file"], indirect=True)
@pytest.mark.parametrize("step", FIRST, ids=lambda step: f"{step.lesson}-{step.at}")
def test_a_link_of_a_path_opens_the_slide_that_the_page_names(visit, step):
    notebook = notebooks.read(LESSONS[step.lesson])
    number = talk_paths.numbers(notebook, step)[0]
    page = visit(PAGE)
    page.locator(f"a[href$='?talk#{step.at}']").first.click()
    page.wait_for_function(f"() => {READY}")
    page.wait_for_function(f"() => new URL(location).searchParams.get('talk') === '{number}'")
    title = re.sub(r"\W", "", plan(notebook)[number - 1].title)
    said = page.evaluate(f"{SHOWN}.querySelector('h1, h2').textContent")
    assert re.sub(r"\W", "", said)[:6] == title[:6]


@pytest.mark.browser
def test_the_questions_open_by_keyboard_on_a_phone(visit):
    page = visit(PAGE, width=390, height=844)
    fold = page.locator(".ts-lecture-questions").first
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert fold.locator("dd").first.is_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
