"""Flow diagrams by meaning, and of a few picked steps."""

import re

import pytest
import torch

from tsattn_mini import record, step
from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.trace import meaning


@meaning("centre")
def centre(x):
    mu = step("mu", x.mean(), axes="")
    return step("z", x - mu, axes="T"), mu


def forecast(x):
    z, mu = centre(step("x", x, axes="T"))
    with meaning("model"):
        hidden = step("hidden", 2 * z, axes="T")
        y = step("y", hidden + 1, axes="T")
    return step("restored", y + mu, axes="T")


def traced():
    with record() as trace:
        forecast(torch.tensor([1.0, 2.0, 3.0]))
    return trace


def test_a_step_knows_its_innermost_meaning():
    assert {n: s.meaning for n, s in traced().items()} == {
        "x": None, "mu": "centre", "z": "centre", "hidden": "model", "y": "model", "restored": None}
    with record() as trace, meaning("outer"), meaning("inner"):
        step("a", torch.zeros(2), axes="T")
    assert trace["a"].meaning == "inner"


def test_a_meaning_closes_when_its_block_fails():
    with pytest.raises(RuntimeError, match="stop"), meaning("lost"):
        raise RuntimeError("stop")
    with record() as trace:
        step("a", torch.zeros(2), axes="T")
    assert trace["a"].meaning is None


def test_by_meaning_a_box_names_what_goes_in_and_what_comes_out():
    assert repr(traced().flow(by="meaning")).splitlines() == [
        "x (1 step; out: x · T 3)",
        "centre (2 steps; in: x; out: mu; out: z · T 3)",
        "model (2 steps; in: z; out: y · T 3)",
        "restored (1 step; in: y, mu; out: restored · T 3)"]


def test_by_meaning_every_pair_of_boxes_has_one_arrow():
    html = traced().flow(by="meaning").html
    assert html.count("class='ts-box'") == 4
    assert html.count("class='ts-arrow'") == 4, "x-centre, centre-model, model-restored, and centre-restored around"


@pytest.mark.bad_input
def test_another_order_is_refused():
    with pytest.raises(ValueError, match="by: expected 'order' or 'meaning', got 'size'"):
        traced().flow(by="size")


def test_picked_steps_are_joined_over_those_left_out():
    picked = traced().pick("x", "y", "restored")
    assert {n: s.sources for n, s in picked.items()} == {"x": (), "y": ("x",), "restored": ("y", "x")}
    assert repr(picked.flow()) == "x\ny ← x\nrestored ← y, x"
    assert len(repr(picked.table()).splitlines()) == 5


@pytest.mark.bad_input
def test_only_recorded_steps_can_be_picked():
    with pytest.raises(KeyError, match="no step 'q'; recorded: x, mu"):
        traced().pick("x", "q")


def test_the_non_stationary_transformer_has_six_parts_that_fit_a_phone():
    model = NonstationaryTransformer(12, 6, 4, 5, M=8, H=4, d_ff=16)
    with torch.no_grad(), record() as trace:
        model(torch.randn(2, 12, 5), torch.randn(2, 12, 4), None, torch.randn(2, 10, 4))
    figure = trace.flow(by="meaning")
    parts = [line.split(" (")[0] for line in repr(figure).splitlines()]
    assert parts == ["save statistics", "make τ and δ", "embed", "attend", "decode", "restore"]
    assert float(re.search(r"width='([\d.]+)'", figure.html)[1]) <= 360


def test_arrows_of_different_steps_round_one_column_keep_to_lanes_of_their_own():
    with record() as trace:
        a, b = step("a", torch.ones(2), axes="T"), step("b", torch.zeros(2), axes="T")
        c = step("c", step("top", a + b, axes="T") * 2, axes="T")
        step("d", c + b, axes="T")
        step("e", step("side", b * 3, axes="T") + trace["d"].tensor, axes="T")
    bends = re.findall(r"v\d+H(\d+)V", trace.flow()._repr_html_())
    assert len(bends) == len(set(bends)) == 2
