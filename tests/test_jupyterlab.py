"""A lesson in a real JupyterLab: run all, move a slider, and the kernel gives the numbers of the book's graph."""

from contextlib import contextmanager

import nbformat
import numpy as np
import pytest
from answering import give
from asked import field, in_page
from browsing import ROOT, specs
from jupyterlab import jupyterlab, run_all
from live import Live, ask, shown_arrays
from sample_questions import CHAIN, KEPT

from tsattn_mini.explore.element import words
from tsattn_mini.questions.lesson01 import QUESTIONS

pytestmark = pytest.mark.browser
LESSON = "01_attention_by_hand"
MEASURED = 300  # milliseconds until every influence is known
SAMPLES = [f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from sample_questions import CHAIN, KEPT
from tsattn_mini import step
from tsattn_mini.explore import Explorer, Slider
Explorer(lambda n: step("y", n * 2, axes=""), id="views", inputs={{"n": Slider(1.0, 0, 5)}})
""", "KEPT.element()", "CHAIN.element()"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """JupyterLab's address; beside the lessons it serves a notebook of sample questions."""
    folder = tmp_path_factory.mktemp("lab")
    with jupyterlab(folder) as url:
        cells = [nbformat.v4.new_code_cell(source.strip()) for source in SAMPLES]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "lessons/samples.ipynb")
        yield url


@contextmanager
def running(browser, url, notebook):
    """The notebook's page in JupyterLab, all cells run."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    run_all(page, url, notebook)
    yield page
    context.close()


@pytest.fixture(scope="module")
def lab(browser, book, server):
    with running(browser, server, f"{LESSON}.ipynb") as page:
        yield page


def test_the_kernel_answers_a_slider(lab):
    found = [(spec, input) for spec in specs(f"lessons/{LESSON}.html").values() for input in spec["inputs"]]
    spec, slider = next((spec, input) for spec, input in found if input["kind"] == "slider")
    live = Live(lab, spec)
    place = live.box(slider["name"]).locator("input[type=range]")
    seen = [live.settled("run all", **{slider["name"]: slider["value"]})]
    place.press("End")
    seen.append(live.settled("End", **{slider["name"]: slider["max"]}))
    box = place.bounding_box()
    lab.mouse.move(box["x"] + 0.98 * box["width"], box["y"] + box["height"] / 2)
    lab.mouse.down()
    lab.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2, steps=5)
    lab.mouse.up()
    seen.append(live.settled("a drag"))
    assert seen[-1]["inputs"][slider["name"]] < slider["max"]
    numbers = [np.concatenate([x.ravel() for x in shown_arrays(state["values"], spec).values()]) for state in seen]
    assert len({tuple(x) for x in numbers}) == 3


def test_the_kernel_measures_the_influences_that_the_page_measures(lab, browser, served):
    name, id = f"lessons/{LESSON}.html", "attention-four-by-four"
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(served + name)
    spec = specs(name)[id]
    live, want = Live(lab, spec), Live(page, spec).chosen("A", 5)
    got = live.chosen("A", 5)
    page.close()
    for input, marks in want["marks"].items():
        assert [mark["kind"] for mark in got["marks"][input]] == [mark["kind"] for mark in marks]
        slopes = [[mark["slope"] for mark in side] for side in (got["marks"][input], marks)]
        np.testing.assert_allclose(*slopes, atol=2e-5)
    assert got["list"] == want["list"]
    live.at.evaluate("el => el.explorer.set('causal_mask', true)")
    again = live.chosen("A", 6)
    assert again["took"] < MEASURED
    assert {mark["kind"] for marks in again["marks"].values() for mark in marks} == {"none", "slope"}
    assert again["marks"]["causal_mask"][0]["kind"] == "slope"
    live.box("causal_mask").locator("input").press("Space")
    live.settled("a move after measuring", causal_mask=False)


def test_what_stays_in_sight_on_a_page_stays_in_sight_in_a_notebook(lab):
    explorer = lab.locator("[data-explorer='attention-four-by-four']")
    explorer.locator(".ts-title").evaluate("title => title.scrollIntoView()")
    height, end = explorer.evaluate(
        "el => [el.offsetHeight, el.querySelector('.ts-dock').getBoundingClientRect().bottom]")
    assert height > 900, "the explorer is taller than the window"
    assert end <= 900


def test_a_question_answers_in_a_notebook_too(lab):
    question = lab.locator("[data-question]").first
    says = question.locator(".ts-q-feedback")
    heard = set()
    for option in question.get_by_role("radio").all():
        option.press("Space")
        option.press("Enter")
        heard.add((says.get_attribute("data-verdict"), says.inner_text()))
    assert len(heard) == question.get_by_role("radio").count() > 1
    assert sorted(verdict for verdict, _ in heard).count("right") == 1


def test_the_kernel_answers_new_numbers_as_python_does(lab):
    question, one = lab.locator("[data-question='01-dot']"), next(q for q in QUESTIONS if q.id == "01-dot").at(1)
    question.get_by_role("button", name=words("draw")["new"]).press("Enter")
    question.get_by_text(words("draw")["seed"].format(seed=1)).wait_for()
    assert question.locator("legend").inner_text() == one.text
    says, typed = question.locator(".ts-q-feedback"), question.get_by_role("textbox")
    for number, why in ((one.answer(), one.right), *((s.number(), s.feedback) for s in one.slips.values())):
        typed.fill(str(number))
        typed.press("Enter")
        assert says.inner_text().endswith(why)
    question.get_by_role("button", name=words("draw")["first"]).press("Enter")
    question.get_by_text(words("draw")["atFirst"]).wait_for()
    assert question.locator("legend").inner_text() != one.text


def test_the_step_bar_and_what_is_taken_home_work_in_a_notebook_too(lab):
    explorer = lab.locator("[data-explorer='attention-four-by-four']")
    explorer.locator("[data-go=logits]").press("Enter")
    said = explorer.locator("[data-caption]").inner_text()
    assert "QK / q.shape[-1] ** 0.5" in said
    assert "from QK" in said
    assert explorer.locator("[data-about=logits] math").first.is_visible()
    of_the_cell = lab.locator("[data-explorer='five-scores-compete'] [data-about=grown] code")
    assert of_the_cell.text_content() == "torch.exp(s - s.max())"
    explorer.locator("[data-take] summary").press("Enter")
    explorer.locator("[data-python]").get_by_text('Explorer.called("attention-four-by-four")').wait_for()
    assert not explorer.locator("[data-copy=link]").is_visible(), "the address is JupyterLab's"
    assert "s=" not in lab.url


def test_several_answers_an_order_and_the_way_to_the_explorer_work_in_a_notebook_too(browser, server):
    with running(browser, server, "samples.ipynb") as page:
        kept, chain = field(page, "97-kept"), field(page, "97-chain")
        assert give(kept, in_page(KEPT), ["order", "sum"])[0] == "wrong"
        verdict, said = give(kept, in_page(KEPT), KEPT.answer())
        assert (verdict, "exp rises" in said) == ("right", True)
        assert give(chain, in_page(CHAIN), CHAIN.answer()) == ("right", f"{words('question')['right']} {CHAIN.right}")
        kept.get_by_role("link", name=words("question")["showMe"]).press("Enter")
        page.wait_for_function("document.activeElement.dataset.explorer === 'views'")
        page.wait_for_function("document.activeElement.explorer.values().y.data[0] === 8")
        assert ask(page.locator("[data-explorer=views]"), "el => el.explorer.inputs()") == {"n": 4}
