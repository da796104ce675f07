"""iTransformer: every step, plain loops, what the order of variables and marks does, gradients, limits."""

import math
from itertools import permutations

import pytest
import torch
from forecasters import build, draw, graph_gap, traced
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.blocks import FeedForward
from tsattn_mini.training import Cut, squared_error
from tsattn_mini.zoo.itransformer import InvertedEmbedding, ITransformer, normalise

TOY = {"seq_len": 12, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}


def inputs(B=2, seq_len=12, V=5, marks=4, dtype=torch.float64, **_):
    return (draw(B, seq_len, V, seed=1) * 2 + 3).to(dtype), draw(B, seq_len, marks, seed=2, dtype=dtype)


def toy(**sizes):
    return build(ITransformer, **TOY | sizes).requires_grad_(False)


# Every tensor has a name


@pytest.mark.parametrize("marks", [0, 4])
def test_the_chain_step_by_step(marks):
    N = 5 + marks
    trace = traced(toy(), *inputs()[:1 + bool(marks)])
    chain = {"x": (2, 12, 5), "mu": (2, 1, 5), "sigma": (2, 1, 5), "x_norm": (2, 12, 5),
             "embedding/columns": (2, N, 12), "embedding/tokens": (2, N, 8), "enc0/q": (2, N, 4, 2),
             "enc0/A": (2, 4, N, N), "enc0/norm2": (2, N, 8), "enc1/A": (2, 4, N, N), "enc_out": (2, N, 8),
             "projection": (2, N, 4), "y_norm": (2, 4, 5), "forecast": (2, 4, 5)}
    assert {name: trace[name].shape for name in chain} == chain
    assert [name for name in trace if name in chain] == list(chain)
    assert [name for name in trace if not (trace[name].eq or trace[name].note)] == []
    assert trace["embedding/tokens"].axes == ("B V+K M" if marks else "B V M")


# Loops


@pytest.mark.parametrize("marks", [None, draw(2, 7, 3, seed=2)])
def test_the_embedding_equals_plain_loops(marks):
    net, x = build(InvertedEmbedding, T=7, M=5).requires_grad_(False), draw(2, 7, 2, seed=1)
    tokens = net(x, marks)
    columns = [x[..., 0], x[..., 1]] + ([] if marks is None else [marks[..., k] for k in range(3)])
    assert tokens.shape == (2, len(columns), 5)
    for n, column in enumerate(columns):
        for b in range(2):
            for m in range(5):
                want = sum(float(net.value.weight[m, t] * column[b, t]) for t in range(7)) + float(net.value.bias[m])
                assert math.isclose(float(tokens[b, n, m]), want)


def test_a_mark_column_is_embedded_like_a_variable():
    net, x = build(InvertedEmbedding, T=7, M=5), draw(2, 7, 3)
    assert_close(net(x[..., :2], x[..., 2:]), net(x), rtol=0, atol=0)


def test_the_whole_model_equals_plain_loops():
    net = toy(e_layers=1)
    x, marks = inputs()
    for b in range(2):
        columns = [x[b, :, v] for v in range(5)]
        level = [float(c.mean()) for c in columns]
        scale = [math.sqrt(sum((float(value) - m) ** 2 for value in c) / 12 + 1e-5)
                 for c, m in zip(columns, level, strict=True)]
        columns = [(c - m) / s for c, m, s in zip(columns, level, scale, strict=True)]
        h = [line(net.embedding.value, c) for c in [*columns, *marks[b].T]]
        h = layer_in_loops(net.encoder.layers[0], h)
        for v in range(5):
            y = line(net.projection, norm(net.encoder.norm, h[v])) * scale[v] + level[v]
            assert_close(net(x, marks)[b, :, v], y)


def layer_in_loops(layer, h):
    attention, E, mixed = layer.attention, len(h[0]) // layer.attention.H, []
    q, k, v = ([line(part, token) for token in h] for part in (attention.query, attention.key, attention.value))
    for i in range(len(h)):
        heads = []
        for first in range(0, len(h[0]), E):
            span = slice(first, first + E)
            odds = [math.exp(float(q[i][span] @ key[span]) / math.sqrt(E)) for key in k]
            heads.append(sum(o / sum(odds) * value[span] for o, value in zip(odds, v, strict=True)))
        mixed.append(norm(layer.norm1, h[i] + line(attention.out, torch.cat(heads))))
    return [norm(layer.norm2, z + line(layer.ffn.down, torch.nn.functional.gelu(line(layer.ffn.up, z)))) for z in mixed]


def line(linear, z):
    return torch.stack([(w * z).sum() + b for w, b in zip(linear.weight, linear.bias, strict=True)])


def norm(layer, z):
    mean = sum(z) / len(z)
    return (z - mean) / (sum((z - mean) ** 2) / len(z) + 1e-5).sqrt() * layer.weight + layer.bias


def test_feed_forward_takes_positions_in_more_rows_than_one_and_names_their_axes():
    net, x = build(FeedForward, M=3, d_ff=7), draw(2, 5, 4, 3)
    with record() as trace:
        y = net(x, axes="B N L M")
    assert trace["ffn"].axes == "B N L M"
    assert_close(y[:, 2], net(x[:, 2]))


# The order of the columns


def test_variables_in_another_order_are_forecast_in_that_order():
    net, (x, marks), orders = toy(), inputs(B=1), list(permutations(range(5)))
    turned = torch.cat([x[..., order] for order in orders])
    for m in (None, marks):
        got, plain = net(turned, None if m is None else m.expand(len(orders), -1, -1)), net(x, m)
        assert_close(got, torch.cat([plain[..., order] for order in orders]), rtol=0, atol=1e-13)


def test_the_order_of_the_marks_is_forgotten_and_their_numbers_are_not():
    net, (x, marks) = toy(), inputs()
    for order in ([3, 2, 1, 0], [1, 2, 3, 0], [0, 2, 1, 3]):
        assert_close(net(x, marks[..., order]), net(x, marks), rtol=0, atol=1e-13)
    assert float((net(x, marks + 1) - net(x, marks)).abs().max()) > 0.01
    assert float((net(x) - net(x, marks)).abs().max()) > 0.01


def test_a_mark_that_trades_places_with_a_variable_is_normalised_and_forecast_in_its_place():
    net, (x, marks) = toy(), inputs()
    swapped = torch.cat([marks[..., :1], x[..., 1:]], -1), torch.cat([x[..., :1], marks[..., 1:]], -1)
    assert float((net(*swapped)[..., 1:] - net(x, marks)[..., 1:]).abs().max()) > 0.01


def test_equal_variables_get_equal_forecasts_and_time_in_another_order_another_forecast():
    net, (x, marks) = toy(), inputs()
    twins = x.clone()
    twins[..., 3] = twins[..., 0]
    forecast = net(twins, marks)
    assert_close(forecast[..., 3], forecast[..., 0], rtol=0, atol=1e-13)
    assert float((net(x.flip(1), marks.flip(1)) - net(x, marks)).abs().max()) > 0.1


def test_without_attention_every_variable_would_be_forecast_alone():
    net, (x, marks) = toy(), inputs()
    for layer in net.encoder.layers:
        torch.nn.init.zeros_(layer.attention.out.weight)
    other = x.clone()
    other[..., 1:] = draw(2, 12, 4, seed=9)
    assert_close(net(other, marks)[..., 0], net(x, marks)[..., 0], rtol=0, atol=1e-14)


# Level and scale


@pytest.mark.parametrize("released_statistics", [False, True])
def test_three_x_plus_seven_is_forecast_as_three_times_the_forecast_plus_seven(released_statistics):
    net, (x, marks) = toy(released_statistics=released_statistics), inputs()
    assert_close(net(3 * x + 7, marks), 3 * net(x, marks) + 7, rtol=0, atol=1e-4)
    scale, shift = torch.tensor([2.0, 0.5, 10, 3, 1]).double(), torch.tensor([-7.0, 100, 0, 3, 5]).double()
    assert_close(net(scale * x + shift, marks), scale * net(x, marks) + shift, rtol=0, atol=1e-3)


def test_both_ways_of_normalising_give_the_same_numbers():
    x, marks = inputs()
    assert_close(toy(released_statistics=True)(x, marks), toy()(x, marks), rtol=0, atol=1e-13)


def test_in_the_released_code_the_mean_is_detached_the_deviation_is_not_and_backward_fails():
    x_norm, mu, sigma = normalise(draw(2, 7, 3).requires_grad_(), released_statistics=True)
    assert not mu.requires_grad
    assert sigma.requires_grad
    for result in (x_norm.square().sum(), sigma.sum()):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.backward(retain_graph=True)


def test_with_plain_data_the_released_statistics_train_the_same_gradients():
    grads = []
    for released_statistics in (False, True):
        net = build(ITransformer, **TOY, released_statistics=released_statistics)
        net(*inputs()).square().sum().backward()
        grads.append([p.grad for p in net.parameters()])
    assert all(float(g.abs().max()) > 0 for g in grads[0])
    for a, b in zip(*grads, strict=True):
        assert_close(a, b, rtol=0, atol=1e-11)


def test_the_gradient_through_the_statistics_is_the_true_one():
    x, w = draw(1, 5, 2), draw(1, 5, 2, seed=1)
    assert torch.autograd.gradcheck(lambda x: (normalise(x)[0] * w).sum(), x.requires_grad_())


# Limits


@pytest.mark.parametrize("sizes", [{"V": 1}, {"H": 1}, {"seq_len": 1}, {"seq_len": 2}, {"pred_len": 1},
                                   {"V": 1, "H": 1, "M": 1, "seq_len": 1, "pred_len": 1, "d_ff": 1, "e_layers": 1}])
@pytest.mark.parametrize("with_marks", [True, False])
def test_one_variable_one_head_one_step(sizes, with_marks):
    net, (x, marks) = toy(**sizes), inputs(**TOY | sizes)
    forecast = net(x, marks if with_marks else None)
    assert forecast.shape == (2, net.pred_len, net.V)
    assert bool(torch.isfinite(forecast).all())


def test_a_window_of_one_step_is_forecast_by_its_value_and_one_curve_for_all():
    net, x = toy(seq_len=1), draw(2, 1, 5)
    curve = net(x) - x
    assert_close(curve, curve[:1, :, :1].expand(2, -1, 5), rtol=0, atol=1e-13)


def test_a_single_variable_without_marks_attends_to_itself_alone():
    trace = traced(toy(V=1), inputs(V=1)[0])
    assert float(trace["enc0/A"].tensor.min()) == 1


def test_each_window_is_forecast_as_if_it_were_alone():
    net, (x, marks) = toy(), inputs(B=3)
    together = net(x, marks)
    for b in range(3):
        assert_close(net(x[b:b + 1], marks[b:b + 1]), together[b:b + 1], rtol=0, atol=1e-13)
    assert torch.equal(net(x, marks), together)


def test_the_decoder_arguments_are_checked_and_not_read():
    net, (x, marks) = toy(), inputs()
    rows = draw(2, 10, 5), draw(2, 10, 4)
    assert torch.equal(net(x, marks, *rows), net(x, marks))
    assert torch.equal(net(x, marks, None, rows[1]), net(x, marks))


def test_it_trains_like_the_other_models():
    net, (x, marks) = build(ITransformer, **TOY), inputs()
    squared_error(net, Cut(x, marks, draw(2, 4, 5), draw(2, 10, 4))).backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_close(dtype):
    net, (x, marks) = toy(), inputs()
    half = toy().to(dtype)(x.to(dtype), marks.to(dtype))
    assert half.dtype == dtype
    assert_close(half.double(), net(x, marks), rtol=0, atol=0.1)


def test_it_leaves_as_one_graph_with_all_its_steps():
    net, (x, marks) = toy().float(), inputs(dtype=torch.float32)
    assert graph_gap(net, {"x_enc": x, "x_mark_enc": marks}) <= 1e-5
