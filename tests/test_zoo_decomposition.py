"""Series decomposition, the seasonal norm, and the encoder–decoder that Autoformer and FEDformer share."""

import math

import pytest
import torch
from forecasters import TOY, build, draw, inputs, traced
from torch.testing import assert_close

from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.zoo.decomposition import DecompositionForecaster, SeasonalNorm, series_decomp

SIZES = {name: TOY[name] for name in ("seq_len", "label_len", "pred_len", "V", "M", "d_ff")}


def with_attention(seed=0, **changed):
    def attention():
        return AttentionLayer(scaled_dot_product, sizes["M"], 2)
    sizes = {**SIZES, "kernel": 5, **changed}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = [attention() for _ in range(2)], [(attention(), attention())]
    return build(DecompositionForecaster, seed=seed, encoder=layers[0], decoder=layers[1], **sizes)


# Defect 14 and its kind: every kernel keeps the length


@pytest.mark.parametrize("L", [1, 2, 7, 96])
@pytest.mark.parametrize("kernel", [1, 2, 3, 24, 25, 200])
def test_every_kernel_keeps_the_length_and_the_parts_add_up_to_x(L, kernel):
    x = draw(2, L, 3)
    seasonal, trend = series_decomp(x, kernel)
    assert seasonal.shape == trend.shape == x.shape
    assert_close(seasonal + trend, x, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("L", "kernel"), [(7, 3), (7, 4), (5, 11), (5, 12), (1, 2)])
def test_the_trend_equals_plain_loops_with_the_ends_repeated(L, kernel):
    x = draw(2, L, 3)
    _, trend = series_decomp(x, kernel)
    for b in range(2):
        for v in range(3):
            for t in range(L):
                near = range(t - kernel // 2, t + (kernel - 1) // 2 + 1)
                assert len(near) == kernel
                mean = sum(float(x[b, min(max(s, 0), L - 1), v]) for s in near) / kernel
                assert math.isclose(float(trend[b, t, v]), mean, abs_tol=1e-14)


def test_a_kernel_of_one_calls_everything_trend_and_a_constant_has_no_season():
    x = draw(2, 7, 3)
    seasonal, trend = series_decomp(x, 1)
    assert torch.equal(trend, x)
    assert torch.equal(seasonal, torch.zeros_like(x))
    seasonal, _ = series_decomp(torch.full((1, 9, 2), 0.1, dtype=x.dtype), 5)
    assert_close(seasonal, torch.zeros_like(seasonal), rtol=0, atol=1e-15)


def test_a_full_period_averages_to_nothing_and_a_straight_line_is_all_trend_away_from_the_ends():
    t = torch.arange(48, dtype=torch.float64)
    wave, line = torch.sin(2 * math.pi * t / 24), 0.3 * t + 5
    seasonal, trend = series_decomp(torch.stack([wave, line], -1)[None], 24)
    assert_close(trend[0, 12:-12, 0], torch.zeros(24, dtype=t.dtype), rtol=0, atol=1e-14)
    assert_close(seasonal[0, 12:-12, 1], torch.full((24,), 0.15, dtype=t.dtype))  # half a step, as 24 is even
    _, trend = series_decomp(line[None, :, None], 25)
    assert_close(trend[0, 12:-12, 0], line[12:-12])
    assert math.isclose(float(trend[0, 0, 0] - line[0]), 0.3 * sum(range(13)) / 25)  # at the ends the line is flattened


def test_decomposition_follows_level_and_scale():
    x = draw(2, 12, 5)
    seasonal, trend = series_decomp(x, 5)
    seasonal2, trend2 = series_decomp(3 * x + 7, 5)
    assert_close(seasonal2, 3 * seasonal)
    assert_close(trend2, 3 * trend + 7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_in_half_precision_the_mean_is_taken_in_float32(dtype):
    x = (draw(1, 40, 2) + 100).to(dtype)
    _, trend = series_decomp(x, 25)
    _, exact = series_decomp(x.double(), 25)
    assert trend.dtype == dtype
    assert torch.equal(trend, exact.to(dtype))


# Norm and layers


def test_the_seasonal_norm_leaves_no_channel_a_level_of_its_own():
    norm, x = build(SeasonalNorm, M=8), draw(2, 11, 8) + 3
    with torch.no_grad():
        y = norm(x)
    assert float(y.mean(1).abs().max()) < 1e-15
    for b in range(2):
        rows = [torch.nn.functional.layer_norm(x[b, t], (8,)) for t in range(11)]
        for t in range(11):
            assert_close(y[b, t], rows[t] - sum(rows) / 11)


def test_every_step_says_what_it_is_and_the_shapes_follow_the_sizes():
    trace = traced(with_attention(), *inputs())
    shapes = {"decomp/seasonal": (2, 12, 5), "seasonal_init": (2, 10, 5), "trend_init": (2, 10, 5),
              "enc_out": (2, 12, 8), "dec0/trends": (2, 10, 8), "dec0/added_trend": (2, 10, 5),
              "dec0/trend": (2, 10, 5), "seasonal_part": (2, 10, 5), "forecast": (2, 4, 5)}
    assert {name: trace[name].shape for name in shapes} == shapes
    assert [name for name in trace if not (trace[name].eq or trace[name].note)] == []
    assert "enc_embedding/position" not in trace


def test_the_forecast_equals_the_layers_written_out():
    net, args = with_attention(), inputs()
    trace = traced(net, *args)
    x, t = args[0], {name: trace[name].tensor for name in trace}
    tail = x[:, 6:]
    assert_close(t["seasonal_init"][:, :6] + t["trend_init"][:, :6], tail)
    assert torch.equal(t["seasonal_init"][:, 6:], torch.zeros(2, 4, 5, dtype=x.dtype))
    assert_close(t["trend_init"][:, 6:], x.mean(1, keepdim=True).expand(-1, 4, -1))
    layer = net.encoder.layers[0]
    h = t["enc_embedding/h"]
    h = series_decomp(h + t["enc0/y"], 5)[0]
    assert_close(t["enc0/decomp2/seasonal"], series_decomp(h + layer.ffn(h), 5)[0])
    taken = sum(t[f"dec0/decomp{i}/trend"] for i in (1, 2, 3))
    assert_close(t["dec0/trends"], taken)
    W = net.decoder[0].to_trend.weight
    for n in range(10):
        added = sum(taken[:, (n + j - 1) % 10] @ W[:, :, j].T for j in range(3))
        assert_close(t["dec0/added_trend"][:, n], added)
    assert_close(t["dec0/trend"], t["trend_init"] + t["dec0/added_trend"])
    assert_close(t["forecast"], (t["seasonal_part"] + t["dec0/trend"])[:, 6:])


def test_the_feed_forward_part_has_no_biases_and_says_so():
    net = with_attention()
    assert traced(net, *inputs())["enc0/ffn"].eq == "W₂ gelu(W₁ x)"
    assert [name for name, _ in net.named_parameters() if "ffn" in name and name.endswith("bias")] == []


def test_before_anything_is_learnt_the_forecast_is_the_mean_of_the_window():
    net, args = with_attention(), inputs()
    with torch.no_grad():
        for weight in (net.projection.weight, net.projection.bias, net.decoder[0].to_trend.weight):
            weight.zero_()
        assert_close(net(*args), args[0].mean(1, keepdim=True).expand(-1, 4, -1))


@pytest.mark.parametrize("changed", [{"label_len": 0}, {"label_len": 12}, {"seq_len": 1, "label_len": 1, "pred_len": 1},
                                     {"V": 1, "M": 2}, {"kernel": 4}, {"kernel": 99}, {"position": True}, {"marks": 0}])
def test_limits_of_the_sizes(changed):
    sizes = {**SIZES, **changed}
    args = inputs(**{k: v for k, v in sizes.items() if k in ("seq_len", "label_len", "pred_len", "V")})
    if changed.get("marks") == 0:
        args = (args[0],)
    with torch.no_grad():
        y = with_attention(**changed)(*args)
    assert y.shape == (2, sizes["pred_len"], sizes["V"])
    assert bool(torch.isfinite(y).all())


# What is refused


@pytest.mark.bad_input
@pytest.mark.parametrize(("x", "kernel", "message"), [
    (torch.zeros(2, 5, 3), 0, "kernel: expected at least 1, got 0"),
    (torch.zeros(2, 5), 3, "x: expected axes 'B L V', got shape"),
    (torch.zeros(2, 0, 3), 3, "x: expected at least one entry"),
    (torch.zeros(2, 5, 3, dtype=torch.int64), 3, "x: expected floating-point numbers, got int64"),
    (torch.tensor([[[1.0], [torch.nan]]]), 3, r"x: expected finite numbers, got nan at index \(0, 1, 0\)"),
    (torch.full((1, 5, 1), 3e38), 3, "x: expected numbers that stay within the range of float32"),
    (torch.tensor([6e4] * 5 + [-6e4] + [6e4] * 5).half()[None, :, None], 5, "x: expected numbers that stay within"),
    (torch.zeros(2, 5, 3), 2.5, "kernel: expected a whole number, got 2.5"),
    (torch.zeros(2, 5, 3), "3", "kernel: expected a whole number, got '3'"),
    (None, 3, "x: expected a tensor, got NoneType"),
])
def test_series_decomp_refuses(x, kernel, message):
    with pytest.raises(ValueError, match=message):
        series_decomp(x, kernel)


@pytest.mark.bad_input
def test_the_forecaster_refuses_windows_of_another_dtype_than_its_weights():
    net = with_attention()
    with pytest.raises(ValueError, match="x_enc: expected float64 like the weights, got float32"):
        net(inputs()[0].float())
    with pytest.raises(ValueError, match="x_enc: expected a tensor, got NoneType"):
        net(None)


@pytest.mark.bad_input
@pytest.mark.parametrize(("changed", "message"), [
    ({"kernel": 0}, "kernel: expected at least 1, got 0"), ({"label_len": 13}, "label_len: .* got 13"),
    ({"encoder": []}, "e_layers: expected at least 1, got 0"),
    ({"decoder": []}, "d_layers: expected at least 1, got 0")])
def test_the_forecaster_refuses_sizes(changed, message):
    pair = AttentionLayer(scaled_dot_product, 8, 2)
    with pytest.raises(ValueError, match=message):
        DecompositionForecaster(**{**SIZES, "encoder": [pair], "decoder": [(pair, pair)], **changed})
