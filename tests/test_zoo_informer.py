"""Distilling and the whole forecaster: loops, lengths, reload, batch, level and scale, edges, refusals."""

import copy
import math

import pytest
import torch
from forecasters import TOY, build, draw, inputs, traced

from tsattn_mini.blocks import Transformer
from tsattn_mini.explore.export import compare, export
from tsattn_mini.trace import record
from tsattn_mini.training import Cut, predict, squared_error
from tsattn_mini.zoo.informer import Distilling, Informer, ProbSparse

close = torch.testing.assert_close
SWITCHES = ["released_view", "released_mean", "released_peek", "released_sum", "released_padding", "released_cross",
            "released_start"]


def informer(weights=0, dtype=torch.float64, **sizes):
    """A toy Informer; `weights` seeds the weights, `seed=` the random keys."""
    with torch.random.fork_rng():
        torch.manual_seed(weights)
        return Informer(**{**TOY, **sizes}).to(dtype).eval()


def forecast(net, *args, **samples):
    with torch.no_grad():
        return net(*args, **samples)


# Distilling


def settled(M, released_padding=False):
    """A `Distilling` whose stored statistics and norm are no longer those of the start."""
    net = build(Distilling, M=M, released_padding=released_padding).eval()
    net.norm.running_mean.copy_(draw(M, seed=1))
    net.norm.running_var.copy_(draw(M, seed=2).square() + 0.1)
    return net


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("L", [1, 2, 3, 7, 12])
def test_distilling_equals_plain_loops(L, released):
    net, x, edge = settled(3, released), draw(2, L, 3), 2 if released else 1
    weight, bias, norm = net.conv.weight, net.conv.bias, net.norm
    rows = []
    for t in range(-edge + 1, L + edge - 1):
        h = bias + sum(weight[:, :, j] @ x[0, (t + j - 1) % L] for j in range(3))
        h = (h - norm.running_mean) / torch.sqrt(norm.running_var + norm.eps) * norm.weight + norm.bias
        rows.append(torch.where(h > 0, h, torch.exp(h) - 1))
    want = [torch.stack(rows[max(t - 1, 0):t + 2]).amax(0) for t in range(0, len(rows), 2)]
    assert net.length(L) == len(want)
    with torch.no_grad():
        close(net(x)[0], torch.stack(want))


def test_the_length_is_halved_and_the_released_padding_adds_a_step():
    assert [settled(2).length(L) for L in (1, 2, 3, 7, 12, 96)] == [1, 1, 2, 4, 6, 48]
    assert [settled(2, True).length(L) for L in (1, 2, 3, 7, 12, 96)] == [2, 2, 3, 5, 7, 49]
    for L in (7, 12, 96):
        trace = traced(settled(2), draw(1, L, 2))
        assert trace["distilled"].shape == (1, settled(2).length(L), 2)


def test_distilling_a_window_does_not_depend_on_its_batch():
    net, x = settled(3), draw(4, 7, 3)
    with torch.no_grad():
        close(net(x)[2:3], net(x[2:3]), rtol=0, atol=1e-14)


# The forecaster


def test_reloaded_and_repeated_it_is_the_same_model():
    args, net = inputs(), informer()
    first = forecast(net, *args)
    assert torch.equal(first, forecast(net, *args))
    assert torch.equal(first, forecast(copy.deepcopy(net), *args))
    other = informer(weights=1, seed=1)
    assert not torch.equal(first, forecast(other, *args))
    other.load_state_dict(net.state_dict())
    assert torch.equal(first, forecast(other, *args))


def test_the_random_keys_come_from_the_seed_alone_or_from_outside():
    args, one = inputs(), informer(factor=1)
    assert torch.equal(forecast(one, *args), forecast(informer(factor=1), *args))
    assert not torch.equal(forecast(one, *args), forecast(informer(factor=1, seed=1), *args))
    fresh = forecast(one, *args, index_samples=one.draw(3))
    assert not torch.equal(fresh, forecast(one, *args))
    assert torch.equal(fresh, forecast(one, *args, index_samples=one.draw(3)))
    stored = [m.index_sample for m in one.modules() if isinstance(m, ProbSparse)]
    assert [tuple(s.shape) for s in stored] == [(12, 3), (6, 2), (10, 3)]
    assert torch.equal(forecast(one, *args), forecast(one, *args, index_samples=stored))


@pytest.mark.parametrize("released", [False, True])
def test_a_window_does_not_depend_on_its_batch(released):
    net = informer(factor=1, **dict.fromkeys(SWITCHES, released))
    args = inputs(B=5)
    together = forecast(net, *args)
    for b in range(5):
        close(together[b:b + 1], forecast(net, *(x[b:b + 1] for x in args)), rtol=0, atol=1e-13)


def test_with_every_query_chosen_and_no_distilling_it_is_the_plain_transformer():
    args, net = inputs(), informer(factor=100, distil=False)
    plain = build(Transformer, **TOY)
    plain.load_state_dict({name.removeprefix("transformer."): t for name, t in net.state_dict().items()
                           if not name.endswith("index_sample")})
    assert torch.equal(forecast(net, *args), forecast(plain, *args))


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_changes_the_forecast(switch):
    args = inputs()
    released = informer(factor=1, **{switch: True})
    assert not torch.equal(forecast(informer(factor=1), *args), forecast(released, *args))


def affinity(net, args):
    """How far the forecast of 3x + 7 is from 3 times that of x plus 7, as a share of its spread."""
    moved = [3 * args[0] + 7, args[1], 3 * args[2] + 7, args[3]]
    want = 3 * forecast(net, *args) + 7
    return float((forecast(net, *moved) - want).abs().max() / want.std())


def test_three_x_plus_seven_as_measured():
    """The table of the models: no normalisation in the paper; the short-term port has one."""
    args = inputs()
    assert affinity(informer(), args) > 0.5
    assert affinity(informer(normalise=True), args) < 1e-4
    assert affinity(informer(normalise=True, released_start=True), args) > 0.01


def test_of_x_dec_only_the_shape_matters_unless_the_released_start_reads_it():
    args = inputs()
    others = (*args[:2], args[2] + 5, args[3])
    assert torch.equal(forecast(informer(), *args), forecast(informer(), *others))
    assert torch.equal(forecast(informer(), *args), forecast(informer(), *args[:2], None, args[3]))
    start = informer(released_start=True)
    assert not torch.equal(forecast(start, *args), forecast(start, *others))
    tail = torch.cat([args[0][:, 6:], torch.zeros(2, 4, 5, dtype=torch.float64)], 1)
    assert torch.equal(forecast(start, *args[:2], tail, args[3]), forecast(informer(), *args))
    assert torch.equal(forecast(start, *args[:2], None, args[3]), forecast(informer(), *args))


def test_the_whole_horizon_is_filled_in_one_pass():
    args, net, calls = inputs(pred_len=24), informer(pred_len=24), []
    net.transformer.decoder.register_forward_hook(lambda *_: calls.append(1))
    assert forecast(net, *args).shape == (2, 24, 5)
    assert calls == [1]


@pytest.mark.parametrize("sizes", [
    {"seq_len": 1, "label_len": 0, "pred_len": 1}, {"seq_len": 1, "label_len": 1, "pred_len": 1},
    {"seq_len": 2, "label_len": 0, "pred_len": 2}, {"seq_len": 13, "label_len": 0, "pred_len": 1},
    {"seq_len": 13, "label_len": 13, "pred_len": 29}, {"H": 1}, {"V": 1}, {"e_layers": 1},
    {"e_layers": 5, "d_layers": 3}, {"factor": 1}, {"factor": 1000}, {"marks": 0}, {"M": 9, "H": 3}, {"distil": False}])
@pytest.mark.parametrize("released", [False, True])
def test_the_smallest_and_oddest_sizes_give_finite_forecasts(sizes, released):
    sizes = {**TOY, **sizes}
    net, args = informer(**sizes, **dict.fromkeys(SWITCHES, released)), list(inputs(**sizes))
    if sizes.get("marks") == 0:
        args[1] = args[3] = None
    out = forecast(net, *args)
    assert out.shape == (2, sizes["pred_len"], sizes["V"])
    assert bool(torch.isfinite(out).all())
    close(out[1:], forecast(net, *(None if x is None else x[1:] for x in args)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_finite_and_near(dtype):
    half, single = informer(dtype=dtype), informer(dtype=torch.float32)
    got = forecast(half, *inputs(dtype=dtype))
    assert got.dtype == dtype
    assert (got.float() - forecast(single, *inputs(dtype=torch.float32))).abs().max() < 0.05


def test_every_weight_learns_and_it_trains_like_the_others():
    net, (x, marks, _, decoder_marks) = informer(), inputs()
    net.train()
    cut = Cut(x, marks, draw(2, 4, 5, seed=7), decoder_marks)
    before = squared_error(net, cut)
    before.backward()
    idle = [name for name, p in net.named_parameters() if p.grad is None or not bool((p.grad != 0).any())]
    assert idle == []
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        optimiser.zero_grad()
        loss = squared_error(net, cut)
        loss.backward()
        optimiser.step()
    assert loss < before
    assert predict(net, cut).shape == (2, 4, 5)


def test_the_trace_names_every_part_once():
    trace = traced(informer(), *inputs())
    assert trace["enc0/M"].shape == (2, 4, 12)
    assert trace["distil0/distilled"].shape == (2, 6, 8)
    assert trace["enc1/M"].shape == (2, 4, 6)
    assert trace["enc_out"].shape == (2, 6, 8)
    assert trace["dec0/self/M_top"].shape == (2, 4, 10)
    assert trace["dec0/cross/A"].shape == (2, 4, 10, 6)
    assert trace["forecast"].shape == (2, 4, 5)
    assert "dec0/cross/M" in traced(informer(released_cross=True), *inputs())


def test_its_graph_takes_the_random_keys_as_inputs():
    net, args = informer(dtype=torch.float32, factor=1), inputs(dtype=torch.float32)

    def fn(x, a, b, c):
        return net(x, args[1], None, args[3], index_samples=[a, b, c])

    shown = ["enc0/M_top", "distil0/distilled", "forecast"]
    values = [{"x": args[0], **dict(zip("abc", net.draw(seed), strict=True))} for seed in (1, 2)]
    with torch.no_grad():
        graph = export(fn, values[0], {}, shown)
        for given in values:
            with record() as trace:
                fn(**given)
            compare(graph, iter([("here", given, {name: trace[name].tensor for name in shown})]))


@pytest.mark.bad_input
@pytest.mark.parametrize(("sizes", "message"), [
    ({"label_len": 13}, "label_len: expected 0 <= label_len <= seq_len=12, .* got 13"),
    ({"pred_len": 0}, "pred_len: expected at least 1, got 0"), ({"seq_len": 0}, "seq_len: expected at least 1, got 0"),
    ({"e_layers": 0}, "e_layers: expected at least 1, got 0"), ({"V": 0}, "V: expected at least 1, got 0"),
    ({"factor": 0}, "factor: expected at least 1, got 0"), ({"H": 3}, "H: expected a divisor of .* M=8, got 3"),
    ({"activation": "tanh"}, r"activation: .* got 'tanh'")])
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        Informer(**{**TOY, **sizes})


@pytest.mark.bad_input
@pytest.mark.parametrize(("position", "shape", "message"), [
    (0, (2, 11, 5), r"x_enc: expected axes 'B 12 5', got shape \(2, 11, 5\)"),
    (1, (2, 12, 3), r"x_mark_enc: expected axes 'B 12 4' with B=2, got shape \(2, 12, 3\)"),
    (2, (2, 4, 5), r"x_dec: expected axes 'B 10 5' with B=2, got shape \(2, 4, 5\)"),
    (3, (2, 4, 4), r"x_mark_dec: expected axes 'B 10 4' with B=2, got shape \(2, 4, 4\)")])
def test_a_wrong_shape_names_its_argument(position, shape, message):
    args = list(inputs())
    args[position] = draw(*shape)
    with pytest.raises(ValueError, match=message):
        informer()(*args)


@pytest.mark.bad_input
def test_numbers_that_are_not_finite_and_keys_that_do_not_fit_are_refused():
    args, net = inputs(), informer()
    for position, name in ((0, "x_enc"), (1, "x_mark_enc"), (2, "x_dec"), (3, "x_mark_dec")):
        bad = [x.clone() for x in args]
        bad[position][1, 7, 2] = math.nan
        with pytest.raises(ValueError, match=f"{name}: expected finite numbers, got nan at row 7, column 2 of"):
            informer(released_start=True)(*bad)
    with pytest.raises(ValueError, match=r"index_samples: expected 3 tensors, .* got 2"):
        net(*args, index_samples=net.draw(0)[:2])
    with pytest.raises(ValueError, match=r"index_sample: expected axes 'L U' with L=12, got shape \(6, 6\)"):
        net(*args, index_samples=net.draw(0)[::-1][1:] + net.draw(0)[:1])
    with pytest.raises(ValueError, match=r"index_sample: expected int64 from 0 to S-1=11, got int64 from 99"):
        net(*args, index_samples=[99 + 0 * s for s in net.draw(0)])
