"""Questions in a page of their own, opened from a file: typed numbers, feedback, keyboard, memory, no script."""

import pytest
from asked import asking, field, kept, show
from sample_questions import ROW_SUM, SAMPLES

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question import number

pytestmark = pytest.mark.browser
SAY = words("question")

HALF = number(id="97-half", text="Half?", answer=lambda: 0.5, tolerance=0.01, right="It is.", wrong="It is not.")


@pytest.fixture
def page(browser, tmp_path):
    with asking(browser, tmp_path) as page:
        yield page


def type_in(question, text) -> str:
    question.get_by_role("textbox").fill(text)
    question.get_by_role("textbox").press("Enter")
    return question.locator("[aria-live]").inner_text()


def test_numbers_are_understood_as_people_type_them(page):
    page.show(HALF)
    half = field(page, "97-half")
    for typed in ("0.5", ".5", "+0.5", "\u200e0.5\u200b", " 0.5 ", "5e-1", "5E-1", "0.509", "0.51", "0.500000"):
        assert type_in(half, typed) == f"{SAY['right']} It is."
    for typed in ("0,5", "1/2", " 1 / 2 ", "50 %", "50%", "1 000/2 000", "０，５", "1⁄2"):
        assert type_in(half, typed) == f"{SAY['right']} “{typed.strip()}” is 0.5. It is."
    for typed in ("-0.5", "−0.5", "‑0.5", "0.511", "5", "0.05e2"):
        assert type_in(half, typed) == f"{SAY['wrong']} It is not."


def test_what_is_no_number_is_refused_and_not_counted(page):
    page.show(HALF)
    half = field(page, "97-half")
    for typed in ("", "   "):
        assert type_in(half, typed) == SAY["empty"]
    for typed in ("abc", "0.5.1", "1 2", "1/0", "1e999", "--1", "1/2/3", "½", "5²", "<b>x</b>", "NaN", "0x10"):
        assert type_in(half, typed) == SAY["notNumber"].replace("{typed}", typed)
    assert type_in(half, "x" * 3000) == SAY["notNumber"].replace("{typed}", "x" * 40 + "…")
    for typed in ("1,000", "12,345", "1,234,567"):
        assert type_in(half, typed) == SAY["thousands"].replace("{typed}", typed)
    assert half.get_by_role("textbox").get_attribute("aria-invalid") == "true"
    assert half.evaluate("el => el.question.check()") == {"right": None}
    assert page.evaluate("localStorage.getItem('tsattn:progress')") is None


def test_a_known_slip_gets_its_own_answer_and_a_unit_may_be_typed(page):
    page.show(*SAMPLES)
    score, shift = field(page, "97-score"), field(page, "97-shift")
    assert "before the division by √3" in type_in(score, "52")
    assert "Divide by √3, not by 3" in type_in(score, "52/3")
    assert "Multiply entry by entry" in type_in(score, "7")
    assert type_in(score, "30.02") == f"{SAY['right']} 52/√3."
    for typed in ("-12.5", "−12,5 %", "- 12.5%"):
        assert type_in(shift, typed).endswith("It falls.")


def test_each_option_answers_for_itself(page):
    page.show(ROW_SUM)
    row = field(page, "97-row-sum")
    says = row.locator("[aria-live]")
    check = row.get_by_role("button", name=SAY["check"])
    check.click()
    assert says.inner_text() == SAY["chooseOne"]
    for key, option in ROW_SUM.options.items():
        row.get_by_label(option.text, exact=True).check()
        assert says.inner_text() == ""
        check.click()
        verdict = "right" if key == "one" else "wrong"
        assert says.inner_text() == f"{SAY[verdict]} {option.feedback.replace('*', '')}"
        assert says.locator(f".ts-q-{verdict} svg").count() == 1
    assert kept(page)["questions"] == {"97-row-sum": {"tries": 3, "right": True, "last": "scores"}}


def test_the_keyboard_alone_is_enough(page):
    page.show(ROW_SUM)
    row = field(page, "97-row-sum")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    assert row.get_by_role("radio").nth(1).is_checked()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert row.locator("[aria-live]").inner_text().startswith(SAY["right"])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert row.get_by_text("denominator").is_visible()


def test_a_solved_question_says_so_and_can_be_tried_again(page):
    page.show(HALF)
    type_in(field(page, "97-half"), "0.5")
    page.reload()
    half = field(page, "97-half")
    assert half.locator(".ts-q-status").inner_text() == SAY["solved"]
    assert half.get_by_role("textbox").input_value() == ""
    assert type_in(half, "7").startswith(SAY["wrong"])
    assert half.locator(".ts-q-status").inner_text() == ""
    half.evaluate("el => el.question.reset()")
    assert half.locator(".ts-q-status").inner_text() == SAY["solved"]
    assert half.locator("[aria-live]").inner_text() == ""
    assert kept(page) == {"version": 1, "questions": {"97-half": {"tries": 2, "right": True, "last": "7"}}}


@pytest.mark.parametrize("garbage", ["{", "null", "7", "[]", '{"version":1}', '{"version":1,"questions":[3,null]}',
                                     '{"version":1,"questions":{"97-half":{"tries":"x","right":1}}}',
                                     '{"version":1,"questions":{"97-half":{"tries":9e15,"right":true}}}',
                                     '{"version":1,"questions":{"97-half":{"tries":1,"right":true,"last":[[[]]]}}}'])
def test_garbage_in_the_memory_is_replaced(page, garbage):
    page.show(HALF)
    page.evaluate("text => localStorage.setItem('tsattn:progress', text)", garbage)
    page.reload()
    type_in(field(page, "97-half"), "0.5")
    assert kept(page) == {"version": 1, "questions": {"97-half": {"tries": 1, "right": True, "last": "0.5"}}}


def test_progress_of_a_later_version_is_left_alone(page):
    page.show(HALF)
    later = {"version": 2, "answers": ["something new"]}
    page.evaluate("kept => localStorage.setItem('tsattn:progress', JSON.stringify(kept))", later)
    page.reload()
    type_in(field(page, "97-half"), "0.5")
    assert kept(page) == later
    field(page, "97-half").evaluate("el => el.question.reset()")
    assert field(page, "97-half").locator(".ts-q-status").inner_text() == SAY["solved"]


def test_blocked_storage_is_survived_in_silence(page):
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('blocked'); }})")
    page.show(HALF)
    half = field(page, "97-half")
    assert type_in(half, "0.5").startswith(SAY["right"])
    half.evaluate("el => el.question.reset()")
    assert half.locator(".ts-q-status").inner_text() == SAY["solved"]


def test_the_same_question_twice_on_a_page_is_two_questions(page):
    page.show(ROW_SUM, ROW_SUM)
    radios = page.get_by_role("radio")
    radios.nth(0).check()
    radios.nth(4).check()
    assert radios.nth(0).is_checked()


def test_without_a_script_the_answer_is_folded_and_no_control_is_dead(browser, tmp_path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    show(page, tmp_path, SAMPLES)
    assert page.locator("input:visible, button:visible, select:visible, textarea:visible").count() == 0
    row = field(page, "97-row-sum")
    assert row.get_by_text("it depends on q & k").is_visible()
    assert not row.get_by_text("divided by its own sum").is_visible()
    row.get_by_text(SAY["answer"], exact=True).click()
    assert row.get_by_text("divided by its own sum").is_visible()
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_everything_to_touch_is_large_enough_and_nothing_sticks_out(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.show(*SAMPLES)
    targets = page.locator("label:has([type=radio], [type=checkbox]), [type=text], button, select, textarea, summary, "
                           ".ts-q-show a").locator("visible=true").all()
    assert len(targets) == 3 + 2 + 3 + 1 + (4 + 1 + 1) + (8 + 1) + (3 + 1) + (1 + 1)
    assert min(target.bounding_box()["height"] for target in targets) >= 40
    assert page.evaluate("document.documentElement.scrollWidth") <= width
