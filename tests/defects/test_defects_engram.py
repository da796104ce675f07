"""Engram: what went wrong in the released demonstration and its ports, with the input that shows it."""

import json
from pathlib import Path

import onnxruntime
import pytest
import torch

from tsattn_mini import step
from tsattn_mini.engram.collisions import distinct_ngrams, expected_share, partners
from tsattn_mini.engram.gate import context_gate, signed_root
from tsattn_mini.engram.hashing import ngram_hashes, odd_multipliers, xor_mix
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explore.export import export

LESSON = Path(__file__).parents[2] / "lessons/13_lookup.ipynb"


def hashing(words=100, size=101, **more):
    return ngram_hashes(Compression([f"w{i}" for i in range(words)], **more), [1], [size], 1, pad=0)[1]


def exactly(tokens, hashed):
    """The rows in Python's integers, which know neither 64 bits nor a truncated remainder."""
    table, m, p = hashed.compression.table.tolist(), hashed.multipliers.tolist(), hashed.primes.item()
    ids = [table[t] if t >= 0 else t for t in tokens]
    return [((a * m[0]) ^ (b * m[1])) % p for a, b in zip(ids, [int(hashed.pad), *ids], strict=False)]


@pytest.mark.bad_input
def test_defect_31_ids_stay_in_range_and_the_hash_is_exact_in_64_bits():
    """Found in the demonstration and its ports: an id beyond the vocabulary that bounded the multipliers wraps around.

    5000 in a vocabulary of 100 gives row 4 in place of 47; float64, as JavaScript counts, gives 39 in place of 54; and
    a truncated remainder gives -97 in place of 4. Here such an id is refused with its place, the remainder is floored,
    and the exported graph counts in int64 as Python does.
    """
    hashed = hashing()
    for wrong in (100, 5000, 2**62, -1):
        with pytest.raises(ValueError, match=rf"^tokens: expected ids from 0 to 99, got {wrong} at index \(0, 1\)"):
            hashed(torch.tensor([[3, wrong]]))
    for wrong, got in ((torch.tensor([[1.0]]), "float32"), (torch.tensor([[1]], dtype=torch.int32), "int32")):
        with pytest.raises(ValueError, match=f"^tokens: expected int64 ids, got {got}"):
            hashed(wrong)
    tokens = torch.arange(99, -1, -1)[None]
    rows = hashed(tokens)[0, :, 0, 0].tolist()
    assert rows == exactly(tokens[0].tolist(), hashed)
    below = hashing(keep_negative=True)
    assert below(-tokens)[0, :, 0, 0].tolist() == exactly((-tokens[0]).tolist(), below)
    assert min(below(-tokens).flatten().tolist()) >= 0
    graph = export(lambda tokens: step("z", below(tokens), axes="B L G H"), {"tokens": tokens}, {}, ["z"])
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for given in (tokens, -tokens):
        assert torch.equal(torch.from_numpy(session.run(None, {"in/tokens": given.numpy()})[0]), below(given))
    floats = [float(a) * m % 101 for a, m in zip(tokens[0].tolist(), [float(hashed.multipliers[0])] * 100, strict=True)]
    assert floats != [a * int(hashed.multipliers[0]) % 101 for a in tokens[0].tolist()], "the numbers are small enough"


def test_defect_33_the_signed_root_has_one_rule_at_zero():
    """strix-llama.cpp#48: the demonstration multiplies by the sign, ports copy it: 0 or ±0.001 at a score of 0.

    Both are here by name, the paper's gate has no root. Within ±10⁻⁶ the root has no slope at all, at 10⁻⁶ it has 500.
    """
    at = torch.tensor([-1e-5, -9e-7, -0.0, 0.0, 9e-7, 1e-6, 1e-5], dtype=torch.float64)
    slopes = {}
    for root in ("sign", "copysign"):
        score = at.clone().requires_grad_()
        rooted = signed_root(score, root)
        rooted.sum().backward()
        slopes[root] = score.grad
        assert rooted[1].item() == pytest.approx(-1e-3)
    assert signed_root(at, "sign")[2:4].tolist() == [0, 0]
    assert signed_root(at, "copysign")[2:4].tolist() == pytest.approx([1e-3, 1e-3])
    for slope in slopes.values():
        assert slope[1:5].tolist() == [0, 0, 0, 0]
        assert slope[5].item() == pytest.approx(500)
        assert slope[0].item() == pytest.approx(slope[6].item()) == pytest.approx(0.5 / 1e-5**0.5)
    zero = torch.zeros(1, 1, 1, 4)
    assert [context_gate(zero, zero, root=root).item() for root in (None, "sign")] == [0.5, 0.5]
    assert context_gate(zero, zero, root="copysign").item() == pytest.approx(0.50025)


def test_defect_34_a_larger_table_has_fewer_collisions_as_chance_says():
    """Engram#21, TinyEngram#3: why a table of five times the vocabulary, and what happens in a small one?

    The share of n-grams with company follows chance at every size, and lesson 13 has a slider for the size.
    """
    ngrams = distinct_ngrams(2000, 2, 500)
    mix = xor_mix(ngrams, odd_multipliers(1, 2, 500))[:, 0, 0]
    shares = []
    for p in (401, 2003, 10_007):
        shares.append(float((partners((mix % p)[:, None]) > 0).float().mean()))
        assert shares[-1] == pytest.approx(expected_share(2000, p), abs=0.03)
    assert shares[0] > 0.95 > 0.7 > shares[1] > shares[2]
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    explorer = next("".join(c["source"]) for c in cells if c["id"] == "c13-play-explore")
    assert '"size": Slider(' in explorer
    assert '"A roomy table": {"size": 10}' in explorer
