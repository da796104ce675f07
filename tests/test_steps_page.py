"""The step bar on a page made for it: chain in small, formulas, axes in words, sources, line of code, playing."""

import pytest
import torch
from live import ask
from staged import opened, page_of

from tsattn_mini import step
from tsattn_mini.attention import scaled_dot_product
from tsattn_mini.explore import Cells, Explorer, Slider, Toggle
from tsattn_mini.explore.element import words
from tsattn_mini.kite.gate import knowledge_guided

pytestmark = pytest.mark.browser
SAY = words("steps")
SIZES = {"wide": {"width": 1280, "height": 900}, "narrow": {"width": 390, "height": 844}}
X = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])
NOW = """el => ({ pressed: [...el.querySelectorAll("[data-go][aria-pressed=true]")].map(b => b.dataset.go),
  said: el.querySelector("[data-caption]").innerText,
  top: el.querySelector(".ts-shown").getBoundingClientRect().top + scrollY,
  from: [...el.querySelectorAll(".ts-panel.ts-from")].map(p => p.dataset.step),
  handles: [...el.querySelectorAll("[data-input].ts-from")].map(b => b.dataset.input),
  playing: el.querySelector("[data-play]").getAttribute("aria-pressed"),
  focus: document.activeElement?.dataset.go ?? null })"""
THUMBS = """el => {
  const { width, height } = el.querySelector("canvas");
  const empty = Object.assign(document.createElement("canvas"), { width, height });
  return [empty, ...el.querySelectorAll("canvas")].map(canvas => canvas.toDataURL());
}"""
SMALL = """el => [...el.querySelectorAll("button, select, summary, input:not([type=checkbox]):not([type=range])")]
  .filter(c => c.checkVisibility()).map(c => [c.outerHTML.slice(0, 80), c.getBoundingClientRect()])
  .filter(([, box]) => box.height && box.height < 40).map(([html]) => html)"""
PRINTED = """el => ["presets", "walk > button", "take"].map(name => el.querySelector(`.ts-${name}`))
  .map(part => getComputedStyle(part).display)"""


def attend(x, tau, hide):
    heads = (tau * x)[None, :, None]
    mask = hide & torch.ones(3, 3, dtype=torch.bool).triu(1)
    out = scaled_dot_product(heads, heads, heads, mask)
    step("mean", out.mean((0, 1, 2)), axes="W", eq="mean out", note="Of all queries.")
    step("curve", out[0, :, 0].mT.repeat(1, 4), axes="W T", eq="any \\ other notation")


def guided(prior):
    A_b = torch.tensor([[1.0, 0.0, -1.0], [0.5, 0.5, 2.0]])
    knowledge_guided(A_b, A_b / 2, prior)


def explorers():
    handles = {"x": Cells(X, -3, 3, axes="L E"), "tau": Slider(1.0, 0.5, 4.0, step=0.25), "hide": Toggle(False)}
    return [Explorer(attend, id="attend", inputs=handles),
            Explorer(guided, id="guided", show=["S", "gate", "A"],
                     inputs={"prior": Cells(torch.tensor([[0.9, 0.6, 0.1], [0.2, 0.7, 0.4]]), 0, 1, axes="N D")})]


@pytest.fixture(scope="module")
def folder(book, tmp_path_factory):
    with page_of(explorers, tmp_path_factory.mktemp("steps")) as made:
        yield made


@pytest.fixture(params=SIZES)
def live(browser, folder, request):
    with opened(browser, folder, viewport=SIZES[request.param]) as found:
        yield found


def unfold(live):
    """What a narrow caption keeps a tap away."""
    if live.page.viewport_size == SIZES["narrow"]:
        live.at.locator(".ts-here [data-more]").click()


def go(live, name):
    live.at.locator(f"[data-go='{name}']").press("Enter")
    return ask(live.at, NOW)


def test_every_step_says_its_formula_axes_sources_and_code(live):
    unfold(live["attend"])
    found = go(live["attend"], "logits")
    assert found["pressed"] == ["logits"]
    for part in ("What the softmax sees", "L 3 query positions", "S 3 key positions", "from QK",
                 "QK / q.shape[-1] ** 0.5", SAY["line"].format(file="tsattn_mini/attention.py", number="")):
        assert part in found["said"]
    assert live["attend"].at.locator("[data-about=logits] math").first.text_content() == "QK⊤/E"
    assert found["from"] == ["QK"]
    assert go(live["attend"], "QK")["handles"] == ["x", "tau"]
    assert set(go(live["attend"], "logits")["handles"]) <= {"hide"}
    assert sorted(go(live["attend"], "out")["from"]) == ["A"]


def test_letters_of_a_paper_have_its_words(live):
    unfold(live["guided"])
    found = go(live["guided"], "gate")
    assert "N 2 variables to forecast × D 3 covariates" in found["said"]
    assert found["from"] == ["S"]
    assert go(live["guided"], "S")["handles"] == ["prior"]


def test_a_formula_in_another_notation_is_shown_as_written(live):
    assert "any \\ other notation" in go(live["attend"], "curve")["said"]


def test_steps_change_without_moving_the_pictures(live):
    tops = {go(live["attend"], name)["top"] for name in ("QK", "A", "mean", "curve")}
    assert max(tops) - min(tops) < 1


def test_arrow_keys_walk_and_the_buttons_beside_too(live):
    one = live["attend"]
    go(one, "QK")
    one.at.locator("[data-go=QK]").press("ArrowRight")
    assert ask(one.at, NOW)["focus"] == "logits"
    one.at.get_by_role("button", name=SAY["next"]).press("Enter")
    assert ask(one.at, NOW)["pressed"] == ["A"]
    one.at.get_by_role("button", name=SAY["previous"]).press("Enter")
    assert ask(one.at, NOW)["pressed"] == ["logits"]
    assert ask(live["guided"].at, NOW)["pressed"] == ["S"], "the other explorer stays"


def test_playing_walks_to_the_end_and_a_hand_stops_it(live):
    one = live["attend"]
    one.page.clock.install()
    play = one.at.get_by_role("button", name=SAY["play"])
    play.press("Enter")
    assert ask(one.at, NOW)["playing"] == "true"
    one.page.clock.run_for(4000)
    assert ask(one.at, NOW)["pressed"] == ["logits"]
    play.press("Enter")
    one.page.clock.run_for(9000)
    assert ask(one.at, NOW)["pressed"] == ["logits"]
    play.press("Enter")
    one.page.clock.run_for(60_000)
    assert (ask(one.at, NOW)["pressed"], ask(one.at, NOW)["playing"]) == (["curve"], "false")
    play.press("Enter")
    assert ask(one.at, NOW)["pressed"] == ["QK"]
    one.at.locator("[data-go=A]").click()
    one.page.clock.run_for(9000)
    assert (ask(one.at, NOW)["pressed"], ask(one.at, NOW)["playing"]) == (["A"], "false")


def test_a_slider_with_a_step_stops_there_and_takes_typed_numbers_between(live):
    one = live["attend"]
    place, exact = one.box("tau").locator("input").all()
    place.press("ArrowRight")
    one.settled("an arrow key", tau=1.25)
    exact.fill("1.1")
    exact.press("Enter")
    one.page.wait_for_timeout(100)
    assert one.state()["inputs"]["tau"] == 1.1


def test_reduced_motion_takes_the_play_button_away(browser, folder):
    with opened(browser, folder, reduced_motion="reduce") as live:
        assert not live["attend"].at.locator("[data-play]").is_visible()


def test_the_chain_in_small_follows_numbers_and_theme(live):
    one = live["attend"]
    empty, *first = ask(one.at, THUMBS)
    assert empty not in first
    one.at.evaluate("el => el.explorer.set('x', [[3, 0], [0, -3], [1, 1]])")
    one.page.wait_for_timeout(600)
    _, *moved = ask(one.at, THUMBS)
    assert [a != b for a, b in zip(first, moved, strict=True)] == [True] * len(first)
    one.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    one.page.wait_for_timeout(50)
    _, *dark = ask(one.at, THUMBS)
    assert [a != b for a, b in zip(dark, moved, strict=True)] == [True] * len(first)


def test_a_page_stays_as_wide_as_its_window_and_everything_can_be_touched(live):
    one = live["attend"]
    one.at.locator("summary").click()
    width = one.page.viewport_size["width"]
    assert one.page.evaluate("document.scrollingElement.scrollWidth") <= width
    for explorer in live.values():
        assert explorer.at.evaluate(SMALL) == []


STICKY = """el => ["guide", "dock"].map(name => el.querySelector(`.ts-${name}`))
  .filter(part => getComputedStyle(part).position === "sticky").reduce((sum, part) => sum + part.offsetHeight, 0)"""


@pytest.mark.parametrize(("size", "share"), [((1280, 900), 0.4), ((390, 844), 0.34), ((844, 390), 0.3)])
def test_what_stays_in_sight_leaves_the_pictures_most_of_the_screen(browser, folder, size, share):
    with opened(browser, folder, viewport=dict(zip(("width", "height"), size, strict=True))) as live:
        for explorer in live.values():
            assert explorer.at.evaluate(STICKY) <= share * size[1]


def test_a_narrow_caption_is_never_cut_and_a_tap_unfolds_axes_and_code_for_all_steps(browser, folder):
    with opened(browser, folder, viewport=SIZES["narrow"]) as live:
        one, caption = live["attend"], live["attend"].at.locator("[data-caption]")
        fits = "el => el.scrollHeight <= el.clientHeight + 1"
        code, more = caption.locator(".ts-here .ts-code"), caption.locator(".ts-here [data-more]")
        go(one, "QK")
        assert caption.evaluate(fits)
        assert not code.is_visible()
        more.click()
        assert (more.inner_text(), more.get_attribute("aria-expanded")) == (SAY["less"], "true")
        heights = []
        for step in ("QK", "A"):
            go(one, step)
            assert code.is_visible()
            assert caption.evaluate(fits)
            heights.append(caption.bounding_box()["height"])
        assert len(set(heights)) == 1
        more.click()
        assert not code.is_visible()


def test_a_wide_caption_has_nothing_to_unfold(browser, folder):
    with opened(browser, folder, viewport=SIZES["wide"]) as live:
        here = live["attend"].at.locator(".ts-here")
        assert here.locator(".ts-code").is_visible()
        assert not here.locator("[data-more]").is_visible()


def test_beside_wide_pictures_the_menu_stands_in_the_line_that_says_what_changed(browser, folder):
    with opened(browser, folder, viewport=SIZES["wide"]) as live:
        say, menu = (live["attend"].at.locator(part).bounding_box() for part in ("[data-say]", ".ts-take > summary"))
        assert menu["y"] < say["y"] + say["height"]
        assert menu["x"] > say["x"] + say["width"] / 2


def test_in_print_only_what_can_be_read_is_left(live):
    one = live["attend"]
    one.page.emulate_media(media="print")
    assert one.at.evaluate(PRINTED) == ["none"] * 3
    assert one.at.locator("[data-step=A] svg").is_visible()
    assert one.at.locator("[data-about=QK]").is_visible()
