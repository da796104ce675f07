"""The prior of KITE: plain loops, limits, statsmodels as a second opinion, and what it refuses."""

import warnings
from math import inf, nan

import numpy as np
import pytest
import torch
from statsmodels.tsa.stattools import grangercausalitytests
from torch.testing import assert_close

from tsattn_mini.kite.prior import NORMS, f_statistic, granger, normalise, pearson, ridge_shortcut
from tsattn_mini.official import REPLAYS
from tsattn_mini.trace import record


def randn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def rand(*shape, seed=0):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


# Plain loops

def test_pearson_is_the_textbook_sum():
    x, e = 3 * randn(2, 13, 3) + 7, randn(2, 13, 5, seed=1)
    S = pearson(x, e)
    for b in range(2):
        for n in range(3):
            for d in range(5):
                mx, me = sum(x[b, :, n]) / 13, sum(e[b, :, d]) / 13
                cov = sum((x[b, t, n] - mx) * (e[b, t, d] - me) for t in range(13))
                var = sum((x[b, t, n] - mx) ** 2 for t in range(13)) * sum((e[b, t, d] - me) ** 2 for t in range(13))
                assert_close(S[b, n, d], abs(cov) / var.sqrt(), atol=1e-14, rtol=0)


def test_f_compares_two_least_squares_fits():
    lags, x, e = 2, randn(2, 17, 2).cumsum(1), randn(2, 17, 3, seed=1)
    F = f_statistic(x, e, lags)
    for b in range(2):
        for n in range(2):
            for d in range(3):
                own = [[1.0] + [float(x[b, t - k, n]) for k in (1, 2)] for t in range(lags, 17)]
                both = [row + [float(e[b, t - k, d]) for k in (1, 2)] for t, row in enumerate(own, start=lags)]
                y = x[b, lags:, n].numpy()
                rss = [float(np.linalg.lstsq(np.array(X), y)[1][0]) for X in (own, both)]
                want = (rss[0] - rss[1]) / lags / (rss[1] / (17 - 3 * lags - 1))
                assert float(F[b, n, d]) == pytest.approx(want, rel=1e-11)


def test_the_shortcut_is_one_ridge_regression_on_one_lag():
    x, e, lag = randn(2, 11, 2), randn(2, 11, 3, seed=1), 3
    S = ridge_shortcut(x, e, lag, ridge=0.5)
    for b in range(2):
        for n in range(2):
            G, c = torch.zeros(4, 4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
            for t in range(lag, 11):
                row = torch.cat([x[b, t - lag, n:n + 1], e[b, t - lag]])
                G, c = G + torch.outer(row, row), c + row * x[b, t, n]
            want = torch.linalg.solve(G + 0.5 * torch.eye(4, dtype=torch.float64), c)[1:].abs()
            assert_close(S[b, n], want, atol=1e-13, rtol=0)


def test_the_four_norms_by_hand():
    S = torch.tensor([[0.2, 0.8, 0.5], [0.4, 0.4, 0.4], [0.0, 0.0, 0.0]], dtype=torch.float64)
    for norm, rows in {"none": S.tolist(), "max": [[0.25, 1, 0.625], [1, 1, 1], [0, 0, 0]],
                       "minmax": [[0, 1, 0.5], [0.4, 0.4, 0.4], [0, 0, 0]]}.items():
        assert_close(normalise(S, norm), S.new_tensor(rows), atol=1e-15, rtol=0)
    weights = [2.718281828459045 ** float(s) for s in S[0]]
    assert_close(normalise(S, "softmax")[0], S.new_tensor([w / sum(weights) for w in weights]))
    assert NORMS == ("none", "max", "minmax", "softmax")


# A second opinion

@pytest.mark.parametrize(("steps", "lags", "level"), [(14, 4, 0), (40, 1, 100), (168, 4, 1000), (300, 6, 0)])
def test_f_and_p_are_those_of_statsmodels(steps, lags, level):
    x, e = randn(1, steps, 2) + level, randn(1, steps, 2, seed=1).cumsum(1)
    x[:, 2:, 1] += 0.7 * e[:, :-2, 1]
    F, p = granger(x, e, lags)
    for n in range(2):
        for d in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                test = grangercausalitytests(np.stack([x[0, :, n], e[0, :, d]], 1), [lags])
            want_F, want_p, dof, df = test[lags][0]["ssr_ftest"]
            assert (dof, df) == (steps - 3 * lags - 1, lags)
            assert float(F[0, n, d]) == pytest.approx(want_F, rel=1e-8)
            assert float(p[0, n, d]) == pytest.approx(want_p, abs=1e-8)


# Limits

def test_level_unit_and_sign_do_not_matter_to_pearson_and_f():
    x, e = randn(3, 50, 2), randn(3, 50, 2, seed=1)
    for measure in (pearson, f_statistic):
        assert_close(measure(1e-3 * x + 20, -1e3 * e - 7), measure(x, e), rtol=1e-9, atol=1e-11)


def test_a_copy_has_r_one_and_never_more():
    for dtype in (torch.float32, torch.float64):
        x = randn(200, 24, 1).to(dtype)
        S = pearson(x, torch.cat([x, -2.5 * x + 3], -1))
        assert float(S.max()) <= 1
        assert_close(S, torch.ones_like(S), atol=3e-7, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_eps_is_needed_and_the_released_one_hides_small_units(dtype):
    x, e = randn(1, 24, 1).to(dtype), randn(1, 24, 1, seed=1).to(dtype)
    r = pearson(x, e)
    for unit in (1e-30, 1e-10, 1e10, 1e30):
        assert_close(pearson(unit * x, unit * e), r, rtol=1e-5, atol=0)
    assert float(pearson(1e-5 * x, 1e-5 * e, eps=1e-8) / r) < 0.25
    assert_close(pearson(x, e, eps=1e-8), r, rtol=1e-6, atol=0)


def test_a_spread_of_rounding_alone_counts_as_constant():
    e = torch.full((1, 24, 1), 0.1)
    e[0, ::2] += 1e-8
    assert len(e.unique()) == 2
    with pytest.warns(RuntimeWarning, match="series 0 of window 0 is constant"):
        assert float(pearson(randn(1, 24, 1).float(), e)) == 0
    with pytest.raises(ValueError, match="x_exo: expected series that vary"):
        f_statistic(randn(1, 24, 1).float(), e)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_constant_series_has_correlation_zero_and_says_so(value, dtype):
    x, e = randn(2, 24, 2).to(dtype), randn(2, 24, 3, seed=1).to(dtype)
    e[1, :, 2] = value
    with pytest.warns(RuntimeWarning, match=r"x_exo: series 2 of window 1 is constant \(1 such in all\)"):
        S = pearson(x, e)
    assert (S == 0).nonzero().tolist() == [[1, 0, 2], [1, 1, 2]]
    assert bool(torch.isfinite(S).all())


def test_gradients_stay_finite_beside_a_constant_series():
    x, e = randn(1, 9, 1), torch.cat([randn(1, 9, 1, seed=1), torch.ones(1, 9, 1, dtype=torch.float64)], -1)
    x.requires_grad_()
    e.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pearson(x, e).sum().backward()
    assert bool(torch.isfinite(x.grad).all() & torch.isfinite(e.grad).all())


def test_windows_targets_and_drivers_are_independent_of_each_other():
    x, e = randn(3, 40, 2), randn(3, 40, 5, seed=1)
    for measure in (pearson, f_statistic):
        assert_close(measure(x[1:2, :, 1:], e[1:2, :, 3:4])[0, 0, 0], measure(x, e)[1, 1, 3])
    alone, joint = ridge_shortcut(x[1:2, :, 1:], e[1:2, :, 3:4])[0, 0, 0], ridge_shortcut(x, e)[1, 1, 3]
    assert abs(float(alone - joint)) > 1e-3  # one joint regression: the other drivers do matter


def test_f_without_error_is_infinite_or_huge_and_p_zero():
    e = randn(1, 60, 1)
    x = torch.zeros_like(e)
    x[:, 1:] = e[:, :-1]
    F, p = granger(x, e, lags=1)
    assert float(F) > 1e20
    assert float(p) == 0


def test_float32_regressions_are_computed_in_float64():
    x, e = (randn(2, 60, 2).cumsum(1) + 1e4).float(), randn(2, 60, 3, seed=1).cumsum(1).float()
    for measure in (f_statistic, ridge_shortcut):
        assert measure(x, e).dtype == torch.float32
        assert_close(measure(x, e), measure(x.double(), e.double()).float(), rtol=1e-6, atol=0)


def test_every_norm_stays_in_range_at_any_rank_and_keeps_equal_entries_equal():
    for shape in ((7,), (2, 7), (2, 3, 7), (1, 1, 1)):
        S = rand(*shape)
        for norm in NORMS:
            out = normalise(S, norm)
            assert out.shape == S.shape
            assert float(out.min()) >= 0
            assert float(out.max()) <= 1
            equal = normalise(torch.full(shape, 0.3, dtype=torch.float64), norm)
            assert_close(equal, equal[..., :1].expand_as(equal))


def test_a_single_driver_gets_one_from_max_and_softmax_and_itself_from_the_others():
    S = torch.tensor([[[0.02]]])
    assert {norm: round(float(normalise(S, norm)), 6) for norm in NORMS} == {
        "none": 0.02, "max": 1, "minmax": 0.02, "softmax": 1}


def test_the_released_arrays_are_among_those_that_replay_recomputes():
    assert ("ts_benchmark/baselines/kite/models/KITEModel.py", "cal_pearson_martix, cal_granger_matrix") in REPLAYS


def test_steps_are_named():
    x, e = randn(2, 30, 1), randn(2, 30, 3, seed=1)
    for measure, names in ((pearson, ["u_endo", "u_exo", "r", "S"]), (ridge_shortcut, ["G", "b", "S"]),
                           (granger, ["e_own", "RSS_own", "RSS_both", "F", "p"])):
        with record() as trace:
            measure(x, e)
        assert list(trace) == names
    with record() as trace:
        normalise(torch.tensor([[0.2, 0.8]]), "max")
    assert trace["S_norm"].axes == "N D"



# Bad input

@pytest.mark.bad_input
@pytest.mark.parametrize("measure", [pearson, f_statistic, granger, ridge_shortcut])
def test_every_measure_names_what_does_not_fit(measure):
    x, e = randn(2, 30, 1), randn(2, 30, 3)
    for bad_x, bad_e, message in (
            (x, e[:, :29], r"x_exo: expected axes 'B T D' with B=2, T=30, got shape \(2, 29, 3\)"),
            (x, e[:, :, :0], r"x_exo: expected at least one entry along every axis .* got shape \(2, 30, 0\)"),
            (x[:, :, 0], e, r"x_endo: expected axes 'B T N', got shape \(2, 30\)"),
            (x, e.long(), r"x_exo: expected floating-point numbers, got int64"),
            (x.numpy(), e, r"x_endo: expected a tensor with axes 'B T N', got ndarray")):
        with pytest.raises(ValueError, match=message):
            measure(bad_x, bad_e)
    for value in (nan, inf):
        broken = e.clone()
        broken[1, 7, 2] = value
        with pytest.raises(ValueError, match=rf"x_exo: .* got {value} at row 7, column 2 of window 1"):
            measure(x, broken)


@pytest.mark.bad_input
def test_the_f_test_refuses_windows_it_cannot_judge():
    x, e = randn(2, 30, 2), randn(2, 30, 3, seed=1)
    with pytest.raises(ValueError, match=r"x_endo: expected at least 3 · lags \+ 2 = 32 steps, got 30"):
        f_statistic(x, e, lags=10)
    flat = torch.cat([e, torch.full_like(e[..., :1], 0.3)], -1)
    with pytest.raises(ValueError, match=r"x_exo: expected series that vary, got series 3 .* at 0\.3"):
        f_statistic(x, flat)
    with pytest.raises(ValueError, match="x_endo: expected series that vary, got series 3 of window 0 constant"):
        f_statistic(flat, x)
    with pytest.raises(ValueError, match=r"x_exo: expected lags .* got lag 1 of series 0 in window 0, which is one"):
        f_statistic(x[..., :1], 2 * x + 1)
    day = torch.sin(torch.arange(30, dtype=torch.float64) / 4)[None, :, None].expand(2, -1, -1)
    with pytest.raises(ValueError, match="its own past predicts series 0 of window 0 exactly"):
        f_statistic(day, e, lags=2)
    with pytest.raises(ValueError, match=r"x_endo: expected lags .* got lag 3 of series 0 in window 0, which is one"):
        f_statistic(day, e, lags=3)


@pytest.mark.bad_input
@pytest.mark.parametrize("lag", [0, -1, 1.5, True, "4"])
def test_a_lag_is_a_whole_number_of_at_least_one(lag):
    x, e = randn(1, 30, 1), randn(1, 30, 1, seed=1)
    with pytest.raises(ValueError, match=r"lags: expected (a whole number|at least 1), got"):
        f_statistic(x, e, lags=lag)
    with pytest.raises(ValueError, match=r"lag: expected (a whole number|at least 1), got"):
        ridge_shortcut(x, e, lag=lag)


@pytest.mark.bad_input
def test_other_arguments_out_of_range():
    x, e = randn(1, 30, 1), randn(1, 30, 1, seed=1)
    with pytest.raises(ValueError, match="lag: expected fewer than the window's 30 steps, got 30"):
        ridge_shortcut(x, e, lag=30)
    for ridge in (0.0, -1.0, nan):
        with pytest.raises(ValueError, match=r"ridge: expected a (number above 0|finite number)"):
            ridge_shortcut(x, e, ridge=ridge)
    for eps in (-1e-8, nan):
        with pytest.raises(ValueError, match=r"eps: expected a (number of at least 0|finite number)"):
            pearson(x, e, eps=eps)


@pytest.mark.bad_input
def test_a_ridge_that_rounding_swallows_is_refused_where_it_is_needed():
    x, e = randn(1, 30, 1), randn(1, 30, 2, seed=1)
    for drivers in (torch.full((1, 30, 2), 1e6, dtype=e.dtype), e[..., :1].expand(-1, -1, 2) * 1e9):
        with pytest.raises(ValueError, match=r"^x_endo, x_exo: expected independent series, .* got sums up to \d"):
            ridge_shortcut(x, drivers)
    with pytest.raises(ValueError, match=r"^x_endo, x_exo: expected numbers .* range of float64, got an overflow"):
        ridge_shortcut(x, 1e200 * e)
    still = torch.cat([1e6 * e, torch.zeros_like(x)], -1)  # independent, and zeros: nothing is lost
    assert ridge_shortcut(x, still)[..., 2].item() == 0
    assert_close(1e6 * ridge_shortcut(x, still)[..., :2], ridge_shortcut(x, e, ridge=1e-9), rtol=1e-5, atol=0)


@pytest.mark.bad_input
def test_normalise_names_what_does_not_fit():
    S = torch.tensor([[0.2, 1.5]])
    with pytest.raises(ValueError, match=r"norm: expected one of 'none', 'max', 'minmax', 'softmax', got 'l2'"):
        normalise(S, "l2")
    with pytest.raises(ValueError, match=r"S: expected entries between 0 and 1, .* got 1\.5 at index \(0, 1\)"):
        normalise(S, "none")
    for norm in NORMS:
        with pytest.raises(ValueError, match=r"S: expected entries .* got -0\.5 at index \(0, 0\)"):
            normalise(torch.tensor([[-0.5, 0.5]]), norm)
        with pytest.raises(ValueError, match=r"S: expected finite numbers, got nan at index \(0, 1\)"):
            normalise(torch.tensor([[0.5, nan]]), norm)
        with pytest.raises(ValueError, match="S: expected at least one entry along every axis"):
            normalise(torch.zeros(1, 1, 0), norm)
