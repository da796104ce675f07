"""Flow matching: plain loops, limits, the exact flows in one dimension, and the numbers of the claims."""

import math

import numpy
import onnxruntime
import pytest
import torch
from forecasters import draw
from scipy import stats
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.explore.export import difference, export
from tsattn_mini.kite import exact
from tsattn_mini.kite.flow import euler, flow_loss, guide, path, point_forecast, target_velocity

NODES, WEIGHTS = map(torch.from_numpy, numpy.polynomial.hermite_e.hermegauss(80))
WEIGHTS = WEIGHTS / WEIGHTS.sum()  # the mean of f(Y_0), Y_0 ~ N(0, 1), is WEIGHTS @ f(NODES)


def scalar(number):
    return torch.tensor(number, dtype=torch.float64)


def moments(y):
    mean = WEIGHTS @ y
    return float(mean), float((WEIGHTS @ (y - mean) ** 2).sqrt())


# Loops


@pytest.mark.parametrize("shape", [(3,), (3, 5), (3, 2, 5)])
def test_path_velocity_and_both_losses_equal_plain_loops(shape):
    y0, y, v, s = draw(*shape), draw(*shape, seed=1), draw(*shape, seed=2), torch.tensor([0.0, 0.3, 1.0]).double()
    Y_s, u = path(y0, y, s), target_velocity(y0, y)
    square, absolute, count = 0.0, 0.0, 0
    for b in range(3):
        for a, z, w, got, straight in zip(*(t[b].reshape(-1).tolist() for t in (y0, y, v, Y_s, u)), strict=True):
            assert math.isclose(got, float(s[b]) * z + (1 - float(s[b])) * a, abs_tol=1e-15)
            assert math.isclose(straight, z - a)
            square, absolute, count = square + (w - (z - a)) ** 2, absolute + abs(w - (z - a)), count + 1
    assert_close(flow_loss(v, y0, y), scalar(square / count))
    assert_close(flow_loss(v, y0, y, kind="l1"), scalar(absolute / count))


def test_euler_equals_plain_loops_and_a_slider_moves_the_same_particles():
    y0 = draw(3, 2, 5)

    def velocity(y, s):
        return torch.sin(3 * y) + s[:, None, None] * y

    want = y0
    for i in range(4):
        want = want + (torch.sin(3 * want) + i / 4 * want) / 4
    assert_close(euler(velocity, y0, 4), want, rtol=0, atol=1e-14)
    assert torch.equal(euler(velocity, y0, scalar(4.0), at_most=9), euler(velocity, y0, 4))
    assert torch.equal(euler(velocity, y0, 4, at_most=4), euler(velocity, y0, 4))


def test_a_point_forecast_is_a_mean_or_the_lower_median():
    samples = draw(3, 4, 2, 5)
    for b in range(3):
        for n in range(2):
            for f in range(5):
                values = sorted(samples[b, :, n, f].tolist())
                assert math.isclose(float(point_forecast(samples)[b, n, f]), sum(values) / 4, abs_tol=1e-15)
                assert float(point_forecast(samples, "median")[b, n, f]) == values[1]
    assert torch.equal(point_forecast(samples[:, :3], "median"), samples[:, :3].median(1).values)
    assert torch.equal(point_forecast(samples, "median"), samples.median(1).values)


# Names


def test_every_round_names_its_steps_and_says_what_they_are():
    with record() as trace:
        y0, y, s = draw(3, 2, 5), draw(3, 2, 5, seed=1), torch.full((3,), 0.5).double()
        flow_loss(path(y0, y, s), y0, y)
        euler(lambda y, s: guide(-y, y, 1.4), y0, 2)
        point_forecast(draw(3, 4, 2, 5))
    assert list(trace) == ["Y_s", "u", "loss", "ode0/v_hat", "ode0/Y", "ode1/v_hat", "ode1/Y", "point"]
    assert [name for name in trace if not trace[name].eq or not trace[name].note] == []
    assert trace["loss"].shape == ()
    assert trace["ode1/Y"].axes == "B N F"


# Limits


def test_the_path_starts_at_the_source_and_ends_at_the_target_exactly():
    y0, y = draw(3, 5), draw(3, 5, seed=1)
    assert torch.equal(path(y0, y, torch.zeros(3).double()), y0)
    assert torch.equal(path(y0, y, torch.ones(3).double()), y)


def test_the_l2_loss_is_smallest_at_the_mean_and_l1_at_the_median():
    y, y0 = torch.tensor([0.0, 1.0, 11.0]).double(), torch.zeros(3).double()
    grid = torch.linspace(-2, 14, 161, dtype=torch.float64)
    for kind, best in (("l2", 4.0), ("l1", 1.0)):
        losses = torch.stack([flow_loss(c.expand(3), y0, y, kind) for c in grid])
        assert math.isclose(float(grid[losses.argmin()]), best, abs_tol=1e-9)


def test_defect_35_omega_0_is_unconditional_and_1_conditional_bit_for_bit():
    v_u, v_c = 1e8 * draw(7, 5), draw(7, 5, seed=1)
    assert torch.equal(guide(v_u, v_c, 0), v_u)
    assert torch.equal(guide(v_u, v_c, 1.0), v_c)
    assert not torch.equal(v_u + 1.0 * (v_c - v_u), v_c), "rounding would have missed it"
    assert torch.equal(guide(v_u, v_c, scalar(1.0)), v_c)


@pytest.mark.parametrize("omega", [-0.5, 0.3, 1.2, 2.4])
def test_claim_85_guidance_multiplies_the_difference_by_omega_whatever_made_it(omega):
    v_u, clean, dirt = draw(7), draw(7, seed=1), draw(7, seed=2)
    assert_close(guide(v_u, v_u + clean, omega) - v_u, omega * clean)
    assert_close(guide(v_u, v_u + clean + dirt, omega) - guide(v_u, v_u + clean, omega), omega * dirt)
    gamma = omega - 1
    assert_close(guide(v_u, v_u + clean, omega), (1 + gamma) * (v_u + clean) - gamma * v_u)
    assert_close(guide(v_u, v_u + clean, omega), v_u + clean + gamma * clean)


def test_one_step_from_any_source_takes_each_particle_to_where_the_mean_velocity_points():
    y0 = draw(7)
    end = euler(lambda y, s: exact.gaussian_velocity(y, s, (0.7, 0.3)), y0, 1)
    assert_close(end, torch.full_like(end, 0.7), rtol=0, atol=1e-15)


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
    assert torch.equal(exact.two_point_median(y, s, 0.7), (torch.where(odds >= 0.5, 1.0, -1.0) - y) / (1 - s))


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
    end = euler(lambda y, s: exact.two_point_median(y, s, p), y0, 100)
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


@pytest.mark.parametrize(("rank", "full"), [(64, 24), (24, 24), (8, 8)])
def test_an_orthogonal_basis_of_rank_64_in_24_dimensions_is_isotropic_and_rank_8_is_8_of_24(rank, full):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        M = torch.nn.init.orthogonal_(torch.empty(24, rank, dtype=torch.float64))
    eigenvalues = torch.linalg.eigvalsh(M @ M.T)
    assert int((eigenvalues > 1e-12).sum()) == full
    assert_close(eigenvalues[-full:], torch.ones(full).double())


def test_the_mix_of_the_paper_shrinks_to_rms_056():
    alpha, F = 0.45, 24
    rms = math.sqrt(alpha ** 2 / F + (1 - alpha) ** 2)
    assert math.isclose(rms, 0.5576, abs_tol=5e-5)
    g = draw(20000, F)
    mixed = alpha * g / g.norm(dim=1, keepdim=True) + (1 - alpha) * draw(20000, F, seed=1)
    assert math.isclose(float((mixed ** 2).mean().sqrt()), rms, abs_tol=5e-3)


# Export


def test_a_guided_sampler_with_a_slider_for_its_steps_exports():
    def sample(y0, omega, steps):
        return euler(lambda y, s: guide(-y * s, y + s, omega), y0, steps, at_most=5)

    inputs = {"y0": draw(7, dtype=torch.float32), "omega": torch.tensor(1.4), "steps": torch.tensor(3.0)}
    with record() as trace:
        want = sample(**inputs)
    session = onnxruntime.InferenceSession(export(sample, inputs, {}, ["ode2/Y", "ode4/Y"]))
    got = session.run(None, {f"in/{name}": x.numpy() for name, x in inputs.items()})
    assert difference(want, torch.from_numpy(got[1])) <= 1e-5
    assert difference(trace["ode2/Y"].tensor, torch.from_numpy(got[0])) <= 1e-5


# Bad input


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "message"), [
    (lambda y: path(y, y[:2], torch.zeros(3)), r"y: expected axes 'B F' with B=3, F=5, got shape \(2, 5\)"),
    (lambda y: path(y, y, torch.zeros(2)), r"s: expected axes 'B' with B=3, got shape \(2,\)"),
    (lambda y: path(y, y, torch.full((3,), 1.5)), "s: expected times between 0 and 1, got 1.5 to 1.5"),
    (lambda y: path(y[None, None], y, torch.zeros(3)), r"y0: expected .*'B', 'B F' or 'B N F', got shape \(1, 1, 3, 5"),
    (lambda y: path([1.0], y, torch.zeros(3)), "y0: expected a tensor with axes .* got list"),
    (lambda y: path(y, y * torch.nan, torch.zeros(3)), "y: expected finite numbers, got nan"),
    (lambda y: flow_loss(y, y, y, kind="huber"), "kind: expected 'l2' or 'l1', got 'huber'"),
    (lambda y: flow_loss(y[:, :4], y, y), r"y0: expected axes 'B F' with B=3, F=4, got shape \(3, 5\)"),
    (lambda y: guide(y, y, torch.nan), r"omega: expected finite numbers, got nan"),
    (lambda y: guide(y, y, torch.ones(3)), r"omega: expected axes '', got shape \(3,\)"),
    (lambda y: guide(y, y[:, :2], 1.0), r"v_c: expected axes 'B F' with B=3, F=5, got shape \(3, 2\)"),
    (lambda y: euler(lambda y, s: y, y, 0), "steps: expected a whole number of at least 1, got 0"),
    (lambda y: euler(lambda y, s: y, y, 2.0), "steps: expected a whole number of at least 1, got 2.0"),
    (lambda y: euler(lambda y, s: y, y, 3, at_most=2), "steps: expected at most at_most=2, got 3"),
    (lambda y: euler(lambda y, s: y, y, torch.tensor(3.0)), "at_most: expected the largest number of steps"),
    (lambda y: euler(lambda y, s: y, y, torch.tensor(2.5), 4), "steps: expected a whole number from 1 to at_most=4"),
    (lambda y: euler(lambda y, s: y, y, torch.tensor(torch.nan), 4), "steps: expected a whole number from 1 .* nan"),
    (lambda y: euler(lambda y, s: y.sum(), y, 2), r"velocity in round 0: expected the state's shape \(3, 5\), got sha"),
    (lambda y: euler(lambda y, s: y / (s[:, None] - 0.5), y + 1, 2), "velocity in round 1: expected finite numbers"),
    (lambda y: point_forecast(y, "mode"), "kind: expected 'mean' or 'median', got 'mode'"),
    (lambda y: point_forecast(y[0]), r"samples: expected axes 'B P N F', got shape \(5,\)"),
    (lambda y: exact.exponential_velocity(y[0], y[0] * 0, "max"), "kind: expected 'l2' or 'l1', got 'max'"),
])
def test_what_does_not_fit_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(torch.zeros(3, 5))
