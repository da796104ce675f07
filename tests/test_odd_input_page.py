"""What readers do beside moving handles: paste, zoom, turn the phone, print; and numbers that are none."""

import pytest
import torch
from live import ask
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.explore import Cells, Explorer, Slider
from tsattn_mini.explore.element import words
from tsattn_mini.figures import number

pytestmark = pytest.mark.browser
SAY, INFLUENCE = words("explorer"), words("influence")
X = torch.tensor([[1.5, -2.0, 0.5, 3.0], [0.0, 1.0, -1.0, 2.0]])
PHONE, TURNED = {"width": 390, "height": 844}, {"width": 844, "height": 390}
FRAMED = """(el, step, i) => {
  const boxes = [el.querySelector(".ts-chosen"), el.querySelectorAll(`[data-step=${step}] .ts-cell rect`)[i]]
    .map(node => node.getBoundingClientRect());
  const gap = ["left", "top", "right", "bottom"].map(side => Math.abs(boxes[0][side] - boxes[1][side]));
  return [Math.max(...gap), document.documentElement.scrollWidth - innerWidth];
}"""


def odd(x, tau):
    step("S", x * tau, axes="L S")
    step("root", x.log(), axes="L S")
    step("curves", x.sqrt(), axes="V T")


def explorers():
    return [Explorer(odd, id=id, inputs={"x": Cells(X, -4, 4, axes="L S"), "tau": Slider(1.0, 0.0, 2.0)})
            for id in ("one", "two")]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(explorers, tmp_path_factory.mktemp("odd")) as made:
        yield made


@pytest.mark.parametrize("pasted", ["abc", "", "1e400", "1,5,5", "NaN", "5", "-1e9", "１．５x"])
def test_what_is_no_number_of_the_range_is_refused_when_pasted(browser, folder, pasted):
    with opened(browser, folder) as live:
        one, field = live["one"], live["one"].box("x").locator("input").first
        field.click()
        field.press("ControlOrMeta+a")
        field.press("Delete")
        one.page.keyboard.insert_text(pasted)
        field.press("Enter")
        assert one.state()["message"] == SAY["refused"].format(name="x", min=number(-4), max=number(4))
        assert field.input_value() == "1.5"
        one.settled("refused", x=X.tolist())


@pytest.mark.parametrize(("pasted", "value"), [("1,5", 1.5), (" 2.5 ", 2.5), ("1/4", 0.25), ("−0,5", -0.5), ("２", 2)])
def test_numbers_as_people_write_them_are_taken_when_pasted(browser, folder, pasted, value):
    with opened(browser, folder) as live:
        one, field = live["one"], live["one"].box("x").locator("input").nth(1)
        field.click()
        field.press("ControlOrMeta+a")
        one.page.keyboard.insert_text(pasted)
        field.press("Enter")
        one.settled("pasted", x=[[1.5, value, 0.5, 3.0], X[1].tolist()])


def test_numbers_that_are_none_are_named_and_their_influences_too(browser, folder):
    with opened(browser, folder) as live:
        one = live["one"]
        found = one.chosen("root", 1)
        assert found["said"].startswith("root[L 0, S 1] = NaN")
        assert {mark["kind"] for marks in found["marks"].values() for mark in marks} == {"none"}
        found = one.chosen("root", 4)
        assert found["said"].startswith("root[L 1, S 0] = -∞")
        assert found["marks"]["x"][4]["kind"] == "sick"
        assert INFLUENCE["sick"].format(handle="x[L 1, S 0]") in found["said"]


def test_a_choice_stays_on_its_number_while_the_page_is_zoomed_and_the_phone_turned(browser, folder):
    with opened(browser, folder, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as live:
        one = live["one"]
        one.at.locator("[data-step=S] .ts-cell").nth(5).tap()
        one.at.locator("[data-sway] li").first.wait_for()
        for size, zoom in ((PHONE, 1), (TURNED, 1), (TURNED, 1.5), (PHONE, 2), (PHONE, 1)):
            one.page.set_viewport_size(size)
            one.at.evaluate("(el, zoom) => { document.documentElement.style.zoom = zoom; }", zoom)
            gap, sideways = ask(one.at, FRAMED, "S", 5)
            assert gap <= 3 * zoom, (size, zoom)
            assert sideways <= 1, (size, zoom)


def test_on_paper_values_below_0_have_an_edge_and_nothing_floats(browser, folder):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as live:
        one = live["one"]
        one.at.locator("[data-step=S] .ts-cell").nth(1).click()
        one.page.emulate_media(media="print")
        strokes = one.at.locator("[data-step=S] .ts-cell rect").evaluate_all(
            "rects => rects.map(rect => parseFloat(getComputedStyle(rect).stroke.match(/([\\d.]+)\\)$/)[1]))")
        below = (X < 0).flatten().tolist()
        assert [alpha > 0.1 for alpha in strokes] == below
        assert not one.at.locator(".ts-tip").is_visible()
        assert one.at.locator(".ts-dock").evaluate("el => getComputedStyle(el).position") == "static"


def test_two_explorers_of_a_page_keep_to_themselves(browser, folder):
    with opened(browser, folder) as live:
        one, two = live["one"], live["two"]
        before = two.state()
        one.chosen("S", 0)
        one.at.locator("[data-pin]").click()
        one.at.evaluate("el => el.explorer.set('tau', 2)")
        assert two.state() == before
        assert two.at.get_attribute("data-sways") is None
        assert two.at.locator("[data-sway]").inner_text() == INFLUENCE["hint"]
