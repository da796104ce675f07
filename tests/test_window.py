"""A window on a series: what `fn` gets, what is refused, and how a reader moves it on a page."""

import re

import numpy as np
import pytest
import torch
from live import ask
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.explore import Explorer, Window
from tsattn_mini.explore.element import words

SERIES = torch.stack([torch.arange(40.0), torch.arange(40.0).sin()], dim=-1)
SHOWN = """el => {
  const [part, picture] = [".ts-stretch", ".ts-overview"].map(name => el.querySelector(name).getBoundingClientRect());
  return [(part.left - picture.left) / picture.width, part.width / picture.width];
}"""


def look(x, y):
    step("x", x, axes="T V")
    step("mean", x.mean(0), axes="V")
    step("y", y, axes="T2")


def explorer(**more):
    return Explorer(look, title="Stretches", labels={"V": ["day", "swing"]},
                    inputs={"x": Window(SERIES, 8, start=5), "y": Window(SERIES[:, 1], 3)}, **more)


def test_fn_gets_the_stretch_that_begins_at_the_start():
    ex = explorer(id="kernel")
    torch.testing.assert_close(ex.values["x"], SERIES[5:13])
    ex.set(x=32, y=37)
    torch.testing.assert_close(ex.values["x"], SERIES[32:])
    torch.testing.assert_close(ex.values["y"], SERIES[37:, 1])
    assert repr(ex).startswith("Explorer kernel: x=32, y=37\n  x [T V] (8, 2): [32.000")
    ex.close()


def test_the_series_is_in_the_graph_and_a_page_sends_the_start():
    ex = explorer(id="many")
    sent = []
    ex.send = lambda content, buffers=None: sent.append((content, buffers))
    ex._handle_custom_msg({"turn": "1", "base": {"x": 0, "y": 0}, "moves": [{}, {"x": 7}], "step": "mean"}, [])
    assert [content for content, _ in sent] == [{"turn": "1"}]
    found = [np.frombuffer(part, np.float32) for part in sent[0][1]]
    for got, start in zip(found, (0, 7), strict=True):
        np.testing.assert_allclose(got, SERIES[start:start + 8].mean(0), rtol=1e-6)
    torch.testing.assert_close(ex.values["mean"], SERIES[5:13].mean(0))
    ex._handle_custom_msg({"turn": "2", "base": {"x": 99}, "moves": [{}], "step": "mean"}, [])
    assert sent[-1] == ({"turn": "2", "error": "x: expected a whole number from 0 to 32, got 99"}, None)
    ex.close()


def test_places_with_stamps_are_told_by_them():
    stamps = [f"day {i}" for i in range(40)]
    ex = Explorer(lambda x: step("x", x, axes="T V"), {"x": Window(SERIES, 8, 3, stamps=stamps)}, title="Stamped")
    assert "data-stretch>day 3 … day 10<" in ex.html
    assert '"stamps":["day 0","day 1",' in ex.html
    ex.close()
    one = Explorer(lambda x: step("x", x, axes="T V"), {"x": Window(SERIES, 1, 3, stamps=stamps)}, title="One")
    assert "data-stretch>day 3<" in one.html
    one.close()


def test_curves_with_names_have_a_key():
    named = Window(SERIES, 8, names=["day", "<swing>"])
    ex = Explorer(lambda x: step("x", x, axes="T V"), {"x": named}, title="Named")
    key = re.findall(r"ts-line(\d)' d='M0 2h18'/></svg> ([^ ]+?)</li>", ex.html)
    assert key == [("0", "day"), ("1", "&lt;swing&gt;")]
    ex.close()


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Window(SERIES, 8, stamps=["a"]), "stamps: expected 40 words, one for each place .* got 1 of .'a'."),
    (lambda: Window(SERIES, 8, stamps=[1] * 40), "stamps: expected 40 words"),
    (lambda: Window(SERIES, 8, names=["day"]), "names: expected 2 words, one for each curve that is drawn, got 1 of"),
    (lambda: Window(SERIES, 8, drawn=1, names=[1]), "names: expected 1 words"),
    (lambda: Window([1.0, 2.0], 1), "series: expected a torch tensor, got list"),
    (lambda: Window(torch.zeros(2, 2, 2), 1), r"series: expected one or two axes .* got shape \(2, 2, 2\)"),
    (lambda: Window(torch.zeros(0), 1), "series: expected one or two axes .* at least one entry"),
    (lambda: Window(torch.tensor([0, torch.nan, 1]), 1), r"series: expected finite numbers, got nan at index \(1,\)"),
    (lambda: Window(SERIES, 40), "length: expected a whole number from 1 to 39, got 40"),
    (lambda: Window(SERIES, 0), "length: expected a whole number from 1 to 39, got 0"),
    (lambda: Window(SERIES, 2.5), "length: expected a whole number from 1 to 39, got 2.5"),
    (lambda: Window(SERIES, 8, drawn=0), "drawn: expected a whole number from 1 to 6, got 0"),
    (lambda: Window(SERIES, 8, start=33), "start: expected a whole number from 0 to 32, got 33"),
    (lambda: Window(SERIES, 8).check(True, "x"), "x: expected a whole number from 0 to 32, got True"),
    (lambda: Window(SERIES, 8).check(torch.tensor(-1), "x"), "x: expected a whole number from 0 to 32, got -1"),
])
def test_windows_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.bad_input
@pytest.mark.parametrize(("labels", "message"), [
    (["day"], "labels: expected a dict of axis → names, got list"),
    ({"Q": ["a"]}, "labels: no axis 'Q'; the shown steps and cells have T, V, T2"),
    ({"V": ["a"]}, r"labels\['V'\]: expected 2 names, one for each place, got 1"),
    ({"V": ["a", "a"]}, r"labels\['V'\]: expected different words"),
    ({"V": [1, 2]}, r"labels\['V'\]: expected different words"),
])
def test_labels_that_do_not_fit_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        Explorer(look, {"x": Window(SERIES, 8), "y": Window(SERIES[:, 1], 3)}, title="Refused", labels=labels)


def test_only_the_first_variables_are_drawn_small():
    for drawn in (1, 2, 6):
        ex = Explorer(lambda x: step("x", x, axes="T V"), {"x": Window(SERIES, 8, drawn=drawn)}, title=f"First {drawn}")
        overview = re.search("ts-overview.*?</svg>", ex.html)[0]
        assert overview.count("<polyline") == min(drawn, 2)
        assert ex.values["x"].shape == (8, 2)
        ex.close()


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(lambda: [explorer(id="page")], tmp_path_factory.mktemp("window")) as made:
        yield made


@pytest.mark.browser
def test_a_reader_moves_the_window_and_sees_it_on_the_series(browser, folder):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as live:
        page = live["page"]
        box = page.box("x")
        np.testing.assert_allclose(ask(box, SHOWN), [5 / 40, 8 / 40], atol=2e-3)
        place, field = box.locator("input").all()
        place.press("End")
        state = page.settled("End", x=32)
        np.testing.assert_allclose(ask(box, SHOWN), [32 / 40, 8 / 40], atol=2e-3)
        assert box.locator("[data-stretch]").inner_text() == "32 … 39"
        assert place.get_attribute("aria-valuetext") == "32 … 39"
        np.testing.assert_allclose(np.reshape(state["values"]["x"]["data"], (8, 2)), SERIES[32:], rtol=1e-6)
        for typed, want in (("12", 12), ("33", 12), ("1.5", 12), ("", 12), ("1e400", 12), ("+7", 7)):
            field.fill(typed)
            field.press("Enter")
            page.settled(f"{typed!r} typed", x=want)
            assert field.input_value() == str(want)
        assert box.locator(".ts-overview").get_attribute("aria-label") == words("window")["series"].format(
            name="x", count=40, length=8)


@pytest.mark.browser
def test_places_with_names_are_named_on_the_pictures(browser, folder):
    with opened(browser, folder) as live:
        page = live["page"]
        assert page.at.locator("[data-step=mean] .ts-tick").all_text_contents() == ["day", "swing"]
        assert page.at.locator("[data-step=x] .ts-key").all_text_contents() == ["V day", "V swing"]
        page.at.locator("[data-step=x] .ts-plot").focus()
        page.at.locator("[data-step=x] .ts-plot").press("ArrowDown")
        page.at.locator("[data-sway]").get_by_text(re.compile(r"^x\[T 0, V swing\] = -0\.95892")).wait_for()
