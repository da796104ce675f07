"""Several, order, match and written on a page: keyboard, partial success, memory, the way to an explorer."""

import pytest
from answering import answers, give
from asked import asking, field, in_page, kept, show
from browsing import ROOT
from live import ask
from sample_questions import CHAIN, KEPT, KINDS, SHAPES, WHY
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.explore import Explorer, Slider
from tsattn_mini.explore.element import words
from tsattn_mini.explore.question import Option, Show, choice

pytestmark = pytest.mark.browser
SAY = words("question")
AXE = ROOT / "node_modules/axe-core/axe.min.js"
PROBLEMS = """async (page, theme) => {
  page.dataset.theme = theme;
  const { violations } = await axe.run({ resultTypes: ["violations"], preload: false });
  return violations.map(({ id, nodes }) => [id, nodes[0].html]);
}"""


@pytest.fixture
def page(browser, tmp_path):
    with asking(browser, tmp_path, viewport={"width": 390, "height": 800}) as page:
        yield page


@pytest.mark.parametrize("question", KINDS, ids=lambda question: question.kind)
def test_every_answer_is_judged_told_apart_and_remembered(page, question):
    page.show(question)
    here, data = field(page, question.id), in_page(question)
    heard = [give(here, data, answer) for answer in answers(data)]
    assert [verdict for verdict, _ in heard] == ["wrong"] * (len(heard) - 1) + ["right"], heard
    assert len(set(heard)) == len(heard) > 1, heard
    last = {"text": "In my words.", "points": [0, 1]} if question is WHY else question.answer()
    assert kept(page) == {"version": 1, "questions": {question.id: {"tries": len(heard), "right": True, "last": last}}}
    page.reload()
    assert field(page, question.id).locator(".ts-q-status").inner_text() == SAY["solved"]
    assert give(field(page, question.id), data, answers(data)[0])[0] == "wrong"
    field(page, question.id).evaluate("el => el.question.reset()")
    assert field(page, question.id).locator(".ts-q-status").inner_text() == SAY["solved"]


def test_of_several_what_is_missed_and_what_is_too_many_is_told(page):
    page.show(KEPT)
    kept_by, data = field(page, "97-kept"), in_page(KEPT)
    kept_by.get_by_role("button", name=SAY["check"]).click()
    assert kept_by.locator(".ts-q-feedback").inner_text() == SAY["tickOne"]
    assert give(kept_by, data, ["order"])[1].split("\n") == [
        f"{SAY['wrong']} {SAY['found'].format(hit=1, all=2)}",
        SAY["missed"].format(text="what a shift of all scores leaves"), "A common factor cancels."]
    said = give(kept_by, data, ["order", "sum"])[1]
    assert SAY["extra"].format(hit=1, all=2, count=1) in said
    assert SAY["ticked"].format(text="their sum") in said
    assert "exp rises" in give(kept_by, data, ["order", "shift"])[1]


def test_lines_move_with_buttons_and_arrow_keys_and_say_where_they_are(page):
    page.show(CHAIN)
    chain = field(page, "97-chain")
    order = "el => [...el.querySelectorAll('[data-key]')].map(line => line.dataset.key)"
    first = chain.evaluate(order)
    down = chain.get_by_role("button", name=SAY["moveDown"].format(item="softmax"))
    down.press("Enter")
    down.press("ArrowDown")
    assert chain.evaluate(order) == ["score", "scale", "softmax", "project"]
    assert down.evaluate("button => button === document.activeElement")
    down.press("Space")
    assert down.get_attribute("aria-disabled") == "true"
    down.press("Enter")
    assert chain.evaluate(order)[3] == "softmax"
    assert chain.locator(".ts-q-moved").inner_text() == SAY["moved"].format(item="softmax", place=4, all=4)
    data = in_page(CHAIN)
    said = give(chain, data, ["project", "score", "softmax", "scale"])[1]
    assert SAY["inOrder"].format(kept=3, all=4) in said
    assert "no longer sum to 1" in said
    assert "it makes the weights" not in said
    chain.evaluate("el => el.question.reset()")
    assert chain.evaluate(order) == first


def test_of_pairs_each_wrong_one_is_told_why(page):
    page.show(SHAPES)
    shapes, data = field(page, "97-shapes"), in_page(SHAPES)
    shapes.get_by_label("A @ v").select_option("row")
    shapes.get_by_role("button", name=SAY["check"]).click()
    assert shapes.locator(".ts-q-feedback").inner_text() == SAY["chooseEach"]
    assert shapes.locator("[aria-invalid]").get_attribute("data-key") == "scores"
    said = give(shapes, data, {"scores": "turned", "out": "row", "again": "row"})[1]
    assert SAY["paired"].format(hit=1, all=3) in said
    assert "Rows are queries here" in said
    assert "The shape of its scores." in said
    assert "One row per query." not in said
    assert shapes.locator("[aria-invalid]").count() == 0


def test_words_are_compared_before_they_are_graded(page):
    page.show(WHY)
    why = field(page, "97-why")
    says, check = why.locator(".ts-q-feedback"), why.locator(".ts-q-row button")
    assert why.get_by_text("stays 1").is_visible() is False
    check.click()
    assert says.inner_text() == SAY["writeFirst"]
    why.get_by_role("textbox", name=SAY["yourAnswer"]).fill("It grows.\nMuch.")
    check.click()
    assert says.inner_text() == SAY["gradeNow"]
    assert why.get_by_text("stays 1").is_visible()
    why.get_by_role("group", name=SAY["rubric"]).get_by_role("checkbox").first.check()
    assert check.inner_text() == SAY["grade"]
    check.click()
    assert says.inner_text().split("\n")[0] == f"{SAY['wrong']} {SAY['points'].format(hit=1, all=2)} {SAY['missing']}"
    assert kept(page)["questions"]["97-why"]["last"] == {"text": "It grows.\nMuch.", "points": [0]}
    assert why.get_by_role("link", name="score").get_attribute("href") == "#question-97-score"


def test_open_and_answered_they_are_clean_and_fit_a_phone(page):
    page.show(*KINDS)
    for question in KINDS:
        give(field(page, question.id), in_page(question), answers(in_page(question))[0])
    page.evaluate(AXE.read_text("utf8"))
    for theme in ("light", "dark"):
        assert ask(page.locator("html"), PROBLEMS, theme) == [], theme
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_a_script_what_is_given_can_be_read_and_answers_are_folded(browser, tmp_path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    show(page, tmp_path, KINDS)
    assert page.locator(":is(input, button, select, textarea, .ts-q-show a):visible").count() == 0
    shapes = field(page, "97-shapes")
    assert shapes.get_by_text("5 × 2", exact=True).locator("visible=true").count() == 1
    for question in KINDS:
        field(page, question.id).get_by_text(SAY["answer"], exact=True).click()
    assert [line.inner_text().split("\n")[0] for line in field(page, "97-chain").locator(".ts-q-answer li").all()] == [
        "project to q and k", "q·k", "divide by √dk", "softmax"]
    assert field(page, "97-why").get_by_text("stays 1").is_visible()
    assert shapes.get_by_text("One number per query and key.").is_visible()
    context.close()


def doubled(n, m):
    step("y", n * 2 + m, axes="")


def asked(show):
    return choice(id="97-n", lesson="97_samples", text="Which?", answer="a", show=show, hint=None,
                  options={"a": Option("A", "Because."), "b": Option("B", "No.")})


def staged():
    explorer = Explorer(doubled, id="views", inputs={"n": Slider(1.0, 0, 5), "m": Slider(0.0, 0, 1)},
                        presets={"Four": {"n": 4.0}})
    shows = [Show("views", n=2.5), Show("views", preset="Four"), Show("gone", n=1), Show("views", n=9)]
    return [*(asked(show).element() for show in shows), explorer]


def test_show_me_brings_the_explorer_of_the_page_to_its_state(browser, book, tmp_path):
    with page_of(staged, tmp_path) as folder, opened(browser, folder) as live:
        explorer, page = live["views"], live["views"].page
        questions = page.locator("[data-question]")
        inside, preset, gone, outside = (questions.nth(i) for i in range(4))
        assert page.get_by_role("link", name=SAY["showMe"]).count() == 0
        for question in questions.all():
            question.get_by_label("B").press("Space")
            question.get_by_role("button", name=SAY["check"]).press("Enter")
        ask(explorer.at, "el => el.explorer.set('m', 1).then(() => 1)")
        link = inside.get_by_role("link", name=SAY["showMe"])
        link.focus()
        before = page.evaluate("scrollY")
        link.press("Enter")
        explorer.settled("show me", n=2.5, m=0.0)
        assert explorer.at.evaluate("el => el === document.activeElement")
        assert explorer.at.evaluate("el => Math.abs(el.getBoundingClientRect().bottom) <= innerHeight + 1")
        page.go_back()
        page.wait_for_function("before => Math.abs(scrollY - before) < 2", arg=before)
        explorer.settled("the way back", n=2.5, m=0.0)
        preset.get_by_role("link", name=SAY["showMe"]).press("Enter")
        explorer.settled("a preset", n=4.0, m=0.0)
        outside.get_by_role("link", name=SAY["showMe"]).press("Enter")
        outside.get_by_text(SAY["unshown"].split("{")[0]).wait_for()
        explorer.settled("a refusal", n=4.0, m=0.0)
        address = gone.get_by_role("link", name=SAY["showMe"]).get_attribute("href")
        assert address.startswith("../lessons/97_samples.html?s=")


@pytest.mark.parametrize(("place", "n"), [(0, 2.5), (1, 4.0)])
def test_show_me_leads_from_another_page_to_the_state(browser, book, tmp_path, place, n):
    with page_of(staged, tmp_path) as folder:
        html = (folder / "page.html").read_text("utf8")
        query = html.split("href='../lessons/97_samples.html")[place + 1].split("'")[0]
        with opened(browser, folder, query=query) as live:
            live["views"].settled("a link", n=n, m=0.0)


def test_in_a_notebook_without_the_explorer_show_me_names_the_lesson(page):
    page.show(asked(Show("views", n=2.5)))
    question = field(page, "97-n")
    question.get_by_label("A").check()
    question.get_by_role("button", name=SAY["check"]).click()
    question.get_by_role("link", name=SAY["showMe"]).click()
    question.get_by_text(SAY["elsewhere"].format(lesson="97")).wait_for()
