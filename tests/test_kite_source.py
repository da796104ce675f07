"""The history source: each form of the noise by plain loops, its limits, its gradients, and what it refuses."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from tsattn_mini.kite.source import FORMS, HistorySource, coverage, mix_noise
from tsattn_mini.trace import record


def source(T=7, F=5, rank=3, **options):
    torch.manual_seed(0)
    net = HistorySource(T, F, rank, **options).double().eval()
    with torch.no_grad():
        net.mix.fill_(0.4)
        net.M.mul_(1.3)
    return net


def draws(net, rows, seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(rows, net.T, generator=g, dtype=torch.float64), *net.draw(rows, g)


def by_loops(net, x, z, eps, keep):
    """Y₀ of one row, number by number."""
    size = math.sqrt(sum(float(m) ** 2 for m in net.M.flatten()))
    alpha = net.structure_max / (1 + math.exp(-float(net.mix))) * keep
    Mz = [sum(float(net.M[f, r]) * float(z[r]) for r in range(net.rank)) for f in range(net.F)]

    def deviation(v):
        mean = sum(v) / len(v)
        return math.sqrt(sum((a - mean) ** 2 for a in v) / (len(v) - 1))

    if net.form == "released":
        divisor, final = deviation(Mz) + 1e-6, None
    elif net.form == "paper":
        divisor, final = math.sqrt(sum(a * a for a in Mz)), 1.0
    else:
        divisor, final = size / math.sqrt(net.F), math.sqrt(alpha**2 + (1 - alpha) ** 2)
    mixed = [alpha * a / divisor + (1 - alpha) * float(e) for a, e in zip(Mz, eps, strict=True)]
    final = deviation(mixed) + 1e-6 if final is None else final
    mu, sigma = net.barycentre(x), math.log1p(math.exp(float(net.spread(x)))) + net.sigma_min
    return [float(m) + sigma * d / final for m, d in zip(mu, mixed, strict=True)]


@torch.no_grad()
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("hidden", [0, 11])
def test_a_starting_point_number_by_number(form, hidden):
    net = source(form=form, hidden=hidden)
    x, z, eps = draws(net, 2)
    keep = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    y0, mu, _ = net(x, z, eps, keep)
    assert_close(y0, torch.tensor([by_loops(net, x[b], z[b], eps[b], float(keep[b])) for b in range(2)],
                                  dtype=torch.float64))
    assert_close(mu, net.barycentre(x))


def test_the_unit_form_has_variance_one_whatever_the_share_of_structure():
    for F, rank in ((24, 8), (24, 64), (1, 1), (2, 1)):
        net = source(F=F, rank=rank)
        z, eps = net.draw(40000, torch.Generator().manual_seed(2))
        for alpha in (0.0, 0.45, 1.0):
            delta = mix_noise(z @ net.M.T, eps, torch.full((len(z), 1), alpha), net.M.norm())
            assert float(delta.detach().square().mean()) == pytest.approx(1, abs=0.03)


def test_the_paper_form_shrinks_claim_hcm():
    """rms 0.56 at α = 0.45 and F = 24: the structured part has length 1, not variance 1."""
    net = source(F=24, rank=8)
    z, eps = net.draw(20000, torch.Generator().manual_seed(3))
    delta = mix_noise(z @ net.M.T, eps, torch.full((len(z), 1), 0.45), net.M.norm(), "paper").detach()
    assert float(delta.square().mean().sqrt()) == pytest.approx(0.56, abs=0.005)
    assert float(delta.square().mean()) == pytest.approx(0.45**2 / 24 + 0.55**2, abs=0.005)


def test_the_released_form_gives_every_draw_the_same_deviation():
    net = source(F=24, rank=8)
    z, eps = net.draw(50, torch.Generator().manual_seed(4))
    delta = mix_noise(z @ net.M.T, eps, torch.full((len(z), 1), 0.45), net.M.norm(), "released")
    assert_close(delta.std(-1), torch.ones(50, dtype=torch.float64), atol=1e-5, rtol=0)


@pytest.mark.parametrize("form", ["unit", "paper", "released"])
def test_a_structured_draw_of_any_size_is_a_draw_of_its_own_size(form):
    Mz, eps, alpha = torch.tensor([[3.0, -4.0]]), torch.tensor([[1.0, 2.0]]), torch.tensor([[0.5]])
    sizes = [1e-30, 1.0, 1e37] if form != "released" else [1.0, 1e18]  # which adds 10⁻⁶ to a deviation
    drawn = [mix_noise(size * Mz, eps, alpha, torch.tensor(5 * size), form) for size in sizes]
    for delta in drawn[1:]:
        assert_close(delta, drawn[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("spoilt", "message"), [
    ({"alpha": torch.tensor([[1e30]])}, "alpha: expected shares between 0 and 1, got 1e+30 to 1e+30"),
    ({"size": torch.tensor(-1.0)}, "size: expected a length of at least 0, got -1"),
    ({"size": torch.tensor(1e-45)}, "Mz, eps, size: expected numbers that stay within the range of float32"),
    ({"Mz": torch.tensor([[3e38, -3e38]]), "form": "released"}, "Mz: expected numbers that stay"),
    ({"eps": torch.tensor([[3e38, -3e38]]), "alpha": torch.zeros(1, 1), "form": "released"}, "eps: expected numbers"),
])
def test_a_mix_that_is_no_number_or_no_mix_is_refused(spoilt, message):
    given = {"Mz": torch.tensor([[3.0, -4.0]]), "eps": torch.tensor([[1.0, 2.0]]), "alpha": torch.tensor([[0.5]]),
             "size": torch.tensor(5.0)}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        mix_noise(**{**given, **spoilt})


def test_at_the_start_the_scale_is_that_of_the_released_code():
    """softplus(-2.5) + 0.15 = 0.229 where the last layer adds nothing, and α = 0.45."""
    net = HistorySource(7, 5)
    torch.nn.init.zeros_(net.spread[-1].weight)
    with record() as trace:
        net.eval()(torch.randn(2, 7), *net.draw(2))
    assert_close(trace["sigma_h"].tensor, torch.full((2, 1), 0.2289), atol=1e-4, rtol=0)
    assert_close(trace["alpha"].tensor, torch.full((2, 1), 0.45))


def test_the_directions_start_orthonormal():
    assert_close(source().M.T @ source().M / 1.69, torch.eye(3, dtype=torch.float64), atol=1e-6, rtol=0)
    wide = HistorySource(7, 5, rank=8)
    assert_close(wide.M @ wide.M.T, torch.eye(5), atol=1e-6, rtol=0)


def test_in_training_structure_is_dropped_row_by_row_or_for_a_whole_batch():
    torch.manual_seed(5)
    each, all_ = source(), source(one_coin=True)
    assert_close(each.coins(9), torch.ones(9, 1, dtype=torch.float64))
    share = torch.cat([each.train().coins(100) for _ in range(20)])
    assert set(share.unique().tolist()) == {0.0, 1.0}
    assert 0.75 < float(share.mean()) < 0.85
    batches = [all_.train().coins(100) for _ in range(40)]
    assert all(len(b.unique()) == 1 for b in batches)
    assert {float(b[0]) for b in batches} == {0.0, 1.0}


def test_the_likelihood_is_smallest_where_the_scale_is_the_miss_and_leaves_the_barycentre_alone():
    mu = torch.zeros(1, 1, dtype=torch.float64, requires_grad=True)
    sigma = torch.linspace(0.1, 2, 191, dtype=torch.float64)[:, None].requires_grad_()
    nll = coverage(torch.full((191, 1), 0.7, dtype=torch.float64), mu.expand(191, 1), sigma)
    assert float(sigma[nll.argmin()].detach()) == pytest.approx(0.7, abs=0.011)
    nll.sum().backward()
    assert mu.grad is None
    assert float(sigma.grad.abs().max()) > 1


def test_every_parameter_learns():
    net = source().train()
    x, z, eps = draws(net, 4)
    y0, _, sigma = net(x, z, eps, torch.ones(4, 1, dtype=torch.float64))
    (y0.square().sum() + sigma.sum()).backward()
    assert all(float(p.grad.abs().max()) > 0 for p in net.parameters())


def test_a_constant_past_and_an_empty_structured_draw_are_no_problem():
    for form in FORMS:
        net = source(form=form)
        y0, _, _ = net(torch.zeros(2, 7).double(), torch.zeros(2, 3).double(), draws(net, 2)[2])
        assert bool(y0.isfinite().all())


@pytest.mark.bad_input
@pytest.mark.parametrize(("options", "message"), [
    ({"T": 0}, "T: expected at least 1, got 0"), ({"rank": 0}, "rank: expected at least 1, got 0"),
    ({"sigma_min": 0.0}, "sigma_min: expected a positive number, got 0"),
    ({"dropout": 1.5}, "dropout: expected a share between 0 and 1, got 1.5"),
    ({"form": "own"}, r"form: expected one of \('unit', 'released', 'paper'\), got 'own'"),
    ({"F": 1, "form": "released"}, "form: 'released' divides by a deviation over the horizon.*got 1; take 'unit'"),
])
def test_a_source_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        HistorySource(**{"T": 7, "F": 5, **options})


@pytest.mark.bad_input
def test_draws_of_another_shape_and_numbers_that_are_none_are_refused():
    net = source()
    x, z, eps = draws(net, 2)
    with pytest.raises(ValueError, match="z: expected axes 'B 3' with B=2, got shape"):
        net(x, z[:1], eps)
    with pytest.raises(ValueError, match="eps: expected finite numbers, got nan"):
        net(x, z, eps / 0 * 0)
