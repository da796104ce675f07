"""FEDformer: what went wrong in public code, with the input that shows it."""

from math import pi

import pytest
import torch
from forecasters import build, inputs

from tsattn_mini.zoo.autoformer import Autoformer
from tsattn_mini.zoo.duet import DUET
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention

SIZES = {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 3, "d_ff": 5, "e_layers": 1}


@pytest.mark.bad_input
def test_defect_16_any_number_of_heads_that_divides_the_width():
    """FEDformer#92, Time-Series-Library#209, #534: the weights are made for 8 heads, whatever the setting says."""
    for M, H in ((6, 1), (6, 2), (6, 3), (6, 6), (21, 7)):
        net = build(FEDformer, M=M, H=H, **SIZES)
        assert net(*inputs(V=3)).shape == (2, 4, 3)
        blocks = [m for m in net.modules() if isinstance(m, FourierBlock | FourierCrossAttention)]
        assert {tuple(m.real.shape[1:]) for m in blocks} == {(H, M // H, M // H)}
    for H in (4, 0, 7, True, 2.0):
        with pytest.raises(ValueError, match=r"^H: expected a divisor of the model width M=6, got"):
            build(FEDformer, M=6, H=H, **SIZES)


@pytest.mark.parametrize("L", [16, 17])
@pytest.mark.parametrize(("released", "leaves"), [(False, 5), (True, 0)])
def test_defect_17_a_kept_tone_leaves_at_its_own_bin(L, released, leaves):
    """FEDformer#8: of the bins {5, 9} the first is written to bin 0, so a tone of five turns comes out as a level.

    With identity weights a kept tone comes out as it went in here; `released_slots` does as the released code does.
    """
    bins = [5, 7] if L == 16 else [5, 8]
    block = build(FourierBlock, M=2, H=1, L=L, modes=bins, released_slots=released)
    with torch.no_grad():
        block.real.copy_(torch.eye(2).expand_as(block.real))
        block.imag.zero_()
    tone = (2 * pi * 5 * torch.arange(L, dtype=torch.float64) / L).cos()[None, :, None, None].expand(1, -1, 1, 2)
    out = block(tone)
    strength = torch.fft.rfft(out[0, :, 0, 0]).abs()
    assert int(strength.argmax()) == leaves
    if not released:
        torch.testing.assert_close(out, tone)


def test_defect_18_a_reloaded_model_keeps_the_same_bins():
    """FEDformer#77: the bins are drawn by NumPy's global generator and not saved: a reload is another model."""
    args = inputs(V=3)
    made = build(FEDformer, M=4, H=2, seed=3, modes=2, **SIZES)
    loaded, state = build(FEDformer, M=4, H=2, seed=4, modes=2, draw="low", **SIZES), made.state_dict()
    assert sum(name.endswith((".modes", ".modes_kv")) for name in state) == 4
    loaded.load_state_dict(state)
    assert torch.equal(loaded(*args), made(*args))
    bins = [{name: t.tolist() for name, t in build(FEDformer, M=4, H=2, seed=seed, modes=2, **SIZES).named_buffers()}
            for seed in (3, 4)]
    assert bins[0] == bins[1], "the seed of the weights draws no bin"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("cls", [FEDformer, Autoformer, DUET])
def test_defect_20_half_precision_at_a_length_that_is_no_power_of_two(cls, dtype):
    """Time-Series-Library#761, pytorch#70664: half-precision transforms exist for powers of two, on CPUs for none.

    192 steps fail there. Here every transform is taken in float32, and the answer has the dtype it was asked in.
    """
    sizes = {"seq_len": 192, "label_len": 6, "pred_len": 4, "V": 3}
    args = inputs(**sizes)
    if cls is DUET:
        del sizes["label_len"]
    net = build(cls, M=4, H=2, d_ff=5, e_layers=1, **sizes).eval()
    with torch.no_grad():
        want, got = net(*args), net.to(dtype)(*(a.to(dtype) for a in args))
    assert got.dtype == dtype
    assert got.isfinite().all()
    if cls is not DUET:  # which experts are asked may turn on a rounding
        torch.testing.assert_close(got.double(), want, rtol=0, atol=200 * torch.finfo(dtype).eps)
