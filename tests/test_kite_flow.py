"""Flow matching, guidance and the sampler: plain loops, names, limits, export, refusals."""

import math

import onnxruntime
import pytest
import torch
from forecasters import draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.explore.export import difference, export
from tsattn_mini.kite import exact
from tsattn_mini.kite.flow import euler, flow_loss, guide, path, point_forecast, target_velocity


def scalar(number):
    return torch.tensor(number, dtype=torch.float64)


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


# Noise


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
    (lambda y: guide(y, y, torch.nan), "omega: expected a finite number, got nan"),
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
