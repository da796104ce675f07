"""TimeXer: every step, plain loops, alignment of patches, who hears the exogenous variables, limits."""

import math

import pytest
import torch
from forecasters import build, draw, graph_gap, traced
from test_zoo_itransformer import inputs, layer_in_loops, line, norm
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.blocks import EncoderLayer
from tsattn_mini.training import Cut, squared_error
from tsattn_mini.zoo.timexer import FEATURES, PatchEmbedding, TimeXer, TimeXerLayer

TOY = {"seq_len": 12, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16, "patch_len": 4}


def toy(**sizes):
    return build(TimeXer, **TOY | sizes).requires_grad_(False)


# Every tensor has a name


@pytest.mark.parametrize(("features", "N", "D"), [("M", 5, 5), ("MS", 1, 4)])
def test_the_chain_step_by_step(features, N, D):
    trace = traced(toy(features=features), *inputs())
    chain = {"x": (2, 12, 5), "x_norm": (2, 12, 5), "exogenous_embedding/columns": (2, D + 4, 12),
             "exogenous_embedding/tokens": (2, D + 4, 8), "endogenous": (2, N, 12), "patches": (2, N, 3, 4),
             "patch_tokens": (2, N, 3, 8), "position": (3, 8), "tokens": (2, N, 4, 8),
             "enc0/self/A": (2 * N, 4, 4, 4), "enc0/norm1": (2, N, 4, 8), "enc0/cross/q": (2, N, 4, 2),
             "enc0/cross/A": (2, 4, N, D + 4), "enc0/global": (2, N, 8), "enc0/ffn": (2, N, 4, 8),
             "enc0/norm3": (2, N, 4, 8), "enc_out": (2, N, 4, 8), "head_in": (2, N, 8, 4), "head_out": (2, N, 4),
             "y_norm": (2, 4, N), "forecast": (2, 4, N)}
    assert {name: trace[name].shape for name in chain} == chain
    assert [name for name in trace if name in chain] == list(chain)
    assert [name for name in trace if not (trace[name].eq or trace[name].note)] == []


# Loops


@pytest.mark.parametrize(("p", "released_patches", "first"), [(3, False, 0), (3, True, 0), (5, False, 2), (5, True, 0)])
def test_the_patch_embedding_equals_plain_loops(p, released_patches, first):
    net = build(PatchEmbedding, T=12, p=p, M=6, N=2, released_patches=released_patches).requires_grad_(False)
    x = draw(2, 2, 12)
    tokens = net(x)
    assert tokens.shape == (2, 2, 12 // p + 1, 6)
    for b in range(2):
        for n in range(2):
            for i in range(12 // p):
                for m in range(6):
                    steps = [x[b, n, first + i * p + j] for j in range(p)]
                    wave = (math.cos if m % 2 else math.sin)(i / 10000 ** ((m - m % 2) / 6))
                    want = sum(float(w * s) for w, s in zip(net.value.weight[m], steps, strict=True)) + wave
                    assert math.isclose(float(tokens[b, n, i, m]), want, abs_tol=1e-12)
            assert_close(tokens[b, n, -1], net.global_token[0, n, 0])


def test_the_layer_equals_plain_loops():
    layer = build(TimeXerLayer, M=6, H=2, d_ff=5).requires_grad_(False)
    x, outside = draw(2, 3, 4, 6), draw(2, 5, 6, seed=1)
    got = layer(x, outside)
    for b in range(2):
        for n in range(3):
            h = attended(layer.self_attention, layer.norm1, list(x[b, n]), list(x[b, n]))
            h[-1:] = attended(layer.cross_attention, layer.norm2, h[-1:], list(outside[b]))
            for token, z in zip(got[b, n], h, strict=True):
                ffn = line(layer.ffn.down, torch.nn.functional.gelu(line(layer.ffn.up, z)))
                assert_close(token, norm(layer.norm3, z + ffn))


def attended(attention, after, asking, answering):
    """LN(z + attention), one query at a time."""
    E, done = len(asking[0]) // attention.H, []
    k, v = ([line(part, token) for token in answering] for part in (attention.key, attention.value))
    for z in asking:
        q, heads = line(attention.query, z), []
        for first in range(0, len(z), E):
            span = slice(first, first + E)
            odds = [math.exp(float(q[span] @ key[span]) / math.sqrt(E)) for key in k]
            heads.append(sum(o / sum(odds) * value[span] for o, value in zip(odds, v, strict=True)))
        done.append(norm(after, z + line(attention.out, torch.cat(heads))))
    return done


def test_head_and_units_by_hand():
    net, (x, marks) = toy(features="MS"), inputs()
    trace = traced(net, x, marks)
    for b in range(2):
        mean, deviation = x[b, :, -1].mean(), (x[b, :, -1].var(correction=0) + 1e-5).sqrt()
        flat = torch.stack([trace["enc_out"].tensor[b, 0, token, m] for m in range(8) for token in range(4)])
        assert_close(trace["forecast"].tensor[b, :, 0], line(net.head, flat) * deviation + mean)


# Alignment of the patches


def moved(net, x, marks, t):
    """How far the step `patches` and the forecast move when step `t` of the target changes."""
    other = x.clone()
    other[:, t, -1] += 1
    a, b = traced(net, x, marks), traced(net, other, marks)
    return tuple(float((a[name].tensor - b[name].tensor).abs().max()) for name in ("patches", "forecast"))


@pytest.mark.parametrize("released_patches", [False, True])
def test_defect_27_of_24_steps_seven_at_a_time_three_are_left_out(released_patches):
    net = toy(seq_len=24, patch_len=7, features="MS", use_norm=False, released_patches=released_patches)
    x, marks = inputs(seq_len=24)
    ignored = [t for t in range(24) if moved(net, x, marks, t) == (0, 0)]
    assert ignored == ([21, 22, 23] if released_patches else [0, 1, 2])


@pytest.mark.parametrize("T", [1, 2, 5, 12, 13])
def test_the_last_patch_ends_where_the_future_begins_whatever_its_length(T):
    for p in range(1, T + 1):
        x = torch.arange(T).double()[None, None]
        for released_patches in (False, True):
            with record() as trace:
                build(PatchEmbedding, T=T, p=p, M=2, released_patches=released_patches)(x)
            steps = trace["patches"].tensor.flatten().tolist()
            assert steps == list(range(T - T % p) if released_patches else range(T % p, T))


def test_where_patches_divide_the_window_the_switch_changes_nothing():
    net, same, (x, marks) = toy(), toy(released_patches=True), inputs()
    assert torch.equal(net(x, marks), same(x, marks))


# Who hears the exogenous variables


def test_in_layer_one_patches_hear_nothing_exogenous_and_the_global_token_does():
    net, (x, marks) = toy(features="MS"), inputs()
    names = ["tokens", "enc0/norm1", "enc0/global", "enc0/norm3", "enc1/norm3", "forecast"]
    a = traced(net, x, marks)
    b = traced(net, torch.cat([draw(2, 12, 4, seed=9), x[..., -1:]], -1), marks)
    change = {name: (a[name].tensor - b[name].tensor).abs() for name in names}
    assert float(change["tokens"].max()) == float(change["enc0/norm1"].max()) == 0
    assert float(change["enc0/norm3"][:, :, :-1].max()) == 0
    assert float(change["enc0/global"].max()) > 0.1
    assert float(change["enc1/norm3"][:, :, :-1].amax((0, 1, 3)).min()) > 1e-3
    assert float(change["forecast"].max()) > 1e-3


def test_the_derivative_says_the_same():
    net, (x, marks) = toy(features="MS"), inputs()
    x.requires_grad_()
    with record() as trace:
        net(x, marks)
    for name, heard in (("enc0/norm3", False), ("enc1/norm3", True)):
        slope, = torch.autograd.grad((trace[name].tensor[:, :, :-1] * draw(2, 1, 3, 8)).sum(), x, retain_graph=True)
        assert bool((slope[..., :-1] != 0).any()) == heard
        assert bool((slope[..., -1] != 0).all())


def test_exogenous_columns_in_another_order_change_nothing_and_neither_do_marks():
    net, (x, marks) = toy(features="MS"), inputs()
    order = [2, 0, 3, 1, 4]
    assert_close(net(x[..., order], marks[..., [3, 1, 0, 2]]), net(x, marks), rtol=0, atol=1e-13)


def test_targets_of_m_share_all_weights_but_their_global_tokens():
    net, (x, marks), order = toy(features="M"), inputs(), [2, 0, 4, 1, 3]
    before = net(x, marks)
    assert float((net(x[..., order], marks) - before[..., order]).abs().max()) > 0.01
    net.patch_embedding.global_token.copy_(net.patch_embedding.global_token[:, order])
    assert_close(net(x[..., order], marks), before[..., order], rtol=0, atol=1e-13)


# Nothing exogenous


@pytest.mark.parametrize("features", ["S", "MS"])
def test_defect_28_one_column_with_marks_asks_the_marks(features):
    net, (x, marks) = toy(V=1, features=features), inputs(V=1)
    trace = traced(net, x, marks)
    assert trace["enc0/cross/A"].shape == (2, 4, 1, 4)
    assert float((net(x, marks + 1) - net(x, marks)).abs().max()) > 1e-3


@pytest.mark.parametrize("features", ["S", "MS"])
def test_defect_28_one_column_without_marks_has_no_cross_attention(features):
    net, (x, _) = toy(V=1, features=features), inputs(V=1)
    trace = traced(net, x)
    assert not [name for name in trace if "cross" in name or "exogenous" in name]
    assert trace["forecast"].shape == (2, 4, 1)
    last = trace["enc1/norm1"].tensor[:, :, -1]
    assert_close(trace["enc1/global"].tensor, net.layers[1].norm2(last))


def test_without_cross_attention_and_its_norm_a_layer_is_the_plain_encoder_layer():
    layer = build(TimeXerLayer, M=6, H=2, d_ff=5).requires_grad_(False)
    plain = build(EncoderLayer, attention=AttentionLayer(scaled_dot_product, 6, 2), M=6, d_ff=5).requires_grad_(False)
    plain.attention.load_state_dict(layer.self_attention.state_dict())
    plain.ffn.load_state_dict(layer.ffn.state_dict())
    x, layer.norm2 = draw(2, 1, 4, 6), torch.nn.Identity()
    assert_close(layer(x, None)[:, 0], plain(x[:, 0]), rtol=0, atol=1e-14)
    assert_close(layer(x, None)[0, 0], torch.stack(layer_in_loops(plain, list(x[0, 0]))))


# Level and scale, limits


@pytest.mark.parametrize("features", ["M", "MS"])
@pytest.mark.parametrize("released_statistics", [False, True])
def test_three_x_plus_seven_is_forecast_as_three_times_the_forecast_plus_seven(features, released_statistics):
    net, (x, marks) = toy(features=features, released_statistics=released_statistics), inputs()
    assert_close(net(3 * x + 7, marks), 3 * net(x, marks) + 7, rtol=0, atol=1e-4)


def test_without_normalisation_it_is_not():
    net, (x, marks) = toy(use_norm=False), inputs()
    assert float((net(3 * x + 7, marks) - 3 * net(x, marks) - 7).abs().max()) > 1


def test_a_gradient_reaches_the_input_through_the_statistics_and_stops_at_the_released_ones():
    x, marks = inputs()
    x.requires_grad_()
    net = toy(released_statistics=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        net(x, marks).sum().backward()
    assert torch.autograd.gradcheck(lambda x: toy()(x, marks)[:1].sum(), x)


@pytest.mark.parametrize("sizes", [
    {"H": 1}, {"seq_len": 1, "patch_len": 1}, {"seq_len": 2, "patch_len": 1}, {"seq_len": 2, "patch_len": 2},
    {"patch_len": 12}, {"patch_len": 7}, {"patch_len": 1}, {"pred_len": 1}, {"e_layers": 1}, {"V": 1}, {"V": 2},
    {"V": 1, "H": 1, "M": 1, "seq_len": 1, "patch_len": 1, "pred_len": 1, "d_ff": 1, "e_layers": 1}])
@pytest.mark.parametrize("features", list(FEATURES))
@pytest.mark.parametrize("with_marks", [True, False])
def test_one_variable_one_head_one_step_one_patch(sizes, features, with_marks):
    sizes = TOY | sizes | {"features": features} | ({"V": 1} if features == "S" else {})
    net, (x, marks) = toy(**sizes), inputs(**sizes)
    forecast = net(x, marks if with_marks else None)
    assert forecast.shape == (2, net.pred_len, net.V if features == "M" else 1)
    assert bool(torch.isfinite(forecast).all())


def test_each_window_is_forecast_as_if_it_were_alone():
    for features in ("M", "MS"):
        net, (x, marks) = toy(features=features), inputs(B=3)
        together = net(x, marks)
        for b in range(3):
            assert_close(net(x[b:b + 1], marks[b:b + 1]), together[b:b + 1], rtol=0, atol=1e-13)
        assert torch.equal(net(x, marks), together)


def test_it_trains_like_the_other_models():
    net, (x, marks) = build(TimeXer, **TOY), inputs()
    squared_error(net, Cut(x, marks, draw(2, 4, 5), draw(2, 10, 4))).backward()
    assert all(float(p.grad.abs().max()) > 0 for name, p in net.named_parameters() if "key.bias" not in name)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_close(dtype):
    net, (x, marks) = toy(), inputs()
    half = toy().to(dtype)(x.to(dtype), marks.to(dtype))
    assert half.dtype == dtype
    assert_close(half.double(), net(x, marks), rtol=0, atol=0.15)


def test_it_leaves_as_one_graph_with_all_its_steps():
    net, (x, marks) = toy(seq_len=7, patch_len=3, features="MS").float(), inputs(seq_len=7, dtype=torch.float32)
    assert graph_gap(net, {"x_enc": x, "x_mark_enc": marks}) <= 1e-5
