"""A lesson in a real JupyterLab: run all, move a slider, and the kernel gives the numbers of the book's graph."""

import numpy as np
import pytest
from browsing import specs
from jupyterlab import jupyterlab, run_all
from live import Live, shown_arrays

pytestmark = pytest.mark.browser
LESSON = "01_attention_by_hand"
MEASURED = 300  # milliseconds until every influence is known


@pytest.fixture(scope="module")
def lab(browser, book, tmp_path_factory):
    """The lesson's page in JupyterLab, all cells run."""
    with jupyterlab(tmp_path_factory.mktemp("lab")) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        run_all(page, url, f"{LESSON}.ipynb")
        yield page
        context.close()


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
