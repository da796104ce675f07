"""A pinned state beside the present one, and presets that ask first, on a page."""

import numpy as np
import pytest
import torch
from live import marks, shown_arrays
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.explore import Cells, Explorer, Preset, Slider
from tsattn_mini.explore.element import words
from tsattn_mini.figures import picture

pytestmark = pytest.mark.browser
SAY = words("compare")
X = torch.arange(-6.0, 6.0).reshape(3, 4) / 4
QUESTION, ANSWER = "Which row wins when τ is 9?", "The row with the largest number, since its lead is multiplied by 9."


def views(x, tau):
    step("S", x * tau, axes="L S")
    step("A", torch.softmax(x * tau, -1), axes="L S")
    step("bars", x[1] * tau, axes="S")
    step("curves", x * tau, axes="V T")
    step("count", (x * tau).long() * 1000, axes="L S")
    step("one", x.max() * tau, axes="")
    step("log", x.log(), axes="L S")


def sums(row, x):
    step("sum", row * x, axes="L S")


def explorers():
    return [Explorer(views, id="views", inputs={"x": Cells(X, -9, 9, axes="L S"), "tau": Slider(1.0, 0.0, 9.0)},
                     presets={"Plain": {"tau": 3.0}, "Asks": Preset({"tau": 9.0}, QUESTION, ANSWER)}),
            Explorer(views, id="other", inputs={"x": Cells(X, -9, 9, axes="L S"), "tau": Slider(1.0, 0.0, 9.0)}),
            Explorer(sums, id="named", labels={"L": ["red", "green", "blue"]}, inputs={
                "row": Cells(torch.arange(4.0), -9, 9, axes="S"), "x": Cells(X, -9, 9, axes="L S")})]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(explorers, tmp_path_factory.mktemp("compare")) as made:
        yield made


@pytest.fixture
def live(browser, folder):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as found:
        yield found


def test_pictures_of_a_pinned_state_show_signed_differences_and_come_back(live):
    views, other = live["views"], live["other"]
    before = views.state()
    views.at.locator("[data-pin]").press("Enter")
    assert views.state()["values"] == before["values"]
    views.at.evaluate("el => el.explorer.set('tau', 2.5)")
    after = views.state()
    numbers_of = [shown_arrays(state["values"], views.spec) for state in (after, before)]
    for spec in views.spec["steps"]:
        name, dtype = spec["name"], getattr(torch, spec["type"])
        now, then = (torch.tensor(np.float64(numbers[name])) for numbers in numbers_of)
        moved = (now.nan_to_num(9, 9, -9) - then.nan_to_num(9, 9, -9)).where(torch.isfinite(now), now - then)
        moved = moved.where(now != then, torch.zeros(())).to(dtype)
        scale = spec["scale"] if spec["scale"] in ("fit", "none") else "signed"
        texts, numbers = marks(picture(moved, spec["axes"], label=name, view=spec["view"], scale=scale))
        drawn_texts, drawn = marks(after["plots"][name][0])
        assert [text.removeprefix("+") for text in drawn_texts] == texts, name
        np.testing.assert_allclose(drawn, numbers, atol=2e-3, err_msg=name)
        assert views.at.locator(f"[data-step='{name}']").get_attribute("data-diff") == SAY["badge"]
    assert "+1.50" in marks(after["plots"]["S"][0])[0]
    other.settled("the neighbour was pinned")
    views.at.page.get_by_text(SAY["since"].format(moved=SAY["moved"].format(name="τ", before=1, now=2.5))).wait_for()
    views.at.locator("[data-pin]").press("Enter")
    views.settled("unpinned", tau=2.5)


def test_a_number_under_the_pointer_tells_both_values(live):
    views = live["views"]
    views.at.locator("[data-pin]").click()
    views.at.evaluate("el => el.explorer.set('tau', 3)")
    views.at.locator("[data-step=S] .ts-cell").nth(11).hover()
    want = SAY["value"].format(now="3.75", before="1.25", by="+2.50")
    assert views.at.locator(".ts-tip").inner_text() == f"S[L 2, S 3] = {want}"


def test_what_moved_since_the_pin_is_named_as_far_as_it_can_be_heard(live):
    views = live["views"]
    views.at.locator("[data-pin]").click()
    views.at.evaluate("el => el.explorer.set('x', el.explorer.inputs().x.flat().map((v, i) => i % 2 ? v + 1 : v))")
    views.at.page.get_by_text("x[L 0, S 1] -1.25 → -0.25").wait_for()
    said = views.state()["message"]
    assert said.count("→") == 4
    assert SAY["more"].format(count=2) in said


def test_both_values_fit_beside_a_number_on_a_phone(browser, folder):
    with opened(browser, folder, viewport={"width": 390, "height": 844}) as live:
        views = live["views"]
        views.at.locator("[data-pin]").click()
        views.at.evaluate("el => el.explorer.set('tau', 2.123456)")
        views.at.locator("[data-step=A] .ts-cell").nth(3).hover()
        tip = views.at.locator(".ts-tip").bounding_box()
        assert tip["x"] >= 0
        assert tip["x"] + tip["width"] <= 390
        assert views.at.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


PLACES = """el => [...el.querySelectorAll(".ts-presets button, .ts-inputs, .ts-panel, .ts-sway, .ts-say")]
  .map(part => part.getBoundingClientRect()).map(({ x, y, width, height }) => [x, y, width, height])
  .concat([[el.offsetHeight, scrollY, 0, 0]])"""


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_a_preset_that_asks_moves_after_the_guess_and_then_answers(browser, folder, size):
    with opened(browser, folder, viewport=dict(zip(("width", "height"), size, strict=True))) as live:
        views = live["views"]
        question, answer = (views.at.get_by_text(text) for text in (QUESTION, ANSWER))
        assert (question.is_visible(), answer.is_visible()) == (False, False)
        views.at.get_by_role("button", name="Asks", exact=True).scroll_into_view_if_needed()
        before = views.at.evaluate(PLACES)
        views.at.get_by_role("button", name="Asks", exact=True).press("Enter")
        assert (question.is_visible(), answer.is_visible()) == (True, False)
        assert views.at.evaluate("() => document.activeElement.dataset.guess") == "1"
        assert views.at.evaluate(PLACES) == before
        views.settled("only asked", tau=1.0)
        views.at.get_by_role("button", name=words("ask")["move"]).press("Enter")
        views.settled("moved", tau=9.0)
        answer.wait_for()
        assert question.is_visible()
        assert views.at.evaluate("() => document.activeElement.dataset.preset") == "1"
        assert views.at.evaluate(PLACES) == before
        views.at.get_by_role("button", name="Plain", exact=True).press("Enter")
        views.settled("a plain preset", tau=3.0)
        assert (question.is_visible(), answer.is_visible()) == (False, False)
        assert views.at.evaluate(PLACES) == before


def test_an_open_question_leaves_room_for_the_words_about_a_chosen_number_and_closes(live):
    views = live["views"]
    asks = views.at.get_by_role("button", name="Asks", exact=True)
    asks.press("Enter")
    assert asks.get_attribute("aria-expanded") == "true"
    sheet, said = views.at.locator("[data-sheet='1']"), views.at.locator("[data-sway]")
    assert sheet.bounding_box()["height"] >= said.bounding_box()["height"] - 1
    views.chosen("S", 1)
    box, under = sheet.bounding_box(), said.bounding_box()
    assert box["y"] + box["height"] <= under["y"] + 1
    views.at.get_by_role("button", name=words("ask")["close"]).press("Enter")
    assert not sheet.is_visible()
    assert asks.get_attribute("aria-expanded") == "false"
    assert views.at.evaluate("() => document.activeElement.dataset.preset") == "1"
    assert not live["other"].at.locator(".ts-ask, .ts-hint").count()


TICKS = """el => ["corner", "across", "down"]
  .map(part => [...el.querySelectorAll(`.ts-${part}`)].map(node => node.innerText))"""
BESIDE = """el => {
  const box = node => node.getBoundingClientRect(), fields = [...el.querySelectorAll("input")].map(box);
  const [across, down] = ["across", "down"].map(part => [...el.querySelectorAll(`.ts-${part} span`)].map(box));
  const middle = ({ left, right }) => (left + right) / 2, height = ({ top, bottom }) => (top + bottom) / 2;
  return [...across.map((at, j) => middle(at) - middle(fields[j])),
    ...down.map((at, i) => height(at) - height(fields[i * across.length]))].map(Math.abs);
}"""


def test_cells_have_the_numbers_or_names_of_their_rows_and_columns(live):
    named = live["named"]
    box = named.box("x")
    corner, across, down = box.evaluate(TICKS)
    assert corner == ["L\\S"]
    assert across[0].split() == ["0", "1", "2", "3"]
    assert down[0].split() == ["red", "green", "blue"]
    assert max(box.evaluate(BESIDE)) <= 1
    assert box.locator("input").nth(5).get_attribute("aria-label") == "x, L green, S 1"
    line = named.box("row")
    assert line.evaluate(TICKS) == [[], ["0\n1\n2\n3"], []]
    assert max(line.evaluate(BESIDE)) <= 1
    named.chosen("sum", 0)
    gaps = box.evaluate("""el => [...el.querySelectorAll(".ts-sways span")].map((mark, i) =>
      Math.abs(mark.getBoundingClientRect().x - el.querySelectorAll("input")[i].getBoundingClientRect().x))""")
    assert max(gaps) < 1


def test_the_spec_carries_questions_only_where_there_are_some(live):
    plain, asking = live["views"].spec["presets"]
    assert "question" not in plain
    assert (asking["question"], asking["answer"]) == (QUESTION, ANSWER)


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Preset([1], "Why?", "So."), "values: expected a dict, got list"),
    (lambda: Preset({"tau": 1}, question="Why?"), "answer: expected a sentence beside the question 'Why\\?', got none"),
    (lambda: Preset({"tau": 1}, answer="So."), "question: expected a sentence beside the answer 'So.', got none"),
    (lambda: Preset({"tau": 1}, question=3, answer="So."), "question: expected a sentence, got 3"),
    (lambda: Explorer(views, inputs={"x": Cells(X, -9, 9, axes="L S"), "tau": Slider(1.0, 0.0, 9.0)}, title="Refused",
                      presets={"no": Preset({"tau": 99}, "Why?", "So.")}), r"presets\['no'\]: tau: expected a number"),
])
def test_presets_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


BADGES = """el => [...el.querySelectorAll(".ts-panel[data-diff]")].map(panel => {
  const badge = panel.querySelector(".ts-badge").getBoundingClientRect().bottom;
  const range = document.createRange();
  range.selectNodeContents(panel.querySelector("figcaption"));
  return range.getBoundingClientRect().top - badge;
})"""


def test_the_badge_of_a_difference_covers_no_word(live):
    live["views"].at.locator("[data-pin]").press("Enter")
    gaps = live["views"].at.evaluate(BADGES)
    assert len(gaps) == len(live["views"].spec["steps"])
    assert min(gaps) >= 0


def test_pinning_moves_no_button_and_no_picture(live):
    where = """el => [...el.querySelectorAll(".ts-presets button, .ts-panel")].map(part => part.getBoundingClientRect())
      .map(({ x, y, width, height }) => [x, y + scrollY, width, height])"""
    pin, before = live["views"].at.locator("[data-pin]"), live["views"].at.evaluate(where)
    for _ in "pin", "unpin":
        pin.press("Enter")
        assert live["views"].at.evaluate(where) == before
