"""What lesson 08 claims about the prior of KITE; the numbers after `claim` are those of the ledger."""

from math import pi, sqrt

import pytest
import torch
from torch.testing import assert_close

from tsattn_mini.kite.prior import NORMS, granger, normalise, pearson, ridge_shortcut
from tsattn_mini.nonstationary import stationarize

T = 168  # hours of a week


def randn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def rand(*shape, seed=0):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def driven(lag, draws=500):
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
    useless = granger(randn(2000, T, 1), randn(2000, T, 1, seed=1))[1]
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
