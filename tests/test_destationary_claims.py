"""What the lecture notes say about τ and δ in attention, and what happens. Numbers are claim ids."""

import math

import pytest
import torch
from forecasters import distance, draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.nonstationary import destationary_attention


def row(scores, **handles):
    """The weights of one query with these scores: keys are the numbers, the query is 1."""
    k = torch.tensor(scores, dtype=torch.float64).reshape(1, -1, 1, 1)
    with record() as trace:
        destationary_attention(torch.ones_like(k[:, :1]), k, k, **handles)
    return trace["A"].tensor[0, 0, 0]


def test_claim_26_delta_is_divided_by_the_root_of_the_head_width_too():
    odds = []
    for E in (2, 8, 64):
        with record() as trace:
            zeros = torch.zeros(1, 2, 1, E, dtype=torch.float64)
            destationary_attention(zeros, zeros, zeros, delta=torch.tensor([[4.0, 0.0]], dtype=torch.float64))
        A = trace["A"].tensor[0, 0, 0]
        odds.append(round(float(A[0] / A[1]), 2))
    assert odds == [16.92, 4.11, 1.65]


def test_claim_27_a_negative_tau_turns_the_ranking_round_exactly():
    scores, minus = [0.0, -1.0, -2.0], torch.tensor([[-1.0]], dtype=torch.float64)
    assert row(scores).tolist() == pytest.approx([0.665, 0.245, 0.090], abs=5e-4)
    assert row(scores, tau=minus).tolist() == pytest.approx([0.090, 0.245, 0.665], abs=5e-4)
    inverse = 1 / row(scores)
    assert_close(row(scores, tau=minus), inverse / inverse.sum())


def test_claim_27_small_tau_is_uniform_and_large_tau_is_one_hot():
    A = row([0.0, -1.0, -2.0], tau=torch.tensor([[1e-9]], dtype=torch.float64))
    assert float(-(A * A.log()).sum()) == pytest.approx(math.log(3))
    assert float(row([0.0, -1.0, -2.0], tau=torch.tensor([[16.0]], dtype=torch.float64))[0]) > 1 - 1e-6


def test_claim_28_only_differences_of_delta_count_and_its_gradient_sums_to_zero():
    q, k, v, tau = draw(2, 3, 5, 7), draw(2, 11, 5, 7, seed=1), draw(2, 11, 5, 7, seed=2), draw(2, 1, seed=3).exp()
    delta = draw(2, 11, seed=4).requires_grad_()
    out = destationary_attention(q, k, v, tau, delta)
    assert_close(destationary_attention(q, k, v, tau, delta + 7), out)
    out.square().sum().backward()
    assert float(delta.grad.sum(1).abs().max()) < 1e-12
    assert float(delta.grad.abs().max()) > 0.01
    low = row([0.0, 0.0, 0.0], delta=torch.tensor([[-3.0, -5.0, -5.0]], dtype=torch.float64))
    assert float(low[0]) > 1 / 3  # negative, and yet it strengthens its key


def attention_of(h, Wq, Wk, tau=None, delta=None, bias=0.0):
    q, k = (((h @ W) + bias)[None, :, None] for W in (Wq, Wk))
    with record() as trace:
        destationary_attention(q, k, k, tau, delta)
    return trace["A"].tensor[0, 0]


def theorem(scales=(2.0, 2.0, 2.0), bias=0.0, position=0.0):
    """Attention on a raw window beside attention on the stationarized one, corrected in three degrees."""
    shape = draw(7, 3)
    x_norm = (shape - shape.mean(0)) / shape.std(0, correction=0)
    sigma = torch.tensor(scales, dtype=torch.float64)
    level = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    W, Wq, Wk = draw(3, 5, seed=1) / 2, draw(5, 5, seed=2) / 2, draw(5, 5, seed=3) / 2
    places = position * draw(7, 5, seed=4)
    raw, norm = (x_norm * sigma + level) @ W + places, x_norm @ W + places
    one = float(sigma.mean())
    tau = torch.full((1, 1), one**2, dtype=torch.float64)
    delta = (((raw @ Wk) + bias) @ (level @ W @ Wq))[None]  # K μ_Q
    want = attention_of(raw, Wq, Wk, bias=bias)
    return {"nothing": distance(want, attention_of(norm, Wq, Wk, bias=bias)),
            "tau": distance(want, attention_of(norm, Wq, Wk, tau, bias=bias)),
            "both": distance(want, attention_of(norm, Wq, Wk, tau, delta, bias=bias))}


def test_claim_16_on_a_linear_map_with_one_sigma_tau_and_delta_restore_raw_attention_exactly():
    left = theorem()
    assert left["both"] < 1e-14
    assert left["tau"] > 0.1
    assert left["nothing"] > 0.1


@pytest.mark.parametrize("broken", [{"scales": (0.5, 2.0, 3.5)}, {"bias": 1.0}, {"position": 1.0}])
def test_claim_16_each_assumption_is_needed(broken):
    assert theorem(**broken)["both"] > 0.1


def test_claim_7_delta_depends_on_the_weights_and_prefers_no_step():
    x = torch.tensor([[1, 10], [2, 20], [3, 30], [4, 40]], dtype=torch.float64)
    favourites = set()
    for seed in range(8):
        W, Wq, Wk = draw(2, 5, seed=seed), draw(5, 5, seed=seed + 50), draw(5, 5, seed=seed + 99)
        favourites.add(int((x @ W @ Wk @ (x.mean(0) @ W @ Wq)).argmax()))
    assert favourites == {0, 3}
