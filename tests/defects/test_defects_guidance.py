"""Guidance: what went wrong in public code, with the input that shows it."""

import pytest
import torch
from forecasters import draw

from tsattn_mini.kite.flow import guide
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.questions.lesson11 import QUESTIONS

SIZES = {"T": 7, "F": 3, "D": 2, "M": 4, "H": 2, "depth": 1, "source": {"rank": 2}}


def kite():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = KITE(**SIZES).double().eval()
        with torch.no_grad():
            for p in net.parameters():
                p.add_(0.3 * torch.randn_like(p))
    return net


@pytest.mark.parametrize("kind", [float, lambda w: torch.tensor(w, dtype=torch.float64)], ids=["number", "tensor"])
def test_defect_35_omega_0_is_unconditional_and_1_conditional_bit_for_bit(kind):
    """threestudio#127, #289, Show-o#53, dia#240, diffusers#9680, PowerPaint#65: u + w(c - u), or c + w(c - u)?

    In some of them 0 does what 1 does, and below 1 others stop. Here the convention is the first: 0 is unconditional
    and 1 conditional to the last bit, also where rounding would miss it, and any ω goes along the same line.
    """
    v_u, v_c = 1e8 * draw(7, 5), draw(7, 5, seed=1)
    assert not torch.equal(v_u + 1.0 * (v_c - v_u), v_c), "rounding would have missed it"
    assert torch.equal(guide(v_u, v_c, kind(0.0)), v_u)
    assert torch.equal(guide(v_u, v_c, kind(1.0)), v_c)
    for omega in (-2.0, 0.25, 3.0):
        torch.testing.assert_close(guide(v_u, v_c, kind(omega)), v_u + omega * (v_c - v_u))
    net, x, exo, ahead = kite(), draw(1, 7, 1), draw(1, 7, 2, seed=1), draw(1, 3, 2, seed=2)
    z, eps = net.source.draw(1, torch.Generator().manual_seed(0))
    sample = lambda omega, exo, ahead: net.sample(x, exo, ahead, n_samples=1, steps=2, omega=omega, z=z, eps=eps)  # noqa: E731
    untold = sample(kind(0.0), exo, ahead)
    assert torch.equal(untold, sample(kind(0.0), exo * 5 + 1, -ahead))
    told = sample(kind(1.0), exo, ahead)
    assert not torch.equal(told, untold)
    assert {q.id: q for q in QUESTIONS}["11-spellings"].answer()
    for omega in (-1.0, 0.5, 4.0):
        y = sample(kind(omega), exo, ahead)
        assert y.isfinite().all()
        assert not torch.equal(y, told)
