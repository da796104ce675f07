"""What lessons 01 and 05 say in words or numbers, as tests."""

from math import exp, log, sqrt

import pytest
import torch
from torch import softmax

from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.datasets import load_macro
from tsattn_mini.lesson import counting, one_head, weights
from tsattn_mini.nonstationary import destationary_attention

close = torch.testing.assert_close


def f64(*values):
    return torch.tensor(values, dtype=torch.float64)


def randn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def distance(A, B):
    return ((A - B).abs().sum(-1) / 2).mean().item()


# 01 attention by hand

def test_softmax_sees_differences_not_shares():
    q, k = counting(2, 3), counting(5, 3)
    assert (q @ k.mT)[0].tolist() == [14, 32, 50, 68, 86]
    assert weights(scaled_dot_product, q, k)[0, 4] > 0.9999
    assert weights(scaled_dot_product, q, k / 10)[0, 4].item() == pytest.approx(0.650, abs=5e-4)
    A = weights(scaled_dot_product, q, k / 10)
    assert (A[1, 4] / A[1, 0]).item() == pytest.approx(exp(18 / sqrt(3)), rel=1e-12)
    assert exp(18 / sqrt(3)) == pytest.approx(32_600, rel=1e-3)


def test_random_scores_grow_like_the_root_of_the_width_and_saturate_without_it():
    slopes = []
    for d in (2, 32, 512):
        QK = (randn(d, 2500, 1, d) * randn(d + 1, 2500, 8, d)).sum(-1)
        assert QK.std().item() == pytest.approx(sqrt(d), rel=0.05)
        for logits in (QK, QK / sqrt(d)):
            best = softmax(logits, -1).amax(-1)
            slopes.append((best * (1 - best)).mean().item())
    assert slopes[0] > 1.5 * slopes[2] > 3 * slopes[4]
    assert max(slopes[1::2]) < 1.3 * min(slopes[1::2])


def test_an_equal_vector_on_every_key_changes_nothing_and_on_every_query_lifts_columns():
    q, k, c = randn(1, 3, 5), randn(2, 7, 5), randn(3, 5)
    plain = weights(scaled_dot_product, q, k)
    close(weights(scaled_dot_product, q, k + c), plain)
    moved = weights(scaled_dot_product, q + c, k)
    close(moved, weights(destationary_attention, q, k, delta=(k @ c)[None]))
    assert distance(moved, plain) > 0.01


def test_presets_of_the_four_by_four_explorer():
    k, v = f64([3, 0], [1, 1], [0, 2], [-1, -1]), counting(4, 2)
    nobody = scaled_dot_product(one_head(f64([0, 0])), one_head(k), one_head(v))[0, 0, 0]
    close(nobody, v.mean(0))
    forth, back = weights(scaled_dot_product, f64([1, 0], [-1, 0]), k)
    assert forth.argsort().tolist() == back.argsort(descending=True).tolist()
    assert distance(forth, back.flip(0)) > 0.01
    assert weights(scaled_dot_product, f64([4, 0]), k)[0, 0] > 0.99
    twins = weights(scaled_dot_product, randn(5, 4, 2), k[[0, 0, 2, 3]])
    close(twins[:, 0], twins[:, 1])
    close(weights(scaled_dot_product, k, k, mask=causal(4))[0], f64(1, 0, 0, 0))


def test_soft_masks_have_a_price():
    assert -log(1e-6) == pytest.approx(13.8, abs=0.05)
    for E, odds in ((64, 0.056), (512, 0.36)):
        assert exp(-log(1e10) / sqrt(E)) == pytest.approx(odds, abs=5e-3)
    row = softmax(f64(0, *[-log(1e10) / 8] * 3), -1)
    close(row, f64(0.856, 0.048, 0.048, 0.048), atol=5e-4, rtol=0)


def test_hiding_a_key_after_the_softmax_or_with_a_zero_key_does_not_hide_it():
    q, k = counting(1, 2), f64([1, 0], [0, 1], [-3, -3])
    A = weights(scaled_dot_product, q, k)[0]
    assert A[:2].sum() < 1 - 1e-4
    zeroed = weights(scaled_dot_product, q, k * f64([0], [1], [1]))[0]
    assert zeroed[0] > zeroed[2] > 0
    close(softmax(torch.full((5,), -1e9), -1), torch.full((5,), 0.2))


# 05 de-stationary attention

def restored(q, k, q_z, k_z, tau, delta):
    """Distance between the raw map and the one with τ and δ handed back."""
    raw = weights(scaled_dot_product, q, k)
    return distance(raw, weights(destationary_attention, q_z, k_z, tau=tau.reshape(1, 1), delta=delta[None]))


def window(seed, S=12, V=5):
    x = randn(seed, S, V).cumsum(0) + 3 * randn(seed + 1000, V)
    mu = x.mean(0)
    sigma = (x - mu).square().mean().sqrt()
    return x, (x - mu) / sigma, sigma


@pytest.mark.parametrize("E", [1, 2, 7])
@pytest.mark.parametrize("seed", range(5))
def test_the_theorem_is_exact_for_a_linear_map_and_one_sigma(seed, E):
    x, z, sigma = window(seed)
    W_q, W_k = randn(seed + 1, 5, E), randn(seed + 2, 5, E)
    q, k, q_z, k_z = x @ W_q, x @ W_k, z @ W_q, z @ W_k
    assert distance(weights(scaled_dot_product, q, k), weights(scaled_dot_product, q_z, k_z)) > 0.05
    assert restored(q, k, q_z, k_z, sigma**2, k @ q.mean(0)) < 1e-13
    assert restored(q, k, q, k_z, sigma, 0 * k[:, 0]) < 1e-13, "raw queries: τ = σ, no δ"


@pytest.mark.parametrize("seed", range(5))
def test_a_bias_is_repaired_by_another_delta_and_positions_are_not(seed):
    x, z, sigma = window(seed)
    W_q, W_k, b_q, b_k = randn(seed + 1, 5, 2), randn(seed + 2, 5, 2), randn(seed + 3, 2), randn(seed + 4, 2)
    q, k, q_z, k_z = x @ W_q + b_q, x @ W_k + b_k, z @ W_q + b_q, z @ W_k + b_k
    assert restored(q, k, q_z, k_z, sigma**2, k @ q.mean(0)) > 1e-5
    assert restored(q, k, q_z, k_z, sigma**2, k @ (q.mean(0) - sigma * b_q)) < 1e-13
    P = randn(seed + 5, 12, 5)
    difference = (x + P) @ W_q @ W_k.mT @ (x + P).mT - sigma**2 * (z + P) @ W_q @ W_k.mT @ (z + P).mT
    inner = difference - difference.mean(0) - difference.mean(1, keepdim=True) + difference.mean()
    assert inner.abs().max() > 0.1, "the change is more than one number per row and one per column"


def test_the_window_from_one_to_five_on_paper():
    x = counting(5, 1)
    z = (x - 3) / sqrt(2)
    gap = x @ x.mT - (2 * z @ z.mT + 3 * x[:, 0])
    close(gap, f64([-6], [-3], [0], [3], [6]).expand(5, 5))


def test_tau_below_zero_reverses_and_above_zero_keeps_the_ranking():
    q, k = torch.ones(1, 1, dtype=torch.float64), f64([2], [1], [0])
    at = {tau: weights(destationary_attention, q, k, tau=f64([tau]))[0] for tau in (-1.0, 0.0, 0.01, 1.0, 16.0)}
    inverse = 1 / at[1.0]
    close(at[-1.0], inverse / inverse.sum())
    close(at[0.0], torch.full_like(at[0.0], 1 / 3))
    assert all(A.argsort().tolist() == [2, 1, 0] for tau, A in at.items() if tau > 0)
    assert at[16.0][0] > 0.9999


def test_tau_to_zero_leaves_the_softmax_of_delta_alone():
    delta = f64([4, 0, 0, -1, 2])
    A = weights(destationary_attention, randn(1, 3, 8), randn(2, 5, 8), tau=f64([1e-12]), delta=delta)
    close(A, softmax(delta / sqrt(8), -1).expand(3, 5))


def test_only_differences_of_delta_count_also_for_the_gradient():
    q, k = counting(2, 3), counting(5, 3) / 10
    delta = f64([4, 3, 2, 1, 0]).requires_grad_()
    close(weights(destationary_attention, q, k, delta=delta + 7), weights(destationary_attention, q, k, delta=delta))
    destationary_attention(one_head(q), one_head(k), one_head(k), delta=delta).square().sum().backward()
    assert delta.grad.abs().max() > 0.1
    assert delta.grad.sum().abs() < 1e-14


@pytest.mark.parametrize(("E", "odds"), [(1, 54.60), (2, 16.92), (8, 4.11), (64, 1.65)])
def test_delta_is_divided_by_the_root_of_the_width(E, odds):
    zero = torch.zeros(2, E, dtype=torch.float64)
    a, b = weights(destationary_attention, zero[:1], zero, delta=f64([4, 0]))[0].tolist()
    assert a / b == pytest.approx(odds, abs=5e-3)
    a, b = weights(destationary_attention, zero[:1], zero, delta=f64([sqrt(E) * log(10), 0]))[0].tolist()
    assert a / b == pytest.approx(10)


def test_macro_windows_get_their_raw_maps_back():
    levels = load_macro().tensor(["realgdp", "realcons", "realinv"], dtype=torch.float64) / 1000
    assert (levels[-1, 0] / levels[0, 0]).item() == pytest.approx(4.8, abs=0.05)
    for x in levels.unfold(0, 12, 8).mT:
        rest = x - x.mean(0)
        sigma = rest.square().mean().sqrt()
        q, q_z = x / 2, rest / sigma / 2
        delta = q @ q.mean(0)
        assert restored(q, q, q_z, q_z, sigma**2, delta) < 1e-14
        assert restored(q, q, q_z, q_z, sigma**2, rest @ x.mean(0) / 4) < 1e-14, "δ minus its mean"
