"""The whole forecaster: limits of guidance, N > 1, a horizon of 1, batches, what it is told, the loss."""

import math

import pytest
import torch
from torch.testing import assert_close

from tsattn_mini.kite.flow import flow_loss
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.prior import NORMS, pearson
from tsattn_mini.kite.window import standardise
from tsattn_mini.trace import record

SIZES = {"T": 11, "F": 5, "D": 3}


def model(**options):
    torch.manual_seed(0)
    net = KITE(**{**SIZES, "M": 8, "H": 2, "source": {"rank": 2}, **options}).double().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return net


def windows(net, B=2, N=1, seed=1, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    draw = lambda *shape: 3 * torch.randn(*shape, generator=g, dtype=dtype) + 7  # noqa: E731
    return draw(B, net.T, N), draw(B, net.T, net.D), draw(B, net.F, net.D) if net.field.future else None


def draws(net, rows, seed=2):
    z, eps = net.source.draw(rows, torch.Generator().manual_seed(seed))
    return {"z": z, "eps": eps}


@torch.no_grad()
def sample(net, x, **given):
    return net.sample(*x, **given)


# Guidance


def test_omega_0_knows_nothing_of_the_exogenous_series_bit_by_bit():
    net = model()
    x_endo, x_exo, y_exo = windows(net)
    given = {"n_samples": 3, **draws(net, 6)}
    alone = sample(net, (x_endo, x_exo, y_exo), omega=0.0, **given)
    assert torch.equal(alone, sample(net, (x_endo, x_exo.flip(1) ** 2, -y_exo), omega=0.0, **given))
    told = sample(net, (x_endo, x_exo, y_exo), omega=1.0, **given)
    assert float((alone - told).abs().max()) > 1e-2


@pytest.mark.parametrize("omega", [0.0, 1.0])
def test_a_number_and_a_tensor_give_the_same_at_both_ends(omega):
    net = model()
    x, given = windows(net), {"n_samples": 2, **draws(net, 4)}
    assert_close(sample(net, x, omega=omega, **given), sample(net, x, omega=torch.tensor(omega), **given))


def test_the_branch_that_does_not_count_is_left_out():
    """The released code evaluates both at ω = 1, twice the work for nothing."""
    net = model()
    for omega, rows in ((0.0, 2), (1.0, 2), (1.2, 4)):
        with record() as trace:
            sample(net, windows(net), omega=omega, steps=2, n_samples=1)
        assert {len(s.tensor) for name, s in trace.items() if name.endswith("head/v")} == {rows}


def test_omega_extrapolates_along_one_line_and_may_be_negative():
    net = model()
    x, given = windows(net), {"n_samples": 2, "steps": 1, **draws(net, 4)}
    v = {w: sample(net, x, omega=w, **given) for w in (-1.0, 0.0, 1.0, 2.4)}
    assert_close(v[2.4], v[0.0] + 2.4 * (v[1.0] - v[0.0]))
    assert_close(v[-1.0], v[0.0] - (v[1.0] - v[0.0]))


# Shapes


@pytest.mark.parametrize("future", [True, False])
def test_several_series_are_forecast_like_each_alone(future):
    """The released code fails for N = 3 with a mismatch, as it does not repeat the exogenous series."""
    net = model(future=future)
    x_endo, x_exo, y_exo = windows(net, B=2, N=3)
    given = draws(net, 2 * 3 * 4)
    together = sample(net, (x_endo, x_exo, y_exo), n_samples=4, omega=1.3, **given)
    assert together.shape == (2, 4, 5, 3)
    for n in range(3):
        own = {k: v.reshape(2, 3, 4, -1)[:, n].flatten(0, 1) for k, v in given.items()}
        alone = sample(net, (x_endo[..., n:n + 1], x_exo, y_exo), n_samples=4, omega=1.3, **own)
        assert_close(together[..., n:n + 1], alone)


def test_a_window_is_forecast_alone_as_in_a_batch():
    net = model()
    x, given = windows(net, B=5), draws(net, 10)
    together = sample(net, x, n_samples=2, **given)
    for b in range(5):
        own = {k: v[2 * b:2 * b + 2] for k, v in given.items()}
        assert_close(sample(net, [part[b:b + 1] for part in x], n_samples=2, **own), together[b:b + 1])


def test_a_horizon_of_one_has_no_nan():
    net = model(F=1)
    x = windows(net)
    assert bool(sample(net, x).isfinite().all())
    loss = net.train().loss(*x, torch.ones(2, 1, 1, dtype=torch.float64))
    loss.backward()
    assert all(bool(p.grad.isfinite().all()) for p in net.parameters())


def test_a_forecast_of_a_scaled_and_shifted_window_is_scaled_and_shifted():
    net = model()
    (x_endo, x_exo, y_exo), given = windows(net), {"n_samples": 2, **draws(net, 4)}
    assert_close(sample(net, (100 * x_endo - 5, x_exo, y_exo), **given),
                 100 * sample(net, (x_endo, x_exo, y_exo), **given) - 5, rtol=1e-4, atol=1e-4)


def test_mean_and_median_over_the_trajectories():
    net = model()
    x, given = windows(net), {"n_samples": 5, **draws(net, 10)}
    samples = sample(net, x, **given)
    with torch.no_grad():
        assert_close(net(*x, point="mean", **given), samples.mean(1))
        assert_close(net(*x, point="median", **given), samples.median(1).values)


def test_constant_series_are_forecast_finite_and_said():
    net = model()
    x_endo, x_exo, y_exo = windows(net)
    with pytest.warns(RuntimeWarning, match="x_exo: series 1 of window 0 is constant"):
        one = sample(net, (x_endo, x_exo * torch.tensor([1.0, 0.0, 1.0]), y_exo * torch.tensor([1.0, 0.0, 1.0])))
    with pytest.warns(RuntimeWarning, match="x_endo: series 0 of window 0 is constant"):
        two = sample(net, (torch.full_like(x_endo, 1e4), x_exo, y_exo))
    assert bool(one.isfinite().all())
    assert float((two - 1e4).abs().max()) < 1


# What it is told


def test_windows_are_standardised_by_hand():
    x = torch.tensor([[[1.0], [2.0], [6.0]]], dtype=torch.float64)
    x_norm, mu, sigma = standardise(x)
    assert float(mu) == 3
    assert float(sigma) == pytest.approx(math.sqrt((4 + 1 + 9) / 2 + 1e-5))
    assert_close(x_norm[0, :, 0], torch.tensor([-2.0, -1.0, 3.0], dtype=torch.float64) / sigma[0, 0, 0])


def test_exogenous_futures_are_measured_by_their_own_past():
    net = model()
    x_endo, x_exo, y_exo = windows(net)
    ahead = net.prepare(x_endo, x_exo, y_exo).condition.y_exo
    assert_close(ahead, ((y_exo - x_exo.mean(1, keepdim=True)) / (x_exo.var(1, keepdim=True) + 1e-5).sqrt()).mT)


@pytest.mark.parametrize("norm", NORMS)
def test_the_prior_is_that_of_the_window_unless_one_is_given(norm):
    net = model(norm=norm)
    x = windows(net, N=2)
    S = pearson(x[0], x[1])
    given = {"n_samples": 2, **draws(net, 8)}
    assert_close(sample(net, x, S=S, **given), sample(net, x, **given), rtol=1e-4, atol=1e-4)
    assert float((sample(net, x, S=S.flip(-1), **given) - sample(net, x, **given)).abs().max()) > 1e-3


def test_untold_rows_see_zeros_and_the_softmax_makes_a_uniform_prior_of_them():
    net = model(norm="softmax")
    w = net.prepare(*windows(net))
    untold = net.normalised(w.condition.times(0.0))
    assert_close(untold.S, torch.full((2, 1, 3), 1 / 3, dtype=torch.float64))
    assert float(untold.x_exo.abs().max()) == float(untold.y_exo.abs().max()) == 0


def test_in_training_rows_are_untold_one_by_one_or_a_batch_at_a_time():
    torch.manual_seed(3)
    each, all_ = model(p_uncond=0.3).train(), model(p_uncond=0.3, one_coin=True).train()
    assert 0.6 < float(torch.cat([each.coins(100) for _ in range(9)]).mean()) < 0.8
    batches = [all_.coins(100) for _ in range(40)]
    assert all(len(b.unique()) == 1 for b in batches)
    assert {float(b[0, 0, 0]) for b in batches} == {0.0, 1.0}
    assert all_.source.one_coin
    assert_close(each.eval().coins(4), torch.ones(4, 1, 1, dtype=torch.float64))


# The loss


@pytest.mark.parametrize("kind", ["l2", "l1"])
def test_the_loss_is_the_flow_plus_a_tenth_of_the_coverage(kind):
    net = model(loss=kind)
    x, N = windows(net, N=2), 2
    y = 3 * torch.randn(2, 5, N, dtype=torch.float64)
    given = {"s": torch.tensor([0.0, 0.3, 0.6, 1.0], dtype=torch.float64), **draws(net, 4)}
    with torch.no_grad(), record() as trace:
        loss = net.loss(*x, y, **given)
    with torch.no_grad():
        w = net.prepare(*x)
        rows = torch.stack([y[b, :, n] for b in range(2) for n in range(N)])
        y0, mu, sigma = net.source((torch.stack([x[0][b, :, n] for b in range(2) for n in range(N)]) - w.mu) / w.sigma,
                                   given["z"], given["eps"])
        target = (rows - w.mu) / w.sigma
        v = trace["flow/net/head/v"].tensor
        var = sigma**2 + 1e-6
        nll = (0.5 * var.log() + 0.5 * (target - mu) ** 2 / var).mean()
    assert_close(loss, flow_loss(v, y0, target, kind) + 0.1 * nll)


def test_untold_rows_give_the_exogenous_series_no_gradient():
    net = model()
    x_endo, x_exo, y_exo = windows(net)
    y_exo.requires_grad_()
    told = torch.tensor([1.0, 0.0], dtype=torch.float64)[:, None, None]
    net.loss(x_endo, x_exo, y_exo, torch.ones(2, 5, 1, dtype=torch.float64), told=told).backward()
    assert float(y_exo.grad[0].abs().max()) > 0
    assert float(y_exo.grad[1].abs().max()) == 0


def test_every_parameter_learns_from_the_loss():
    net = model()
    net.loss(*windows(net), torch.ones(2, 5, 1, dtype=torch.float64)).backward()
    assert [n for n, p in net.named_parameters() if p.grad is None or not float(p.grad.abs().max()) > 0] == []


def test_it_learns_a_distribution_it_can_know():
    """The future is the driver's future with a spread: after training, samples move with the driver."""
    torch.manual_seed(4)
    net = KITE(6, 2, 1, M=16, H=2, depth=1, source={"rank": 2})
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    x_endo, x_exo, y_exo = torch.randn(256, 6, 1), torch.randn(256, 6, 1), torch.randn(256, 2, 1)
    y = 0.8 * y_exo + 0.1 * torch.randn(256, 2, 1)
    for _ in range(100):
        optimiser.zero_grad()
        net.loss(x_endo, x_exo, y_exo, y).backward()
        optimiser.step()
    with torch.no_grad():
        told, untold = (net.eval()(x_endo, x_exo, y_exo, omega=w) for w in (1.0, 0.0))
    assert float((told - y).square().mean()) < 0.6 * float((untold - y).square().mean())
