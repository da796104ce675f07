"""What the note on knowledge-guided conditioning says, and what happens. Numbers are claim ids."""

import math

import pytest
import torch
from forecasters import build, draw, traced
from torch import softmax
from torch.testing import assert_close

from tsattn_mini.kite.conditioning import (
    ExogenousCrossAttention,
    HistoryThenFuture,
    InputConcatenation,
    KnowledgeGuidedAttention,
    KnowledgeGuidedConditioning,
    bilinear_scores,
    knowledge_guided,
)
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import normalise
from tsattn_mini.lesson import counting
from tsattn_mini.questions.lesson09 import closed_doors


def row(*values):
    return torch.tensor([values], dtype=torch.float64)


def gate_only(prior, delta=1e-6):
    return knowledge_guided(0 * prior, 0 * prior, prior, delta)[0]


def uniform(*shape, seed=7):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# Eq. 10 and its expansion


@pytest.mark.parametrize("seed", range(5))
def test_claims_66_72_and_89_the_expansion_of_eq_10_is_the_two_branches_with_the_root_of_d_inside(seed):
    net = build(KnowledgeGuidedConditioning, seed=seed, T=168, F=24, d=16).requires_grad_(False)
    Y, X, S = draw(1, 3, 24, seed=seed), draw(1, 5, 168, seed=seed + 9), uniform(1, 3, 5)
    (W1, W2), (A_b, A_g) = net.matrices(), net.branches(Y, X)
    assert_close(bilinear_scores(Y, X, W1, W2, S), A_b + S * A_g, rtol=0, atol=1e-13)
    assert_close(W1, net.W1q.weight.mT @ net.W1k.weight / 4, rtol=0, atol=1e-16)
    assert_close(Y @ W1 @ X.mT, A_b, rtol=0, atol=1e-13)
    assert_close(Y @ W2 @ X.mT, A_g, rtol=0, atol=1e-13)


def test_claim_68_at_s_1_the_matrix_is_the_sum_of_both_and_never_the_second():
    q, k, W1 = counting(1, 2), counting(1, 3), counting(2, 3)
    W2 = torch.tensor([[10.0, 0, -10], [0, 10, 0]], dtype=torch.float64)
    scores = {s: bilinear_scores(q, k, W1, W2, row(s)).item() for s in (0.0, 0.5, 1.0)}
    assert scores == {0.0: 78, 0.5: 88, 1.0: 98}
    assert (q @ W2 @ k.mT).item() == 20


def test_claims_69_and_87_what_s_adds_is_content_of_either_sign_and_the_gate_is_a_bias():
    q, W1 = counting(1, 2), counting(2, 3)
    W2 = torch.tensor([[10.0, 0, -10], [0, 10, 0]], dtype=torch.float64)
    added = [bilinear_scores(q, k, W1, W2, row(1.0)) - bilinear_scores(q, k, W1, W2, row(0.0))
             for k in (counting(1, 3), row(-1.0, 0.0, 1.0))]
    assert torch.cat(added).flatten().tolist() == [20, -20]
    net = build(KnowledgeGuidedConditioning, T=6, F=4, d=2)
    S = uniform(1, 2, 3)
    gates = [traced(net, draw(1, 2, 4, seed=i), draw(1, 3, 6, seed=i + 5), S)["gate"].tensor for i in range(2)]
    assert torch.equal(*gates)


def residual(seed, D=64, d=16):
    """What 32 guided score rows hold outside the reach of any query against the other branch's keys."""
    g = torch.Generator().manual_seed(seed)
    K1, K2 = torch.randn(2, D, d, generator=g, dtype=torch.float64)
    wanted = K2 @ torch.randn(d, 32, generator=g, dtype=torch.float64)
    return float((wanted - K1 @ torch.linalg.lstsq(K1, wanted).solution).norm() / wanted.norm())


def test_claim_59_only_with_a_shared_key_does_the_prior_change_the_query():
    shared = build(KnowledgeGuidedConditioning, T=7, F=5, d=3, shared_key=True).requires_grad_(False)
    Y, X, S = draw(1, 2, 5), draw(1, 4, 7, seed=1), uniform(1, 2, 4)
    A_b, A_g = shared.branches(Y, X)
    for i in range(2):
        for j in range(4):
            q = (shared.W1q.weight + S[0, i, j] * shared.W2q.weight) @ Y[0, i]
            assert_close(q @ (shared.W1k.weight @ X[0, j]) / math.sqrt(3), (A_b + S * A_g)[0, i, j])
    left = [residual(seed) for seed in range(20)]
    assert min(left) > 0.80
    assert max(left) < 0.885
    assert residual(0, D=16) < 1e-9


def best(W, d):
    U, s, V = torch.linalg.svd(W, full_matrices=False)
    return (U[:, :d] * s[:d]) @ V[:d]


def test_claim_70_a_product_of_width_d_reaches_rank_d_and_no_further():
    missing, of_score = [], []
    for seed in range(9):
        W1, W2 = draw(24, 168, seed=seed), draw(24, 168, seed=seed + 50)
        q, k = draw(500, 24, seed=seed + 100), draw(500, 168, seed=seed + 150)
        error = W1 - best(W1, 16)
        missing.append(float(error.norm() / W1.norm()))
        of_score.append(float((q @ error @ k.mT).norm() / (q @ (W1 + W2) @ k.mT).norm()))
        assert_close(best(W1, 24), W1)
    assert sum(missing) / 9 == pytest.approx(0.445, abs=0.01)
    assert sum(of_score) / 9 == pytest.approx(0.31, abs=0.015)


@pytest.mark.parametrize(("F", "T", "branches", "full"), [(24, 168, 24_576, 8_064), (360, 720, 138_240, 518_400)])
def test_claim_70_two_branches_are_not_always_smaller(F, T, branches, full):
    net = KnowledgeGuidedConditioning(T=T, F=F, d=64)
    assert sum(w.numel() for name, w in net.named_parameters() if name != "W_v.weight") == branches
    assert full == 2 * F * T
    assert (branches < full) == (F * T / (F + T) > 64)


# Eq. 13: the gate


def test_claim_73_weights_are_proportional_to_prior_times_likelihood():
    A_b, A_g, S = draw(9, 5), draw(9, 5, seed=1), uniform(9, 5)
    odds = (S + 1e-6) * A_b.exp() * A_g.exp() ** S
    assert_close(knowledge_guided(A_b, A_g, S), odds / odds.sum(-1, keepdim=True), rtol=0, atol=5e-16)


def test_claims_67_and_77_a_row_of_zeros_is_not_gated_and_one_zero_is():
    A_b = row(3.0, 1.0, 0.0)
    plain = softmax(A_b, -1)[0]
    assert plain.tolist() == pytest.approx([0.844, 0.114, 0.042], abs=5e-4)
    assert_close(knowledge_guided(A_b, 0 * A_b, 0 * A_b)[0], plain, rtol=0, atol=1e-15)
    one_zero = knowledge_guided(A_b, 0 * A_b, row(0.0, 1.0, 1.0))[0]
    assert float(one_zero[0]) < 1e-5
    assert one_zero.tolist()[1:] == pytest.approx([0.731, 0.269], abs=5e-4)


@pytest.mark.parametrize(("prior", "delta", "lead"), [((0, 1), 1e-6, 13.8), ((0, 0.1), 1e-6, 11.5), ((0, 1), 1e-3, 6.9),
                                                      ((0.1, 0.9), 1e-6, 2.2), ((0, 0), 1e-6, 0.0)])
def test_claims_74_75_and_88_a_zero_has_a_price_and_a_lead_pays_it(prior, delta, lead):
    prior = row(*map(float, prior))
    price = float((prior[0, 1] + delta).log() - (prior[0, 0] + delta).log())
    assert price == pytest.approx(lead, abs=0.05)
    A = knowledge_guided(row(price, 0.0), row(0.0, 0.0), prior, delta)[0]
    assert A.tolist() == pytest.approx([0.5, 0.5], abs=1e-12)


@pytest.mark.parametrize(("lead", "weight"), [(0, 1.0e-6), (5, 1.48e-4), (10, 0.0216), (15, 0.766), (20, 0.998)])
def test_claim_74_weight_of_a_key_of_prior_0_against_one_of_prior_1(lead, weight):
    A = knowledge_guided(row(float(lead), 0.0), row(0.0, 0.0), row(0.0, 1.0))
    assert float(A[0, 0]) == pytest.approx(weight, rel=3e-3)


def test_claim_74_the_gate_at_zero_is_finite_down_to_the_smallest_number_of_the_dtype():
    zero = row(0.0, 0.0)
    assert float(traced(knowledge_guided, zero, zero, zero)["gate"].tensor[0, 0]) == pytest.approx(-13.8, abs=0.05)
    single = zero.float()
    floor = torch.finfo(torch.float32).smallest_normal * torch.finfo(torch.float32).eps
    assert floor == pytest.approx(1.4e-45, rel=0.01)
    trace = traced(knowledge_guided, single, single, single, floor)
    assert float(trace["gate"].tensor[0, 0]) == pytest.approx(-103.3, abs=0.05)
    assert trace["A"].tensor.tolist() == [[0.5, 0.5]]
    assert bool(softmax((single + 1e-46).log(), -1).isnan().all())
    half = torch.finfo(torch.float16)
    assert math.log(half.smallest_normal * half.eps) == pytest.approx(-16.6, abs=0.05)
    assert bool(softmax((single.half() + 1e-8).log(), -1).isnan().all())


def test_claim_75_the_gate_sees_ratios_and_never_strength():
    low = row(0.001, 0.002, 0.001)
    assert gate_only(low).tolist() == pytest.approx([0.25, 0.5, 0.25], abs=2e-4)
    assert_close(gate_only(low, 1e-12), gate_only(500 * low, 1e-12), rtol=0, atol=1e-9)
    assert gate_only(row(0.9, 0.1)).tolist() == pytest.approx([0.9, 0.1], abs=1e-6)
    assert math.log(0.9 / 0.1) == pytest.approx(2.20, abs=5e-3)


# The norm, and the released gate


def test_claim_65_min_max_kills_the_weakest_however_strong_and_the_others_hardly_speak():
    r = row(0.92, 0.90, 0.88)
    found = {norm: gate_only(normalise(r, norm)).tolist() for norm in ("none", "max", "softmax", "minmax")}
    for norm in ("none", "max", "softmax"):
        assert found[norm] == pytest.approx([0.34, 0.333, 0.326], abs=2e-3)
    assert found["minmax"][:2] == pytest.approx([0.667, 0.333], abs=5e-4)
    assert found["minmax"][2] == pytest.approx(6.7e-7, rel=0.01)


@pytest.mark.parametrize(("D", "first", "other"), [(2, 0.731, 0.269), (10, 0.232, 0.085)])
def test_claims_69_and_77_a_softmax_prior_caps_the_gap_at_1_and_the_factor_at_e(D, first, other):
    r = torch.zeros(1, D, dtype=torch.float64)
    r[0, 0] = 1
    A = gate_only(softmax(r, -1))
    assert A[:2].tolist() == pytest.approx([first, other], abs=5e-4)
    assert float(A[0] / A[1]) == pytest.approx(math.e, abs=1e-4)
    random = softmax(uniform(200, D), -1)
    gate = traced(knowledge_guided, 0 * random, 0 * random, random)["gate"].tensor
    assert float((gate.amax(-1) - gate.amin(-1)).max()) <= 1


@pytest.mark.parametrize("D", [2, 3, 10, 50])
def test_claim_69_the_released_gate_is_plus_r_up_to_some_millionths(D):
    """No weight changes by more than δ (1 + (D - 1) e) / 4. The ledger's 1.1e-6 holds for a few covariates only."""
    A_b, A_g, r = draw(2000, D), draw(2000, D, seed=1), uniform(2000, D)
    S = softmax(r, -1)
    change = float((knowledge_guided(A_b, A_g, S) - softmax(A_b + S * A_g + r, -1)).abs().max())
    assert 1e-7 < change < 1e-6 * (1 + (D - 1) * math.e) / 4
    assert (change < 1.1e-6) == (D <= 3)


# Beside other ways in


def test_claim_58_appending_the_prior_to_the_key_adds_a_term_that_the_covariate_does_not_enter():
    net = build(InputConcatenation, T=6, F=4, d=5).requires_grad_(False)
    Y, S = draw(1, 2, 4), uniform(1, 2, 3)
    w = net.W_k.weight[:, -1]
    for seed in (1, 2):
        X = draw(1, 3, 6, seed=seed)
        added = traced(net, Y, X, S)["logits"].tensor - traced(net, Y, X, 0 * S)["logits"].tensor
        assert_close(added, S * (net.W_q(Y) @ w)[..., None] / math.sqrt(5), rtol=0, atol=1e-14)


def test_claim_56_with_nothing_in_the_prior_it_is_cross_attention_on_data_alone():
    net, plain = (build(cls, T=6, F=4, d=5).requires_grad_(False)
                  for cls in (KnowledgeGuidedConditioning, ExogenousCrossAttention))
    for ours, theirs in ((net.W1q, plain.W_q), (net.W1k, plain.W_k), (net.W_v, plain.W_v)):
        theirs.load_state_dict(ours.state_dict())
    Y, X = draw(1, 2, 4), draw(1, 3, 6, seed=1)
    assert_close(net(Y, X, torch.zeros(1, 2, 3, dtype=Y.dtype)), plain(Y, X), rtol=0, atol=1e-14)


def test_claim_55_the_second_door_lets_the_futures_past_every_closed_attention():
    past, future = closed_doors(second_door=True)
    assert past == 0
    assert future > 1
    assert closed_doors(second_door=False) == (0, 0)


# Shapes, sides, and what stands where


def test_claims_71_78_and_81_shapes_of_the_weights_and_steps_on_both_sides():
    net = build(HistoryThenFuture, T=168, F=24, d=16)
    for side, steps in ((net.history, 168), (net.future, 24)):
        shapes = {name.removesuffix(".weight"): tuple(w.shape[::-1]) for name, w in side.named_parameters()}
        assert shapes == {"W1q": (24, 16), "W2q": (24, 16), "W1k": (steps, 16), "W2k": (steps, 16), "W_v": (steps, 24)}
    trace = traced(net, draw(1, 3, 24), draw(1, 5, 168), draw(1, 5, 24), uniform(1, 3, 5))
    for name in ("A_b", "A_g", "S", "S_A_g", "gate", "logits", "A"):
        assert trace[f"history/{name}"].shape == trace[f"future/{name}"].shape == (1, 3, 5)
    assert trace["history/AX"].shape == (1, 3, 168)
    assert trace["history/Y_tilde"].shape == trace["future/Y_tilde"].shape == (1, 3, 24)


def test_claim_78_the_released_values_hold_a_learned_vector_so_an_absent_covariate_still_speaks():
    net = build(KnowledgeGuidedAttention, M=8, H=4, D=3)
    trace = traced(net, draw(1, 2, 8), torch.zeros(1, 3, 8, dtype=torch.float64), uniform(1, 1, 3))
    assert float(trace["v"].tensor.abs().max()) > 1e-3


def test_claims_80_and_82_history_then_future_alternate_inside_the_network_under_one_prior():
    net = build(VectorField, T=6, F=4, D=3, M=8, H=2)
    y = draw(1, 4)
    kept = y.clone()
    trace = traced(net, y, torch.tensor([500.0], dtype=torch.float64), draw(1, 3, 6), uniform(1, 1, 3), draw(1, 3, 4))
    assert torch.equal(y, kept)
    blocks = [name.removesuffix("/kgc/A") for name in trace if name.endswith("/kgc/A")]
    assert blocks == ["past0", "ahead0", "past1", "ahead1"]
    priors = [trace[f"{block}/kgc/S"].tensor for block in blocks]
    assert all(torch.equal(p, priors[0]) for p in priors)


@pytest.mark.bad_input
def test_claim_83_with_and_without_a_future_are_two_models():
    Y, X, S = draw(1, 2, 4), draw(1, 3, 6), uniform(1, 2, 3)
    with pytest.raises(ValueError, match="Y_exo: expected future covariates"):
        build(HistoryThenFuture, T=6, F=4, d=2)(Y, X, None, S)
    with pytest.raises(ValueError, match="Y_exo: expected None"):
        build(HistoryThenFuture, T=6, F=4, d=2, future=False)(Y, X, draw(1, 3, 4), S)


def test_claim_77_every_row_spends_exactly_one_whatever_the_prior():
    for S in (torch.zeros(4, 5), torch.full((4, 5), 1e-9), uniform(4, 5)):
        A = knowledge_guided(draw(4, 5), draw(4, 5, seed=1), S.double())
        assert_close(A.sum(-1), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-15)
