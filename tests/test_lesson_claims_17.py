"""Claims of lesson 17: the numbers it prints about decomposition, Auto-Correlation and Autoformer."""

import math

import pytest
import torch
from forecasters import build, draw, inputs, traced
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.blocks import Transformer
from tsattn_mini.datasets import load_bikes
from tsattn_mini.zoo.autoformer import Autoformer, auto_correlation, correlation, roll
from tsattn_mini.zoo.decomposition import SeasonalNorm, series_decomp

TOY = {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16, "kernel": 5}
HOURS = torch.arange(96, dtype=torch.float64)


def column(x):
    return x[None, :, None, None]


def wave(shift=0.0):
    return (2 * math.pi * (HOURS + shift) / 24).sin()


def noisy(seed, channels=()):
    g = torch.Generator().manual_seed(seed)
    noise = 0.3 * torch.randn(96, *channels, generator=g, dtype=torch.float64)
    return wave().reshape(96, *(1 for _ in channels)) + noise


def weights(q, k, v, **more):
    with record() as trace:
        auto_correlation(q, k, v, **more)
    return trace["delays"].tensor, trace["A"].tensor


def seasonal_bikes():
    rides = load_bikes().tensor(["rentals"], dtype=torch.float64)[:, 0]
    return series_decomp(((rides - rides.mean()) / rides.std()).unfold(0, 96, 24)[:, :, None], 25)[0][..., None]


def test_row_42_single_steps_rarely_find_their_hour_and_all_steps_together_find_the_day():
    x = torch.stack([noisy(seed) for seed in range(200)])
    nearest = ((x[:, :, None] - x[:, None]).abs() + 9 * torch.eye(96)).argmin(-1)
    same_hour = float(((nearest - torch.arange(96)) % 24 == 0).double().mean())
    assert math.isclose(same_hour, 0.088, abs_tol=0.0005)
    R = correlation(x[:, :, None, None], x[:, :, None, None])
    off = (R[:, 12:37].argmax(1) - 12).abs()
    assert int((off == 0).sum()) == 175
    assert int(off.max()) == 1


def test_three_neighbours_on_paper():
    seasonal, trend = series_decomp(torch.tensor([1.0, 2, 6, 2, 1])[None, :, None], 3)
    assert_close(trend.flatten(), torch.tensor([4, 9, 10, 9, 4]) / 3)
    assert_close(seasonal.flatten(), torch.tensor([-1, -3, 8, -3, -1]) / 3)


def test_row_43_decomposition_keeps_the_scale_and_moves_the_level_to_the_trend():
    noise = torch.randn(2000, 96, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    seasonal, trend = series_decomp(noise, 25)
    assert math.isclose(float(seasonal.std() / noise.std()), 0.982, abs_tol=0.0005)
    larger, higher = series_decomp(3 * noise + 7, 25)
    assert_close(larger, 3 * seasonal)
    assert_close(higher, 3 * trend + 7)


def test_row_43_the_seasonal_norm_leaves_no_mean_over_time():
    norm, h = SeasonalNorm(64), draw(32, 96, 64, dtype=torch.float32) + 3
    with torch.no_grad():
        assert float(norm.norm(h).mean(1).abs().max()) > 0.3
        assert float(norm(h).mean(1).abs().max()) < 1e-7


@pytest.mark.parametrize(("L", "off"), [(24, 0.0), (25, 12.77), (96, 0.0), (97, 33.11)])
def test_released_lags_are_off_by_about_as_much_as_the_correlation_is_large(L, off):
    q, k = torch.randn(2, 97, generator=torch.Generator().manual_seed(25), dtype=torch.float64)
    true, released = (correlation(column(q[:L]), column(k[:L]), released_lags=old)[0] for old in (False, True))
    assert len(released) == 2 * (L // 2)
    assert math.isclose(float((released - true[:len(released)]).abs().max()), off, abs_tol=0.005)
    assert off == 0 or off > 0.8 * float(true.abs().max())


def test_a_period_of_three_on_paper():
    x = torch.tensor([1.0, 0, 2, 1, 0, 2], dtype=torch.float64)
    assert_close(correlation(column(x), column(x))[0], torch.tensor([10.0, 4, 4, 10, 4, 4], dtype=torch.float64))
    v = torch.arange(1, 7, dtype=torch.float64)
    out = auto_correlation(column(x), column(x), column(v), factor=1.2)
    assert_close(out.flatten(), torch.tensor([2.5, 3.5, 4.5] * 2, dtype=torch.float64))


def test_row_45_as_attention_it_is_a_circulant_of_a_few_weights():
    x = noisy(3)[:8]
    A = auto_correlation(column(x), column(x), torch.eye(8, dtype=x.dtype)[None, :, None])[0, :, 0]
    assert all(torch.equal(A[t], A[0].roll(t)) for t in range(8))
    assert sorted(A[0].tolist())[:6] == [0.0] * 6
    assert_close(A[0].topk(2).values, torch.tensor([0.753, 0.247], dtype=x.dtype), rtol=0, atol=0.0005)


@pytest.mark.parametrize(("ahead", "values", "out"), [(0, 1, 1), (3, math.sqrt(0.5), 0), (6, 0, -1), (12, -1, 1)])
def test_keys_ahead_are_found_and_shifted_further_ahead(ahead, values, out):
    q, k = wave(), wave(ahead)
    delays, _ = weights(column(q), column(k), column(k))
    assert set((delays[0] % 24).tolist()) == {ahead}
    back = roll(column(k), 96 - delays)[0].mean(0).flatten()
    found = [float(torch.cosine_similarity(x, q, dim=0))
             for x in (k, auto_correlation(column(q), column(k), column(k)).flatten(), back)]
    assert_close(torch.tensor(found), torch.tensor([values, out, 1.0]), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("amplitude", "first", "others"), [(0.1, 0.27, 0.24), (0.3, 0.42, 0.19), (1, 1, 0), (3, 1, 0)])
def test_a_loud_series_saturates_and_the_operator_is_the_identity(amplitude, first, others):
    noise = torch.randn(1, 96, 1, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = wave()[None, :, None, None] + 0.3 * noise
    delays, A = weights(amplitude * x, amplitude * x, x)
    assert delays[0, 0] == 0
    assert set(delays[0].tolist()) == {0, 24, 48, 72}
    assert_close(A[0], torch.tensor([first] + [others] * 3, dtype=x.dtype), rtol=0, atol=0.0065)
    if amplitude >= 1:
        assert_close(auto_correlation(amplitude * x, amplitude * x, x), x, rtol=0, atol=0.005)


def test_the_bikes_have_a_day_and_the_ranking_prefers_the_next_hour():
    seasonal = seasonal_bikes()
    R = correlation(seasonal, seasonal)
    assert len(R) == 362
    assert int((R[:, 12:37].argmax(1) == 12).sum()) == 353
    first = R[:, 1:].argmax(1) + 1
    assert int(((first == 1) | (first == 95)).sum()) == 269
    top = R.topk(4, -1)
    assert int((top.indices % 24 == 0).all(1).sum()) == 80
    assert math.isclose(float(torch.softmax(top.values, -1)[:, 0].mean()), 0.965, abs_tol=0.0005)
    assert_close(R.mean(0)[[1, 24]], torch.tensor([60.9, 55.4], dtype=R.dtype), rtol=0, atol=0.05)


@pytest.mark.parametrize(("seed", "least", "most"), [(0, 0.193, 0.388), (1, 0.423, 0.875), (2, 0.515, 1.082),
                                                     (3, 0.024, 0.568)])
def test_training_and_evaluation_differ_by_2_to_108_percent_on_projected_bikes(seed, least, most):
    z = load_bikes().tensor(["rentals", "temperature_c"], dtype=torch.float64)
    both = series_decomp(((z - z.mean(0)) / z.std(0)).unfold(0, 96, 24).mT, 25)[0]
    W = torch.randn(2, 2, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    q, k = ((both @ w)[:, :, None].split(32)[:11] for w in W)
    gaps = []
    for batch in zip(q, k, both[:, :, None].split(32)[:11], strict=True):
        own, shared = (auto_correlation(*batch, shared=way) for way in (False, True))
        gaps.append(float((own - shared).norm() / own.norm()))
    assert_close([min(gaps), max(gaps)], [least, most], rtol=0, atol=0.0006)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("switches", [{}, {"factor": 3, "shared_in_training": True}])
def test_row_44_the_level_is_kept_to_the_last_digit_whatever_the_weights_and_the_scale_is_not(seed, switches):
    net, (x, *rest) = build(Autoformer, seed=seed, **TOY, **switches), inputs()
    level = 7 + draw(1, 1, 5, seed=seed)  # another one for every variable
    with torch.no_grad():
        y, higher, larger = (net(z, *rest) for z in (x, x + level, 3 * x))
    assert_close(higher, y + level, rtol=0, atol=1e-12)
    assert float((larger - 3 * y).abs().max()) > 0.1


@pytest.mark.parametrize("factor", [1, 0.01])  # several delays, and a single one, whose weight is always 1
def test_the_season_that_is_forecast_has_one_size_whatever_the_season_of_the_window(factor):
    net, (x, *rest) = build(Autoformer, **TOY, factor=factor), inputs()
    small, large = (traced(net, z, *rest) for z in (x, 3 * x))
    before, after = (float(large[name].tensor.std() / small[name].tensor.std())
                     for name in ("decomp/seasonal", "seasonal_part"))
    assert math.isclose(before, 3, rel_tol=1e-9)
    assert math.isclose(after, 1, abs_tol=0.25)
    assert float((large["forecast"].tensor - 3 * small["forecast"].tensor).abs().max()) > 1


def test_a_plain_encoder_decoder_does_not_keep_the_level():
    plain = {name: size for name, size in TOY.items() if name != "kernel"}
    net, (x, *rest) = build(Transformer, **plain), inputs()
    with torch.no_grad():
        assert float((net(x + 7, *rest) - net(x, *rest) - 7).abs().max()) > 1


def test_row_46_two_parts_are_new_and_the_table_of_positions_is_gone():
    trace = traced(build(Autoformer, **TOY), *inputs())
    assert {"enc0/R", "enc0/decomp1/trend", "dec0/added_trend"} <= set(trace)
    assert not [name for name in trace if name.endswith(("position", "logits", "mu", "sigma"))]


def test_no_statistic_no_detach_the_two_parts_hand_back_the_whole_gradient():
    x = draw(2, 12, 5).requires_grad_()
    seasonal, trend = series_decomp(x, 5)
    (seasonal + trend).sum().backward()
    assert_close(x.grad, torch.ones_like(x))
    q = draw(1, 12, 1, 2).requires_grad_()
    with record() as trace:
        auto_correlation(q, q, q).square().sum().backward()
    assert float(q.grad.abs().min()) > 0
    assert trace["delays"].tensor.dtype == torch.int64
