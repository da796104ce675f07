"""The whole FEDformer: steps, limits, what a reload keeps, level and scale, sizes, number range."""

import pytest
import torch
from forecasters import TOY, build, draw, inputs, traced
from torch.testing import assert_close

from tsattn_mini.zoo.fedformer import FEDformer

SMALL = {"seq_len": 13, "label_len": 5, "pred_len": 6, "V": 2, "M": 6, "H": 3, "d_ff": 11, "kernel": 5}


def test_the_chain_step_by_step():
    trace = traced(build(FEDformer, **TOY, kernel=5, modes=4), *inputs())
    chain = {"x": (2, 12, 5), "seasonal_init": (2, 10, 5), "trend_init": (2, 10, 5),
             "enc_embedding/position": (1, 12, 8), "enc0/X_re": (2, 4, 4, 2), "enc0/Y_im": (2, 4, 4, 2),
             "enc0/wave": (2, 12, 4, 2), "enc0/y": (2, 12, 8), "enc_out": (2, 12, 8),
             "dec0/self/X_re": (2, 4, 4, 2), "dec0/cross/Q_re": (2, 4, 4, 2), "dec0/cross/K_re": (2, 4, 4, 2),
             "dec0/cross/QK_im": (2, 4, 4, 4), "dec0/cross/A_re": (2, 4, 4, 4), "dec0/cross/out": (2, 10, 4, 2),
             "seasonal_part": (2, 10, 5), "forecast": (2, 4, 5)}
    assert {name: trace[name].shape for name in trace if name in chain} == chain
    assert [name for name in trace if not (trace[name].eq or trace[name].note)] == []


def test_18_a_reload_gives_the_same_forecast_whatever_was_drawn():
    sizes = {**SMALL, "seq_len": 30}
    first, other = (FEDformer(**sizes, modes=3, seed=10 * s).double() for s in (1, 2))
    args = inputs(**sizes)
    assert not torch.allclose(first(*args), other(*args))
    other.load_state_dict(first.state_dict())
    assert torch.equal(first(*args), other(*args))


def test_every_block_draws_its_own_bins_and_a_seed_fixes_them():
    sizes = {**TOY, "seq_len": 96, "label_len": 48, "pred_len": 96, "e_layers": 3, "d_layers": 2, "modes": 8}
    net = build(FEDformer, **sizes)
    bins = {name: tuple(b.tolist()) for name, b in net.named_buffers() if name.endswith(("modes", "modes_kv"))}
    assert len(bins) == 3 + 2 * 3
    assert len(set(bins.values())) == len(bins)
    again = {name: tuple(b.tolist()) for name, b in FEDformer(**sizes).named_buffers() if name in bins}
    assert again == bins


def test_left_out_modes_fit_every_length_and_a_number_must():
    net = build(FEDformer, **TOY)
    assert [len(b) for name, b in net.named_buffers() if name.endswith(("modes", "modes_kv"))] == [6, 6, 5, 5, 6]


def test_as_released_all_layers_share_one_block():
    for shared in (True, False):
        net = build(FEDformer, **TOY, d_layers=2, released_sharing=shared)
        encoder = {id(layer.attention.attend) for layer in net.forecaster.encoder.layers}
        decoder = {id(layer.cross_attention.attend) for layer in net.forecaster.decoder}
        assert len(encoder) == len(decoder) == (1 if shared else 2)


@pytest.mark.parametrize("cross", ["tanh", "softmax"])
def test_each_window_is_forecast_as_if_it_were_alone_and_the_same_twice(cross):
    net, args = build(FEDformer, **SMALL, cross=cross).eval(), inputs(**SMALL, B=3)
    together = net(*args)
    assert torch.equal(net(*args), together)
    for b in range(3):
        assert_close(net(*(a[b:b + 1] for a in args)), together[b:b + 1], rtol=0, atol=1e-12)


def test_without_seasonal_output_the_forecast_is_the_mean():
    net, (x, *rest) = build(FEDformer, **SMALL).requires_grad_(False), inputs(**SMALL)
    net.forecaster.projection.weight.zero_()
    net.forecaster.projection.bias.zero_()
    net.forecaster.decoder[0].to_trend.weight.zero_()
    assert_close(net(x, *rest), x.mean(1, keepdim=True).expand(-1, 6, -1))


def test_the_decoders_input_counts_by_its_shape_alone():
    net, (x, marks, x_dec, marks_dec) = build(FEDformer, **SMALL), inputs(**SMALL)
    assert torch.equal(net(x, marks, x_dec, marks_dec), net(x, marks, None, marks_dec))
    assert net(x).shape == (2, 6, 2)


@pytest.mark.parametrize("sizes", [
    {"seq_len": 1, "label_len": 0, "pred_len": 1}, {"seq_len": 1, "label_len": 1, "pred_len": 1},
    {"seq_len": 2, "label_len": 1, "pred_len": 2}, {"V": 1}, {"H": 1}, {"H": 6}, {"label_len": 0}, {"label_len": 13},
    {"seq_len": 33, "pred_len": 1}, {"d_layers": 3, "e_layers": 1}])
def test_short_and_odd_lengths_one_variable_one_head(sizes):
    sizes = {**SMALL, **sizes}
    y = build(FEDformer, **sizes)(*inputs(**sizes))
    assert y.shape == (2, sizes["pred_len"], sizes["V"])
    assert bool(y.isfinite().all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_20_half_precision(dtype):
    args = inputs(**SMALL, dtype=dtype)
    net = build(FEDformer, **SMALL, dtype=dtype).requires_grad_(False)
    got = net(*args)
    wide = net.double()(*(a.double() for a in args))
    assert got.dtype == dtype
    assert float((got - wide).abs().max() / wide.abs().max()) < 30 * torch.finfo(dtype).eps


def test_every_gradient_is_finite_and_the_unused_projections_have_none():
    net = build(FEDformer, **SMALL)
    net(*inputs(**SMALL)).square().mean().backward()
    silent = {name for name, p in net.named_parameters() if p.grad is None}
    assert silent == {f"forecaster.{place}.{part}.{kind}" for part in ("key", "value") for kind in ("weight", "bias")
                      for place in ("encoder.layers.0.attention", "encoder.layers.1.attention",
                                    "decoder.0.self_attention")}
    assert all(bool(p.grad.isfinite().all()) for p in net.parameters() if p.grad is not None)


def test_level_and_scale_are_not_taken_off():
    net, (x, *rest) = build(FEDformer, **SMALL).requires_grad_(False), inputs(**SMALL)
    gap = net(3 * x + 7, *rest) - (3 * net(x, *rest) + 7)
    assert float(gap.abs().max()) > 0.1


@pytest.mark.bad_input
@pytest.mark.parametrize(("more", "says"), [
    ({"modes": 7}, "modes: expected 1 to 6, the bins below Nyquist of L=11"), ({"modes": 8}, "of L=13 steps, got 8"),
    ({"modes": {"encoder": [1]}}, "modes: expected bins under encoder, decoder, cross_q, cross_kv, got encoder"),
    ({"H": 4}, "H: expected a divisor"), ({"label_len": 14}, "label_len: expected 0 <= label_len <= seq_len=13"),
    ({"cross": "relu"}, "activation: expected one of"), ({"kernel": 0}, "kernel: expected at least 1"),
    ({"seed": None}, "seed: expected a whole number, got None"), ({"modes": 2.0}, r"modes: .* got \[2\.0\]"),
    ({"pred_len": 0}, "pred_len: expected at least 1"), ({"draw": "top"}, "draw: expected 'random' or 'low'")])
def test_16_sizes_that_do_not_fit_are_named(more, says):
    with pytest.raises(ValueError, match=says):
        FEDformer(**{**SMALL, **more})


@pytest.mark.bad_input
def test_windows_that_do_not_fit_are_named():
    net, (x, *rest) = build(FEDformer, **SMALL), inputs(**SMALL)
    with pytest.raises(ValueError, match="x_enc: expected axes"):
        net(x[:, 1:], *rest)
    spoiled = x.clone()
    spoiled[1, 4, 1] = float("nan")
    with pytest.raises(ValueError, match=r"x_enc: .* nan at row 4, column 1 of window 1"):
        net(spoiled, *rest)
    with pytest.raises(ValueError, match="x_mark_dec: expected marks for both"):
        net(x, rest[0])


def test_the_scale_of_the_draw_is_kept_by_a_block_at_its_start():
    sizes = {"seq_len": 96, "label_len": 48, "pred_len": 48, "V": 1, "M": 64, "H": 8, "d_ff": 8, "marks": 0}
    trace = traced(build(FEDformer, **sizes), draw(4, 96, 1))
    assert 0.7 < float(trace["enc0/wave"].tensor.std() / trace["enc0/q"].tensor.std()) < 1.4
