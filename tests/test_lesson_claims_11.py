"""Claims of lesson 11 about guidance: sentences of the notes, each true or false by a number."""

import math

import pytest
import torch
from forecasters import draw

from tsattn_mini import record
from tsattn_mini.kite import exact
from tsattn_mini.kite.conditioning import ExogenousCrossAttention, InputConcatenation, KnowledgeGuidedConditioning
from tsattn_mini.kite.flow import euler, guide
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import normalise

CONDITIONAL, MARGINAL = (1.0, 0.5), (0.0, math.sqrt(1.25))


def t(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def crps(omega, claimed=CONDITIONAL):
    return float(exact.gaussian_crps(exact.guided_gaussian(omega, claimed, MARGINAL), (1.0, 0.5)))


@pytest.mark.parametrize(("omega", "side"), [(-0.5, "below"), (0.5, "between"), (0.3, "between"), (1.6, "beyond"),
                                             (2.4, "beyond")])
def test_claim_84_guidance_extrapolates_above_1_and_interpolates_below(omega, side):
    v = guide(t(1), t(3), omega).item()
    assert {"below": v < 1, "between": 1 < v < 3, "beyond": v > 3}[side]
    assert v == pytest.approx(1 + 2 * omega)


def test_claim_84_the_reported_gamma_of_12_to_14_is_omega_22_to_24():
    for gamma, omega in ((1.2, 2.2), (1.4, 2.4)):
        assert ((1 + gamma) * t(3) - gamma * t(1)).item() == pytest.approx(guide(t(1), t(3), omega).item())


@pytest.mark.parametrize(("omega", "mean", "std"), [(0.5, 0.63, 0.748), (1.0, 1.0, 0.5), (1.2, 1.099, 0.426),
                                                    (2.4, 1.37, 0.162)])
def test_claim_85_the_mean_overshoots_while_the_spread_collapses(omega, mean, std):
    got = exact.guided_gaussian(omega, CONDITIONAL, MARGINAL)
    assert [float(g) for g in got] == pytest.approx([mean, std], abs=6e-4)
    assert float(got[1]) == pytest.approx(MARGINAL[1] ** (1 - omega) * 0.5 ** omega)
    low, high = euler(lambda y, s: guide(exact.gaussian_velocity(y, s, MARGINAL),
                                         exact.gaussian_velocity(y, s, CONDITIONAL), omega), t(0, 1), 1000)
    assert [low.item(), (high - low).item()] == pytest.approx([mean, std], abs=2e-3)


@pytest.mark.parametrize("omega", [0.5, 1.0, 2.4])
def test_claim_85_dirt_is_multiplied_by_omega_like_the_signal_and_by_137_at_the_end(omega):
    v_u, clean, dirt = draw(3, 5)
    torch.testing.assert_close(guide(v_u, v_u + clean + dirt, omega) - guide(v_u, v_u + clean, omega), omega * dirt)
    torch.testing.assert_close(guide(v_u, v_u + clean, omega) - v_u, omega * clean)
    ends = [float(exact.guided_gaussian(omega, (1 + d, 0.5), MARGINAL)[0]) for d in (0.0, 1.0)]
    assert ends[1] == pytest.approx(2 * ends[0])
    assert ends[1] - ends[0] == pytest.approx({0.5: 0.63, 1.0: 1.0, 2.4: 1.37}[omega], abs=5e-3)


def test_claim_86_guidance_works_with_any_conditioner():
    torch.manual_seed(11)
    kgc, cross, joined = (cls(T=6, F=4, d=3).double().requires_grad_(False) for cls in
                          (KnowledgeGuidedConditioning, ExogenousCrossAttention, InputConcatenation))
    y, X, S = draw(1, 2, 4), draw(1, 3, 6, seed=1), draw(1, 2, 3, seed=2).sigmoid()
    for answer in (lambda X, S: kgc(y, X, S), lambda X, S: cross(y, X), lambda X, S: joined(y, X, S)):
        v_u, v_c = answer(0 * X, 0 * S), answer(X, S)
        assert (v_c - v_u).abs().max() > 0.05
        assert torch.equal(guide(v_u, v_c, 0), v_u)
        assert torch.equal(guide(v_u, v_c, 1), v_c)
        torch.testing.assert_close(guide(v_u, v_c, 1.4) - v_u, 1.4 * (v_c - v_u))


def test_no_condition_is_a_learned_constant_and_a_uniform_prior():
    torch.manual_seed(0)
    net = VectorField(T=12, F=4, D=3, M=8, H=2, depth=1).double()
    for weight in net.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    x_exo, y_exo, prior = (torch.zeros(2, *shape, dtype=torch.float64) for shape in ((3, 12), (3, 4), (1, 3)))
    with torch.no_grad(), record() as trace:
        net(draw(2, 4), t(300, 700), x_exo, normalise(prior, "softmax"), y_exo)
    torch.testing.assert_close(trace["S"].tensor, torch.full((2, 1, 3), 1 / 3, dtype=torch.float64))
    for block in ("past0", "ahead0"):
        values = trace[f"{block}/kgc/v"].tensor
        assert torch.equal(values[0], values[1])
        assert values.abs().max() > 0.1


def test_one_coin_for_the_batch_leaves_nine_steps_in_ten_without_an_unconditional_row():
    missing, spread = {}, {}
    for one_coin in (True, False):
        torch.manual_seed(0)
        kite = KITE(12, 4, 3, p_uncond=0.1, one_coin=one_coin, M=8, H=2, depth=1).train()
        share = torch.stack([1 - kite.coins(32).mean() for _ in range(4000)])
        assert share.mean().item() == pytest.approx(0.1, abs=0.015)
        missing[one_coin], spread[one_coin] = (share == 0).double().mean().item(), share.std().item()
    assert missing[True] == pytest.approx(0.9, abs=0.015)
    assert missing[False] == pytest.approx(0.9 ** 32, abs=0.01)
    assert spread[True] / spread[False] == pytest.approx(math.sqrt(32), rel=0.06)


def test_guidance_above_one_is_bad_for_crps_and_one_is_best():
    scores = {omega: crps(omega) for omega in (0.0, 0.3, 0.5, 0.9, 1.0, 1.1, 1.2, 1.6, 2.4)}
    assert min(scores, key=scores.get) == 1.0
    assert scores[1.0] == pytest.approx(0.5 / math.sqrt(math.pi))
    assert scores[2.4] / scores[1.0] == pytest.approx(1.52, abs=5e-3)


@pytest.mark.parametrize(("promise", "best"), [(0.5, 1.7), (1.0, 1.0), (1.5, 0.55), (2.0, 0.4), (3.0, 0.25)])
def test_a_condition_that_promises_too_much_is_best_followed_below_one(promise, best):
    scores = {round(omega, 2): crps(omega, (promise, 0.5)) for omega in torch.arange(0, 3.01, 0.05).tolist()}
    assert min(scores, key=scores.get) == best


@pytest.mark.parametrize(("omega", "steps", "dirt", "mean", "std", "score"), [
    (2.4, 20, 0, 1.37, 0.14, 0.44), (2.4, 10, 0, 1.36, 0.11, 0.44), (1.0, 20, 1, 2.0, 0.46, 0.78),
    (0.4, 20, 1, 1.05, 0.76, 0.30), (-0.5, 20, 0, -1.01, 1.55, 1.31)])
def test_what_the_presets_of_turn_omega_show(omega, steps, dirt, mean, std, score):
    velocity = lambda y, s: guide(exact.gaussian_velocity(y, s, MARGINAL),  # noqa: E731
                                  exact.gaussian_velocity(y, s, (1 + dirt, 0.5)), omega)
    low, high = euler(velocity, t(0, 1), steps)
    found = [low, high - low, exact.gaussian_crps((low, high - low), (1.0, 0.5))]
    assert [float(x) for x in found] == pytest.approx([mean, std, score], abs=6e-3)


def test_with_two_humps_as_the_marginal_the_spread_collapses_less():
    y0 = torch.special.ndtri((torch.arange(1000, dtype=torch.float64) + 0.5) / 1000)
    end = euler(lambda y, s: guide(exact.mixture_velocity(y, s, t(0.5, 0.5), t(-1, 1), t(0.5, 0.5)),
                                   exact.gaussian_velocity(y, s, CONDITIONAL), 2.4), y0, 400)
    assert [end.mean().item(), end.std().item()] == pytest.approx([1.41, 0.34], abs=6e-3)
