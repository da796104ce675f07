"""Flows whose velocity is known: against quadrature, at their limits, and the numbers of the claims."""

import itertools
import math

import numpy
import onnxruntime
import pytest
import scoringrules
import torch
from forecasters import draw
from scipy import integrate, stats
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.explore.export import difference, export
from tsattn_mini.kite import exact
from tsattn_mini.kite.flow import euler, guide

NODES, WEIGHTS = map(torch.from_numpy, numpy.polynomial.hermite_e.hermegauss(80))
WEIGHTS = WEIGHTS / WEIGHTS.sum()  # the mean of f(Y_0), Y_0 ~ N(0, 1), is WEIGHTS @ f(NODES)




def scalar(number):
    return torch.tensor(number, dtype=torch.float64)


def moments(y):
    mean = WEIGHTS @ y
    return float(mean), float((WEIGHTS @ (y - mean) ** 2).sqrt())


# Exact velocities against quadrature over everything that could have made Y_s


def conditional(y, s, density, low, high):
    """Mean and median of Y - Y_0 at Y_s = y, from the density of Y and the source N(0, 1): 200,000 small sums."""
    edges = numpy.linspace(low, high, 200_001)
    targets = (edges[1:] + edges[:-1]) / 2
    weight = density(targets) * stats.norm.pdf((y - s * targets) / (1 - s))
    share = numpy.concatenate([[0], weight.cumsum() / weight.sum()])
    mean, median = (weight * targets).sum() / weight.sum(), numpy.interp(0.5, share, edges)
    return (mean - y) / (1 - s), (median - y) / (1 - s)


@pytest.mark.parametrize(("y", "s"), [(0.4, 0.5), (-0.6, 0.3), (1.2, 0.8)])
def test_exact_velocities_equal_quadrature(y, s):
    at, time = scalar([y]), scalar([s])
    mean, median = conditional(y, s, stats.expon.pdf, 0.0, 12.0)
    assert_close(exact.exponential_velocity(at, time), scalar([mean]), rtol=0, atol=1e-8)
    assert_close(exact.exponential_velocity(at, time, "l1"), scalar([median]), rtol=0, atol=1e-8)
    mean, median = conditional(y, s, lambda t: stats.norm.pdf(t, 0.7, 0.3), -4.0, 5.0)
    velocity = exact.gaussian_velocity(at, time, (0.7, 0.3))
    assert_close(velocity, scalar([mean]), rtol=0, atol=1e-8)
    assert_close(velocity, scalar([median]), rtol=0, atol=1e-8)
    mix = (scalar([0.3, 0.7]), scalar([-1.0, 1.0]), scalar([0.5, 0.2]))
    mean, _ = conditional(y, s, lambda t: 0.3 * stats.norm.pdf(t, -1, 0.5) + 0.7 * stats.norm.pdf(t, 1, 0.2), -5.0, 5.0)
    assert_close(exact.mixture_velocity(at, time, *mix), scalar([mean]), rtol=0, atol=1e-8)


def test_a_mixture_of_one_is_that_gaussian_and_two_points_are_its_limit():
    y, s = draw(7), torch.linspace(0, 0.95, 7).double()
    assert_close(exact.mixture_velocity(y, s, scalar([1.0]), scalar([0.7]), scalar([0.3])),
                 exact.gaussian_velocity(y, s, (0.7, 0.3)))
    odds = torch.sigmoid(torch.logit(scalar(0.7)) + 2 * s * y / (1 - s) ** 2)
    want = (2 * odds - 1 - y) / (1 - s)
    assert_close(exact.mixture_velocity(y, s, scalar([0.3, 0.7]), scalar([-1.0, 1.0]), scalar([0.0, 0.0])), want)
    assert_close(exact.two_point_velocity(y, s, 0.7), want)
    assert torch.equal(exact.two_point_velocity(y, s, 0.7, "l1"), (torch.where(odds >= 0.5, 1.0, -1.0) - y) / (1 - s))


@pytest.mark.parametrize(("source", "target", "growth"), [
    (1e-45, 1.0, 103.97), (1.0, 1e-45, 0.0), (1e-30, 1e30, 138.85), (3e38, 3e38, 1.2465), (1e-45, 1e-45, 1.2465)])
def test_an_error_grows_by_a_finite_factor_between_the_narrowest_and_the_widest_widths(source, target, growth):
    widths = torch.tensor(source), torch.tensor(target)
    assert float(exact.error_growth(*widths)) == pytest.approx(growth, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(("call", "message"), [
    (lambda y: exact.gaussian_velocity(y, 0 * y, (0.0, 1.0), (1e38, 1.0)), "y, target, source"),
    (lambda y: exact.two_point_velocity(y, 0.9 + 0 * y, 0.5), "y"),
    (lambda y: exact.mixture_velocity(-2 * y, 0 * y, 1 + 0 * y, 2 * y, 0 * y, (-3e38, 1.0)), "y, means"),
])
def test_a_velocity_beyond_the_number_range_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=rf"^{message}: expected numbers that stay within the range of float32"):
        call(torch.full((1,), 1.5e38) if message != "y, target, source" else torch.full((1,), -3e38))


def test_the_exponential_velocity_has_no_seam_and_no_overflow():
    for kind in ("l2", "l1"):
        y = scalar([-6.0, -1.0, 0.0, 1.0, 9.0])
        early = [exact.exponential_velocity(y, scalar([s]).expand(5), kind) for s in (9.99e-4, 1.001e-3)]
        assert_close(early[0], early[1], rtol=2e-2, atol=2e-2)
        late = exact.exponential_velocity(y, scalar([1 - 1e-9]).expand(5), kind)
        assert bool(late.isfinite().all())


def test_the_gauss_legendre_rule_is_the_one_of_the_textbooks():

    nodes, node_weights = numpy.polynomial.legendre.leggauss(64)
    s, w = exact.legendre()
    assert_close(s, torch.from_numpy((nodes + 1) / 2), rtol=0, atol=1e-14)
    assert_close(w, torch.from_numpy(node_weights / 2), rtol=0, atol=1e-14)


# The numbers of the claims


@pytest.mark.parametrize(("steps", "spread"), [(1, 0.0), (5, 0.19988), (10, 0.24687)])
def test_euler_loses_spread_target_03_becomes_247_with_10_steps_and_200_with_5(steps, spread):
    y0 = scalar([0.0, 1.0])  # the flow is a straight line in y: two particles tell the whole width
    end = euler(lambda y, s: exact.gaussian_velocity(y, s, (0.0, 0.3)), y0, steps)
    assert math.isclose(float(end[1] - end[0]), spread, abs_tol=5e-6)


def test_many_euler_steps_reach_the_target_width():
    end = euler(lambda y, s: exact.gaussian_velocity(y, s, (2.0, 0.3)), scalar([0.0, 1.0]), 500)
    assert_close(end, scalar([2.0, 2.3]), rtol=0, atol=2e-3)


@pytest.mark.parametrize(("source", "target", "growth"), [
    (1.0, 1.0, 1.25), (1.0, 0.1, 0.31), (0.15, 0.1, 1.01), (0.3, 1.0, 2.12), (0.1, 1.0, 3.08)])
def test_claim_57_a_velocity_error_grows_only_out_of_a_narrow_source(source, target, growth):
    formula = float(exact.error_growth(scalar(source), scalar(target)))
    assert math.isclose(formula, growth, abs_tol=5e-3)

    def end(error, steps):
        def velocity(y, s):
            return exact.gaussian_velocity(y, s, (0.0, target), (0.0, source)) + error
        return float(euler(velocity, scalar([0.0]), steps))

    coarse, fine = end(1.0, 200), end(1.0, 400)
    assert math.isclose(2 * fine - coarse, formula, abs_tol=2e-3)


@pytest.mark.parametrize(("omega", "mean", "std"), [
    (0.0, 0.0, 1.118034), (0.5, 0.630169, 0.747674), (1.0, 1.0, 0.5), (1.2, 1.098950, 0.425670),
    (2.4, 1.370326, 0.162066)])
def test_claims_84_85_guidance_moves_the_mean_past_1_while_the_spread_collapses(omega, mean, std):
    got = exact.guided_gaussian(omega, (1.0, 0.5), (0.0, math.sqrt(1.25)))
    assert_close(torch.stack(got), scalar([mean, std]), rtol=0, atol=1e-6)

    def velocity(y, s):
        return guide(exact.gaussian_velocity(y, s, (0.0, math.sqrt(1.25))),
                     exact.gaussian_velocity(y, s, (1.0, 0.5)), omega)

    coarse, fine = (euler(velocity, scalar([0.0, 1.0]), steps) for steps in (100, 200))
    line = 2 * fine - coarse
    assert_close(scalar([float(line[0]), float(line[1] - line[0])]), scalar([mean, std]), rtol=0, atol=1e-3)


@pytest.mark.parametrize(("p", "share"), [(0.5, 0.5), (0.6, 0.816077), (0.7, 0.903502), (0.3, 1 - 0.903502)])
def test_l1_flow_sharpens_two_points_to_phi_of_root_2_logit_p(p, share):
    assert math.isclose(float(exact.two_point_share(p)), share, abs_tol=1e-6)
    y0 = torch.special.ndtri((torch.arange(2000).double() + 0.5) / 2000)
    end = euler(lambda y, s: exact.two_point_velocity(y, s, p, "l1"), y0, 100)
    assert math.isclose(float((end > 0).double().mean()), share, abs_tol=5e-3)
    exactly = euler(lambda y, s: exact.mixture_velocity(y, s, scalar([1 - p, p]), scalar([-1.0, 1.0]),
                                                        scalar([0.0, 0.0])), y0, 100)
    assert math.isclose(float((exactly > 0).double().mean()), p, abs_tol=5e-3)


@pytest.mark.parametrize(("kind", "mean", "std"), [("l2", 1.0, 1.0), ("l1", 0.794, 0.901)])
def test_l1_flow_shortens_the_tail_of_an_exponential_and_l2_keeps_it(kind, mean, std):
    coarse, fine = (moments(euler(lambda y, s: exact.exponential_velocity(y, s, kind), NODES, steps))
                    for steps in (100, 200))
    assert math.isclose(2 * fine[0] - coarse[0], mean, abs_tol=1e-3)
    assert math.isclose(2 * fine[1] - coarse[1], std, abs_tol=1e-3)


def test_guidance_from_a_source_anywhere_else_ends_where_euler_goes():
    source, conditional, marginal = (0.4, 0.7), (1.0, 0.5), (-0.2, 1.3)
    mean, std = exact.guided_gaussian(1.7, conditional, marginal, source)

    def velocity(y, s):
        return guide(exact.gaussian_velocity(y, s, marginal, source),
                     exact.gaussian_velocity(y, s, conditional, source), 1.7)

    coarse, fine = (euler(velocity, scalar([0.4, 1.1]), steps) for steps in (200, 400))
    low, high = 2 * fine - coarse
    assert_close(torch.stack([low, high - low]), torch.stack([mean, std]), rtol=0, atol=1e-3)


def far_guided_mean(omega, conditional, marginal):
    """The mean from N(0, 1) by SciPy's adaptive quadrature, over pieces that halve towards s = 1."""
    def integrand(s):
        pull, log_ratio = 0.0, 0.0
        for weight, (m, sd) in ((1 - omega, marginal), (omega, conditional)):
            variance = (s * sd) ** 2 + (1 - s) ** 2
            pull += weight * (m - (s * sd ** 2 - (1 - s)) / variance * s * m)
            log_ratio += weight * math.log(sd / math.sqrt(variance))
        return pull * math.exp(log_ratio)

    edges = [1 - 2.0 ** -k for k in range(20)] + [1.0]
    return sum(integrate.quad(integrand, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("omega", [30.0, 1e3, 1e4])
def test_far_guidance_ends_in_a_point_between_the_means_and_never_in_nan(omega):
    marginal = (0.0, math.sqrt(1.25))
    mean, std = exact.guided_gaussian(omega, (1.0, 0.5), marginal)
    assert math.isclose(float(mean), far_guided_mean(omega, (1.0, 0.5), marginal), rel_tol=1e-5)
    assert float(mean) == pytest.approx(1.25, rel=0.3 / omega), "m_c/σ_c² - m_u/σ_u² over the difference of precisions"
    assert 0 <= float(std) < 1e-9


# Watching and scoring


def test_a_watched_particle_is_where_eulers_straight_lines_put_it():
    def velocity(y, s):
        return torch.sin(3 * y) + s

    y0 = draw(7)
    for K in (1, 3, 20):
        states = [y0]
        for i in range(K):
            states.append(states[-1] + (torch.sin(3 * states[-1]) + i / K) / K)
        table = torch.stack(states)
        want = torch.from_numpy(numpy.stack([numpy.interp(numpy.linspace(0, 1, 21), numpy.linspace(0, 1, K + 1),
                                                          table[:, p].numpy()) for p in range(7)]))
        assert_close(exact.watch(velocity, y0, torch.tensor(K), at_most=20), want, rtol=0, atol=1e-14)


def test_a_watched_flow_exports_with_a_slider_for_its_steps():
    def look(y0, steps):
        exact.watch(lambda y, s: exact.gaussian_velocity(y, s, (0.0, 0.3)), y0, steps, at_most=6)

    inputs = {"y0": draw(7, dtype=torch.float32), "steps": torch.tensor(4)}
    with record() as trace:
        look(**inputs)
    session = onnxruntime.InferenceSession(export(look, inputs, {}, ["particles"]))
    got = session.run(None, {f"in/{name}": x.numpy() for name, x in inputs.items()})
    assert difference(trace["particles"].tensor, torch.from_numpy(got[0])) <= 1e-5


@pytest.mark.parametrize(("forecast", "truth"), [((1.0, 0.5), (1.0, 0.5)), ((1.37, 0.162), (1.0, 0.5)),
                                                 ((-0.4, 2.0), (0.3, 0.1))])
def test_the_expected_crps_of_a_gaussian_equals_the_mean_of_a_librarys_crps(forecast, truth):
    want = WEIGHTS @ torch.from_numpy(scoringrules.crps_normal(truth[0] + truth[1] * NODES.numpy(), *forecast))
    got = exact.gaussian_crps(tuple(map(scalar, forecast)), tuple(map(scalar, truth)))
    assert math.isclose(float(got), float(want), abs_tol=1e-3)
    if forecast == truth:
        assert math.isclose(float(got), truth[1] / math.sqrt(math.pi), abs_tol=1e-7)


def test_the_crps_of_a_point_over_a_point_is_their_distance():
    for m, mu in ((1.5, 1.0), (-2.0, 1.0), (1.0, 1.0)):
        near = exact.gaussian_crps((scalar(m), scalar(1e-9)), (scalar(mu), scalar(1e-9)))
        point = exact.gaussian_crps((m, 0.0), (mu, 0.0))
        assert float(point) == abs(m - mu)
        assert math.isclose(float(near), abs(m - mu), abs_tol=1e-8)


def test_a_component_without_weight_plays_no_part():
    y, s = draw(7), torch.linspace(0, 0.95, 7).double()
    both = exact.mixture_velocity(y, s, scalar([2.0, 0.0]), scalar([0.7, -5.0]), scalar([0.3, 0.1]))
    assert_close(both, exact.gaussian_velocity(y, s, (0.7, 0.3)))


def mixture(*weights, stds=(0.5, 0.5), y=0.0):
    return exact.mixture_velocity(scalar([y]), scalar([0.5]), scalar(weights), scalar([-1.0, 1.0]), scalar(stds))


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "message"), [
    (lambda: mixture(1.5, -0.5), r"weights: expected numbers of at least 0, got -0\.5"),
    (lambda: mixture(0.0, 0.0), "sum of weights: expected numbers above 0, got 0"),
    (lambda: mixture(0.5, math.nan), "weights: expected finite numbers, got nan"),
    (lambda: mixture(0.5, 0.5, stds=(0.5, -0.5)), r"stds: expected numbers of at least 0, got -0\.5"),
    (lambda: mixture(0.5, 0.5, y=1e200), "y: expected numbers that stay within the range of float64"),
    (lambda: exact.gaussian_crps((0.0, -1.0), (0.0, 1.0)), "forecast: expected numbers of at least 0, got -1"),
    (lambda: exact.gaussian_crps((0.0, 1.0), (0.0, -1.0)), "truth: expected numbers of at least 0, got -1"),
    (lambda: exact.guided_gaussian(1e6, (1.0, 0.5), (0.0, 1.2)), r"omega: expected .* to 1e-05, got 1e\+06"),
    (lambda: exact.guided_gaussian(-1e4, (1.0, 0.5), (0.0, 1.2)), r"omega: expected .* below e\^710, got e\^8755 from"),
    (lambda: exact.guided_gaussian(math.inf, (1.0, 0.5), (0.0, 1.2)), "omega: expected a finite number, got inf"),
])
def test_what_would_become_nan_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.bad_input
@pytest.mark.parametrize("s", [-0.1, 1.1, math.nan])
@pytest.mark.parametrize("velocity", [
    lambda y, s: exact.gaussian_velocity(y, s, (0.0, 0.3)),
    lambda y, s: exact.mixture_velocity(y, s, *scalar([[0.5, 0.5], [-1.0, 1.0], [0.5, 0.5]])),
    lambda y, s: exact.two_point_velocity(y, s, 0.5), lambda y, s: exact.exponential_velocity(y, s, "l1")])
def test_a_time_outside_0_1_is_refused(velocity, s):
    with pytest.raises(ValueError, match="s: expected times between 0 and 1, got"):
        velocity(scalar([0.2, 0.3]), scalar([0.5, s]))


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "message"), [
    (lambda one: exact.gaussian_velocity(one, one, (0.0, 0.0)), "variance: expected numbers above 0, got 0"),
    (lambda one: exact.gaussian_velocity(one, 0 * one, (0.0, 1.0), (0.0, 0.0)), "variance: expected numbers above 0"),
    (lambda one: exact.error_growth(one, 0 * one), "target_std: expected numbers above 0, got 0"),
    (lambda one: exact.guided_gaussian(1.0, (0.0, 1.0), (0.0, -1.0)), "marginal: expected numbers of at least 0, got"),
    (lambda one: exact.two_point_velocity(one, one / 2, 1.0, "l1"), "1 - p: expected numbers above 0, got 0"),
    (lambda one: exact.two_point_velocity(one, one, 0.5, "l1"), "1 - s: expected numbers above 0, got 0"),
    (lambda one: exact.two_point_share(math.nan), "p: expected a finite number, got nan"),
    (lambda one: exact.exponential_velocity(one, one), "1 - s: expected numbers above 0, got 0"),
    (lambda one: exact.exponential_velocity(3e38 * one, 0.9 * one, "l1"), "y, s: expected numbers that stay within"),
    (lambda one: exact.gaussian_crps((True, True), (0.0, 1.0)), r"forecast: expected \(mean, standard dev"),
])
def test_a_law_without_width_or_a_share_outside_0_1_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.ones(1))
