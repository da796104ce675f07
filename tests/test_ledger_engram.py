"""What the ledger says of the note on Engram and no lesson's test proves: the whole layer, and the released arrays.

The numbers in the names are those of the claims.
"""

from math import sqrt

import pytest
import torch
from forecasters import draw
from test_engram_memory import inputs, layer, steps
from test_golden import load as golden
from torch.testing import assert_close

from tsattn_mini.engram.gate import ConstantGate, OpenGate, context_gate

BEFORE_THE_GATE = ("ids", "ngrams", "mix", "hash", "rows", "e", "k", "v")


def last(trace, name):
    return trace[name].tensor[0, -1]


def released(layer_id=1):
    arrays = golden(f"engram_forward_layer{layer_id}.npz")
    return {name: torch.from_numpy(a) for name, a in arrays.items() if "/" in name}


def demonstration(keys, hidden, arrays, root=True):
    """The lines that the note quotes, branch by branch."""
    gates = []
    for c in range(keys.shape[2]):
        normed_key = torch.nn.functional.rms_norm(keys[:, :, c], keys.shape[-1:], arrays[f"w/norm1.{c}.weight"])
        normed_query = torch.nn.functional.rms_norm(hidden[:, :, c], keys.shape[-1:], arrays[f"w/norm2.{c}.weight"])
        gate = (normed_key * normed_query).sum(dim=-1) / sqrt(keys.shape[-1])
        if root:
            gate = gate.abs().clamp_min(1e-6).sqrt() * gate.sign()
        gates.append(gate.sigmoid())
    return torch.stack(gates, dim=2)[..., None]


def test_claim_90_nothing_before_the_gate_sees_the_state_or_more_than_the_last_three_tokens():
    net, (tokens, h) = layer(), inputs(B=1)
    earlier = torch.where(torch.arange(14) < 11, (tokens + 1) % 40, tokens)
    one, other = steps(net, tokens, h), steps(net, earlier, -h)
    for name in BEFORE_THE_GATE:
        assert torch.equal(last(one, name), last(other, name)), name
    assert not torch.equal(last(one, "alpha"), last(other, "alpha"))
    nearer = torch.where(torch.arange(14) == 11, (tokens + 1) % 40, tokens)
    assert not torch.equal(last(one, "e"), last(steps(net, nearer, h), "e"))


def test_claim_94_no_other_place_competes_for_the_gate():
    h, k = draw(1, 7, 2, 6), draw(1, 7, 2, 6, seed=1)
    alone, crowd = context_gate(h[:, 3:4], k[:, 3:4]), context_gate(h, k)
    assert torch.equal(alone[:, 0], crowd[:, 3])
    assert float((crowd.sum(1) - 1).abs().min()) > 0.1


@pytest.mark.parametrize("layer_id", [1, 3])
def test_claim_101_the_released_projections_have_biases_without_which_the_keys_are_others(layer_id):
    arrays = released(layer_id)
    e = arrays["mid/embeddings"]
    for name, want in (("key_projs.0", arrays["mid/keys"][:, :, 0]), ("value_proj", arrays["mid/value_proj"])):
        weight, bias = arrays[f"w/{name}.weight"], arrays[f"w/{name}.bias"]
        assert_close(e @ weight.T + bias, want, rtol=1e-4, atol=1e-5)
        assert float((e @ weight.T - want).abs().max()) > 0.05


@pytest.mark.parametrize("layer_id", [1, 3])
def test_claims_105_and_106_the_quoted_lines_give_the_recorded_gates_and_without_the_root_do_not(layer_id):
    arrays = released(layer_id)
    keys, hidden, gates = (arrays[name] for name in ("mid/keys", "in/hidden_states", "mid/gates"))
    assert_close(demonstration(keys, hidden, arrays), gates, rtol=0, atol=1e-5)
    assert float((demonstration(keys, hidden, arrays, root=False) - gates).abs().max()) > 0.05


def test_claim_106_the_root_changes_the_bound_from_the_root_of_the_width_to_its_fourth_root():
    h = torch.ones(1, 1, 1, 1024, dtype=torch.float64)
    opposite = [torch.logit(context_gate(h, -h, root=root)).item() for root in (None, "sign")]
    assert opposite == pytest.approx([-32, -(1024**0.25)], rel=0.02)


def test_claims_93_and_108_without_the_gate_what_is_added_is_the_same_in_every_context():
    tokens, h = inputs()
    for gate, fixed in ((OpenGate(), True), (ConstantGate(2), True), (None, False)):
        net = layer(gate=gate)
        one, other = (steps(net, tokens, state)["y"].tensor for state in (h, h.flip(1)))
        assert torch.equal(one, other) == fixed


def test_claim_110_layerscale_passes_every_memory_with_one_share():
    tokens, h = inputs()
    for gate, shares in ((ConstantGate(2), 1), (None, 14)):
        alpha = steps(layer(gate=gate), tokens, h)["alpha"].tensor
        assert len(alpha[0, :, 0].unique()) == shares
