"""Informer: what went wrong in public code, with the input that shows it."""

import pytest
import torch
from forecasters import TOY, build, draw, inputs
from torch.testing import assert_close

from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.blocks import Transformer
from tsattn_mini.zoo.informer import Informer
from tsattn_mini.zoo.prob_sparse import prob_sparse, sample_keys, sample_size


def informer(**sizes):
    return build(Informer, **{**TOY, **sizes}).eval()


@pytest.mark.bad_input
@pytest.mark.parametrize("T", [1, 2, 12])
def test_defect_21_a_single_step_has_one_key_and_one_query(T):
    """LTSF-Linear#108: with pred_len 1 and label_len 0 log 1 = 0 keys are sampled, and the largest of none is taken."""
    assert [sample_size(5, n) for n in (1, 2, 3)] == [1, 2, 3]
    with pytest.raises(ValueError, match=r"^n: expected at least 1, got 0"):
        sample_size(5, 0)
    sizes = {**TOY, "seq_len": T, "label_len": 0, "pred_len": 1}
    for net in (informer(**sizes), informer(**sizes, released_cross=True), informer(**sizes, factor=1)):
        y = net(*inputs(seq_len=T, label_len=0, pred_len=1))
        assert y.shape == (2, 1, 5)
        assert y.isfinite().all()


@pytest.mark.parametrize("masked", [False, True])
def test_defect_23_every_query_chosen_is_full_attention(masked):
    """Informer2020#100, #229, and Time-Series-Library to this day: heads and steps trade places on the way out.

    With every query chosen the layer should be full attention, and is off by 0.42 there. Here it is full attention
    to the last bit, as an operator and as the whole model; `released_view` is the other reading, by name.
    """
    q, k, v = (draw(2, 9, 3, 5, seed=i) for i in range(3))
    mask = causal(9) if masked else None
    index = sample_keys(9, 9, 4, torch.Generator().manual_seed(0))
    full = scaled_dot_product(q, k, v, mask)
    assert_close(prob_sparse(q, k, v, index, u=9, mask=mask), full, rtol=0, atol=1e-15)
    assert float((prob_sparse(q, k, v, index, u=9, mask=mask, released_view=True) - full).abs().max()) > 0.1
    net = informer(factor=100, distil=False)
    plain = build(Transformer, **TOY).eval()
    plain.load_state_dict({name.removeprefix("transformer."): weight for name, weight in net.state_dict().items()
                           if not name.endswith("index_sample")})
    assert_close(net(*inputs()), plain(*inputs()), rtol=0, atol=1e-14)


def test_defect_24_evaluation_repeats_itself():
    """Found in the released code: keys are drawn anew at every call, so two evaluations of one window differ by 3.2.

    Here they are drawn once from a seed of their own, are saved with the weights, and may be given from outside.
    """
    args, net = inputs(), informer(factor=1)
    once = net(*args)
    torch.manual_seed(5)
    assert torch.equal(net(*args), once)
    assert torch.equal(informer(factor=1)(*args), once)
    other = informer(factor=1, seed=1)
    assert not torch.equal(other(*args), once)
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(*args), once)
    assert torch.equal(net(*args, index_samples=net.draw(7)), net(*args, index_samples=net.draw(7)))
    assert not torch.equal(net(*args, index_samples=net.draw(7)), once)
