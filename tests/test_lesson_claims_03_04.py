"""What lessons 03 and 04 claim beyond the lecture notes; the notes' own claims are in test_nonstationary_claims.py."""

from itertools import permutations
from math import inf, log, sqrt

import pytest
import torch
from torch.nn.functional import conv1d, pad
from torch.testing import assert_close

from tsattn_mini.datasets import load_macro
from tsattn_mini.lesson import counting, weights
from tsattn_mini.nonstationary import Projector, destationary_attention, stationarize, temperature

MACRO = ["realgdp", "cpi", "m1", "unemp", "tbilrate"]


def macro():
    """Raw and standardised series; the first 101 quarters are the training part."""
    raw = load_macro().tensor(MACRO, dtype=torch.float64)
    return raw, (raw - raw[:101].mean(0)) / raw[:101].std(0, correction=0)


def projector(T=12, V=5, seed=0, hidden=(16, 16)):
    """Drawn in float64, as the lessons do."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float64)
        try:
            return Projector(T, V, hidden, O=1).requires_grad_(False)
        finally:
            torch.set_default_dtype(torch.float32)


def conv(module, x):
    return conv1d(pad(x, (1, 1), mode="circular"), module.conv.weight)


# Lesson 03

@pytest.mark.parametrize("n", [2, 3, 13, 97])
def test_a_spike_reaches_the_root_of_n_minus_one_and_nothing_exceeds_it(n):
    spike = 1e6 * torch.eye(n, dtype=torch.float64)[:, :, None]
    assert_close(stationarize(spike)[0].amax(1), torch.full((n, 1), sqrt(n - 1), dtype=torch.float64))
    heavy = torch.randn(50, n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) ** 9
    assert float(stationarize(heavy)[0].abs().max()) < sqrt(n - 1)


def test_a_single_step_becomes_zero():
    assert stationarize(torch.full((1, 1, 1), 42.0))[0].item() == 0


def test_a_scale_below_epsilon_is_not_removed():
    assert round(float(stationarize(0.001 * counting(1, 4, 1))[0].max()), 3) == 0.447


def test_levels_grow_beyond_what_the_first_half_has_seen_and_a_rate_does_not():
    raw, _ = macro()
    growth = (raw[-1] / raw[0]).tolist()
    assert [round(g, 1) for g in growth[:3]] == [4.8, 7.5, 12.0]
    new = (raw[101:] > raw[:101].amax(0)).double().mean(0).tolist()
    assert new[:4] == [1, 1, 1, 0]


def test_two_recoveries_twenty_two_years_apart_become_nearly_one_window():
    gdp = macro()[0][:, 0]
    z, mu, sigma = stationarize(torch.stack([gdp[7:15], gdp[95:103]])[:, :, None])
    assert float((z[0] - z[1]).abs().max()) < 0.08
    assert float(mu[1] / mu[0]) > 2
    assert float(sigma[1] / sigma[0]) > 2.5


def test_a_factor_in_front_has_slope_zero_unless_the_statistics_are_detached():
    data, slopes = counting(1, 12, 1).sin(), []
    for detach in (False, True):
        w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        (stationarize(w * data, detach)[0] * data).sum().backward()
        slopes.append(abs(float(w.grad)))
    assert slopes[0] < 1e-4
    assert slopes[1] > 1


# Lesson 04

def test_of_120_orders_the_conv_follows_the_five_turns_only():
    module, x = projector(), counting(1, 12, 5).sin()
    orders = [list(o) for o in permutations(range(5))]
    follows = [o for o in orders if torch.allclose(conv(module, x[..., o]), conv(module, x)[..., o])]
    assert follows == [[(v + turn) % 5 for v in range(5)] for turn in range(5)]


def test_every_order_of_the_columns_has_a_tau_of_its_own():
    module, x = projector(), counting(1, 12, 5).sin()
    sigma = stationarize(x)[2]
    taus = torch.cat([module(x[..., o], sigma[..., o]) for o in map(list, permutations(range(5)))])
    assert len(taus.round(decimals=9).unique()) == 120


def test_with_two_variables_both_outer_taps_see_the_other_one():
    module, x = projector(V=2), counting(1, 12, 2).sin()
    left, middle, right = module.conv.weight[0].T
    assert_close(conv(module, x)[0, 0], x[0].T @ middle + x[0].flip(-1).T @ (left + right))


@pytest.mark.filterwarnings("ignore:log_tau")
@pytest.mark.parametrize(("value", "bounds"), [(-165.0, (-inf, 80.0)), (100.0, (-inf, 80.0)),
                                               (-60.0, None), (60.0, None)])
def test_far_out_tau_has_no_gradient_left(value, bounds):
    log_tau = torch.tensor([[value]], requires_grad=True)
    temperature(log_tau, bounds).sum().backward()
    assert log_tau.grad.item() == 0


@pytest.mark.filterwarnings("ignore:log_tau")
def test_a_cut_at_80_alone_does_not_prevent_nan_and_ours_does():
    q = 100 * torch.eye(2)
    k = 100 * torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 0.5]])
    log_tau = torch.tensor([[400.0]])
    cut = temperature(log_tau, bounds=(-inf, 80.0)) * (q @ k.T)
    assert torch.softmax(cut, -1).isnan().all()
    assert weights(destationary_attention, q, k, tau=temperature(log_tau)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert_close(float(temperature(log_tau).log()), log(torch.finfo(torch.float32).max) / 2)


def test_raw_levels_collapse_most_fresh_projectors_and_standardised_ones_none():
    far = []
    for series in macro():
        x = series[None, 84:96]
        sigma = stationarize(x)[2]
        log_tau = torch.cat([projector(seed=seed, hidden=(128, 128))(x, sigma) for seed in range(20)]).abs()
        far.append(int((log_tau > 16).sum()))
    assert far[0] > 15
    assert far[1] == 0


def test_a_thousandth_of_the_unit_is_a_thousand_times_log_tau():
    module, x = projector(), macro()[0][None, 84:96]
    before, after = (module(u * x, stationarize(u * x)[2]).item() for u in (1, 1000))
    assert after == pytest.approx(1000 * before, rel=0.01)


def test_two_swapped_columns_decide_between_the_mean_and_one_key():
    """The explorer's presets: seed 450, 1980 to 1982, ten thousand times too large."""
    module, x = projector(seed=450), 1e4 * macro()[1][None, 84:96]
    sigma, swapped = stationarize(x)[2], [4, 1, 2, 3, 0]
    assert module(x, sigma).item() < -500
    assert module(x[..., swapped], sigma[..., swapped]).item() > 500
