"""Claims of lesson 10 about the flow and its source: sentences of the notes, each true or false by a number."""

import math

import pytest
import torch

from tsattn_mini import record
from tsattn_mini.datasets import load_bikes
from tsattn_mini.kite import exact
from tsattn_mini.kite.conditioning import KnowledgeGuidedConditioning
from tsattn_mini.kite.flow import euler, flow_loss
from tsattn_mini.kite.source import HistorySource, coverage, mix_noise

QUANTILES = torch.special.ndtri((torch.arange(2000, dtype=torch.float64) + 0.5) / 2000)
T, F = 48, 24


def t(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def orthogonal(rank):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.init.orthogonal_(torch.empty(F, rank, dtype=torch.float64))


def draws(rows, rank):
    g = torch.Generator().manual_seed(1)
    z, eps = (torch.randn(rows, n, generator=g, dtype=torch.float64) for n in (rank, F))
    return z @ orthogonal(rank).T, eps


def spread(K, source=1.0, target=0.3):
    pair = euler(lambda y, s: exact.gaussian_velocity(y, s, (2.0, target), (0.0, source)), t(0, source), K)
    return float(pair[1] - pair[0])


@pytest.mark.parametrize(("source", "target", "end"), [
    (1.0, 1.0, 1.25), (1.0, 0.1, 0.31), (0.15, 0.1, 1.01), (0.3, 1.0, 2.12), (0.1, 1.0, 3.08)])
def test_claim_57_errors_snowball_only_out_of_a_narrow_source(source, target, end):
    assert float(exact.error_growth(t(source), t(target))) == pytest.approx(end, abs=5e-3)
    carried = euler(lambda y, s: exact.gaussian_velocity(y, s, (0.0, target), (0.0, source)) + 1, t(0), 1000)
    assert carried.item() == pytest.approx(end, abs=1.5e-2)


@pytest.mark.parametrize(("s", "times"), [(0.0, 10.0), (0.25, 3.83), (0.5, 1.99), (0.75, 1.33), (1.0, 1.0)])
def test_claim_57_an_error_out_of_a_source_ten_times_too_narrow_grows_as_the_cloud_does(s, times):
    assert 1 / math.hypot(s, (1 - s) * 0.1) == pytest.approx(times, abs=5e-3)
    velocity = lambda y, s: exact.gaussian_velocity(y, s, (0.0, 1.0), (0.0, 0.1))  # noqa: E731
    low, high = exact.watch(velocity, t(0, 1), 1000, at_most=1000, points=5)
    gap = high - low
    assert float(gap[-1] / gap[int(4 * s)]) == pytest.approx(times, rel=1e-2)


@pytest.mark.parametrize(("source", "end"), [(0.1, 2.56), (10.0, 0.26)])
def test_claim_57_ten_steps_carry_an_error_to_256_and_26(source, end):
    carried = euler(lambda y, s: exact.gaussian_velocity(y, s, (0.0, 1.0), (0.0, source)) + 1, t(0), 10)
    assert carried.item() == pytest.approx(end, abs=5e-3)


def test_claim_79_the_source_is_drawn_once_and_covariates_enter_every_velocity():
    torch.manual_seed(3)
    kgc = KnowledgeGuidedConditioning(T=6, F=4, d=3).double()
    y0, S = (torch.rand(1, 2, n, dtype=torch.float64) for n in (4, 3))
    traces = []
    for seed in (0, 1):
        X = torch.randn(1, 3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad(), record() as trace:
            euler(lambda y, s, X=X: torch.tanh(kgc(y, X, S)), y0, 2)
        traces.append(trace)
    for i in (0, 1):
        assert (traces[0][f"ode{i}/Y_tilde"].tensor - traces[1][f"ode{i}/Y_tilde"].tensor).abs().max() > 0.05
    source = HistorySource(6, 4).double()
    assert "x_exo" not in source.forward.__annotations__


def test_claim_80_the_conditioned_state_feeds_the_velocity_and_never_replaces_the_state():
    torch.manual_seed(3)
    kgc = KnowledgeGuidedConditioning(T=6, F=4, d=3).double()
    y0, X, S = (torch.randn(1, n, m, dtype=torch.float64) for n, m in ((2, 4), (3, 6), (2, 3)))
    with torch.no_grad(), record() as trace:
        euler(lambda y, s: torch.tanh(kgc(y, X, S.sigmoid())), y0, 2)
    tilde, state = trace["ode0/Y_tilde"].tensor, trace["ode0/Y"].tensor
    assert (state - y0 - tilde.tanh() / 2).abs().max() < 1e-14
    assert (state - tilde).abs().max() > 0.1


@pytest.mark.parametrize(("p", "kind", "share"), [
    (0.7, "l2", 0.7), (0.7, "l1", 0.9), (0.55, "l2", 0.55), (0.55, "l1", 0.75)])
def test_of_20_particles_in_ten_steps_the_mean_keeps_the_share_and_the_median_does_not(p, kind, share):
    starts = torch.special.ndtri((torch.arange(20, dtype=torch.float64) + 0.5) / 20)
    end = euler(lambda y, s: exact.two_point_velocity(y, s, p, kind), starts, 10)
    assert (end > 0).double().mean().item() == pytest.approx(share)
    once = euler(lambda y, s: exact.two_point_velocity(y, s, p, kind), starts, 1)
    torch.testing.assert_close(once, torch.full_like(once, 2 * p - 1 if kind == "l2" else 1.0))


def test_the_squared_error_is_smallest_at_2_33_and_the_absolute_one_at_4():
    u, grid = t(4, 4, -1), torch.linspace(-2, 5, 701, dtype=torch.float64)
    best = {kind: grid[torch.stack([flow_loss(v.expand(3), 0 * u, u, kind) for v in grid]).argmin()].item()
            for kind in ("l2", "l1")}
    assert best == {"l2": pytest.approx(7 / 3, abs=6e-3), "l1": pytest.approx(4)}


@pytest.mark.parametrize(("p", "l1"), [(0.6, 0.816), (0.7, 0.904)])
def test_the_l1_flow_sharpens_two_points_where_l2_keeps_their_shares(p, l1):
    assert float(exact.two_point_share(p)) == pytest.approx(l1, abs=5e-4)
    keeps = euler(lambda y, s: exact.mixture_velocity(y, s, t(1 - p, p), t(-1, 1), t(0, 0)), QUANTILES, 300)
    sharpens = euler(lambda y, s: exact.two_point_velocity(y, s, p, "l1"), QUANTILES, 300)
    assert (keeps > 0).double().mean().item() == pytest.approx(p, abs=3e-3)
    assert (sharpens > 0).double().mean().item() == pytest.approx(l1, abs=3e-3)


@pytest.mark.parametrize(("kind", "K", "mean", "std"), [
    ("l2", 1000, 0.999, 0.997), ("l1", 20, 0.771, 0.827), ("l1", 1000, 0.794, 0.898)])
def test_the_l1_flow_shortens_an_exponential_to_mean_79_std_90(kind, K, mean, std):
    end = euler(lambda y, s: exact.exponential_velocity(y, s, kind), QUANTILES, K)
    assert end.mean().item() == pytest.approx(mean, abs=1e-3)
    assert end.std().item() == pytest.approx(std, abs=1e-3)


def test_euler_spread_10_steps_247_5_steps_200_1_step_0():
    assert [round(spread(K), 3) for K in (1, 2, 5, 10)] == [0.0, 0.083, 0.2, 0.247]
    assert 1 - spread(10) / 0.3 == pytest.approx(0.18, abs=5e-3)
    assert spread(10, source=0.3) == pytest.approx(0.264, abs=5e-4)


def test_a_source_of_the_right_width_loses_least_and_too_wide_as_much_as_too_narrow():
    kept = {r: spread(10, r, 1.0) for r in (0.1, 0.3, 0.8, 1.0, 1.25, 3.0, 10.0)}
    assert max(kept, key=kept.get) == 1.0
    assert kept[1.0] == pytest.approx(0.879, abs=5e-4)
    assert kept[10.0] == pytest.approx(kept[0.1])
    assert kept[10.0] == pytest.approx(0.617, abs=5e-4)


def test_rank_64_in_24_dimensions_is_isotropic_with_eigenvalues_98_to_102_over_draws():
    M = orthogonal(64)
    torch.testing.assert_close(F * M @ M.T / M.square().sum(), torch.eye(F, dtype=torch.float64))
    Mz, _ = draws(300_000, 64)
    values = torch.linalg.eigvalsh(Mz.T @ Mz / len(Mz))
    assert float((values - 1).abs().max()) < 0.02


def test_the_released_division_leaves_23_directions_alike_and_favours_a_constant_shift():
    Mz, eps = draws(100_000, 64)
    delta = mix_noise(Mz, eps, t(0.45).expand(100_000, 1), orthogonal(64).norm(), "released")
    values, directions = torch.linalg.eigh(delta.T @ delta / len(delta))
    assert float((values[:-1] - 1).abs().max()) < 0.04
    assert float(values[-1]) == pytest.approx(1.12, abs=0.02)
    assert float(directions[:, -1].sum().abs()) / math.sqrt(F) > 0.95


def test_rank_8_is_8_of_24_directions():
    M = orthogonal(8)
    structured = F * M @ M.T / M.square().sum()
    assert int((torch.linalg.eigvalsh(structured) > 1e-9).sum()) == 8
    mixed = (0.45 ** 2 * structured + 0.55 ** 2 * torch.eye(F)) / (0.45 ** 2 + 0.55 ** 2)
    values = torch.linalg.eigvalsh(mixed)
    assert values[[0, 15, 16, 23]].tolist() == pytest.approx([0.599, 0.599, 1.802, 1.802], abs=5e-4)


@pytest.mark.parametrize(("form", "rms"), [("unit", 1.0), ("released", 1.0), ("paper", 0.558)])
def test_the_papers_mix_shrinks_to_558_and_the_others_keep_1(form, rms):
    Mz, eps = draws(40_000, 8)
    delta = mix_noise(Mz, eps, t(0.45).expand(40_000, 1), orthogonal(8).norm(), form)
    assert delta.square().mean().sqrt().item() == pytest.approx(rms, abs=2.5e-2)
    assert math.sqrt(0.45 ** 2 / F + 0.55 ** 2) == pytest.approx(0.558, abs=5e-4)


def test_sigma_h_and_alpha_start_at_229_and_45():
    source = HistorySource(T, F).double()
    torch.nn.init.zeros_(source.spread[-1].weight)
    with record() as trace:
        source(torch.randn(2, T, dtype=torch.float64), *source.draw(2), keep=torch.ones(2, 1, dtype=torch.float64))
    assert trace["sigma_h"].tensor[0].item() == pytest.approx(0.229, abs=5e-4)
    assert trace["alpha"].tensor[0].item() == pytest.approx(0.45)


def test_the_first_guess_beats_yesterday_and_two_directions_hold_four_fifths_of_its_misses():
    rides = load_bikes().tensor(["rentals"], dtype=torch.float64)[:, 0]

    def windows(days):
        x = rides[24 * days[:, None] + torch.arange(T + F)]
        return ((x - x[:, :T].mean(1, keepdim=True)) / x[:, :T].std(1, keepdim=True)).split((T, F), dim=1)

    past, ahead = windows(torch.arange(240))
    one = torch.cat([past, torch.ones(240, 1)], dim=1)
    W = torch.linalg.solve(one.T @ one + torch.eye(T + 1), one.T @ ahead)
    miss = ahead - one @ W
    variance = torch.linalg.eigvalsh(miss.T @ miss).flip(0)
    assert (variance.cumsum(0) / variance.sum())[[0, 1, 7]].tolist() == pytest.approx([0.45, 0.80, 0.95], abs=6e-3)
    x, y = windows(torch.arange(240, 362))
    mu = x @ W[:T] + W[T]
    rms = (y - mu).square().mean().sqrt()
    assert rms.item() == pytest.approx(0.585, abs=1e-3)
    assert (y - x[:, T - F:]).square().mean().sqrt().item() == pytest.approx(0.783, abs=1e-3)
    nll = {w: coverage(y, mu, torch.full((122, 1), w, dtype=torch.float64)).mean().item()
           for w in (0.5, float(rms), 0.7)}
    assert min(nll, key=nll.get) == float(rms)
