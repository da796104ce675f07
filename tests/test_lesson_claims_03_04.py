"""What the boxes of lessons 03 and 04 claim, by number."""

from itertools import permutations
from math import inf, log, sqrt

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tsattn_mini.datasets import load_macro
from tsattn_mini.lesson import counting, weights
from tsattn_mini.nonstationary import (
    NonstationaryTransformer,
    Projector,
    destationarize,
    destationary_attention,
    stationarize,
    temperature,
)

SIZES = {"V": 5, "M": 8, "H": 4, "d_ff": 16, "e_layers": 2, "d_layers": 1}


def window(*values):
    """One window of one variable."""
    return torch.tensor(values, dtype=torch.float64)[None, :, None]


def count(module):
    return sum(p.numel() for p in module.parameters())


def double(module):
    return module.double().requires_grad_(False)


def projector(T=12, V=5, O=1, seed=0):  # noqa: E741
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return double(Projector(T, V, (16, 16), O))


def conv(module, x):
    return torch.nn.functional.conv1d(torch.nn.functional.pad(x, (1, 1), mode="circular"), module.conv.weight)


# Lesson 03

def test_the_four_number_toy():
    x = torch.stack([counting(4), 10 * counting(4)], -1)[None]
    z, mu, sigma = stationarize(x)
    assert mu.flatten().tolist() == [2.5, 25]
    assert_close(sigma.flatten(), torch.tensor([1.118, 11.180], dtype=torch.float64), atol=5e-4, rtol=0)
    both = torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416], dtype=torch.float64)
    assert_close(z[0].T, both.expand(2, 4), atol=5e-5, rtol=0)
    assert_close(x.std(1).flatten(), torch.tensor([1.291, 12.910], dtype=torch.float64), atol=5e-4, rtol=0)
    assert_close(x.var(1, correction=0), (x - mu).var(1, correction=0))


@pytest.mark.parametrize("n", [2, 3, 12, 97])
def test_no_window_exceeds_the_root_of_n_minus_one_and_a_spike_reaches_it(n):
    spike = 1e6 * torch.eye(n, dtype=torch.float64)[:, :, None]
    assert_close(stationarize(spike)[0].amax(1), torch.full((n, 1), sqrt(n - 1), dtype=torch.float64))
    heavy = torch.randn(50, n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) ** 9
    assert float(stationarize(heavy)[0].abs().max()) < sqrt(n - 1)


def test_a_ramp_of_twelve_reaches_1_593_at_any_mean_and_spread():
    z = stationarize(5 + 3 * counting(1, 12, 1))[0]
    assert round(float(z.max()), 3) == 1.593


@pytest.mark.parametrize("level", [0.0, 7.0, 13000.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_constant_window_has_sigma_0_00316_and_becomes_exactly_zero(level, dtype):
    z, _, sigma = stationarize(torch.full((1, 12, 1), level, dtype=dtype))
    assert_close(sigma.item(), 1e-5**0.5)
    assert float(z.abs().max()) == 0


def test_a_scale_below_epsilon_is_not_removed():
    assert round(float(stationarize(0.001 * counting(1, 4, 1))[0].max()), 3) == 0.447


def test_a_times_x_plus_b_leaves_the_window_and_comes_back_in_the_forecast():
    x = counting(2, 12, 5).sin()
    (z, mu, sigma), (z_2, mu_2, sigma_2) = stationarize(x), stationarize(3 * x + 7)
    assert_close(z, z_2, atol=1e-4, rtol=0)
    y = z[:, -4:].cos()
    assert_close(destationarize(y, mu_2, sigma_2), 3 * destationarize(y, mu, sigma) + 7, atol=1e-4, rtol=0)
    assert_close(destationarize(*(window(v) for v in (0.8, 5, 3))), window(7.4))


def test_detach_changes_no_forecast_and_no_parameter_gradient_only_that_of_the_input():
    runs = []
    for detach in (True, False):
        with torch.random.fork_rng():
            torch.manual_seed(3)
            model = NonstationaryTransformer(12, 6, 4, **SIZES, p_hidden=(16, 16), marks=0, detach=detach).double()
        x = (counting(2, 12, 5) * 0.7).sin().requires_grad_()
        y = model(x)
        y.square().sum().backward()
        runs.append((y, [p.grad for p in model.parameters()], x.grad))
    (y, grads, to_x), (y_2, grads_2, to_x_2) = runs
    assert torch.equal(y, y_2)
    assert all(torch.equal(a, b) for a, b in zip(grads, grads_2, strict=True))
    assert float((to_x - to_x_2).norm()) > 0.1


def test_forward_leaves_the_callers_window_alone():
    model = double(NonstationaryTransformer(12, 6, 4, **SIZES, p_hidden=(16,), marks=0))
    x = counting(2, 12, 5).sin()
    kept = x.clone()
    model(x)
    assert torch.equal(x, kept)


def test_a_factor_in_front_has_slope_zero_unless_the_statistics_are_detached():
    data = counting(1, 12, 1).sin()
    slopes = []
    for detach in (False, True):
        w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
        (stationarize(w * data, detach)[0] * data).sum().backward()
        slopes.append(abs(float(w.grad)))
    assert slopes[0] < 1e-4 < 1 < slopes[1]


@pytest.mark.parametrize(("normalise", "through"), [
    (nn.BatchNorm1d(3, affine=False).double(), True),
    (lambda x: stationarize(x[None])[0], True),
    (lambda x: stationarize(x[None], detach=True)[0], False)])
def test_column_sums_of_the_input_gradient_vanish_where_it_passes_through_the_mean(normalise, through):
    x = (counting(7, 3) * 0.7).sin().requires_grad_()
    (normalise(x) * counting(7, 3).cos()).sum().backward()
    largest = float(x.grad.sum(0).abs().max())
    assert largest < 1e-12 if through else largest > 0.1


# Lesson 04

def test_36_weights_against_12_against_60():
    assert count(projector().conv) == 36
    assert count(nn.Linear(12, 1, bias=False)) == 12
    assert count(nn.Conv1d(5, 5, 12, groups=5, bias=False)) == 60


def test_one_c_sees_all_times_and_three_neighbouring_variables():
    x = counting(1, 12, 5).sin().requires_grad_()
    conv(projector(), x)[0, 0, 0].backward()
    assert (x.grad[0] != 0).all(0).tolist() == [True, True, False, False, True]
    assert (x.grad[0] != 0).any(0).tolist() == [True, True, False, False, True]


def test_linear_over_time_is_the_conv_with_its_outer_taps_at_zero():
    module, x = projector(), counting(1, 12, 5).sin()
    module.conv.weight[..., 0] = 0
    module.conv.weight[..., 2] = 0
    assert_close(conv(module, x)[0, 0], x[0].T @ module.conv.weight[0, :, 1])


def test_of_120_orders_the_conv_follows_the_five_turns_only():
    module, x = projector(), counting(1, 12, 5).sin()
    plain = conv(module, x)
    followed = [o for o in permutations(range(5)) if torch.allclose(conv(module, x[..., list(o)]), plain[..., list(o)])]
    assert followed == [(0, 1, 2, 3, 4), (1, 2, 3, 4, 0), (2, 3, 4, 0, 1), (3, 4, 0, 1, 2), (4, 0, 1, 2, 3)]


def test_not_even_a_turn_leaves_tau_alone():
    module, x = projector(), counting(1, 12, 5).sin()
    turned = x.roll(1, -1)
    assert not torch.allclose(module(x, stationarize(x)[2]), module(turned, stationarize(turned)[2]), atol=1e-3)


def test_with_one_variable_the_three_taps_are_one():
    module, x = projector(V=1), counting(1, 12, 1).sin()
    assert_close(conv(module, x)[0, 0], x[0].T @ module.conv.weight[0].sum(-1))


def test_with_two_variables_both_outer_taps_see_the_other_one():
    module, x = projector(V=2), counting(1, 12, 2).sin()
    left, middle, right = module.conv.weight[0].T
    assert_close(conv(module, x)[0, 0], x[0].T @ middle + x[0].flip(-1).T @ (left + right))


def test_the_two_projectors_hold_94_percent_of_the_toy():
    model = NonstationaryTransformer(12, 6, 4, **SIZES)
    parts = count(model.tau_projector), count(model.delta_projector)
    assert (*parts, count(model)) == (18084, 19492, 40061)
    assert f"{sum(parts) / count(model):.0%}" == "94%"


@pytest.mark.filterwarnings("ignore:log_tau")
def test_without_a_lower_bound_tau_is_exactly_zero_and_its_gradient_with_it():
    log_tau = torch.tensor([[-165.0]], requires_grad=True)
    tau = temperature(log_tau, (-inf, 80.0))
    tau.sum().backward()
    assert tau.item() == 0
    assert log_tau.grad.item() == 0


@pytest.mark.filterwarnings("ignore:log_tau")
def test_the_bound_of_the_released_code_alone_does_not_prevent_nan_and_ours_does():
    q = 100 * torch.eye(2)
    k = 100 * torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 0.5]])
    log_tau = torch.tensor([[400.0]])
    released = torch.softmax(temperature(log_tau, (-inf, 80.0)) * (q @ k.T) / sqrt(2), -1)
    assert released.isnan().all()
    assert weights(destationary_attention, q, k, tau=temperature(log_tau)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert_close(float(temperature(log_tau).log()), log(torch.finfo(torch.float32).max) / 2)


def test_raw_levels_collapse_tau_and_standardised_ones_do_not():
    names = ["realgdp", "cpi", "m1", "unemp", "tbilrate"]
    raw = load_macro().tensor(names, dtype=torch.float64)
    standard = (raw - raw[:101].mean(0)) / raw[:101].std(0, correction=0)
    sizes = []
    for series in (raw, standard):
        x = series[None, 84:96]
        sizes.append(sorted(abs(float(projector(seed=s)(x, stationarize(x)[2]))) for s in range(20)))
    assert sizes[0][10] > 36
    assert sizes[1][-1] < 0.5
