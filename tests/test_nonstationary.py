"""The Non-stationary Transformer: shapes of every step, plain loops, limits, number range, export."""

import math
import warnings

import pytest
import torch
from forecasters import SMALL, TOY, build, draw, graph_gap, inputs, traced
from torch.testing import assert_close

from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.blocks import FeedForward, Transformer
from tsattn_mini.nonstationary import (
    Projector,
    StationarizedTransformer,
    destationarize,
    destationary_attention,
    stationarize,
    temperature,
)

# Every tensor has a name


def test_the_chain_from_0_to_18_step_by_step():
    trace = traced(build(**TOY), *inputs())
    chain = {"x": (2, 12, 5), "x_raw": (2, 12, 5), "mu": (2, 1, 5), "x_centred": (2, 12, 5), "sigma": (2, 1, 5),
             "x_norm": (2, 12, 5), "log_tau": (2, 1), "tau": (2, 1), "delta": (2, 12), "x_dec": (2, 10, 5),
             "enc_embedding/h": (2, 12, 8), "enc_out": (2, 12, 8), "dec_embedding/h": (2, 10, 8),
             "dec0/self/y": (2, 10, 8), "dec0/cross/y": (2, 10, 8), "dec0/norm3": (2, 10, 8), "dec_out": (2, 10, 5),
             "y": (2, 10, 5), "forecast": (2, 4, 5)}
    assert {name: trace[name].shape for name in trace if name in chain} == chain
    assert [name for name in trace if name in chain] == list(chain)


@pytest.mark.parametrize(("scope", "L", "S"), [("enc0", 12, 12), ("enc1", 12, 12),
                                               ("dec0/self", 10, 10), ("dec0/cross", 10, 12)])
def test_attention_from_a_to_i_step_by_step(scope, L, S):
    trace = traced(build(**TOY), *inputs())
    table = {"q": (2, L, 4, 2), "k": (2, S, 4, 2), "v": (2, S, 4, 2), "QK": (2, 4, L, S), "tau_4d": (2, 1, 1, 1),
             "delta_4d": (2, 1, 1, S), "scores": (2, 4, L, S), "logits": (2, 4, L, S), "A": (2, 4, L, S),
             "out": (2, L, 4, 2), "y": (2, L, 8)}
    found = {name.removeprefix(f"{scope}/"): trace[name].shape for name in trace if name.startswith(f"{scope}/")}
    assert {name: found[name] for name in table} == table


def test_every_step_says_what_it_is():
    trace = traced(build(**TOY), *inputs())
    silent = [name for name in trace if not (trace[name].eq or trace[name].note)]
    assert silent == []
    assert len(trace) == len(set(trace)) > 80


# Loops


def test_stationarize_equals_plain_loops_and_is_undone():
    x = draw(2, 7, 3) * 5 + 2
    x_norm, mu, sigma = stationarize(x)
    for b in range(2):
        for v in range(3):
            values = x[b, :, v].tolist()
            level = sum(values) / 7
            scale = math.sqrt(sum((value - level) ** 2 for value in values) / 7 + 1e-5)
            assert math.isclose(float(mu[b, 0, v]), level)
            assert math.isclose(float(sigma[b, 0, v]), scale)
            assert_close(x_norm[b, :, v], torch.tensor([(value - level) / scale for value in values], dtype=x.dtype))
    assert_close(destationarize(x_norm, mu, sigma), x, rtol=0, atol=1e-14)


def test_the_projector_equals_plain_loops():
    net = build(Projector, T=7, V=5, hidden=(11, 3), O=13).requires_grad_(False)
    x, s = draw(2, 7, 5), draw(2, 1, 5, seed=1)
    for b in range(2):
        c = [sum(float(net.conv.weight[0, t, j] * x[b, t, (v + j - 1) % 5]) for t in range(7) for j in range(3))
             for v in range(5)]
        h = torch.tensor(c + s[b, 0].tolist(), dtype=x.dtype)
        for layer in net.mlp[:-1]:
            h = torch.stack([(w * h).sum() + bias for w, bias in zip(layer.weight, layer.bias, strict=True)])
            h = torch.tensor([max(0.0, float(a)) for a in h], dtype=x.dtype)
        assert_close(net(x, s)[b], torch.stack([(w * h).sum() for w in net.mlp[-1].weight]))


def attention_in_loops(layer, x, past, tau, delta):
    """Steps a to i for one window of x (L, M) over past (S, M): one query, one head, one key at a time."""
    E = x.shape[1] // layer.H

    def project(linear, row):
        return [float((w * row).sum() + b) for w, b in zip(linear.weight, linear.bias, strict=True)]

    q = [project(layer.query, row) for row in x]
    k, v = ([project(linear, row) for row in past] for linear in (layer.key, layer.value))
    out = []
    for i in range(len(q)):
        heads = []
        for first in range(0, x.shape[1], E):
            dots = [sum(q[i][e] * key[e] for e in range(first, first + E)) for key in k]
            odds = [math.exp((tau * dot + shift) / math.sqrt(E)) for dot, shift in zip(dots, delta, strict=True)]
            A = [o / sum(odds) for o in odds]
            heads += [sum(a * value[e] for a, value in zip(A, v, strict=True)) for e in range(first, first + E)]
        out.append(project(layer.out, torch.tensor(heads, dtype=x.dtype)))
    return torch.tensor(out, dtype=x.dtype)


def test_the_whole_attention_layer_equals_plain_loops():
    layer = build(AttentionLayer, attend=destationary_attention, M=10, H=2).requires_grad_(False)
    x, past, tau, delta = draw(2, 3, 10), draw(2, 7, 10, seed=1), draw(2, 1, seed=2).exp(), draw(2, 7, seed=3)
    got = layer(x, past, tau=tau, delta=delta)
    for b in range(2):
        assert_close(got[b], attention_in_loops(layer, x[b], past[b], float(tau[b]), delta[b].tolist()))


@pytest.mark.parametrize(("activation", "bend"), [
    ("relu", lambda a: max(a, 0)), ("gelu", lambda a: a * (1 + math.erf(a / math.sqrt(2))) / 2)])
def test_feed_forward_equals_plain_loops_at_every_position(activation, bend):
    net, x = build(FeedForward, M=3, d_ff=7, activation=activation).requires_grad_(False), draw(2, 5, 3)
    for b in range(2):
        for t in range(5):
            up = [bend(float((w * x[b, t]).sum() + c)) for w, c in zip(net.up.weight, net.up.bias, strict=True)]
            assert_close(net(x)[b, t], net.down.weight @ torch.tensor(up, dtype=x.dtype) + net.down.bias)


# Limits


def test_tau_one_and_delta_zero_is_the_stationarized_transformer():
    full = build(**TOY)
    for projector in (full.tau_projector, full.delta_projector):
        torch.nn.init.zeros_(projector.mlp[-1].weight)
    plain = build(StationarizedTransformer, **TOY)
    plain.transformer.load_state_dict(full.transformer.state_dict())
    assert_close(full(*inputs()), plain(*inputs()), rtol=0, atol=1e-14)


def test_each_window_is_forecast_as_if_it_were_alone():
    net, args = build(**TOY), inputs(B=3)
    together = net(*args)
    for b in range(3):
        assert_close(net(*(a[b:b + 1] for a in args)), together[b:b + 1], rtol=0, atol=1e-13)


def test_the_decoder_sees_no_later_row_of_its_own():
    trace = traced(build(**TOY, d_layers=2), *inputs())
    for scope in ("dec0/self", "dec1/self"):
        assert float(trace[f"{scope}/A"].tensor.triu(1).abs().max()) == 0
        assert bool((trace[f"{scope}/A"].tensor.tril() > 0).sum(-1).eq(torch.arange(1, 11)).all())


@pytest.mark.parametrize("sizes", [
    {"seq_len": 12, "label_len": 0, "pred_len": 4}, {"seq_len": 12, "label_len": 12, "pred_len": 1},
    {"seq_len": 1, "label_len": 0, "pred_len": 1}, {"seq_len": 1, "label_len": 1, "pred_len": 7},
    {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 1}, {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 2},
])
def test_the_decoder_has_label_len_plus_pred_len_rows(sizes):
    sizes = {**TOY, **sizes}
    x, *rest = inputs(**sizes)
    trace = traced(build(**sizes), x, *rest)
    label_len, L = sizes["label_len"], sizes["label_len"] + sizes["pred_len"]
    x_dec = trace["x_dec"].tensor
    assert x_dec.shape == (2, L, sizes["V"])
    assert torch.equal(x_dec[:, :label_len], trace["x_norm"].tensor[:, sizes["seq_len"] - label_len:])
    assert float(x_dec[:, label_len:].abs().max()) == 0
    assert trace["forecast"].shape == (2, sizes["pred_len"], sizes["V"])


@pytest.mark.parametrize("level", [0.0, 7.0, 0.1, 11000.1, -1e6 / 3])
def test_a_constant_series_becomes_exactly_zero_and_comes_back(level):
    x = torch.full((2, 96, 3), level)
    x_norm, mu, sigma = stationarize(x)
    assert float(x_norm.abs().max()) == 0
    assert torch.equal(destationarize(x_norm, mu, sigma), x)
    assert_close(sigma, torch.full_like(sigma, 0.00316227766))


def test_marks_may_be_left_out_or_be_calendar_numbers():
    x, *_ = inputs()
    trace = traced(build(**TOY), x)
    assert "enc_embedding/time" not in trace
    assert "forecast" in trace
    calendar = torch.tensor([3, 17, 2, 23]).expand(2, 12, 4)
    trace = traced(build(**TOY, calendar="fixed"), x, calendar, None, calendar[:, :10])
    assert trace["dec_embedding/time"].shape == (2, 10, 8)


# Number range


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize(("level", "scale"), [(0, 1e4), (6e4, 1e3), (1e4, 0), (-3e4, 1e-3)])
def test_unscaled_finite_windows_never_give_nan_and_the_collapse_is_named(dtype, level, scale):
    for seed in range(3):
        net = build(seed=seed, dtype=dtype, **SMALL)
        x, *rest = inputs(**SMALL, dtype=dtype)
        x = (draw(*x.shape, seed=seed) * scale + level).to(dtype)
        with pytest.warns(RuntimeWarning, match=r"log_tau: -?\d+\.\d in window \d .* is (one-hot|uniform) up to"):
            trace = traced(net, x, *rest)
        hidden = {name for name in trace if name.endswith("self/logits")}
        assert [name for name in set(trace) - hidden if not trace[name].tensor.isfinite().all()] == []
        assert trace["forecast"].tensor.dtype == dtype
        assert float(trace["tau"].tensor.min()) > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_forecasts_the_same_up_to_its_rounding(dtype):
    net, args = build(**SMALL), inputs(**SMALL)
    with torch.no_grad():
        want = net(*args)
        got = net.to(dtype)(*(a.to(dtype) for a in args)).double()
    assert_close(got, want, rtol=0, atol=20 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_tau_is_bounded_on_both_sides_by_its_dtype(dtype):
    log_tau = torch.tensor([[-1e30], [-3.0], [0.0], [2.0], [1e30]], dtype=dtype)
    with pytest.warns(RuntimeWarning, match=r"in window \d \(2 of 5 windows are beyond"):
        tau = temperature(log_tau)
    largest = torch.finfo(dtype).max
    assert_close(tau[[0, 4], 0].log() * 2 / math.log(largest), torch.tensor([-1.0, 1.0], dtype=dtype))
    assert torch.equal(tau[1:4], log_tau[1:4].exp())


@pytest.mark.parametrize(("dtype", "edge"), [(torch.float32, 15.9), (torch.float64, 36.0)])
@pytest.mark.parametrize(("sign", "what"), [(1, "one-hot"), (-1, "uniform")])
def test_the_warning_starts_where_rounding_makes_attention_uniform_or_one_hot(dtype, edge, sign, what):
    temperature(torch.tensor([[sign * edge]], dtype=dtype))
    with pytest.warns(RuntimeWarning, match=f"beyond ±{edge}.*: attention there is {what} up to rounding"):
        temperature(torch.tensor([[sign * (edge + 0.1)]], dtype=dtype))


def test_saturated_attention_still_has_finite_gradients():
    net = build(dtype=torch.float32, **SMALL)
    x, *rest = inputs(**SMALL, dtype=torch.float32)
    with pytest.warns(RuntimeWarning, match="log_tau"):
        net(1e4 * x, *rest).square().mean().backward()
    assert all(bool(p.grad.isfinite().all()) for p in net.parameters())


def test_an_ordinary_window_warns_about_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(**TOY)(*inputs()).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_tau_that_would_overflow_the_scores_is_cut_and_picks_the_largest_score(dtype):
    q = (100 * draw(2, 3, 2, 64)).to(dtype)
    v = torch.arange(3.0)[None, :, None, None].expand(2, 3, 2, 1).to(dtype)
    wide = torch.promote_types(dtype, torch.float32)
    with pytest.warns(RuntimeWarning, match=r"tau: .* would make the scores overflow"):
        out = destationary_attention(q, q, v, tau=torch.full((2, 1), torch.finfo(wide).max, dtype=wide))
    QK = torch.einsum("blhe,bshe->bhls", q.to(wide), q.to(wide))
    assert torch.equal(out[..., 0], QK.argmax(-1).transpose(1, 2).to(dtype))


# Export


def test_the_whole_forecaster_leaves_as_a_graph_with_every_step_by_name():
    net = build(dtype=torch.float32, **SMALL).eval()
    x, marks, _, future = inputs(**SMALL, dtype=torch.float32)
    first = {"x_enc": x, "x_mark_enc": marks, "x_mark_dec": future}
    assert len(traced(lambda: net(**first))) > 80
    assert graph_gap(net, first) <= 1e-5


def test_plain_and_stationarized_transformers_name_their_steps_too():
    plain = traced(build(Transformer, **TOY), *inputs())
    stationarized = traced(build(StationarizedTransformer, **TOY), *inputs())
    assert set(stationarized) - set(plain) == {"mu", "x_centred", "sigma", "x_norm", "y"}
    assert "enc0/scores" not in plain
    q = draw(2, 3, 5, 7)
    assert_close(destationary_attention(q, q, q), scaled_dot_product(q, q, q))
