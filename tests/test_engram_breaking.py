"""What was done to Engram to make it say something wrong, and what it says instead."""

import math

import pytest
import torch

from tsattn_mini.engram.collisions import distinct_ngrams, expected_share, partners
from tsattn_mini.engram.counts import Counts
from tsattn_mini.engram.gate import (
    ConstantGate,
    ContextGate,
    HiddenGate,
    OpenGate,
    angle_gate,
    context_gate,
    cosine_for,
    rms_norm,
)
from tsattn_mini.engram.hashing import NgramHash, ngram_hashes, odd_multipliers
from tsattn_mini.engram.language import LanguageModel
from tsattn_mini.engram.memory import Engram, MultiHeadTable, ShortConvolution
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.engram.vocabulary import Compression, batch, compress_text
from tsattn_mini.results import interval

B, L, C, M = 2, 7, 3, 5  # all different, so that no swap of axes goes unnoticed
T = torch.tensor
COMPRESSION = Compression([f"w{i}" for i in range(30)])


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def hashing(**options):
    return ngram_hashes(**{"compression": COMPRESSION, "layers": [1], "sizes": [11, 13], "H": 2, "pad": 0, **options})


def refuse(message, fn, *args, **given):
    with pytest.raises(ValueError, match=message):
        fn(*args, **given)


# Spellings


@pytest.mark.parametrize(("text", "short"), [
    ("ΟΔΟΣ", "οδοσ"), ("Σ", "σ"), ("\u0301", "\u0301"), (" \u0301", " "), ("\u3000", " "), ("\u00a0a", "a"),
    ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"), ("語", "語"), ("👩\u200d🚀", "👩\u200d🚀"), ("İ", "i"), ("", ""),
])
def test_letters_of_every_script_are_treated_one_by_one(text, short):
    assert compress_text(text) == short


@pytest.mark.bad_input
def test_pieces_are_whole_numbers_and_sentences_too():
    tokenizer = Tokenizer()
    assert tokenizer.decode(T(tokenizer.encode("the lamp"))) == "the lamp"
    for ids in ([1.5], ["1"], None, 5):
        refuse("ids: expected whole numbers, got", tokenizer.decode, ids)
    refuse(r"sentences: expected lists of whole numbers, got \[\[1.5, 2.0\]\]", batch, [[1.5, 2.0]])
    for pad in (1.5, "0", True):
        refuse("pad: expected None or a whole number, got", COMPRESSION.pad_id, pad)


# Hashes


@pytest.mark.bad_input
@pytest.mark.parametrize(("options", "message"), [
    ({"sizes": [11.5, 13]}, r"sizes: expected whole numbers, got \[11\.5, 13\]"),
    ({"sizes": 11}, "sizes: expected whole numbers, got 11"), ({"layers": 1}, "layers: expected whole numbers, got 1"),
    ({"H": 1.5}, r"H: expected whole numbers, got \[1\.5\]"), ({"seed": -1}, "seed: expected a whole number of at "),
])
def test_a_hash_is_made_of_whole_numbers(options, message):
    refuse(message, hashing, **options)


@pytest.mark.bad_input
def test_multipliers_and_primes_are_int64_tensors():
    refuse("multipliers: expected int64, got float32", NgramHash, COMPRESSION, T([1.0, 3.0]), T([[11]]))
    refuse("primes: expected int64, got float32", NgramHash, COMPRESSION, T([1, 3]), T([[11.0]]))
    refuse("primes: expected a tensor with axes 'G H', got list", NgramHash, COMPRESSION, T([1, 3]), [[11]])
    for size in (0, 2**62, 2**63):
        refuse(f"size: expected at (least 1|most {2**62 - 1}), got {size}", odd_multipliers, 1, 3, size)
    assert odd_multipliers(1, 3, 2**62 - 1).tolist() == [1, 1, 1]


@pytest.mark.bad_input
@pytest.mark.parametrize(("row", "message"), [
    ([3, 0], r"hashes: expected rows from 0 to 2, got 3 at index \(0, 0, 0, 0\)"),
    ([0, 5], r"hashes: expected rows from 0 to 4, got 5 at index \(0, 0, 0, 1\)"),
    ([-1, 0], r"hashes: expected rows from 0 to 2, got -1 at index"),
    ([1], r"hashes: expected axes 'B L 1 2', got shape \(1, 1, 1, 1\)"),
])
def test_no_head_reads_the_rows_of_another(row, message):
    refuse(message, MultiHeadTable(T([[3, 5]]), 2), T([[[row]]]))


# Gates and the layer


@pytest.mark.bad_input
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_gains_that_overflow_never_give_nan(dtype):
    gain = torch.full((C, M), torch.finfo(dtype).max / 4, dtype=dtype)
    h, k = randn(B, L, C, M).to(dtype), randn(B, L, C, M, seed=1).to(dtype)
    refuse("h_gain, k_gain: expected numbers that stay within the range", context_gate, h, k, gain, gain)


@pytest.mark.bad_input
def test_norms_take_neither_integers_nor_zeros_without_epsilon():
    refuse("x: expected floating-point numbers, got int64", rms_norm, T([1, 2]))
    refuse("eps: expected a number above 0, or 0 where no vector is zero, got 0", rms_norm, torch.zeros(3), eps=0.0)
    refuse("eps: expected a number above 0", rms_norm, torch.ones(3), eps=-1.0)
    refuse("eps: expected a finite number, got nan", rms_norm, torch.ones(3), eps=math.nan)
    assert torch.equal(rms_norm(torch.full((3,), 2.0), eps=0.0), torch.ones(3))


@pytest.mark.bad_input
def test_an_angle_needs_a_width():
    refuse("M: expected a width of at least 1, got -3", angle_gate, T(0.5), -3)
    refuse("M, gain: expected numbers above 0, got 0, 1", cosine_for, 0.3, 0)
    refuse("M, gain: expected numbers above 0, got 4, 0", cosine_for, 0.3, 4, gain=0.0)


@pytest.mark.bad_input
@pytest.mark.parametrize("gate", [ConstantGate(1), ConstantGate(2), HiddenGate(1, M), HiddenGate(C, 4),
                                  ContextGate(C, 4)])
def test_a_gate_has_as_many_branches_as_the_state(gate):
    net = Engram(hashing()[1], M, C, 2, gate=gate)
    refuse("expected axes", net, torch.ones(B, L, dtype=torch.int64), randn(B, L, C, M))


@pytest.mark.bad_input
def test_what_is_left_out_is_named():
    net, tokens, h = Engram(hashing()[1], M, C, 2), torch.ones(B, L, dtype=torch.int64), randn(B, L, C, M)
    refuse("h: expected a tensor, got NoneType", net, tokens, None)
    refuse("tokens: expected a tensor, got NoneType", net, None, h)
    refuse("tokens: expected a tensor, got NoneType", COMPRESSION, None)
    refuse("k: expected a tensor, got NoneType", context_gate, h, None)
    refuse("tokens: expected a tensor", LanguageModel(30, 9, 8, 2, 16), None)


@pytest.mark.bad_input
def test_a_convolution_of_other_branches_or_width_is_refused():
    conv = ShortConvolution(C, M, 3, 2)
    refuse("v_gated: expected axes 'B L 3 5'", conv, randn(B, L, 2, M), randn(B, L, M), randn(B, L, 2))
    refuse("v: expected axes 'B L 5'", conv, randn(B, L, C, M), randn(B, L, 4), randn(B, L, C))


@pytest.mark.bad_input
def test_a_layer_never_writes_back_an_overflow():
    net = Engram(hashing()[1], M, C, 2, gate=OpenGate()).half()
    with torch.no_grad():
        net.convolution.weight.fill_(6e4)
    tokens = torch.ones(B, L, dtype=torch.int64)
    refuse("h, or the weights: expected numbers that stay within the range of float16", net, tokens,
           randn(B, L, C, M).half())


# The rivals


@pytest.mark.bad_input
def test_counts_refuse_targets_that_are_no_ids():
    ids = T([[1, 2, 3]])
    counts = Counts(ids, T([[2, 3, -1]]), 5)
    refuse("targets: expected ids from 0 to 4, or -1, got -1 to 9", Counts, ids, T([[2, 9, -1]]), 5)
    refuse("targets: expected axes 'B L' with B=1, L=3", Counts, ids, T([[2, 3]]), 5)
    refuse("targets: expected ids from 0 to 4, or -1, got 7 to 7", counts.losses, T([[1]]), T([[7]]))
    refuse("N: expected at least 0, got -1", Counts, ids, T([[2, 3, -1]]), 5, -1)


@pytest.mark.bad_input
def test_a_language_model_has_a_vocabulary_and_places():
    refuse("P: expected at least 1, got 0", LanguageModel, 0, 9)
    refuse("L: expected at least 1, got 0", LanguageModel, 30, 0)


@pytest.mark.bad_input
def test_collisions_are_counted_among_rows_that_exist():
    assert partners(T([[1, 2], [1, 2], [3, 4]])).tolist() == [1, 1, 0]
    refuse("rows: expected whole numbers of at least 0, got -1", partners, T([[1, -1], [0, 1]]))
    refuse("rows: expected whole numbers of at least 0", partners, T([[1.5, 2.0]]))
    refuse("n, p: expected at least 1 entry and 1 row, got 5, 0", expected_share, 5, 0)
    refuse(r"size, N: expected at most 2\*\*63 - 1 n-grams in all, got 1048576\*\*4", distinct_ngrams, 5, 4, 2**20)


@pytest.mark.bad_input
def test_a_mean_over_seeds_is_a_mean_of_numbers():
    refuse("values: expected finite numbers, got .nan, 1.0", interval, [math.nan, 1.0])


# What stays the same


@pytest.mark.parametrize("options", [{}, {"root": "sign"}, {"root": "copysign", "conv_gate": "output"},
                                     {"conv_gate": "input"}, {"gate": HiddenGate(C, M)}])
def test_a_sentence_is_answered_alike_alone_and_in_a_batch(options):
    torch.manual_seed(0)
    net = Engram(hashing()[1], M, C, 2, **options).double()
    torch.nn.init.normal_(net.convolution.weight)
    tokens = torch.randint(0, 30, (4, L), generator=torch.Generator().manual_seed(1))
    h = randn(4, L, C, M).double()
    with torch.no_grad():
        together = net(tokens, h)
        for i in range(4):
            torch.testing.assert_close(net(tokens[i:i + 1, :4], h[i:i + 1, :4]), together[i:i + 1, :4])


@pytest.mark.parametrize("scale", [1e18, 1e-30, 0.0])
def test_gradients_stay_finite_for_huge_and_vanishing_states(scale):
    torch.manual_seed(0)
    net = Engram(hashing()[1], M, C, 2, root="sign")
    torch.nn.init.normal_(net.convolution.weight)
    h = (scale * randn(B, L, C, M)).requires_grad_()
    (net(torch.ones(B, L, dtype=torch.int64), h) - h).square().sum().backward()
    assert all(bool(x.grad.isfinite().all()) for x in (h, *net.parameters()))
