"""iTransformer, TimeXer and DUET: what went wrong in public code, with the input that shows it."""

import pytest
import torch
from forecasters import build, draw, inputs

from tsattn_mini.questions import lesson19, lesson20
from tsattn_mini.results import duet as bench
from tsattn_mini.results import interval, load
from tsattn_mini.zoo.timexer import TimeXer

SIZES = {"seq_len": 24, "pred_len": 4, "M": 8, "H": 2, "d_ff": 6, "e_layers": 1}


def timexer(V=1, **more):
    return build(TimeXer, V=V, **{**SIZES, "patch_len": 8, "marks": 0, **more}).eval()


@pytest.mark.bad_input
@pytest.mark.parametrize("patch", [1, 5, 7, 23, 24])
def test_defect_27_the_newest_step_is_in_a_patch(patch):
    """pytorch-forecasting#1868: a patch longer than the window fails inside unfold; and 24 steps cut by 7 leave three.

    Those three are the newest there, and changing them changes nothing. Here the last patch ends where the future
    begins, and a patch that does not fit is refused in the config.
    """
    net, x = timexer(patch_len=patch, use_norm=False, features="S"), draw(2, 24, 1)
    newest, oldest = x.clone(), x.clone()
    newest[:, -1] += 1
    oldest[:, 0] += 1
    moved = [(net(y) - net(x)).abs().max().item() for y in (newest, oldest)]
    assert moved[0] > 1e-3
    assert (moved[1] == 0) is (24 % patch > 0)
    for wrong in (0, 25, 100):
        with pytest.raises(ValueError, match=rf"^patch_len: expected 1 <= patch_len <= seq_len=24, got {wrong}"):
            timexer(patch_len=wrong)


@pytest.mark.bad_input
def test_defect_28_without_exogenous_variables_there_is_a_rule():
    """TimeXer#6, neuralforecast#1311, #1444, #1197: which columns are exogenous, and what if there are none.

    With features="S" three columns are a size error in the middle there, and one column without marks an attention
    over no keys. Here the first is refused by name, and in the second cross-attention is left out.
    """
    with pytest.raises(ValueError, match=r'^V: expected 1 with features="S".*, got 3'):
        timexer(V=3, features="S")
    with pytest.raises(ValueError, match=r"^features: expected one of"):
        timexer(features="exogenous")
    for features in ("S", "MS"):
        net = timexer(features=features)
        x = draw(2, 24, 1)
        y = net(x)
        with torch.no_grad():
            for p in net.layers[0].cross_attention.parameters():
                p.fill_(torch.nan)
        assert torch.equal(net(x), y)
        assert y.isfinite().all()
    with pytest.raises(ValueError, match=r"^x_enc: expected axes 'B 24 1', got shape \(2, 36, 1\)"):
        timexer()(draw(2, 36, 1))
    x, marks, *_ = inputs(seq_len=24, V=1)
    asks = timexer(features="S", marks=4)
    assert not torch.equal(asks(x, marks), asks(x, marks + 1))
    assert {q.id: q for q in lesson19.QUESTIONS}["19-zero"].answer() == "skip"


def gain(series, other):
    table = load("duet")
    pairs = zip(table.values(series, "links", "mse"), table.values(series, other, "mse"), strict=True)
    return interval([b - a for a, b in pairs])


def test_defect_29_the_mask_makes_less_than_a_twentieth_of_difference_and_exchange_does_more():
    """DUET#12, #20: the mask seems to make no difference. Measured on and off, over eight seeds and three series."""
    for series in bench.CUTS:
        assert abs(gain(series, "all").mean) < 0.05 * load("duet")[series, "links", "mse"].mean
        assert gain(series, "released").low < 0 < gain(series, "released").high
    assert gain("planted", "all").low < 0 < gain("planted", "all").high
    assert gain("planted", "all").mean == pytest.approx(0.013, abs=1e-3)
    assert gain("planted", "own").low > 0.05
    assert gain("bikes", "all").mean == pytest.approx(0.004, abs=1e-3)
    assert gain("bikes", "own").high < 0
    assert {q.id: q for q in lesson20.QUESTIONS}["20-help"].seen() == ["defects: DUET 29"]
