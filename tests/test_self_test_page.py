"""The page of all questions in a browser: scores, filters, progress as a file, paper, no storage, no script."""

import json

import pytest
from browsing import quiet_server, watched
from playwright.sync_api import expect
from sample_questions import SAMPLES
from small_book import asked, build, lay_out

from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
both = pytest.mark.parametrize("opened", ["http", "file"], indirect=True)
SAY = words("selfTest")
EASY, HARD = asked("96-easy", difficulty=1), asked("96-hard", difficulty=3)
BLOCKED = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('blocked'); }})"
FULL = "() => { Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); }; }"
LATER = "localStorage.setItem('tsattn:progress', JSON.stringify({version: 2, answers: []}))"
PRINTED = """window.print = () => {
  for (const announced of ["once", "and again"]) dispatchEvent(new Event("beforeprint"));
  window.seen = () => [...document.querySelectorAll(".ts-asked")].filter(el => el.checkVisibility()).length;
}"""
DOWN = """lines => lines.sort((a, b) => a.getBoundingClientRect().y - b.getBoundingClientRect().y)
  .map(line => line.dataset.key)"""
CUT = "[...document.querySelectorAll('.ts-asked')].filter(el => getComputedStyle(el).breakInside !== 'avoid')"
GOOD = {"96-easy": {"tries": 4, "right": True, "last": "1"}, "97-row-sum": {"tries": 1, "right": False, "last": "keys"}}


def file(name="progress.json", text=None, **parts):
    body = {"format": "tsattn-mini progress", "version": 1, "questions": GOOD} | parts
    return {"name": name, "mimeType": "application/json", "buffer": (text or json.dumps(body)).encode()}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSATTN_BOOK", "1")
        lay_out(folder, {"96_first": ("96 · First", {"One": [EASY], "Two": [HARD]}),
                         "97_samples": ("97 · Samples", {"Sums": SAMPLES})})
    return build(folder)


@pytest.fixture
def opened(browser, small, request):
    """`opened(before, end, **context)`: the page in a fresh window; what it complains about fails the test."""
    contexts, problems = [], []

    def open_page(before="", end="", **context):
        contexts.append(browser.new_context(**context))
        page = watched(contexts[-1], site, problems)
        page.set_default_timeout(5000)
        if before:
            page.add_init_script(before)
        page.goto(f"{site}book/self_test.html{end}")
        return page

    with quiet_server(small) as served:
        site = served if getattr(request, "param", "file") == "http" else small.as_uri() + "/"
        yield open_page
        for context in contexts:
            context.close()
    assert problems == []


def answer(page, id, typed):
    question = page.locator(f"[data-question='{id}']")
    question.evaluate("el => el.closest('details').open = true")
    question.get_by_role("textbox").fill(typed)
    question.get_by_role("textbox").press("Enter")


def scores(page):
    return [text.split(",") for text in page.locator("[data-score]").all_inner_texts()]


def choose(page, **filters):
    for name, value in filters.items():
        page.get_by_role("combobox", name=SAY[name], exact=True).select_option(value)
    return page.locator(".ts-asked:visible [data-question]").evaluate_all("all => all.map(el => el.dataset.question)")


def drawer(page, key):
    page.locator("summary", has_text=SAY[key]).first.click()


def load(page, given):
    page.locator("[data-told]").evaluate("el => el.textContent = ''")
    page.get_by_label(SAY["import"]).set_input_files(given)
    told = page.locator("[data-told]")
    expect(told).not_to_be_empty()
    return told.inner_text()


@both
def test_scores_sections_to_reread_and_states_follow_every_answer(opened):
    page = opened()
    assert scores(page)[0] == ["0 solved", " 0 tried", " 9 in all"]
    assert page.locator(".ts-asked:visible").count() == 0
    answer(page, "96-hard", "7")
    answer(page, "96-easy", "1")
    assert scores(page)[:2] == [["1 solved", " 2 tried", " 9 in all"], ["1 solved", " 2 tried", " 2 in all"]]
    drawer(page, "reread")
    [link] = page.locator("[data-reread] a").all()
    assert (link.inner_text(), link.get_attribute("href")) == ("Two", "../lessons/96_first.html#two")
    assert page.locator(".ts-state").all_inner_texts()[:2] == [SAY["states"]["solved"], SAY["states"]["wrong"]]
    page.reload()
    answer(page, "96-hard", "1")
    assert page.locator("[data-reread] a").count() == 0
    assert page.locator("[data-reread]").text_content() == SAY["rereadNone"]


def test_what_is_solved_in_another_tab_is_solved_here(opened):
    page = opened()
    other = page.context.new_page()
    other.goto(page.url)
    answer(other, "96-hard", "1")
    expect(page.locator(".ts-desk [data-score]")).to_have_text(SAY["score"].format(solved=1, tried=1, all=9))


def test_filters_leave_what_fits_all_of_them_and_say_how_many(opened):
    page = opened()
    count = page.locator("[data-count]")
    assert choose(page, lesson="96") == ["96-easy", "96-hard"]
    assert choose(page, difficulty="3") == ["96-hard"]
    assert count.inner_text() == SAY["count"].format(shown=1, all=9)
    answer(page, "96-hard", "7")
    assert choose(page, lesson="", difficulty="", state="wrong") == ["96-hard"]
    answer(page, "96-hard", "1")
    assert page.locator("[data-question='96-hard']").is_visible()
    assert choose(page, state="wrong", kind="match") == []
    assert count.inner_text() == SAY["none"]
    assert page.locator("[data-print]:enabled").count() == 0
    page.get_by_role("button", name=SAY["every"]).click()
    assert choose(page, kind="match") == ["97-shapes"]
    assert page.get_by_role("combobox", name=SAY["state"], exact=True).input_value() == ""


@both
def test_progress_leaves_as_a_file_and_comes_back_merged(opened):
    page = opened()
    answer(page, "96-hard", "7")
    drawer(page, "tools")
    with page.expect_download() as saved:
        page.get_by_role("button", name=SAY["export"]).click()
    text = saved.value.path().read_text("utf8")
    mine = {"96-hard": {"tries": 1, "right": False, "last": "7"}}
    assert json.loads(text) == {"format": "tsattn-mini progress", "version": 1, "questions": mine}

    other = opened()
    answer(other, "96-hard", "1")
    drawer(other, "tools")
    load(other, file(text=text))
    odd = {"55-gone": GOOD["96-easy"], "96-bad": {"tries": 0}, "<b>": GOOD["96-easy"],
           "96-deep": {"tries": 1, "right": True, "last": [[[1]]]}, "96-many": {"tries": 2**53 - 1, "right": True}}
    said = load(other, file(questions=GOOD | odd))
    assert said.startswith(SAY["merged"].format(name="progress.json", count=3, solved=2))
    assert SAY["unknown"].format(ids="55-gone") in said
    assert SAY["skipped"].format(ids="96-bad, <b>, 96-deep, 96-many") in said
    stored = json.loads(other.evaluate("localStorage.getItem('tsattn:progress')"))["questions"]
    assert stored == GOOD | {"55-gone": GOOD["96-easy"], "96-hard": {"tries": 1, "right": True, "last": "1"}}
    assert scores(other)[0] == ["2 solved", " 3 tried", " 9 in all"]


def test_a_file_that_is_none_is_refused_by_name_and_changes_nothing(opened):
    page = opened()
    answer(page, "96-hard", "1")
    before = page.evaluate("JSON.stringify(localStorage)")
    drawer(page, "tools")
    for given, key, values in [
        (file(version=2), "otherVersion", {"version": 2, "mine": 1}),
        (file(version="x" * 99), "otherVersion", {"version": '"' + "x" * 39, "mine": 1}),
        (file(text='{"format": "tsattn-mini progress", "questions": {}}'), "notOurs", {}),
        (file(format="other"), "notOurs", {}),
        (file(questions=[1]), "notOurs", {}),
        (file(text="null"), "notOurs", {}),
        (file(text="[1, 2]"), "notOurs", {}),
        (file(text='{"format": "tsattn-mini'), "notJson", {}),
        (file(text="PK\x03\x04"), "notJson", {}),
        (file(text=" " * 1_000_001), "tooLarge", {"size": 1001, "limit": 1000}),
        (file(name="<i>.json", format=""), "notOurs", {}),
    ]:
        assert load(page, given) == SAY[key].format(name=given["name"], **values)
    assert page.evaluate("JSON.stringify(localStorage)") == before


def test_progress_is_cleared_after_a_second_thought_only(opened):
    page = opened()
    drawer(page, "tools")
    ask = page.get_by_role("button", name=SAY["clear"])
    ask.click()
    assert page.locator("[data-told]").inner_text() == SAY["clearNone"]
    answer(page, "96-hard", "1")
    for leave in (lambda: page.keyboard.press("Escape"), page.get_by_role("button", name=SAY["clearNot"]).click):
        ask.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text(SAY["clearText"].format(tried=1, solved=1))
        leave()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert scores(page)[0][0] == "1 solved"
    ask.click()
    page.get_by_role("button", name=SAY["clearAll"]).click()
    expect(page.locator("[data-told]")).to_have_text(SAY["cleared"])
    assert scores(page)[0] == ["0 solved", " 0 tried", " 9 in all"]
    assert page.locator("[data-question='96-hard'] .ts-q-feedback").inner_text() == ""
    assert json.loads(page.evaluate("localStorage.getItem('tsattn:progress')"))["questions"] == {}


@pytest.mark.parametrize(("before", "reason"), [(BLOCKED, "blocked"), (LATER, "later")], ids=["blocked", "later"])
def test_without_a_storage_of_its_own_the_page_works_and_says_how_long(opened, before, reason):
    page = opened(before)
    assert page.locator("[data-storage]").inner_text() == SAY[reason]
    answer(page, "96-hard", "1")
    assert scores(page)[0][0] == "1 solved"
    drawer(page, "tools")
    load(page, file())
    assert scores(page)[0] == ["2 solved", " 3 tried", " 9 in all"]
    if reason == "later":
        assert json.loads(page.evaluate("localStorage.getItem('tsattn:progress')"))["version"] == 2
    page.reload()
    assert scores(page)[0][0] == "0 solved"


def test_a_storage_that_is_full_is_told(opened):
    page = opened()
    answer(page, "96-hard", "7")
    assert page.locator("[data-storage]:visible").count() == 0
    page.evaluate(FULL)
    answer(page, "96-easy", "1")
    assert scores(page)[0][:2] == ["1 solved", " 2 tried"]
    assert page.locator("[data-storage]").inner_text() == SAY["full"]


def test_the_sheet_holds_what_is_chosen_with_lines_or_with_answers(opened):
    page = opened(PRINTED)
    choose(page, lesson="97")
    lines = page.locator("[data-question='97-chain'] .ts-q-order li")
    first = lines.evaluate_all(DOWN)
    lines.first.get_by_role("button").last.click()
    assert lines.evaluate_all(DOWN) != first
    page.locator("[data-group='97'] summary").first.click()
    row = page.locator(".ts-asked", has=page.locator("[data-question='97-row-sum']"))
    row.locator("legend").evaluate("el => el.textContent = 'Drawn anew'")
    drawer(page, "sheet")
    for key, answers in (("sheetPlain", False), ("sheetAnswers", True)):
        page.emulate_media(media="screen")
        page.get_by_role("button", name=SAY[key]).click()
        page.emulate_media(media="print")
        assert page.evaluate("window.seen()") == len(SAMPLES)
        assert page.locator("button:visible, textarea:visible, .ts-desk:visible, .ts-q-feedback:visible").count() == 0
        assert "Drawn anew" not in row.inner_text()
        assert row.get_by_text("The row is divided by its own sum.").is_visible() == answers
        assert page.locator(".ts-key:visible").count() == answers * len(SAMPLES)
        assert (page.locator(".ts-lines-to-write i:visible").count() > 10) == (not answers)
        assert page.locator("[data-question='97-shapes'] .ts-q-offers").is_visible()
        assert lines.evaluate_all(DOWN) == first
        assert page.evaluate(CUT) == []
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert row.locator("legend").text_content() == "Drawn anew"
    page.emulate_media(media="screen")
    assert page.locator(".ts-asked:visible, .ts-key:visible").count() == 0


def test_an_address_with_a_question_opens_it_whatever_is_left_out(opened):
    page = opened(end="#question-97-kept")
    kept = page.locator("[data-question='97-kept']")
    expect(kept).to_be_in_viewport()
    choose(page, lesson="96")
    page.evaluate("location.hash = '#question-97-row-sum'")
    expect(page.locator("[data-question='97-row-sum']")).to_be_in_viewport()
    assert opened(end="#%E0%A4%A").locator("[data-question]:enabled").count() == 9


def test_everything_to_touch_is_large_enough_and_nothing_sticks_out(opened):
    page = opened(viewport={"width": 390, "height": 800})
    answer(page, "96-hard", "7")
    page.evaluate("for (const fold of document.querySelectorAll('.ts-self-test details')) fold.open = true")
    targets = page.locator(".ts-desk :is(button, select, summary, .ts-file, dd a):visible, .ts-group > summary").all()
    assert len(targets) == 3 + 1 + 3 + 2 + 4 + 1 + 2
    assert min(target.bounding_box()["height"] for target in targets) >= 40
    load(page, file(name="x" * 200, format=""))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_a_script_every_question_and_its_folded_answer_can_be_read(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    page.locator("summary", has_text="96 · First").click()
    hard = page.locator("[data-question='96-hard']")
    assert hard.get_by_text(HARD.text).is_visible()
    assert not hard.get_by_text("One.").is_visible()
    hard.locator("summary").click()
    assert hard.get_by_text("One.").is_visible()
