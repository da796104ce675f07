"""The router of DUET: which experts a window gets, with what weight, and what an uneven load costs."""

import math

import pytest
import torch
from forecasters import build, draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.duet.router import Router, first, squared_variation

SIZES = {"T": 11, "N": 5, "k": 3, "hidden": 7}


def traced(router, *args):
    with torch.no_grad(), record() as trace:
        router(*args)
    return {name: s.tensor for name, s in trace.items()}


def mixing(seed=0, **sizes):
    """A router whose W_h is not the identity."""
    router = build(Router, seed=seed, **{**SIZES, **sizes})
    with torch.no_grad():
        router.W_h += 0.5 * draw(router.N, router.N, seed=seed + 1)
    return router


def loops(router, x, noise):
    """Gates, load and balance once more, one window and one expert after the other."""
    B, V, T = x.shape
    N, k = router.N, router.k
    weights = [(net.up.weight.detach(), net.down.weight.detach()) for net in (router.scores, router.spread)]
    W_h = router.W_h.detach()
    gates, load = torch.zeros(B, V, N, dtype=x.dtype), torch.zeros(N, dtype=x.dtype)
    for b in range(B):
        for v in range(V):
            both = []
            for up, down in weights:
                hidden = [max(0.0, float(sum(up[h, t] * x[b, v, t] for t in range(T)))) for h in range(len(up))]
                both.append([float(sum(down[n, h] * hidden[h] for h in range(len(up)))) for n in range(N)])
            spread = [math.log1p(math.exp(s)) + 0.01 for s in both[1]]
            raw = both[0] if noise is None else [s + float(noise[b, v, n]) * spread[n] for n, s in enumerate(both[0])]
            mix = lambda row: [float(sum(row[m] * W_h[m, n] for m in range(N))) for n in range(N)]  # noqa: E731
            scores = mix(raw)
            order = sorted(range(N), key=lambda n: -scores[n])
            total = sum(math.exp(scores[n]) for n in order[:k])
            for n in order[:k]:
                gates[b, v, n] = math.exp(scores[n]) / total
            for n in range(N):
                if noise is None or k == N:
                    load[n] += n in order[:k]
                    continue
                others = sorted((scores[m] for m in range(N) if m != n), reverse=True)
                width = math.sqrt(sum((spread[m] * float(W_h[m, n])) ** 2 for m in range(N)))
                load[n] += 0.5 * (1 + math.erf((mix(both[0])[n] - others[k - 1]) / width / math.sqrt(2)))
    balance = 0.0
    for shares in (gates.sum((0, 1)).tolist(), load.tolist()):
        mean = sum(shares) / N
        if N > 1:
            balance += sum((s - mean) ** 2 for s in shares) / (N - 1) / (mean**2 + 1e-10)
    return gates, load, torch.tensor(balance, dtype=x.dtype)


@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_router_is_what_the_loops_say(noisy, k):
    router, x = mixing(k=k), draw(2, 3, 11) * 2
    noise = draw(2, 3, 5, seed=3) if noisy else None
    gates, load, balance = loops(router, x, noise)
    got = traced(router, x, noise)
    assert_close(got["gates"], gates, atol=1e-12, rtol=1e-10)
    assert_close(got["load"].double(), load, atol=1e-10, rtol=1e-10)
    assert_close(got["balance"], balance, atol=1e-7, rtol=1e-6, check_dtype=False)  # counts are squared in float32


def test_with_every_expert_the_gates_are_the_softmax():
    router, x = mixing(k=5), draw(2, 3, 11)
    got = traced(router, x)
    assert_close(got["gates"], torch.softmax(got["mixed"], -1))


def test_with_one_expert_the_gate_is_one_and_the_forecast_teaches_the_router_nothing():
    x = draw(2, 3, 11)
    for k, silent in ((1, True), (2, False)):
        clusters = build(TemporalClusters, T=11, V=3, M=4, N=5, k=k, hidden=7, kernel=3)
        gates, _ = clusters.router(x)
        assert_close(gates.sum(-1), torch.ones(2, 3, dtype=torch.float64))
        clusters(x.mT)[0].square().sum().backward()
        gradient = clusters.router.scores.up.weight.grad.abs().max()
        assert (gradient < 1e-12) == silent


def test_one_expert_in_all_costs_nothing():
    gates, balance = build(Router, T=11, N=1, k=1, hidden=7)(draw(2, 3, 11), draw(2, 3, 1))
    assert bool((gates == 1).all())
    assert balance.item() == 0


def test_of_equal_scores_the_left_ones_are_kept_and_never_more_than_k():
    row = torch.tensor([[1.0, 2.0, 2.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    for k in range(1, 6):
        assert bool((first(row, k).sum(-1) == k).all())
    assert first(row, 2).tolist() == [[False, True, True, False, False], [True, True, False, False, False]]
    scores = draw(50, 7)
    assert torch.equal(first(scores, 3), torch.zeros(50, 7).scatter(1, scores.topk(3).indices, 1).bool())


def test_equal_gates_and_loads_cost_nothing_and_one_favourite_costs_n():
    assert squared_variation(torch.tensor([2.0, 2.0, 2.0])).item() == 0
    assert squared_variation(torch.tensor([6.0, 0.0, 0.0])).item() == pytest.approx(3)
    assert squared_variation(torch.tensor([3, 3, 0, 0])).item() == pytest.approx(4 / 3)


def test_the_same_noise_gives_the_same_gates_and_other_noise_others():
    router, x = mixing(), draw(2, 3, 11)
    a, b, c = (traced(router, x, draw(2, 3, 5, seed=s))["gates"] for s in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_the_released_evaluation_forgets_the_matrix_that_training_learned():
    x = draw(40, 3, 11)
    ours, released = mixing(), mixing(mix_in_eval=False)
    silence = torch.zeros(40, 3, 5, dtype=torch.float64)
    assert torch.equal(traced(ours, x)["gates"], traced(ours, x, silence)["gates"])
    changed = traced(released, x)["kept"] != traced(released, x, silence)["kept"]
    assert 0.1 < changed.any(-1).double().mean().item() < 1
    with torch.no_grad():
        released.W_h.copy_(torch.eye(5))
    assert_close(traced(released, x)["gates"], traced(released, x, silence)["gates"])


def test_the_load_is_the_chance_to_be_kept_if_one_score_is_drawn_again():
    """With W_h = 1 exactly Shazeer's load: redraw expert n's noise, keep the others'. Monte Carlo agrees."""
    router, x, noise = build(Router, **SIZES), draw(1, 1, 11), draw(1, 1, 5, seed=2)
    got, kept = traced(router, x, noise), torch.zeros(5, dtype=torch.float64)
    for n in range(5):
        again = got["noisy"].expand(20000, 1, 5).clone()
        again[..., n] = got["scores"][..., n] + draw(20000, 1, seed=9) * got["spread"][..., n]
        kept[n] = first(again, 3)[..., n].double().mean()
    assert_close(got["load"], kept, atol=0.012, rtol=0)
    off = traced(build(Router, one_scale=False, **SIZES), x, noise)["load"] - kept
    assert off.abs().max() > 0.1


def test_a_gradient_reaches_every_weight_of_the_router_through_the_balance():
    router = mixing()
    router(draw(4, 3, 11), draw(4, 3, 5, seed=1))[1].backward()
    assert all(bool((p.grad.abs() > 0).any()) for p in router.parameters())


def test_half_precision_is_routed_in_float32():
    router, x = build(Router, dtype=torch.float32, **SIZES), draw(2, 3, 11, dtype=torch.float32)
    gates, _ = router.half()(x.half())
    assert gates.dtype == torch.float32
    assert_close(gates, build(Router, dtype=torch.float32, **SIZES)(x)[0], atol=5e-3, rtol=0)
    assert bool(torch.isfinite(router(torch.full((1, 1, 11), 6e4, dtype=torch.float16))[0]).all())


def test_noise_so_wide_that_its_square_has_no_number_still_gives_a_load():
    wide, exact = build(Router, **SIZES).float(), build(Router, **SIZES)
    x, noise = 1e25 * draw(2, 3, 11), draw(2, 3, 5)
    found, want = (traced(net, x.to(d), noise.to(d)) for net, d in ((wide, torch.float32), (exact, torch.float64)))
    assert float(want["spread"].max()) ** 2 > 3.4e38
    assert_close(found["load"].double(), want["load"], rtol=1e-4, atol=1e-4)


@pytest.mark.bad_input
@pytest.mark.parametrize(("sizes", "message"), [
    ({"k": 6}, "k: expected 1 to N=5 experts, got 6"), ({"k": 0}, "k: expected 1 to N=5 experts, got 0"),
    ({"N": 0}, "N: expected at least 1, got 0"), ({"T": 0}, "T: expected at least 1"),
    ({"hidden": 0}, "hidden: expected at least 1"), ({"N": 2.5}, "N: expected a whole number, got 2.5"),
    ({"k": 1.5}, "k: expected 1 to N=5 experts, got 1.5"), ({"eps": -1e-6}, "eps: expected a small number, 0 or more"),
    ({"eps": math.nan}, "eps: expected a finite number, got nan")])
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        Router(**{**SIZES, **sizes})


@pytest.mark.bad_input
def test_windows_and_noise_that_do_not_fit_are_refused():
    router, x = build(Router, **SIZES), draw(2, 3, 11)
    with pytest.raises(ValueError, match="x: expected axes 'B V 11', got shape"):
        router(x.mT)
    with pytest.raises(ValueError, match="noise: expected axes 'B V 5' with B=2, V=3"):
        router(x, draw(2, 2, 5))
    with pytest.raises(ValueError, match=r"x: expected finite numbers, got nan at index \(1, 2, 4\)"):
        router(x.index_put((torch.tensor(1), torch.tensor(2), torch.tensor(4)), torch.tensor(math.nan).double()))
    with pytest.raises(ValueError, match="x: expected numbers that stay within the range of float64"):
        router(1.7e308 * router.scores.up.weight[:1, None].sign())
    with pytest.raises(ValueError, match="x: expected floating-point numbers, got int64"):
        router(x.long())
    with pytest.raises(ValueError, match="x: expected a tensor, got NoneType"):
        router(None)
