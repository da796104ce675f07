"""Past and forecast in one picture: its tensor, what is refused, and what a page draws and says of it."""

import re

import numpy as np
import pytest
import torch
from live import ask
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.explore import Explorer, Joined, Slider, Window
from tsattn_mini.explore.element import words
from tsattn_mini.explore.html import picture_of
from tsattn_mini.figures import number

SAY = words("joined")
SERIES = torch.stack([20 + 3 * torch.arange(60.0).sin(), 100 * (torch.arange(60.0) / 5).cos()], dim=-1)
ALL = Joined("x", "y", truth="truth", band="edges", particles="flock")
STROKES = """el => Object.fromEntries(["past", "future", "truth", "particle"].map(kind => {
  const { strokeWidth, strokeDasharray } = getComputedStyle(el.querySelector(`[data-step=joined] .ts-${kind}`));
  return [kind, `${strokeWidth} ${strokeDasharray}`];
}))"""
PLACES = """el => [...el.querySelectorAll("[data-step=joined] svg")].map(svg => {
  const at = name => svg.querySelector(`.ts-${name}`).getBoundingClientRect();
  const [line, shade, frame] = ["divider", "horizon", "frame"].map(at);
  return [line.left, shade.left, shade.right, frame.right];
})"""


def go_on(x, gain):
    """A forecast that rests at the last value times `gain`, around it a band and five particles."""
    past, truth = step("x", x[:12], axes="T V"), step("truth", x[12:], axes="F V")
    y = step("y", past[-1:] * gain + 0 * truth, axes="F V")
    step("edges", torch.stack([y - gain, y + gain]), axes="2 F V")
    apart = torch.linspace(-1, 1, 5)[:, None, None] * torch.arange(1.0, 9)[:, None]
    step("flock", y + gain * apart, axes="P F V")
    step("models", y + apart, axes="model F V")
    step("turned", y.T[None], axes="B V F")
    step("one", y[:, :1], axes="F N")
    step("past_one", past[:, 0], axes="T")


def explorer(show, **more):
    inputs = {"x": Window(SERIES, 20, start=3), "gain": Slider(1.0, 0.0, 2.0)}
    return Explorer(go_on, inputs, show=show, title="Going on", labels={"V": ["temp", "load"]}, **more)


def test_every_curve_has_the_whole_past_before_it():
    ex = explorer(["x", ALL, Joined("past_one", "one", name="alone"), Joined("x", "turned", name="plain")], id="tensor")
    ex.set(gain=0.5)
    x, y = SERIES[3:23], ex.values["joined"]
    assert ex._steps["joined"].axes == "future+truth+band+particles T+F V"
    assert y.shape == (9, 20, 2)
    torch.testing.assert_close(y[:, :12], x[:12].expand(9, -1, -1))
    rest = x[11].expand(8, -1) / 2
    for curve, want in ((0, rest), (1, x[12:]), (2, rest - 0.5), (3, rest + 0.5), (6, rest)):
        torch.testing.assert_close(y[curve, 12:], want)
    torch.testing.assert_close(y[8, -1], rest[-1] + 4)
    torch.testing.assert_close(ex.values["alone"], torch.cat([x[:12, 0], rest[:, 0]]))
    torch.testing.assert_close(ex.values["plain"], torch.cat([x[:12], rest]))
    assert (ex._steps["alone"].axes, ex._steps["plain"].axes) == ("T+F", "T+F V")
    ex.close()


def test_the_picture_says_in_words_where_the_forecast_goes_on():
    ex = explorer([ALL], id="words")
    spec = {"view": "joined", "label": "joined", "joined": ALL.describe(ex._run(ex._now))}
    temp, load = picture_of(spec, ex.values["joined"], ex._labels).split("</svg>")[:2]
    first, now, true = (number(float(v)) for v in SERIES[[3, 14, 22], 0])
    assert f"aria-label='joined temp: the past runs from {first} to {now} in 12 steps, the forecast goes on from " \
           f"{now} to {now} in 8. The truth ends at {true}. The curves around it end between " in temp
    assert "joined load: " in load
    assert (temp.count("ts-particle' data"), temp.count("ts-band' data"), temp.count("ts-truth' data")) == (5, 1, 1)
    assert re.findall("class='ts-key'[^>]*>([^<]+)", temp) == [
        SAY[key] for key in ("past", "future", "truth", "band", "particle")]
    assert max(float(x) for x in re.findall(r"<text[^>]* x='([\d.]+)'", temp)) < 270
    ex.close()


def test_particles_are_called_by_the_labels_of_their_axis():
    names = ["a", "b", "c", "d", "e"]
    ex = Explorer(go_on, {"x": Window(SERIES, 20), "gain": Slider(1.0, 0.0, 2.0)}, id="named", labels={"model": names},
                  show=["models", Joined("x", "y", particles="models")])
    assert ex._labels == {"model": names, "future+particles": [SAY["future"], *names]}
    assert re.findall("class='ts-key'[^>]*>([^<]+)", ex.html)[-3:] == [SAY["past"], SAY["future"], "model"]
    ex.close()


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Joined("x", ""), "future: expected the name of a step, got ''"),
    (lambda: Joined("x", "y", truth=3), "truth: expected the name of a step, got 3"),
    (lambda: explorer([Joined("x", "z")]), "^show: 'joined' needs a step 'z'; fn names x, truth, y, edges"),
    (lambda: explorer([Joined("y", "y")]), r"takes as past a step of axes T or T V, got 'y' with F V \(8, 2\)"),
    (lambda: explorer([Joined("x", "flock")]), "takes as future a step of axes F or F V, got 'flock' with P F V"),
    (lambda: explorer([Joined("x", "y", band="flock")]), "takes as band a step of axes 2 F or 2 F V, got 'flock'"),
    (lambda: explorer([Joined("x", "y", particles="y")]), "takes as particles a step of axes P F or P F V, got 'y'"),
    (lambda: explorer([Joined("x", "one")]), r"joins 2 variables along T = 12 and F = 8, but step 'one' has F N"),
    (lambda: explorer([Joined("x", "y", name="y")]), "step 'y' is already recorded"),
])
def test_steps_that_do_not_fit_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    shown = [ALL, Joined("past_one", "one", name="alone")]
    with page_of(lambda: [explorer(shown, id="page")], tmp_path_factory.mktemp("joined")) as made:
        yield made


@pytest.mark.browser
def test_the_page_draws_and_says_what_python_draws_and_says(browser, folder):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as live:
        page = live["page"]
        first = page.state()
        assert not page.faults(first, {})
        ask(page.at, "el => el.explorer.set('x', 30).then(() => 1)")
        ask(page.at, "el => el.explorer.set('gain', 1.75).then(() => 1)")
        page.settled("another window", x=30, gain=1.75)
        now, end = (number(float(v)) for v in (SERIES[41, 0], SERIES[41, 0] * 1.75))
        page.page.get_by_text(SAY["moved"].format(step="alone", now=now, end=end)).wait_for()
        assert f"the forecast goes on from {now} to {end} in 8." in page.state()["spoken"][0]
        page.at.locator("[data-reset]").press("Enter")
        page.returned("Reset", first)
        page.hears(first["spoken"])


@pytest.mark.browser
def test_now_is_a_line_and_the_curves_differ_without_colour(browser, folder):
    with opened(browser, folder, viewport={"width": 390, "height": 844}) as live:
        page = live["page"]
        assert len(set(ask(page.at, STROKES).values())) == 4
        for line, shade, end, frame in ask(page.at, PLACES):
            assert line == pytest.approx(shade, abs=1)
            assert end == pytest.approx(frame, abs=1)
            assert line < end - 20
        assert page.page.evaluate("document.scrollingElement.scrollWidth") <= 390


@pytest.mark.browser
def test_a_number_is_chosen_by_pointer_and_by_keyboard_on_either_side_of_now(browser, folder):
    with opened(browser, folder, viewport={"width": 1280, "height": 900}) as live:
        page = live["page"]
        plot, sway = page.at.locator("[data-step=joined] .ts-plot"), page.at.locator("[data-sway]")
        values = np.reshape(page.state()["values"]["joined"]["data"], (9, 20, 2))
        box = plot.locator("svg").nth(1).locator(".ts-horizon").bounding_box()
        plot.page.mouse.click(box["x"] + 1, box["y"] + box["height"] - 2)
        place = "joined[future+truth+band+particles forecast, T+F {}, V {}] = {:.6g}"
        sway.get_by_text(place.format(11, "load", values[0, 11, 1])).wait_for()
        for key, at in (("ArrowRight", (12, "load")), ("ArrowUp", (12, "temp")), ("Home", (0, "temp"))):
            plot.press(key)
            sway.get_by_text(place.format(*at, values[0, at[0], ["temp", "load"].index(at[1])])).wait_for()
        plot.press("PageDown")
        sway.get_by_text("particles truth, T+F 0, V temp").wait_for()
