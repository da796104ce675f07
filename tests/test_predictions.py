"""What presets of lessons 05 and 09 answer is what their functions compute."""

import pytest
import torch
from staged import made_by

from tsattn_mini.predictions import predict


def answers(explorer):
    """Preset → the weights `A` that it leads to, a row per query."""
    found = {}
    for label, state in explorer._presets.items():
        explorer.set(**state)
        A = explorer.values["A"]
        found[label] = A.reshape(-1, A.shape[-1])
    return found


def test_tau_delta_and_width_do_what_is_answered():
    with made_by("05_destationary_attention") as made:
        A = answers(made["tau-delta-width"])
        first = made["tau-delta-width"]
        first.set(tau=1.0, delta=[0] * 5, flip=False, d_k="2")
        raw = first.values["A"].reshape(3, 5)
    torch.testing.assert_close(A["τ → 0"], torch.full((3, 5), 0.2), atol=3e-3, rtol=0)
    assert float((A["τ → 0, one δ"] - A["τ → 0, one δ"][0]).abs().max()) < 5e-3
    torch.testing.assert_close(A["τ = 16"][2], torch.tensor([1, 1, 1, 0, 0]) / 3, atol=1e-6, rtol=0)
    torch.testing.assert_close(A["Constant δ"], raw, atol=1e-6, rtol=0)
    assert A["One δ"].argmax(-1).tolist() == [3, 3, 3]
    assert int(raw[0].argmin()) == int(A["τ negative"][0].argmax()) == 3
    assert A["One δ, wide head"].argmax(-1).tolist() == [3, 3, 3]
    assert [round(float(A[label][0, 3]), 2) for label in ("One δ", "One δ, wide head")] == [0.48, 0.24]


def test_the_gate_does_what_is_answered():
    with made_by("09_knowledge_guided_conditioning") as made:
        ex = made["kgc"]
        A = answers(ex)
        ex.set(**{**ex._presets["All zero"], "log_gate": False})
        torch.testing.assert_close(A["All zero"], ex.values["A"][0], atol=1e-5, rtol=0)
    looks = {label: float(A[label][0, 2]) for label in ("One zero", "… and loud data", "δ = 10⁻³")}
    assert looks == {"One zero": pytest.approx(1e-5, abs=5e-6), "… and loud data": pytest.approx(0.91, abs=5e-3),
                     "δ = 10⁻³": pytest.approx(0.008, abs=5e-4)}
    for label in ("A thousandth", "Times 500"):
        torch.testing.assert_close(A[label][0], torch.tensor([0.25, 0.5, 0.25]), atol=2e-4, rtol=0)
    assert float(A["Min–max victim"][0, 2]) == pytest.approx(6.7e-7, rel=1e-2)
    released = A["Released: .99 against .01"][0]
    assert [round(float(v), 3) for v in released[:2]] == [0.571, 0.214]
    assert float(released[0] / released[1]) == pytest.approx(2.66, abs=5e-3)


@pytest.mark.bad_input
def test_predictions_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"id: expected one of tau-delta-width, kgc, .* got 'price'"):
        predict("price", {})
    with pytest.raises(ValueError, match=r"presets: expected All zero, .* got One zero; missing: A thousandth"):
        predict("kgc", {"One zero": {}})
