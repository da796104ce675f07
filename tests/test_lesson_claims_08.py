"""What lesson 08 claims about the prior of KITE; the numbers after `claim` are those of the ledger."""

from math import pi, sqrt

import pytest
import torch
from scipy.stats import distributions
from torch.testing import assert_close

from tsattn_mini.datasets import load_bikes
from tsattn_mini.kite.prior import NORMS, granger, normalise, pearson, ridge_shortcut
from tsattn_mini.nonstationary import stationarize

T = 168  # hours of a week


def randn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def rand(*shape, seed=0):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def driven(lag, draws=250):
    """A white driver, and a target that is the driver `lag` steps earlier plus half as much noise."""
    e = randn(draws, T + lag, 1, seed=1)
    return e[:, :T] + 0.5 * randn(draws, T, 1, seed=2), e[:, lag:]


def test_claim_60_and_61_one_table_per_window_from_the_window_alone():
    x, e = randn(3, T, 2), randn(3, T, 5, seed=1)
    S = pearson(x, e)
    assert S.shape == (3, 2, 5)
    assert_close(pearson(x[2:], e[2:])[0], S[2])


def test_claim_62_pearson_sees_lag_zero_only():
    by_lag = {lag: float(pearson(*driven(lag)).mean()) for lag in (0, 1, 4)}
    noise = float(pearson(randn(500, T, 1), randn(500, T, 1, seed=1)).mean())
    assert by_lag[0] == pytest.approx(0.895, abs=0.003)
    assert by_lag[1] == pytest.approx(0.062, abs=0.005)
    assert by_lag[4] == pytest.approx(0.062, abs=0.005)
    assert noise == pytest.approx(sqrt(2 / (pi * T)), abs=0.005)


def test_claim_62_a_quarter_period_late_is_uncorrelated():
    t = torch.arange(T, dtype=torch.float64)
    day, late = (torch.sin(2 * pi * (t - delay) / 24)[None, :, None] for delay in (0, 6))
    assert float(pearson(day, late)) < 1e-14


def test_claim_62_a_square_is_uncorrelated_with_its_root():
    x = torch.linspace(-1, 1, T, dtype=torch.float64)[None, :, None]
    assert float(pearson(x, x**2)) < 1e-14
    assert float(pearson(x, x**3)) > 0.9


@pytest.mark.parametrize("steps", [96, 168, 512])
def test_claim_62_unrelated_random_walks_look_related(steps):
    r = pearson(randn(2000, steps, 1).cumsum(1), randn(2000, steps, 1, seed=1).cumsum(1))
    assert float(r.mean()) == pytest.approx(0.42, abs=0.015)
    assert float((r > 0.5).double().mean()) == pytest.approx(0.40, abs=0.03)


def test_claim_62_unrelated_daily_cycles_look_related():
    t, phase = torch.arange(T, dtype=torch.float64), 2 * pi * rand(2000, 2, seed=3)
    cycles = torch.sin(2 * pi * t / 24 + phase[..., None]) + 0.5 * randn(2000, 2, T, seed=4)
    r = pearson(cycles[:, :1].mT, cycles[:, 1:].mT)
    assert float(r.mean()) == pytest.approx(0.427, abs=0.015)


def test_claim_63_the_shortcut_sees_lag_four_only_and_the_f_test_sees_both():
    shortcut = {lag: float(ridge_shortcut(*(stationarize(x)[0] for x in driven(lag))).mean()) for lag in (1, 4)}
    assert shortcut[4] == pytest.approx(0.894, abs=0.005)
    assert shortcut[1] == pytest.approx(0.063, abs=0.005)
    for lag in (1, 4):
        assert float((granger(*driven(lag))[1] < 0.05).double().mean()) == 1
    useless = granger(randn(1000, T, 1), randn(1000, T, 1, seed=1))[1]
    assert float((useless < 0.05).double().mean()) == pytest.approx(0.05, abs=0.015)


def test_claim_65_the_norm_decides():
    S = torch.tensor([0.92, 0.90, 0.88], dtype=torch.float64)
    gate = {norm: torch.softmax((normalise(S, norm) + 1e-6).log(), -1) for norm in NORMS}
    for norm in ("none", "max", "softmax"):
        assert_close(gate[norm], S.new_tensor([0.34, 0.333, 0.326]), atol=0.001, rtol=0)
    assert_close(gate["minmax"][:2], S.new_tensor([0.667, 0.333]), atol=0.001, rtol=0)
    assert float(gate["minmax"][2]) == pytest.approx(6.7e-7, rel=0.01)


def test_claim_65_r_is_never_exactly_zero():
    assert int((pearson(randn(1000, T, 1).float(), randn(1000, T, 6, seed=1).float()) == 0).sum()) == 0


# What the lesson adds

def strangers(kind, draws=500):
    """Two unrelated series of one kind, per draw."""
    t = torch.arange(T, dtype=torch.float64)[:, None]
    if kind == "noise":
        x = randn(draws, T, 2, seed=5)
    elif kind == "walks":
        x = randn(draws, T, 2, seed=5).cumsum(1)
    elif kind == "cycles":
        x = torch.sin(2 * pi * (t / 24 + rand(draws, 1, 2, seed=6))) + 0.5 * randn(draws, T, 2, seed=5)
    else:
        x = torch.linspace(-1.7, 1.7, T, dtype=torch.float64)[:, None] + randn(draws, T, 2, seed=5)
    return x[..., :1], x[..., 1:]


@pytest.mark.parametrize(("kind", "above", "rejected"), [
    ("noise", 0.0, 0.05), ("walks", 0.4, 0.12), ("cycles", 0.44, 0.99), ("trends", 0.48, 0.89)])
def test_a_common_clock_or_trend_fools_r_and_the_f_test_even_more(kind, above, rejected):
    x, e = strangers(kind)
    assert float((pearson(x, e) > 0.5).double().mean()) == pytest.approx(above, abs=0.06)
    assert float((granger(x, e)[1] < 0.05).double().mean()) == pytest.approx(rejected, abs=0.04)


def test_many_lags_tell_the_time_and_still_pass_too_often():
    x, e = strangers("cycles", draws=200)
    assert 0.08 < float((granger(x, e, lags=24)[1] < 0.05).double().mean()) < 0.25


def test_the_f_test_is_blind_within_the_same_hour():
    assert float((granger(*driven(0))[1] < 0.05).double().mean()) == pytest.approx(0.05, abs=0.03)


def test_the_limits_drawn_in_the_explorer_are_those_of_five_percent():
    assert float(distributions.f.isf(0.05, 4, T - 13)) == pytest.approx(2.43, abs=0.005)
    t = float(distributions.t.isf(0.025, T - 2))
    assert t / sqrt(T - 2 + t * t) == pytest.approx(0.151, abs=0.001)
    x, e = (stationarize(randn(2000, T, 1, seed=seed))[0] for seed in (7, 8))
    assert float((ridge_shortcut(x, e) > 0.153).double().mean()) == pytest.approx(0.05, abs=0.015)


def test_the_perfect_driver_among_ten_gets_less_than_a_quarter_from_softmax():
    shares = [normalise(torch.eye(D, dtype=torch.float64)[0], "softmax") for D in (1, 2, 10)]
    assert [round(float(s[0]), 3) for s in shares] == [1.0, 0.731, 0.232]
    assert round(float(shares[2][-1]), 3) == 0.085


def test_a_unit_of_ten_to_the_minus_five_loses_a_third_of_r_in_the_released_form():
    x, e = driven(0, draws=200)
    ours, released = pearson(1e-5 * x, 1e-5 * e), pearson(1e-5 * x, 1e-5 * e, eps=1e-8)
    assert_close(ours, pearson(x, e))
    assert float((released / ours).mean()) == pytest.approx(0.67, abs=0.05)


# Bikes

NAMES = ["temperature_c", "humidity_pct", "windspeed_kmh", "weather", "workingday"]


@pytest.fixture(scope="module")
def bikes():
    """Rentals, five drivers, holiday: hours × 7."""
    return load_bikes().tensor(["rentals", *NAMES, "holiday"], dtype=torch.float64)


def week(x, day):
    return x[24 * day:24 * day + T][None]


def test_january_has_no_granger_driver_and_july_three(bikes):
    found = []
    for day in (9, 191):
        x = week(bikes, day)
        r, p = pearson(x[..., :1], x[..., 1:6])[0, 0], granger(x[..., :1], x[..., 1:6])[1][0, 0]
        found.append([name for name, small in zip(NAMES, p < 0.05, strict=True) if small])
        assert set(r.topk(2).indices.tolist()) == {0, 1}
    assert found == [[], ["temperature_c", "humidity_pct", "weather"]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a week of constant weather
def test_the_wrong_weeks_temperature_keeps_four_fifths_and_a_clock_beats_them_all(bikes):
    weeks = torch.cat([week(bikes, 7 * k + 2) for k in range(51)])
    x, own, other = weeks[..., :1], {}, {}
    for d, name in enumerate(NAMES, start=1):
        e = weeks[..., d:d + 1]
        own[name] = float(pearson(x, e).mean())
        other[name] = float(torch.stack([pearson(x, e.roll(k, 0)).mean() for k in range(4, 48)]).mean())
    assert {name: round(r, 3) for name, r in own.items()} == {
        "temperature_c": 0.435, "humidity_pct": 0.419, "windspeed_kmh": 0.182, "weather": 0.154, "workingday": 0.095}
    assert round(other["temperature_c"] / own["temperature_c"], 2) == 0.81
    assert other["windspeed_kmh"] > own["windspeed_kmh"]
    assert other["workingday"] > own["workingday"]
    clock = torch.cos(2 * pi * (torch.arange(T, dtype=torch.float64) - 15) / 24)[:, None].expand(51, T, 1)
    assert float(pearson(x, clock).mean()) == pytest.approx(0.664, abs=0.001)


def test_without_the_mean_day_a_weeks_own_temperature_is_ahead(bikes):
    def flat(z):
        return z - z.reshape(51, 7, 24, 1).mean(1).repeat(1, 7, 1)

    weeks = torch.cat([week(bikes, 7 * k + 2) for k in range(51)])
    x, e = flat(weeks[..., :1]), flat(weeks[..., 1:2])
    other = torch.stack([pearson(x, e.roll(k, 0)).mean() for k in range(4, 48)]).mean()
    assert (round(float(pearson(x, e).mean()), 2), round(float(other), 2)) == (0.21, 0.13)


def test_in_july_the_weather_of_january_correlates_better_than_its_own(bikes):
    x, e = week(bikes, 191)[..., :1], [week(bikes, (191 + 7 * away) % 365)[..., 1:2] for away in (0, 26)]
    assert [round(float(pearson(x, z)), 2) for z in e] == [0.38, 0.45]


def test_working_days_move_the_peak_hours(bikes):
    days = bikes.reshape(365, 24, 7)
    for month in (slice(0, 31), slice(181, 212)):
        rentals, working = days[month, :, 0], days[month, 12, 5] == 1
        assert rentals[working].mean(0).topk(3).indices.sort().values.tolist() == [8, 17, 18]
        assert int(rentals[~working].mean(0).argmax()) in (13, 14, 15)
