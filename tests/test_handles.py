"""Every handle alone on one matrix of scores: its limits, and what lesson 02 says of it."""

import pytest
import torch
from forecasters import draw

from tsattn_mini import record
from tsattn_mini.engram.gate import context_gate
from tsattn_mini.handles import modulate
from tsattn_mini.kite.conditioning import KnowledgeGuidedAttention
from tsattn_mini.nonstationary import destationary_attention

Z = torch.tensor([[2.0, 1.0, 0.0, -1.0], [0.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]], dtype=torch.float64)
EYE = torch.eye(4, dtype=torch.float64)  # as values: the answer is the effective weights
A = torch.softmax(Z, dim=-1)
FAR = torch.tensor([0.0, 0.0, 0.0, 4.0], dtype=torch.float64)


def test_all_handles_at_rest_is_plain_attention():
    v = draw(4, 2)
    torch.testing.assert_close(modulate(Z, v), A @ v)


def test_everything_at_once_as_plain_loops():
    N, D, W = 2, 3, 5
    z, v, delta, A_g, g = draw(N, D), draw(D, W, seed=1), draw(D, seed=2), draw(N, D, seed=3), draw(N, seed=4)
    S, tau, floor, omega = draw(N, D, seed=5).sigmoid(), 1.7, 1e-3, 2.5
    got = modulate(z, v, tau=tau, delta=delta, A_g=A_g, S=S, floor=floor, g=g, omega=omega)
    for i in range(N):
        grown = [(tau * z[i, j] + delta[j] + S[i, j] * A_g[i, j]).exp() * (S[i, j] + floor) for j in range(D)]
        plain = [z[i, j].exp() for j in range(D)]
        for w in range(W):
            inside = sum(a * v[j, w] for j, a in enumerate(grown)) / sum(grown) / (1 + (-g[i]).exp())
            outside = sum(a * v[j, w] for j, a in enumerate(plain)) / sum(plain)
            torch.testing.assert_close(got[i, w], outside + omega * (inside - outside))


def test_tau_takes_the_odds_to_its_power_and_turns_no_winner():
    for tau in (0.5, 3.0):
        W = modulate(Z, EYE, tau=tau)
        torch.testing.assert_close(W[:, 0] / W[:, 1], (A[:, 0] / A[:, 1]) ** tau)
        assert torch.equal(W[:2].argmax(-1), A[:2].argmax(-1))
    torch.testing.assert_close(modulate(Z, EYE, tau=0.0), torch.full_like(Z, 0.25))


def test_delta_multiplies_the_odds_of_every_row_by_one_factor():
    W = modulate(Z, EYE, delta=FAR)
    factor = (W[:, 3] / W[:, 0]) / (A[:, 3] / A[:, 0])
    torch.testing.assert_close(factor, FAR[3].exp().expand(3))
    assert W.argmax(-1).tolist() == [3, 3, 3]
    torch.testing.assert_close(modulate(Z, EYE, delta=torch.full_like(FAR, -100)), A)


def test_a_row_without_any_prior_pays_nothing():
    S = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 2 + [[0.0] * 4], dtype=torch.float64)
    W = modulate(Z, EYE, S=S)
    torch.testing.assert_close(W[2], A[2])
    assert W[:2, 2:].max() < 1e-5
    factor = (W[:2, 3] / W[:2, 0]) / (A[:2, 3] / A[:2, 0])
    torch.testing.assert_close(factor, torch.full_like(factor, 1e-6 / (1 + 1e-6)))


def test_content_needs_the_prior_and_the_second_opinion():
    S = torch.tensor([[1.0, 1.0, 0.0, 1.0]] * 3, dtype=torch.float64)
    opinion = torch.tensor([[0.0, 2.0, 5.0, 0.0]] * 3, dtype=torch.float64)
    with record() as trace:
        modulate(Z, EYE, S=S, A_g=opinion)
    torch.testing.assert_close(trace["S_A_g"].tensor, torch.tensor([[0.0, 2, 0, 0]] * 3, dtype=torch.float64))


def test_the_gate_alone_spends_less_and_leaves_the_odds():
    g = torch.tensor([8.0, 0.0, -4.0], dtype=torch.float64)
    W = modulate(Z, EYE, g=g)
    torch.testing.assert_close(W.sum(-1), torch.sigmoid(g))
    torch.testing.assert_close(W / W.sum(-1, keepdim=True), A)
    for handle in ({"tau": 3.0}, {"delta": FAR}, {"S": torch.zeros_like(Z)}, {"A_g": Z}):
        torch.testing.assert_close(modulate(Z, EYE, **handle).sum(-1), torch.ones(3, dtype=torch.float64))


def test_guidance_leaves_the_range_of_the_values_and_turns_a_winner_its_condition_does_not():
    slight = FAR * 0.225
    once, far = (modulate(Z, EYE, delta=slight, omega=omega) for omega in (1.0, 5.0))
    assert torch.equal(once[:2].argmax(-1), A[:2].argmax(-1))
    assert far[1].argmax() == 3
    assert far.min() < 0 <= once.min()
    torch.testing.assert_close(far.sum(-1), torch.ones(3, dtype=torch.float64))
    assert torch.equal(modulate(Z, EYE, delta=FAR, omega=0.0), A)


@pytest.mark.parametrize(("E", "factor"), [(2, 16.919), (8, 4.113), (64, 1.649)])
def test_26_in_the_model_delta_is_divided_by_the_root_of_the_width(E, factor):
    q, k = (torch.zeros(1, n, 1, E, dtype=torch.float64) for n in (1, 4))
    with record() as trace:
        destationary_attention(q, k, k, delta=FAR[None])
    row = trace["A"].tensor.flatten()
    assert float(row[3] / row[0]) == pytest.approx(factor, abs=0.0005)


def test_a_shift_pays_the_price_of_a_missing_prior():
    S = torch.tensor([[1.0, 1.0, 1.0, 0.0]] * 3, dtype=torch.float64)
    torch.testing.assert_close(modulate(Z, EYE, S=S, delta=FAR / 4 * 13.8155), A, rtol=0, atol=1e-5)


def test_only_the_content_has_a_number_of_its_own_in_every_head():
    q, k = draw(2, 3, 2, 4), draw(2, 4, 2, 4)
    found = {}
    kite = KnowledgeGuidedAttention(8, 2, 4).double()
    for run in (lambda: destationary_attention(q, k, k, tau=draw(2, 1).exp(), delta=draw(2, 4)),
                lambda: kite(q.flatten(2), k.flatten(2), draw(2, 3, 4).sigmoid()),
                lambda: context_gate(draw(2, 3, 2, 8), draw(2, 3, 2, 8, seed=1))):
        with record() as trace:
            run()
        found |= {step: trace[step] for step in ("tau_4d", "delta_4d", "A_g", "gate", "alpha") if step in trace}
    assert {name: (s.axes, s.tensor[0].numel()) for name, s in found.items()} == {
        "tau_4d": ("B 1 1 1", 1), "delta_4d": ("B 1 1 S", 4), "A_g": ("B H L D", 24), "gate": ("B 1 L D", 12),
        "alpha": ("B L C", 6)}


@pytest.mark.bad_input
@pytest.mark.parametrize(("handle", "message"), [
    ({"delta": FAR[:1]}, r"delta: expected axes 'D' with D=4, got shape \(1,\)"),
    ({"g": FAR}, r"g: expected axes 'N' with N=3, got shape \(4,\)"),
    ({"S": Z}, "S: expected a prior between 0 and 1, got 2.0"),
    ({"floor": 0.0}, "delta: expected at least"),
    ({"delta": FAR * torch.nan}, "delta: expected finite"),
    ({"omega": "1"}, "omega: expected one number, got '1'")])
def test_what_does_not_fit_is_named(handle, message):
    with pytest.raises(ValueError, match=message):
        modulate(Z, EYE, **handle)
