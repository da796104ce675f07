"""Auto-Correlation against plain loops, its limits and its two formulas; the whole Autoformer."""

import math

import pytest
import torch
from forecasters import TOY, build, draw, graph_gap, inputs, traced
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.zoo.autoformer import AutoCorrelation, Autoformer, auto_correlation, correlation, number_of_delays

TOY = {**TOY, "kernel": 5}


def qkv(B=2, L=12, S=None, H=3, E=2, dtype=torch.float64):
    S = S or L
    return draw(B, L, H, E, seed=1).to(dtype), draw(B, S, H, E, seed=2).to(dtype), draw(B, S, H, E, seed=3).to(dtype)


def recorded(*args, **kwargs):
    with torch.no_grad(), record() as trace:
        auto_correlation(*args, **kwargs)
    return {name: trace[name].tensor for name in trace}


def direct(q, k):
    """R(τ) as a sum over time, heads and channels, for every window."""
    B, L, H, E = q.shape
    return torch.tensor([[sum(float(q[b, (t + tau) % L, h, e] * k[b, t, h, e]) for t in range(L) for h in range(H)
                              for e in range(E)) / (H * E) for tau in range(L)] for b in range(B)], dtype=q.dtype)


# The correlation: defect 11 and its kind


@pytest.mark.parametrize("L", [1, 2, 3, 4, 7, 11, 12, 25])
def test_the_correlation_equals_the_direct_sum_at_odd_and_even_lengths(L):
    q, k, _ = qkv(L=L)
    R = correlation(q, k)
    assert R.shape == (2, L)
    assert_close(R, direct(q, k))


@pytest.mark.parametrize("L", [3, 11, 25])
def test_released_lags_at_odd_length_are_one_short_and_wrong(L):
    q, k, _ = qkv(L=L)
    released = correlation(q, k, released_lags=True)
    assert released.shape == (2, L - 1)
    assert float((released - direct(q, k)[:, :-1]).abs().max()) > 0.1
    assert_close(correlation(q[:, 1:], k[:, 1:], released_lags=True), correlation(q[:, 1:], k[:, 1:]))


def test_what_is_repeated_every_seven_steps_is_found_at_seven():
    x = draw(1, 7, 2, 3).repeat(1, 5, 1, 1)
    R = correlation(x, x)[0]
    assert_close(R[::7], R[0].expand(5))
    assert_close(R[0], R.max())
    assert_close(correlation(x.roll(3, 1), x)[0].argmax() % 7, torch.tensor(3))


# The aggregation


@pytest.mark.parametrize(("L", "S"), [(12, 12), (12, 8), (10, 12), (11, 11), (2, 2), (1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("factor", [0.1, 1, 2.5])
@pytest.mark.parametrize("shared", [False, True])
def test_the_operator_equals_plain_loops(L, S, factor, shared):
    q, k, v = qkv(B=3, L=L, S=S)
    keys, values = (torch.cat([x[:, :L], torch.zeros(3, max(L - S, 0), 3, 2, dtype=x.dtype)], 1) for x in (k, v))
    R = direct(q, keys)
    kept = min(max(math.floor(factor * math.log(L)), 1), L)
    want = torch.zeros(3, L, 3, 2, dtype=q.dtype)
    for b in range(3):
        ranking = (R.mean(0) if shared else R[b]).tolist()
        delays = sorted(range(L), key=lambda tau, ranking=ranking: -ranking[tau])[:kept]
        powers = [math.exp(float(R[b, tau])) for tau in delays]
        for t in range(L):
            for tau, power in zip(delays, powers, strict=True):
                want[b, t] += power / sum(powers) * values[b, (t + tau) % L]
    assert_close(auto_correlation(q, k, v, factor, shared=shared), want)


@pytest.mark.parametrize(("L", "factor", "kept"), [(1, 1, 1), (2, 1, 1), (3, 1, 1), (8, 1, 2), (12, 1, 2), (96, 1, 4),
                                                   (96, 3, 13), (12, 100, 12), (2, 1e9, 2), (96, 1e-9, 1)])
def test_the_number_of_delays_is_at_least_one_and_at_most_the_length(L, factor, kept):
    assert number_of_delays(L, factor) == kept
    t = recorded(*qkv(L=L), factor)
    assert t["delays"].shape == (2, kept)
    assert_close(t["A"].sum(-1), torch.ones(2, dtype=torch.float64))


def test_released_count_can_be_none_and_then_the_output_is_zero():
    q, k, v = qkv(L=2)
    assert_close(auto_correlation(q, k, v, released_count=True), torch.zeros_like(v))
    assert float(auto_correlation(q, k, v).abs().min()) > 0
    q, k, v = qkv(L=12)
    assert torch.equal(auto_correlation(q, k, v, released_count=True), auto_correlation(q, k, v))


def test_one_position_is_the_value_itself():
    q, k, v = qkv(L=1)
    assert torch.equal(auto_correlation(q, k, v), v)


def test_one_delay_looks_ahead_round_the_end():
    """Defect 13's second question, the direction of the roll: delay 1 brings v_{t+1} to position t."""
    q = torch.zeros(1, 5, 1, 1, dtype=torch.float64)
    k, v = q.clone(), torch.arange(5, dtype=q.dtype)[None, :, None, None]
    q[0, 3], k[0, 2] = 1, 1
    assert auto_correlation(q, k, v, factor=0.1).flatten().tolist() == [1, 2, 3, 4, 0]
    assert auto_correlation(k, q, v, factor=0.1).flatten().tolist() == [4, 0, 1, 2, 3]


def test_it_is_an_attention_whose_matrix_is_circulant_and_the_same_for_every_head():
    q, k, _ = qkv(B=1, L=7, H=1, E=1)
    rows = auto_correlation(q, k, torch.eye(7, dtype=q.dtype)[None, :, None])[0, :, 0]
    assert_close(rows.sum(-1), torch.ones(7, dtype=q.dtype))
    for t in range(7):
        assert_close(rows[t], rows[0].roll(t))


# Train and eval: defect 13 and its kind


@pytest.mark.parametrize("training", [False, True])
def test_by_default_a_window_alone_and_in_a_batch_are_one_in_both_modes(training):
    attend = AutoCorrelation(factor=2).train(training)
    q, k, v = qkv(B=5, L=24)
    together = attend(q, k, v)
    for b in range(5):
        assert_close(attend(q[b:b + 1], k[b:b + 1], v[b:b + 1]), together[b:b + 1])


def test_the_released_choice_depends_on_the_batch_in_training_and_not_in_evaluation():
    attend = AutoCorrelation(factor=2, shared_in_training=True)
    q, k, v = qkv(B=5, L=24)
    assert float((attend(q[:1], k[:1], v[:1]) - attend(q, k, v)[:1]).abs().max()) > 0.1
    assert_close(attend(q, k, v), auto_correlation(q, k, v, 2, shared=True))
    attend.eval()
    assert_close(attend(q[:1], k[:1], v[:1]), attend(q, k, v)[:1])
    assert_close(attend(q, k, v), auto_correlation(q, k, v, 2))


def test_one_window_is_the_same_under_both_formulas():
    q, k, v = qkv(B=1)
    assert torch.equal(auto_correlation(q, k, v, shared=True), auto_correlation(q, k, v))


def test_the_forecast_of_a_window_does_not_depend_on_its_neighbours():
    net = build(Autoformer, **TOY).eval()
    args = inputs(B=5)
    with torch.no_grad():
        together = net(*args)
        for b in range(5):
            assert_close(net(*(a[b:b + 1] for a in args)), together[b:b + 1])


# Number range: defect 20 and its kind


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("L", [1, 2, 25, 96])
def test_in_half_precision_the_spectra_are_computed_in_float32(dtype, L):
    q, k, v = qkv(L=L, dtype=dtype)
    out = auto_correlation(q, k, v)
    assert out.dtype == dtype
    assert torch.equal(out, auto_correlation(q.float(), k.float(), v.float()).to(dtype))
    assert recorded(q, k, v)["R"].dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_whole_model_runs_in_half_precision(dtype):
    y = build(Autoformer, dtype=dtype, **TOY)(*inputs(dtype=dtype))
    assert y.dtype == dtype
    assert bool(torch.isfinite(y).all())


def test_a_larger_scale_saturates_the_weights_and_the_operator_becomes_the_identity():
    """claims.md, "Surprises": R is a sum of squares, so three times the amplitude is nine times the logit."""
    x = draw(2, 24, 3, 2)
    assert_close(auto_correlation(30 * x, 30 * x, x), x, rtol=0, atol=1e-12)
    weights = recorded(0.01 * x, 0.01 * x, x)["A"]
    assert_close(weights, torch.full_like(weights, 1 / 3), rtol=0, atol=1e-3)


def test_gradients_reach_queries_keys_values_and_are_finite():
    q, k, v = (x.requires_grad_() for x in qkv())
    auto_correlation(q, k, v).square().sum().backward()
    assert all(float(x.grad.abs().max()) > 0 and bool(torch.isfinite(x.grad).all()) for x in (q, k, v))


# The whole model


def test_every_step_says_what_it_is():
    trace = traced(build(Autoformer, **TOY), *inputs())
    assert [name for name in trace if not (trace[name].eq or trace[name].note)] == []
    shapes = {"enc0/spectrum": (2, 7, 4, 2, 2), "enc0/R": (2, 12), "enc0/delays": (2, 2), "enc0/A": (2, 2),
              "enc0/rolled": (2, 2, 12, 4, 2), "enc0/out": (2, 12, 4, 2), "dec0/cross/R": (2, 10),
              "forecast": (2, 4, 5)}
    assert {name: trace[name].shape for name in shapes} == shapes


@pytest.mark.parametrize("changed", [{"V": 1, "M": 6, "H": 1}, {"seq_len": 1, "label_len": 1, "pred_len": 1},
                                     {"seq_len": 2, "label_len": 0, "pred_len": 3}, {"seq_len": 13, "kernel": 4},
                                     {"factor": 99}, {"e_layers": 1, "d_layers": 2}, {"activation": "relu"}])
def test_limits_of_the_sizes(changed):
    sizes = {**TOY, **changed}
    args = inputs(**{k: v for k, v in sizes.items() if k in ("seq_len", "label_len", "pred_len", "V")})
    with torch.no_grad():
        y = build(Autoformer, **sizes)(*args)
    assert y.shape == (2, sizes["pred_len"], sizes["V"])
    assert bool(torch.isfinite(y).all())


def test_of_the_decoder_input_only_the_shape_matters():
    net, (x, marks, x_dec, future) = build(Autoformer, **TOY), inputs()
    with torch.no_grad():
        assert torch.equal(net(x, marks, x_dec, future), net(x, marks, 100 * x_dec, future))
        assert torch.equal(net(x, marks, None, future), net(x, marks, x_dec, future))


def test_the_level_returns_but_the_model_is_not_affine_equivariant():
    """Rows 43 and 44: nothing is normalised, so 3 x + 7 is another input; the window's mean comes back in the trend."""
    net, (x, *rest) = build(Autoformer, **TOY).eval(), inputs()
    with torch.no_grad():
        first, moved = net(x, *rest), net(3 * x + 7, *rest)
        assert float((moved - (3 * first + 7)).abs().max()) > 0.1
        start, moved_start = (net.forecaster.start(z) for z in (x, 3 * x + 7))
    assert_close(moved_start[0], 3 * start[0])
    assert_close(moved_start[1], 3 * start[1] + 7)


def test_every_step_leaves_as_an_output_of_a_graph_that_agrees_at_other_values():
    net = build(Autoformer, dtype=torch.float32, **TOY).eval()
    first = dict(zip(("x_enc", "x_mark_enc", "x_dec", "x_mark_dec"), inputs(dtype=torch.float32), strict=True))
    assert graph_gap(net, first) <= 1e-5


# What is refused


@pytest.mark.bad_input
@pytest.mark.parametrize(("changed", "message"), [
    ({"q": draw(2, 5, 3)}, "q: expected axes 'B L H E', got shape"),
    ({"k": draw(2, 5, 2, 2)}, "k: expected axes 'B S H E' with B=2, H=3, E=2, got shape"),
    ({"v": draw(2, 4, 3, 2)}, "v: expected axes 'B S H W' with B=2, S=5, H=3, got shape"),
    ({"q": torch.zeros(2, 5, 3, 2, dtype=torch.int64)}, "q: expected floating-point numbers, got int64"),
    ({"k": draw(2, 5, 3, 2).log()}, "k: expected finite numbers, got nan at index"),
    ({"q": draw(2, 5, 3, 2) * 1e200, "k": draw(2, 5, 3, 2) * 1e200}, "q, k: expected numbers that stay within"),
    ({"q": None}, "q: expected a tensor, got NoneType"), ({"v": None}, "v: expected a tensor, got NoneType"),
    *(({"factor": c}, f"factor: expected a positive number, got {c!r}") for c in (0, -1, math.nan, math.inf, "many")),
])
def test_auto_correlation_refuses(changed, message):
    q, k, v = qkv(L=5)
    with pytest.raises(ValueError, match=message):
        auto_correlation(**{"q": q, "k": k, "v": v, **changed})


@pytest.mark.bad_input
def test_the_released_transform_back_has_no_lag_for_one_position():
    with pytest.raises(ValueError, match=r"released_lags: expected at least 2 positions, .* got 1"):
        auto_correlation(*qkv(L=1), released_lags=True)


@pytest.mark.bad_input
@pytest.mark.parametrize(("changed", "message"), [
    ({"factor": -2}, "factor: expected a positive number, got -2"), ({"kernel": 0}, "kernel: expected at least 1"),
    ({"H": 3}, "H: expected a divisor of the model width M=8, got 3"), ({"e_layers": 0}, "e_layers: .* got 0"),
    ({"label_len": 13}, "label_len: expected 0 <= label_len <= seq_len=12"),
    ({"calendar": "x"}, "calendar: expected None, 'fixed' or 'learned', got 'x'")])
def test_the_model_refuses_sizes(changed, message):
    with pytest.raises(ValueError, match=message):
        Autoformer(**{**TOY, **changed})


@pytest.mark.bad_input
def test_a_history_that_is_too_short_is_named_with_what_is_needed():
    """Defect 15: the message states the length that is needed and the length that came."""
    args = list(inputs())
    args[0] = args[0][:, 3:]
    with pytest.raises(ValueError, match=r"x_enc: expected axes 'B 12 5', got shape \(2, 9, 5\)"):
        build(Autoformer, **TOY)(*args)
    args = list(inputs())
    args[0][1, 3, 2] = math.nan
    with pytest.raises(ValueError, match="x_enc: expected finite numbers, got nan at row 3, column 2 of window 1"):
        build(Autoformer, **TOY)(*args)
