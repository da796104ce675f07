"""What lesson 19 claims; numbers in brackets are those of the ledger of claims, 27 and 28 those of the defects."""

from itertools import permutations

import pytest
import torch
from forecasters import build, traced
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.embedding import DataEmbedding
from tsattn_mini.lesson import counting
from tsattn_mini.nonstationary import NonstationaryTransformer, Projector, stationarize
from tsattn_mini.questions.lesson19 import QUESTIONS
from tsattn_mini.zoo.itransformer import InvertedEmbedding, ITransformer, normalise
from tsattn_mini.zoo.timexer import PatchEmbedding, TimeXer

SIZES = {"seq_len": 12, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}


def drawn(seed, cls, **sizes):
    """As the lesson draws it: in float64, from the global generator."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float64)
        try:
            net = cls(**sizes).requires_grad_(False)
            return net, 2 * torch.randn(2, 12, 5) + 3, torch.rand(2, 12, 4) - 0.5
        finally:
            torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def inverted():
    return drawn(19, ITransformer, **SIZES)


@pytest.fixture(scope="module")
def driven(inverted):
    """A TimeXer for the window of the lesson: last column the target."""
    return drawn(20, TimeXer, **SIZES, patch_len=4, features="MS")[0], *inverted[1:]


def far(a, b):
    return float((a - b).abs().max())


def weights(module):
    return sum(p.numel() for p in module.parameters())


# iTransformer


def test_51_problem_numbers_of_one_step_may_have_nothing_to_do_with_each_other():
    driver = torch.randn(400, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    target = driver.roll(3)

    def agree(a, b):
        return float(torch.corrcoef(torch.stack([a, b]))[0, 1])

    assert agree(driver, target) == pytest.approx(0.091, abs=5e-4)
    assert agree(driver[:-3], target[3:]) == pytest.approx(1)


def test_54_token_by_hand_and_five_variables_with_four_marks_make_nine(inverted):
    x, W = counting(4, 3), counting(2, 4) / 10
    embedding = InvertedEmbedding(T=4, M=2).double()
    embedding.value.load_state_dict({"weight": W, "bias": torch.tensor([0.0, 1.0])})
    assert_close(embedding(x[None])[0, 0].detach(), torch.tensor([7.0, 16.8], dtype=torch.float64))
    net, window, marks = inverted
    assert traced(net, window, marks)["embedding/tokens"].shape == (2, 9, 8)
    assert traced(net, window)["embedding/tokens"].shape == (2, 5, 8)


def test_54_operator_attention_is_nine_by_nine_and_the_marks_rows_are_dropped(inverted):
    trace = traced(*inverted)
    assert trace["enc0/A"].shape == trace["enc1/A"].shape == (2, 4, 9, 9)
    assert trace["projection"].shape == (2, 9, 4)
    assert_close(trace["y_norm"].tensor, trace["projection"].tensor[:, :5].mT)


def test_parts_without_attention_no_variable_moves_another_and_the_only_new_part_has_104_weights(inverted):
    net, x, marks = inverted
    silent = ITransformer(**SIZES).double().requires_grad_(False)
    silent.load_state_dict(net.state_dict())
    for layer in silent.encoder.layers:
        layer.attention.out.weight.zero_()
    moved = torch.zeros(2, 5, 5)
    for u in range(5):
        other = x.clone()
        other[:, -1, u] += 1
        for i, model in enumerate([net, silent]):
            moved[i, u] = (model(other, marks) - model(x, marks)).abs().amax((0, 1))
    others = ~torch.eye(5, dtype=torch.bool)
    assert float(moved[0].min()) > 1e-3
    assert float(moved[0][others].max()) == pytest.approx(0.017, abs=6e-4)
    assert torch.equal(moved[1][others], torch.zeros(20))
    assert float(moved[1].diagonal().min()) == pytest.approx(0.316, abs=6e-4)
    assert (weights(InvertedEmbedding(12, 8)), weights(DataEmbedding(5, 8))) == (104, 152)


def test_51_the_answer_is_equivariant_to_the_order_of_variables_where_a_projector_is_not(inverted):
    net, x, marks = inverted
    orders = [list(o) for o in permutations(range(5))]
    turned = torch.cat([x[:1, :, o] for o in orders])
    forecast = net(x[:1], marks[:1])
    assert_close(net(turned, marks[:1].expand(120, -1, -1)), torch.cat([forecast[..., o] for o in orders]),
                 rtol=0, atol=1e-13)
    P = build(Projector, T=12, V=5, hidden=(16, 16), O=1).requires_grad_(False)
    assert len(P(turned, stationarize(turned)[2]).exp().flatten().round(decimals=9).unique()) == 120


def test_51_it_is_invariant_to_the_order_of_marks_and_not_to_that_of_time(inverted):
    net, x, marks = inverted
    forecast = net(x, marks)
    assert far(net(x, marks.flip(2)), forecast) < 1e-13
    swapped = torch.cat([marks[..., :1], x[..., 1:]], -1), torch.cat([x[..., :1], marks[..., 1:]], -1)
    changed = [far(net(x, marks + 1), forecast), far(net(x), forecast),
               far(net(*swapped)[..., 1:], forecast[..., 1:])]
    assert changed == pytest.approx([0.254, 0.231, 0.197], abs=6e-4)
    assert far(net(x.flip(1), marks.flip(1)), forecast) == pytest.approx(3.129, abs=6e-4)


def test_53_normalisation_three_x_plus_seven_gives_three_times_the_forecast_plus_seven(inverted):
    net, x, marks = inverted
    gap = far(net(3 * x + 7, marks), 3 * net(x, marks) + 7)
    assert 5e-6 < gap < 1.5e-5


def test_53_statistics_stay_out_of_attention_where_the_non_stationary_transformer_puts_them_in(inverted):
    net, x, _ = inverted
    rival = drawn(19, NonstationaryTransformer, **SIZES, label_len=6, p_hidden=(16,))[0]
    moved = [far(traced(model, x)["enc0/A"].tensor, traced(model, 3 * x + 7)["enc0/A"].tensor)
             for model in (net, rival)]
    assert 5e-7 < moved[0] < 1.5e-6
    assert moved[1] == pytest.approx(0.470611, abs=1e-6)


def test_52_gradient_the_mean_is_detached_the_deviation_is_not_and_the_division_in_place_stops_backward(inverted):
    _, x, _ = inverted
    found = {}
    for released in (False, True):
        x_norm, mu, sigma = normalise((window := x.clone().requires_grad_()), released)
        found[released] = (mu.requires_grad, sigma.requires_grad)
        if released:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                (x_norm ** 3).sum().backward()
        else:
            (x_norm ** 3).sum().backward()
            assert float(window.grad.abs().max()) == pytest.approx(6.631, abs=6e-4)
    assert found == {False: (True, True), True: (False, True)}


def test_52_with_plain_data_nobody_notices(inverted):
    net, x, marks = inverted
    slopes = []
    for released in (False, True):
        model = ITransformer(**SIZES, released_statistics=released).double()
        model.load_state_dict(net.state_dict())
        model(x, marks).square().sum().backward()
        slopes.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert far(*slopes) < 1e-10
    assert float(slopes[0].abs().max()) > 100


# TimeXer


def test_problem_to_forecast_one_column_timexer_needs_24_scores_and_itransformer_81(inverted, driven):
    all_alike, one = traced(*inverted), traced(*driven)
    assert all_alike["enc0/A"].tensor[0, 0].numel() == 81
    assert [one[f"enc0/{part}/A"].tensor[0, 0].numel() for part in ("self", "cross")] == [16, 8]
    assert (all_alike["forecast"].shape, one["forecast"].shape) == ((2, 4, 5), (2, 4, 1))


def test_token_patches_differ_between_windows_and_the_global_token_does_not(driven):
    trace = traced(*driven)
    tokens = trace["tokens"].tensor[:, 0]
    assert tokens.shape == (2, 4, 8)
    assert far(tokens[0, :3], tokens[1, :3]) == pytest.approx(1.431, abs=6e-4)
    assert torch.equal(tokens[0, 3], tokens[1, 3])
    assert trace["exogenous_embedding/tokens"].shape == (2, 8, 8)


def test_operator_layer_one_patches_have_sensitivity_zero_and_the_global_token_has_not(driven):
    net, x, marks = driven
    drivers = torch.randn(2, 12, 4, generator=torch.Generator().manual_seed(21), dtype=torch.float64)
    other = torch.cat([drivers, x[..., 4:]], -1)
    a, b = traced(net, x, marks), traced(net, other, marks)
    change = {name: (a[name].tensor - b[name].tensor).abs().amax((0, 1, 3)).tolist()
              for name in ("tokens", "enc0/norm1", "enc0/norm3", "enc1/norm1", "enc1/norm3")}
    assert change["tokens"] == change["enc0/norm1"] == [0] * 4
    assert change["enc0/norm3"][:3] == [0] * 3
    assert change["enc0/norm3"][3] == pytest.approx(0.130, abs=6e-4)
    assert change["enc1/norm3"] == pytest.approx([0.003, 0.006, 0.005, 0.224], abs=6e-4)


def test_27_of_24_hours_in_patches_of_seven_the_newest_three_are_ignored_as_released():
    day, left_out = torch.arange(24.0)[None, None], {}
    for released in (True, False):
        with record() as trace:
            PatchEmbedding(T=24, p=7, M=2, released_patches=released)(day)
        left_out[released] = sorted(set(range(24)) - set(trace["patches"].tensor.flatten().int().tolist()))
    assert left_out == {True: [21, 22, 23], False: [0, 1, 2]}


@pytest.mark.parametrize("released", [True, False])
def test_27_the_newest_hour_then_moves_no_forecast(released):
    net = build(TimeXer, seq_len=24, pred_len=4, V=5, M=8, H=4, d_ff=16, patch_len=7, features="MS", use_norm=False,
                released_patches=released).requires_grad_(False)
    x = torch.randn(1, 24, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    other = x.clone()
    other[:, -1, -1] += 1
    assert (far(net(other), net(x)) == 0) == released


@pytest.mark.bad_input
def test_27_and_28_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="patch_len: expected 1 <= patch_len <= seq_len=24, got 25"):
        TimeXer(24, 4, 5, patch_len=25)
    with pytest.raises(ValueError, match='V: expected 1 with features="S"'):
        TimeXer(**SIZES, patch_len=4, features="S")


def test_28_one_column_asks_the_marks_and_without_marks_cross_attention_is_left_out(driven):
    _, x, marks = driven
    net = build(TimeXer, **SIZES | {"V": 1}, patch_len=4, features="S")
    assert traced(net, x[..., 4:], marks)["enc0/cross/A"].shape == (2, 4, 1, 4)
    bare = traced(net, x[..., 4:])
    assert not [name for name in bare if "cross" in name]
    assert bare["forecast"].shape == (2, 4, 1)


def test_normalisation_and_statistics_of_timexer_are_those_of_itransformer(driven):
    net, x, marks = driven
    a, b = traced(net, x, marks), traced(net, 3 * x + 7, marks)
    assert far(b["forecast"].tensor, 3 * a["forecast"].tensor + 7) < 1e-4
    assert max(far(a[f"enc0/{part}/A"].tensor, b[f"enc0/{part}/A"].tensor) for part in ("self", "cross")) < 1e-4


def test_parts_and_gradient_of_timexer(driven):
    net, x, marks = driven
    assert net.patch_embedding.global_token.shape == (1, 1, 1, 8)
    assert (weights(net.layers[0].cross_attention), weights(net.layers[0])) == (288, 904)
    released = build(TimeXer, **SIZES, patch_len=4, features="MS", released_statistics=True)
    with record() as trace:
        y = released(x.clone().requires_grad_(), marks)
    assert [trace[name].tensor.requires_grad for name in ("mu", "sigma")] == [False, True]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(("V", "scores"), [(321, 845_000), (92, 73_728)])
def test_exercise_one_scores_of_a_layer(V, scores):
    net = build(ITransformer, seq_len=2, pred_len=1, V=V, M=8, H=8, d_ff=1, e_layers=1)
    assert traced(net, torch.zeros(1, 2, V).double(), torch.zeros(1, 2, 4).double())["enc0/A"].tensor.numel() == scores


def test_exercise_two_with_one_layer_only_the_head_brings_both_together(driven):
    _, x, marks = driven
    net, other = build(TimeXer, **SIZES, patch_len=4, features="MS", e_layers=1), x.clone()
    other[..., 0] = other[..., 0].flip(1)
    a, b = traced(net, x, marks), traced(net, other, marks)
    assert torch.equal(a["enc_out"].tensor[:, :, :3], b["enc_out"].tensor[:, :, :3])
    assert far(a["forecast"].tensor, b["forecast"].tensor) > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_27_53_54_the_formulas_of_the_drawn_questions_are_what_the_models_do(seed, inverted):
    """Sizes cannot be drawn inside a graph, so these questions compute with formulas; here are the models."""
    asked = {q.id: q for q in QUESTIONS if q.id in ("19-tokens", "19-affine", "19-patch")}
    given = {id: q.drawing.tensors(seed) for id, q in asked.items()}
    right = {id: q.at(seed).answer() for id, q in asked.items()}
    T, V, K = (int(given["19-tokens"][name]) for name in "TVK")
    assert InvertedEmbedding(T, 8)(torch.zeros(1, T, V), torch.zeros(1, T, K)).shape[1] == right["19-tokens"]
    y, a, b = (given["19-affine"][name] for name in "yab")
    net, x, _ = inverted
    off = net(a * x + b) - a * (net(x) - y) - right["19-affine"]
    assert off.abs().max() < 1e-3
    with record() as trace:
        PatchEmbedding(24, int(given["19-patch"]["p"]), 2, released_patches=True)(torch.arange(24.0)[None, None])
    assert 24 - trace["patches"].tensor.numel() == right["19-patch"]
