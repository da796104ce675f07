"""What the speaker has in hand: a view of notes, next slide and time that stays in step, a light, a lens, the keys."""

import pytest
import yaml
from browsing import ROOT

from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
KGC = "lessons/09_knowledge_guided_conditioning.html"
SAY = words("talk")
TALK = "document.querySelector('.ts-talk.ts-ready')?.talk"
AT = f"{TALK}?.deck.getIndices().h + 1"
SHOWN = f"{TALK}?.state.slide + 1"


@pytest.fixture
def present(visit):
    """`present(at)` opens the slides of the lesson; what a window of theirs complains about fails the test."""
    complaints = []

    def watch(page):
        page.on("pageerror", lambda error: complaints.append(error))
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)

    def start(at, **context):
        page = visit(f"{KGC}?talk={at}", **context)
        page.wait_for_function(f"() => {TALK}")
        page.context.on("page", watch)
        return page

    yield start
    assert complaints == []


def speaker(page):
    with page.context.expect_page() as opened:
        page.keyboard.press("s")
    opened.value.wait_for_function(f"() => {TALK}")
    return opened.value


def first(page, kind):
    """The number of the first slide of a kind."""
    return page.evaluate(f"{TALK}.slides.find((slide) => slide.kind === '{kind}').number")


def go(page, number):
    page.evaluate(f"{TALK}.deck.slide({number - 1}, 0, -1)")
    page.wait_for_function(f"() => {AT} === {number}")


def test_both_windows_show_the_same_slide_and_either_steps(present):
    page = present(2)
    view = speaker(page)
    assert view.evaluate(SHOWN) == 2
    view.keyboard.press("PageDown")
    page.wait_for_function(f"() => {AT} === 3")
    page.keyboard.press("Home")
    view.wait_for_function(f"() => {SHOWN} === 1")
    view.get_by_role("button", name=SAY["next"]).click()
    page.wait_for_function(f"() => {AT} === 2")
    view.wait_for_function(f"() => {SHOWN} === 2")
    title = "(part) => document.querySelector(part + ' .ts-body').textContent"
    now, then = (view.evaluate(title, part) for part in (".ts-now", ".ts-then"))
    texts = page.evaluate(f"{TALK}.slides.map(({{ body }}) => body.textContent)")
    assert [now, then] == texts[1:3]
    view.keyboard.press("b")
    page.wait_for_function(f"() => {TALK}.deck.isPaused()")
    view.wait_for_function(f"() => document.querySelector('.ts-now h2').textContent.includes({SAY['isBlack']!r})")
    view.keyboard.press("Escape")
    page.wait_for_function(f"() => !{TALK}.deck.isPaused()")
    view.keyboard.press("Escape")  # with nothing open: only the window with the slides can leave the talk
    view.keyboard.press("PageDown")
    page.wait_for_function(f"() => {AT} === 3")


def test_notes_and_the_questions_that_people_ask_stand_beside_their_slide(present):
    page = present(1)
    view = speaker(page)
    assert "40 minutes" in view.locator(".ts-said").inner_text()
    number = page.evaluate(f"""{TALK}.slides.find(({{ section }}) =>
      section.querySelector('.notes').textContent.includes('Then why not')).number""")
    go(page, number)
    view.wait_for_function(f"() => {SHOWN} === {number}")
    asked = view.locator(".ts-said .ts-asked")
    assert "Then why not" in asked.first.inner_text()
    assert view.locator(".ts-said h3").inner_text() == SAY["asked"]
    assert all(text.startswith(("“", '"')) for text in asked.all_inner_texts())
    page.keyboard.press("End")
    page.wait_for_function(f"() => {AT} === {TALK}.slides.length")
    view.wait_for_function(f"() => {SHOWN} === {TALK}.slides.length")
    hard = yaml.safe_load((ROOT / "book/talks/09.yaml").read_text("utf8"))["questions"]
    assert [text.partition("”")[0] for text in asked.all_inner_texts()] == [f"“{one['ask']}" for one in hard]
    place = asked.first.locator("a").last
    assert place.get_attribute("target") == "_blank"
    assert place.evaluate("link => link.href").endswith(f"{KGC}#one-pair-two-scores")


def test_an_answer_is_a_step_in_both_windows(present):
    page = present(1)
    go(page, first(page, "predict"))
    view = speaker(page)
    heading = view.locator(".ts-then > h2")
    assert heading.inner_text() == SAY["thenStep"]
    hidden = "getComputedStyle(document.querySelector('.ts-now .ts-reveal')).visibility"
    assert view.evaluate(hidden) == "hidden"
    view.keyboard.press(" ")
    view.wait_for_function(f"() => {hidden} === 'visible'")
    assert page.locator("section.present .ts-reveal.visible").count() == 1
    assert heading.inner_text() == SAY["then"]


def test_a_handle_moved_in_one_window_moves_in_the_other(present):
    page = present(1)
    go(page, first(page, "explorer"))
    view = speaker(page)
    move = "async (value) => (await {}.explorer.set('delta', value)).A.data"
    here, there = (f"document.querySelector('{part} [data-explorer]')" for part in ("section.present", ".ts-now"))
    for one, at, other, beside, value in ((page, here, view, there, 0.25), (view, there, page, here, 0.5)):
        numbers = one.evaluate(move.format(at), value)
        other.wait_for_function(f"() => {beside}.explorer.inputs().delta === {value}")
        other.wait_for_function(f"(a) => String({beside}.explorer.values().A.data) === String(a)", arg=numbers)


def test_a_cell_is_dragged_in_the_small_picture_of_the_view(present):
    page = present(1)
    go(page, first(page, "explorer"))
    view = speaker(page)
    cell = view.locator(".ts-now [data-input='prior'] input").first
    view.evaluate("document.querySelector('.ts-now [data-explorer]').explorer.ready")
    box = cell.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    view.mouse.move(x, y)
    view.mouse.down()
    view.mouse.move(x, y + 40, steps=4)  # pixels: a quarter of the range
    view.mouse.up()
    moved = "() => {}?.explorer.inputs().prior[0][0] < 0.7"
    view.wait_for_function(moved.format("document.querySelector('.ts-now [data-explorer]')"))
    page.wait_for_function(moved.format("document.querySelector('section.present [data-explorer]')"))


def test_the_view_survives_reloads_and_the_end_of_the_slides(present):
    page = present(4)
    last = page.evaluate(f"{TALK}.slides.length")
    view = speaker(page)
    view.reload()
    view.wait_for_function(f"() => {SHOWN} === 4")
    view.keyboard.press("End")
    page.wait_for_function(f"() => {AT} === {last}")
    view.wait_for_function(f"() => {SHOWN} === {last}")
    page.reload()
    page.wait_for_function(f"() => {AT} === {last}")
    page.keyboard.press("Home")
    view.wait_for_function(f"() => {SHOWN} === 1")
    page.close()
    lost = view.locator("[role=status]")
    lost.wait_for()
    assert SAY["lost"] in lost.inner_text()
    view.keyboard.press("PageDown")
    view.wait_for_function(f"() => {SHOWN} === 2")
    with view.context.expect_page() as opened:
        lost.get_by_role("button").click()
    again = opened.value
    again.wait_for_function(f"() => {AT} === 2")
    view.bring_to_front()
    lost.wait_for(state="hidden")
    view.keyboard.press("End")
    again.wait_for_function(f"() => {AT} === {last}")


def test_closing_the_view_leaves_the_slides_alone_and_it_can_come_back(present):
    page = present(3)
    speaker(page).close()
    page.bring_to_front()
    page.keyboard.press("Home")
    page.wait_for_function(f"() => {AT} === 1")
    assert speaker(page).evaluate(SHOWN) == 1


def test_a_blocked_window_is_said_and_offered(present):
    page = present(2)
    page.evaluate("() => { self.open = () => null; }")
    page.keyboard.press("s")
    note = page.get_by_role("alert")
    assert SAY["blocked"] in note.inner_text()
    page.keyboard.press("Escape")
    note.wait_for(state="detached")
    assert page.evaluate(AT) == 2
    page.keyboard.press("s")
    with page.context.expect_page() as opened:
        note.get_by_role("link").click()
    opened.value.wait_for_function(f"() => {TALK}")
    opened.value.keyboard.press("PageDown")
    page.wait_for_function(f"() => {AT} === 3")


def test_the_first_step_starts_the_clock_and_the_plan_is_a_minute_a_slide(present):
    page = present(1)
    view = speaker(page)
    pace, button = view.locator("header [data-off]"), view.locator("header button").first
    assert button.inner_text() == SAY["start"]
    page.keyboard.press("PageDown")
    view.wait_for_function(f"() => document.querySelector('header button').textContent === {SAY['pause']!r}")
    assert pace.inner_text().endswith(SAY["ahead"].split("}")[1])
    set_to = f"(spent) => {TALK}.hearClock({{ spent, since: null, set: Date.now() + spent }})"
    for spent, sign, text in ((90, "0", SAY["inTime"]), (300, "-1", SAY["behind"].replace("{time}", "3:00"))):
        view.evaluate(set_to, spent)
        view.locator(f"header [data-off='{sign}']").wait_for()
        assert pace.inner_text() == text
    assert view.locator("[role=timer]").inner_text().startswith("5:00 of ")


def test_a_light_follows_the_pointer_of_either_window(present):
    page = present(2)
    view = speaker(page)
    dot, box = page.locator(".ts-laser"), page.locator("main > .reveal").bounding_box()
    page.keyboard.press("l")
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    middle = dot.bounding_box()
    assert middle["x"] + middle["width"] / 2 == pytest.approx(box["x"] + box["width"] / 4, abs=1)
    view.wait_for_function(f"() => {TALK}.state.laser")
    place = view.locator(".ts-now .ts-stage").bounding_box()
    view.mouse.move(place["x"] + place["width"] * 0.75, place["y"] + place["height"] / 2)
    page.wait_for_function("() => Math.abs(parseFloat(document.querySelector('.ts-laser').style.left) - 75) < 1")
    page.keyboard.press("Escape")
    dot.wait_for(state="hidden")
    assert page.evaluate(AT) == 2


def test_a_lens_goes_to_the_picture_then_to_the_cell_and_back(present):
    page = present(1)
    go(page, first(page, "explorer"))
    cell = page.locator("section.present [data-step='A'] .ts-cell").first
    settled = "() => document.getAnimations().every(({ playState }) => playState === 'finished')"

    def width(act):
        act()
        page.wait_for_function(settled)
        box = cell.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        return box["width"]

    sizes = [width(lambda: None), *(width(lambda: page.keyboard.press("z")) for _ in range(3))]
    assert sizes[0] < sizes[1] < sizes[2]
    assert sizes[3] == pytest.approx(sizes[0], abs=1)
    assert width(lambda: cell.click(modifiers=["Alt"])) > sizes[0]
    assert width(lambda: page.keyboard.press("Escape")) == pytest.approx(sizes[0], abs=1)
    assert page.evaluate(f"{TALK}.open.size") == 0


def test_the_keys_are_listed_and_nothing_is_told_by_colour_or_motion_alone(present):
    page = present(2, forced_colors="active", reduced_motion="reduce")
    page.keyboard.press("?")
    rows = page.locator(".ts-keys[open] tr")
    assert rows.count() == len(SAY["keyList"])
    page.keyboard.press("Escape")
    page.locator(".ts-keys").wait_for(state="hidden")
    page.keyboard.press("l")
    page.mouse.move(400, 300)
    assert page.evaluate("getComputedStyle(document.querySelector('.ts-laser')).outlineStyle") == "solid"
    moving = "getComputedStyle(document.querySelector('main > .reveal > .slides')).transitionDuration"
    assert page.evaluate(moving) in ("0s", "")
    assert page.evaluate(AT) == 2
