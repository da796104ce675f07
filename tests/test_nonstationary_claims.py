"""What the lecture notes say about the Non-stationary Transformer, and what happens. Numbers are claim ids."""

import math

import pytest
import torch
from forecasters import SMALL, TOY, build, distance, draw, inputs, traced
from torch import nn
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.blocks import Transformer
from tsattn_mini.nonstationary import (
    NonstationaryTransformer,
    Projector,
    StationarizedTransformer,
    destationarize,
    destationary_attention,
    stationarize,
    temperature,
)


def one_window(*values):
    return torch.tensor(values, dtype=torch.float64).reshape(1, len(values), -1)


# Statistics


def test_claim_6_the_toy_has_population_deviations_and_two_scales_become_one():
    x = one_window([1, 10], [2, 20], [3, 30], [4, 40])
    x_norm, mu, sigma = stationarize(x)
    assert mu.tolist() == [[[2.5, 25]]]
    assert sigma[0, 0].tolist() == pytest.approx([1.118, 11.180], abs=5e-4)
    assert x_norm[0, :, 0].tolist() == pytest.approx([-1.3416, -0.4472, 0.4472, 1.3416], abs=5e-5)
    assert_close(x_norm[..., 0], x_norm[..., 1], rtol=0, atol=1e-5)
    assert abs(float(x[0, :, 0].std()) - 1.291) < 5e-4  # the sample deviation is another number


def test_claim_13_epsilon_is_inside_the_root():
    assert float(stationarize(one_window(5, 5, 5))[2]) == pytest.approx(0.0031623, abs=1e-7)


def test_claim_14_the_range_is_bounded_by_the_root_of_the_length_not_by_1_5():
    spike, ramp = one_window(*[0] * 11, 12), one_window(*range(12))
    assert float(stationarize(1e3 * spike)[0].max()) == pytest.approx(math.sqrt(11), abs=1e-6)
    assert float(stationarize(ramp)[0].max()) == pytest.approx(1.5933, abs=1e-4)
    assert float(stationarize(draw(500, 12, 1))[0].abs().max()) < math.sqrt(11)


def variant(net, x, marks, future, clone, detach):
    """The forecast with and without clone and detach, otherwise as in NonstationaryTransformer."""
    x_raw = x.clone() if clone else x
    x_raw = x_raw.detach() if detach else x_raw
    x_norm, mu, sigma = stationarize(x, detach)
    tau, delta = temperature(net.tau_projector(x_raw, sigma)), net.delta_projector(x_raw, mu)
    y = net.transformer.fill(x_norm, marks, future, past={"tau": tau, "delta": delta}, own={"tau": tau})
    return net.transformer.future(destationarize(y, mu, sigma))


def gradients(net, x, marks, future, clone, detach):
    net.zero_grad()
    forecast = variant(net, x, marks, future, clone, detach)
    forecast.square().mean().backward()
    return forecast.detach(), torch.cat([p.grad.flatten() for p in net.parameters()])


@pytest.mark.parametrize(("clone", "detach"), [(True, False), (False, True), (False, False)])
def test_claims_10_and_11_without_clone_or_detach_nothing_changes(clone, detach):
    net, (x, marks, _, future) = build(**TOY), inputs()
    before = x.clone()
    want, want_grad = gradients(net, x, marks, future, clone=True, detach=True)
    got, got_grad = gradients(net, x, marks, future, clone, detach)
    assert float((got - want).abs().max()) == 0.0
    assert float((got_grad - want_grad).abs().max()) == 0.0
    assert torch.equal(x, before)
    assert torch.equal(net(x, marks, None, future), want)
    assert float(want_grad.abs().max()) > 0


def test_claim_11_detach_matters_only_to_whatever_made_the_window():
    x, marks, _, future = inputs()
    nets = [build(**TOY, detach=detach) for detach in (True, False)]
    windows = [x.clone().requires_grad_() for _ in nets]
    for net, window in zip(nets, windows, strict=True):
        net(window, marks, None, future).square().mean().backward()
    cut, whole = (window.grad.norm() for window in windows)
    assert abs(float(whole - cut)) > 0.1 * float(whole)
    for p, q in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(p.grad, q.grad)
    third = x.clone().requires_grad_()
    variant(nets[0], third, marks, future, clone=True, detach=True).square().mean().backward()
    assert_close(windows[0].grad, third.grad, rtol=0, atol=1e-15)


def test_the_gradient_through_the_statistics_is_the_true_one():
    net, (x, marks, _, future) = build(**SMALL), inputs(**SMALL)
    assert torch.autograd.gradcheck(lambda window: net(window, marks, None, future), x.requires_grad_())


def test_claim_12_batch_norm_differentiates_through_its_statistics():
    def column_sums(detach):
        x, target = draw(7, 3).requires_grad_(), draw(7, 3, seed=1)
        mean, var = x.mean(0), x.var(0, correction=0)
        if detach:
            mean, var = mean.detach(), var.detach()
        (target * (x - mean) / (var + 1e-5).sqrt()).sum().backward()
        return x, x.grad.sum(0)

    x, sums = column_sums(detach=False)
    theirs = x.detach().requires_grad_()
    (draw(7, 3, seed=1) * nn.BatchNorm1d(3).double()(theirs)).sum().backward()
    assert_close(theirs.grad, x.grad)
    assert float(sums.abs().max()) < 1e-12
    assert float(column_sums(detach=True)[1].abs().max()) > 1


def test_claim_24_restoring_is_0_8_times_3_plus_5_on_every_row_and_the_loss_sees_the_last():
    mu, sigma = torch.full((2, 1, 5), 5.0), torch.full((2, 1, 5), 3.0)
    assert_close(destationarize(torch.full((2, 10, 5), 0.8), mu, sigma), torch.full((2, 10, 5), 7.4))
    with record() as trace:
        forecast = build(**TOY)(*inputs())
    grad = torch.autograd.grad(forecast.square().sum(), trace["y"].tensor)[0]
    assert grad[:, :6].abs().max() == 0
    assert grad[:, 6:].abs().min() > 0


def affine_error(cls):
    """How far the forecast of 3 x + 7 is from 3 times the forecast of x, plus 7, on a window of large scale."""
    net, (x, *rest) = build(cls, **TOY), inputs()
    x = 30 * x
    with torch.no_grad():
        here, there = net(x, *rest), net(3 * x + 7, *rest)
    return float((there - 3 * here - 7).abs().max()) / float(there.abs().max())


@pytest.mark.filterwarnings("ignore:log_tau")
def test_affine_changes_pass_through_without_tau_and_delta_and_not_with_them():
    assert affine_error(StationarizedTransformer) < 1e-6
    assert affine_error(NonstationaryTransformer) > 1e-3
    assert affine_error(Transformer) > 1e-2


# Projector


def test_claims_33_and_37_the_convolution_has_36_weights_a_linear_map_12_and_the_mlp_the_rest():
    net = build(**TOY)
    size = {name: sum(p.numel() for p in part.parameters()) for name, part in
            {"all": net, "tau": net.tau_projector, "delta": net.delta_projector}.items()}
    assert net.tau_projector.conv.weight.numel() == 36
    assert nn.Linear(12, 1, bias=False).weight.numel() == 12
    assert size == {"all": 40_061, "tau": 18_084, "delta": 19_492}
    assert round(100 * (size["tau"] + size["delta"]) / size["all"]) == 94


def convolved(projector, x):
    return traced(projector, x, torch.zeros_like(x[:, :1]))["conv"].tensor


def test_claim_34_time_is_mixed_whole_and_the_taps_reach_the_neighbouring_variables_round_the_circle():
    projector, x = build(Projector, T=12, V=5, hidden=(3,), O=1), draw(1, 12, 5).requires_grad_()
    with record() as trace:
        projector(x, x[:, :1])
    reach = torch.autograd.grad(trace["conv"].tensor[0, 0, 0], x)[0][0].abs() > 0
    assert reach.all(0).tolist() == [True, True, False, False, True]
    assert reach.any(0).tolist() == [True, True, False, False, True]


def test_claim_34_turning_the_variables_round_commutes_and_another_order_does_not():
    projector, x = build(Projector, T=12, V=5, hidden=(3,), O=1), draw(1, 12, 5)
    c = convolved(projector, x)
    assert_close(convolved(projector, x.roll(2, dims=2)), c.roll(2, dims=2))
    swapped = [1, 0, 2, 3, 4]
    assert float((convolved(projector, x[..., swapped]) - c[..., swapped]).abs().max()) > 0.1


def test_claims_35_and_36_one_variable_leaves_12_weights_and_a_linear_map_is_the_middle_tap():
    projector = build(Projector, T=12, V=1, hidden=(3,), O=1).requires_grad_(False)
    x, W = draw(2, 12, 1), projector.conv.weight[0]
    assert_close(convolved(projector, x)[:, 0, 0], x[..., 0] @ W.sum(-1))
    wide = build(Projector, T=12, V=5, hidden=(3,), O=1).requires_grad_(False)
    wide.conv.weight[..., [0, 2]] = 0
    assert_close(convolved(wide, draw(2, 12, 5)), wide.conv.weight[:, :, 1] @ draw(2, 12, 5))


def test_claim_2_exp_overflows_between_88_and_89_and_a_cut_at_80_does_not():
    log_tau = torch.tensor([[80.0], [88.7], [89.0], [-120.0]])
    assert log_tau.exp().isinf().flatten().tolist() == [False, False, True, False]
    with pytest.warns(RuntimeWarning, match="log_tau"):
        cut = temperature(log_tau, bounds=(-math.inf, 80.0))
    assert cut.isfinite().all()
    assert float(cut[3]) == 0  # no lower cut: τ underflows and every key counts the same
    with pytest.warns(RuntimeWarning, match="log_tau"):
        assert float(temperature(log_tau)[3]) > 0


# The chain


def test_claims_15_and_20_one_tau_and_one_delta_steer_every_map_of_the_window():
    trace = traced(build(**TOY, e_layers=3), *inputs())
    for scope in ("enc0", "enc1", "enc2", "dec0/cross"):
        assert torch.equal(trace[f"{scope}/tau_4d"].tensor.flatten(1), trace["tau"].tensor)
        assert torch.equal(trace[f"{scope}/delta_4d"].tensor.flatten(1), trace["delta"].tensor)


@pytest.mark.parametrize("pred_len", [4, 6])
def test_claims_21_22_and_29_decoder_self_attention_has_tau_and_no_delta_also_where_the_lengths_agree(pred_len):
    sizes = {**TOY, "pred_len": pred_len}
    trace = traced(build(**sizes), *inputs(**sizes))
    assert torch.equal(trace["dec0/self/tau_4d"].tensor.flatten(1), trace["tau"].tensor)
    assert trace["dec0/self/delta_4d"].shape == (2, 1, 1, 6 + pred_len)
    assert float(trace["dec0/self/delta_4d"].tensor.abs().max()) == 0
    assert trace["delta"].shape == (2, 12)
    assert float(trace["delta"].tensor.abs().max()) > 0


def test_claim_22_the_lengths_fit_at_pred_len_6_so_the_shape_is_not_the_reason():
    delta = draw(2, 12)
    decoder = draw(2, 6 + 6, 4, 2)
    assert destationary_attention(decoder, decoder, decoder, delta=delta).shape == (2, 12, 4, 2)


@pytest.mark.bad_input
def test_claim_22_the_lengths_do_not_fit_at_pred_len_4():
    decoder = draw(2, 6 + 4, 4, 2)
    with pytest.raises(ValueError, match=r"delta: expected axes 'B S' with B=2, S=10, got shape \(2, 12\)"):
        destationary_attention(decoder, decoder, decoder, delta=draw(2, 12))


def test_claim_4_x_dec_gives_only_its_shape():
    net, (x, marks, x_dec, future) = build(**TOY), inputs()
    with torch.no_grad():
        forecasts = [net(x, marks, given, future) for given in (x_dec, 100 * x_dec, None)]
    assert float((forecasts[1] - forecasts[0]).abs().max()) == 0.0
    assert float((forecasts[2] - forecasts[0]).abs().max()) == 0.0


def test_claims_17_and_32_the_prefix_is_the_normalised_input_not_a_refined_state():
    x, marks, _, future = inputs()
    trace = traced(build(**TOY), x, marks, None, future)
    history = (x[:, -6:] - x.mean(1, keepdim=True)) / (x.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    assert_close(trace["x_dec"].tensor[:, :6], history)
    order = list(trace)
    assert order.index("x_dec") < order.index("enc0/QK")


def test_claim_17_minus_zero_keeps_everything():
    x = draw(2, 12, 5)
    assert x[:, -0:].shape[1] == 12  # the trap
    sizes = {**TOY, "label_len": 0}
    assert traced(build(**sizes), *inputs(**sizes))["x_dec"].shape == (2, 4, 5)


@pytest.mark.parametrize("level", [0.0, 5000.0])
def test_claim_18_a_layer_norm_stands_in_front_of_cross_attention_on_both_sides(level):
    transformer = build(Transformer, **TOY)
    for norm in (transformer.encoder.norm, transformer.decoder.layers[0].norm1):
        assert isinstance(norm, nn.LayerNorm)
    x, marks, _, future = inputs()
    trace = traced(transformer, x + level, marks, None, future)
    for name in ("enc_out", "dec0/norm1"):
        assert float(trace[name].tensor.square().mean().sqrt()) == pytest.approx(1, abs=1e-3)


def test_claims_3_and_9_the_interface_of_the_toy():
    x, marks, x_dec, future = inputs()
    assert [tuple(t.shape) for t in (x, marks, x_dec, future)] == [(2, 12, 5), (2, 12, 4), (2, 10, 5), (2, 10, 4)]
    assert build(**TOY)(x, marks, x_dec, future).shape == (2, 4, 5)


def test_raw_windows_in_the_thousands_collapse_the_untrained_tau():
    collapsed = 0
    for seed in range(5):
        net = build(seed=seed, **TOY)
        x, *rest = inputs()
        with pytest.warns(RuntimeWarning, match="log_tau"):
            trace = traced(net, 1e4 * x, *rest)
        A, uniform = trace["enc0/A"].tensor, torch.full((12,), 1 / 12, dtype=torch.float64)
        flat, peaked = distance(A, uniform) < 1e-6, float(A.amax(-1).min()) > 0.99
        collapsed += flat or peaked
    assert collapsed >= 3
