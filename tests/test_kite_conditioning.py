"""Knowledge-guided conditioning: plain loops, limits, the masked rows, number range, export."""

import math
import warnings

import onnxruntime
import pytest
import torch
from forecasters import build, draw, traced
from torch.testing import assert_close

from tsattn_mini.explore.export import difference, export
from tsattn_mini.kite.conditioning import (
    ExogenousCrossAttention,
    HistoryThenFuture,
    InputConcatenation,
    KnowledgeGuidedAttention,
    KnowledgeGuidedConditioning,
    bilinear_scores,
    knowledge_guided,
)

B, N, D, T, F, d = 2, 3, 5, 7, 11, 13


def prior(*shape, seed=9):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def window(seed=0):
    """Y_s, X_exo and S."""
    return draw(B, N, F, seed=seed), draw(B, D, T, seed=seed + 1), prior(B, N, D, seed=seed + 2)


def kgc(**more):
    return build(KnowledgeGuidedConditioning, T=T, F=F, d=d, **more).requires_grad_(False)


def tables(*shape):
    return draw(*shape, seed=3), draw(*shape, seed=4), prior(*shape)


# Loops


def row_of_weights(A_b, A_g, S, delta):
    """One row of Eq. 13 as a product: (s + δ) · e^a · (e^g)^s, brought to sum one."""
    odds = [(s + delta) * math.exp(a) * math.exp(g) ** s for a, g, s in zip(A_b, A_g, S, strict=True)]
    return [o / sum(odds) for o in odds]


@pytest.mark.parametrize("other", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("of_S", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_prior_of_another_dtype_is_read_in_the_scores_own(other, of_S):
    q, k, W1, W2 = (x.to(other) for x in (draw(2, 3), draw(4, 5), draw(3, 5), draw(3, 5, seed=1)))
    S = prior(2, 4).to(of_S)
    scores = bilinear_scores(q, k, W1, W2, S)
    assert scores.dtype == other
    assert torch.equal(scores, bilinear_scores(q, k, W1, W2, S.to(other)))


def test_the_gate_equals_prior_times_likelihood_in_plain_loops():
    A_b, A_g, S = tables(B, N, D)
    A = knowledge_guided(A_b, A_g, S, 1e-3)
    for b in range(B):
        for i in range(N):
            want = row_of_weights(A_b[b, i].tolist(), A_g[b, i].tolist(), S[b, i].tolist(), 1e-3)
            assert_close(A[b, i], A.new_tensor(want), rtol=0, atol=1e-15)


def score(state, covariate, q, k):
    """One pair's dot product of projections over √d; `q` and `k` are weights (d, steps)."""
    asks = [sum(w * y for w, y in zip(row, state, strict=True)) for row in q.tolist()]
    answers = [sum(w * x for w, x in zip(row, covariate, strict=True)) for row in k.tolist()]
    return sum(a * b for a, b in zip(asks, answers, strict=True)) / math.sqrt(len(asks))


def injected(A, X, y, W_v):
    """Eq. 14 for one state: F numbers."""
    AX = [sum(a * X[j][t] for j, a in enumerate(A)) for t in range(len(X[0]))]
    return [sum(w * x for w, x in zip(W_v[f], AX, strict=True)) + y[f] for f in range(len(y))]


@pytest.mark.parametrize("shared_key", [False, True])
def test_the_paper_form_equals_plain_loops(shared_key):
    net, (Y, X, S) = kgc(shared_key=shared_key), window()
    got = net(Y, X, S)
    second = net.W1k if shared_key else net.W2k
    for b in range(B):
        for i in range(N):
            y, rows = Y[b, i].tolist(), X[b].tolist()
            base = [score(y, x, net.W1q.weight, net.W1k.weight) for x in rows]
            guided = [score(y, x, net.W2q.weight, second.weight) for x in rows]
            A = row_of_weights(base, guided, S[b, i].tolist(), 1e-6)
            assert_close(got[b, i], got.new_tensor(injected(A, rows, y, net.W_v.weight.tolist())))


def test_the_rivals_equal_plain_loops():
    Y, X, S = window()
    plain = build(ExogenousCrossAttention, T=T, F=F, d=d).requires_grad_(False)
    joined = build(InputConcatenation, T=T, F=F, d=d).requires_grad_(False)
    without, within = plain(Y, X), joined(Y, X, S)
    for b in range(B):
        for i in range(N):
            y, rows = Y[b, i].tolist(), X[b].tolist()
            A = row_of_weights([score(y, x, plain.W_q.weight, plain.W_k.weight) for x in rows], [0] * D, [1] * D, 0)
            assert_close(without[b, i], Y.new_tensor(injected(A, rows, y, plain.W_v.weight.tolist())))
            keys = [[*x, float(s)] for x, s in zip(rows, S[b, i], strict=True)]
            A = row_of_weights([score(y, k, joined.W_q.weight, joined.W_k.weight) for k in keys], [0] * D, [1] * D, 0)
            assert_close(within[b, i], Y.new_tensor(injected(A, rows, y, joined.W_v.weight.tolist())))


def test_the_released_form_equals_plain_loops():
    M, H, L = 6, 2, 3
    net = build(KnowledgeGuidedAttention, M=M, H=H, D=D).requires_grad_(False)
    x, exo, w = draw(B, L, M), draw(B, D, M, seed=1), prior(B, L, D)
    got, named = net(x, exo, w), exo + net.variable
    for b in range(B):
        for i in range(L):
            out = []
            for h in range(H):
                part = slice(h * M // H, (h + 1) * M // H)
                pair = [[score(x[b, i].tolist(), y.tolist(), q.weight[part], net.k.weight[part]) for y in named[b]]
                        for q in (net.q1, net.q2)]
                A = row_of_weights(*pair, w[b, i].tolist(), 1e-6)
                out.append(sum(a * (net.v.weight[part] @ y) for a, y in zip(A, named[b], strict=True)))
            up = net.up.weight @ torch.cat(out) + net.up.bias
            assert_close(got[b, i], net.down.weight @ (up / (1 + torch.exp(-up))) + net.down.bias)


def test_one_prior_row_serves_every_state_of_the_released_form():
    net = build(KnowledgeGuidedAttention, M=6, H=2, D=D).requires_grad_(False)
    x, exo, w = draw(B, N, 6), draw(B, D, 6, seed=1), prior(B, 1, D)
    assert_close(net(x, exo, w), net(x, exo, w.expand(-1, N, -1)))


# Limits


@pytest.mark.parametrize("shared_key", [False, True])
def test_pairwise_matrices_and_two_branches_give_the_same_scores(shared_key):
    net, (Y, X, S) = kgc(shared_key=shared_key), window()
    trace = traced(net, Y, X, S)
    branches = trace["A_b"].tensor + trace["S_A_g"].tensor
    assert_close(bilinear_scores(Y, X, *net.matrices(), S), branches, rtol=0, atol=1e-14)
    assert_close(bilinear_scores(Y[0], X[0], *net.matrices(), S[0]), branches[0], rtol=0, atol=1e-14)


def test_a_constant_prior_row_pays_nothing_and_without_the_second_branch_is_plain_attention():
    A_b, A_g, _ = tables(B, N, D)
    nothing, plain = torch.zeros_like(A_b), torch.softmax(A_b, -1)
    for value in (0.0, 0.4, 1.0):
        S = torch.full_like(A_b, value)
        assert_close(knowledge_guided(A_b, nothing, S), plain, rtol=0, atol=1e-15)
        assert_close(knowledge_guided(A_b, A_g, S), torch.softmax(A_b + value * A_g, -1), rtol=0, atol=1e-15)
    Y, X, _ = window()
    rival = build(ExogenousCrossAttention, T=T, F=F, d=d).requires_grad_(False)
    net = kgc()
    for ours, theirs in ((net.W1q, rival.W_q), (net.W1k, rival.W_k), (net.W_v, rival.W_v)):
        ours.load_state_dict(theirs.state_dict())
    assert_close(net(Y, X, torch.zeros(B, N, D, dtype=Y.dtype)), rival(Y, X), rtol=0, atol=1e-14)


def test_each_of_the_three_terms_is_left_out_by_a_zero():
    A_b, A_g, S = tables(B, N, D)
    off = torch.zeros_like(A_b)
    assert_close(knowledge_guided(off, A_g, S), torch.softmax(S * A_g + (S + 1e-6).log(), -1))
    assert_close(knowledge_guided(A_b, off, S), torch.softmax(A_b + (S + 1e-6).log(), -1))
    assert_close(knowledge_guided(A_b, A_g, S, gate_weight=0.0), torch.softmax(A_b + S * A_g, -1))
    assert_close(knowledge_guided(off, off, S), (S + 1e-6) / (S + 1e-6).sum(-1, keepdim=True))


def test_history_then_future_is_one_injection_after_the_other():
    Y, X, S = window()
    Y_exo, S_future = draw(B, D, F, seed=8), prior(B, N, D, seed=11)
    net = build(HistoryThenFuture, T=T, F=F, d=d).requires_grad_(False)
    assert net.future.W1k.weight.shape == (d, F)
    assert net.future.W_v.weight.shape == (F, F)
    after_history = net.history(Y, X, S)
    assert_close(net(Y, X, Y_exo, S), net.future(after_history, Y_exo, S))
    assert_close(net(Y, X, Y_exo, S, S_future), net.future(after_history, Y_exo, S_future))
    assert float((net(Y, X, Y_exo, S) - net(Y, X, Y_exo, S, S_future)).abs().max()) > 1e-3
    alone = build(HistoryThenFuture, T=T, F=F, d=d, future=False).requires_grad_(False)
    assert_close(alone(Y, X, None, S), alone.history(Y, X, S))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (1, 5), (4, 1)])
def test_one_variable_on_either_side_is_enough(n, k):
    trace = traced(kgc(), draw(B, n, F), draw(B, k, T, seed=1), prior(B, n, k))
    assert trace["A"].shape == (B, n, k)
    assert trace["Y_tilde"].shape == (B, n, F)
    assert_close(trace["A"].tensor.sum(-1), torch.ones(B, n, dtype=torch.float64))


def test_every_step_of_both_forms_says_what_it_is():
    names = ["q1", "k1", "q2", "k2", "A_b", "A_g", "S", "S_A_g", "gate", "logits", "A", "AX", "AXW", "Y_tilde"]
    paper = traced(kgc(), *window())
    assert list(paper) == names
    assert list(traced(kgc(shared_key=True), *window())) == [name for name in names if name != "k2"]
    released = traced(build(KnowledgeGuidedAttention, M=6, H=2, D=D), draw(B, N, 6), draw(B, D, 6), prior(B, 1, D))
    assert released["A_b"].axes == "B H L D"
    assert released["gate"].shape == (B, 1, 1, D)
    assert [name for t in (paper, released) for name in t if not (t[name].eq and t[name].note)] == []


# Masks and the number range


def test_a_mask_is_hard_where_the_gate_is_a_price_and_an_empty_row_gets_nothing():
    lead = torch.tensor([[30.0, 0.0], [30.0, 0.0]], dtype=torch.float64)
    S = torch.tensor([[0.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    zero = torch.zeros_like(lead)
    assert float(knowledge_guided(lead, zero, S)[0, 0]) > 0.9999
    mask = torch.tensor([[True, False], [True, True]])
    lead.requires_grad_()
    with pytest.warns(RuntimeWarning, match=r"mask hides every key of 1 row\(s\), the first at index \(1,\)"):
        A = knowledge_guided(lead, zero, S, mask=mask)
    assert A.tolist() == [[0, 1], [0, 0]]
    A[:, 0].sum().backward()
    assert lead.grad.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_finite_scores_never_give_nan_at_any_delta_that_is_allowed(dtype, value):
    limits = torch.finfo(dtype)
    A_b = torch.tensor([[9.0, -9.0, 0.0]], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for delta in (limits.smallest_normal * limits.eps, limits.smallest_normal, 1e-6, 1.0):
            A = knowledge_guided(A_b, A_b, torch.full_like(A_b, value), delta)
            assert bool(A.isfinite().all())
            assert A.dtype == dtype


def test_both_forms_leave_as_graphs_with_every_step_by_name():
    paper = build(HistoryThenFuture, dtype=torch.float32, T=T, F=F, d=d)
    Y, X, S = (t.float() for t in window())
    released = build(KnowledgeGuidedAttention, dtype=torch.float32, M=6, H=2, D=D)
    runs = [(paper, {"Y_s": Y, "X_exo": X, "Y_exo": draw(B, D, F).float(), "S": S}),
            (released, {"x": Y[..., :6], "exo": X[..., :6], "w": S[:, :1]})]
    for net, values in runs:
        with torch.no_grad():
            trace = traced(lambda net=net, values=values: net(**values))
            graph = export(lambda net=net, **moved: net(**moved), values, {}, list(trace))
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        got = session.run(list(trace), {f"in/{name}": t.numpy() for name, t in values.items()})
        assert max(difference(trace[n].tensor, torch.from_numpy(a)) for n, a in zip(trace, got, strict=True)) <= 1e-5
