"""Steps 1 to 3 of Engram: the compression, the n-grams and the hash, against plain Python integers."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from tsattn_mini import step
from tsattn_mini.engram.hashing import NgramHash, is_prime, next_primes, ngram_hashes, odd_multipliers, suffix_ngrams
from tsattn_mini.engram.vocabulary import Compression, batch, compress_text
from tsattn_mini.explore.export import export

GOLDEN = Path(__file__).parent / "golden"
WORDS = ["<pad>", "the", " The", "Apple", " apple", "APPLE", " ápple", "tree", "Tree", " ", "  ", "fell", "."]


def hashes(layers=(1, 3), sizes=(11, 11), H=3, pad=0, **more):
    return ngram_hashes(Compression(WORDS, **more), layers, sizes, H, pad)


def by_hand(tokens, table, multipliers, primes, pad):
    """Rows of one sentence in Python integers, which never overflow."""
    ids = [table[token] for token in tokens]
    rows = []
    for t in range(len(ids)):
        mix, orders = ids[t] * multipliers[0], []
        for back in range(1, len(multipliers)):
            mix ^= (ids[t - back] if t >= back else pad) * multipliers[back]
            orders.append([mix % p for p in primes[back - 1]])
        rows.append(orders)
    return rows


@pytest.mark.parametrize(("text", "short"), [
    ("Apple", "apple"), (" ápple", "apple"), ("ＡＰＰＬＥ", "apple"), ("ﬁ", "fi"), ("½", "1⁄2"), (" \t\r\n", " "),
    (" ", " "), ("a \n\t b", "a b"), ("\n", " "), ("\u0301", "\u0301"), ("", ""), ("Ünicode ", "unicode"),
    ("\u200b", "\u200b"), ("US", "us"), ("Polish", "polish"), ("。", "。"),
])
def test_compression_keeps_the_letters_and_drops_their_dress(text, short):
    assert compress_text(text) == short
    assert compress_text(short) == short  # doing it twice changes nothing more


def test_pieces_that_do_not_decode_stay_apart_by_their_raw_names():
    assert compress_text("a\ufffd", "a<0xE3>") == "a<0xE3>"
    assert compress_text("\ufffd") == "\ufffd"
    table = Compression(["\ufffd", "\ufffd", "x"], ["<0xE3>", "<0x81>", "x"]).table
    assert table.tolist() == [0, 1, 2]


def test_ids_are_numbered_as_spellings_first_appear():
    compression = Compression(WORDS)
    assert compression.table.tolist() == [0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6]
    assert compression.size == 7


def test_claim_99_compression_merges_what_only_context_can_part():
    spellings = ["Apple", "apple", "US", "us", "Polish", "polish"]
    assert Compression(spellings).table.tolist() == [0, 0, 1, 1, 2, 2]


def test_ngrams_reach_left_and_find_the_padding_there():
    ids = torch.tensor([[5, 6, 7]])
    want = [[[5, 9, 9], [6, 5, 9], [7, 6, 5]]]
    assert suffix_ngrams(ids, 3, torch.tensor(9)).tolist() == want


@pytest.mark.parametrize("pad", [0, None, 7])
@pytest.mark.parametrize("sizes", [(11,), (11, 11), (5, 40, 3)])
def test_hash_equals_the_same_in_python_integers(sizes, pad):
    sentences = torch.randint(0, len(WORDS), (4, 9), generator=torch.Generator().manual_seed(len(sizes)))
    for layer, hashing in hashes(sizes=sizes, pad=pad).items():
        compression = hashing.compression
        want = [by_hand(s, compression.table.tolist(), hashing.multipliers.tolist(), hashing.primes.tolist(),
                        compression.size if pad is None else compression.table[pad].item())
                for s in sentences.tolist()]
        assert hashing(sentences).tolist() == want, layer
        assert hashing(sentences[:, :1]).tolist() == [s[:1] for s in want]  # shorter than the n-grams


def test_claim_90_rows_depend_on_the_last_tokens_and_on_nothing_else():
    hashing = hashes()[1]
    one, other = torch.tensor([[1, 3, 7, 11, 12]]), torch.tensor([[9, 12, 7, 11, 12]])
    assert torch.equal(hashing(one)[:, 4], hashing(other)[:, 4])  # the same three tokens
    assert torch.equal(hashing(one)[:, 3, 0], hashing(other)[:, 3, 0])  # the same two
    assert not torch.equal(hashing(one)[:, 3, 1], hashing(other)[:, 3, 1])


def test_spellings_of_one_word_share_their_rows():
    hashing = hashes()[3]
    assert torch.equal(hashing(torch.tensor([[1, 3, 7]])), hashing(torch.tensor([[2, 6, 8]])))


def test_layers_heads_and_orders_share_neither_primes_nor_multipliers():
    """Claim 102: no two layers have a memory in common."""
    found = hashes(layers=(1, 3, 15), sizes=(97, 97), H=8)
    primes = torch.cat([h.primes.flatten() for h in found.values()]).tolist()
    assert len(set(primes)) == 3 * 2 * 8
    assert all(is_prime(p) and p >= 97 for p in primes)
    assert len({m for h in found.values() for m in h.multipliers.tolist()}) == 9


def test_primes_are_primes():
    assert next_primes(2, 8, set()) == [2, 3, 5, 7, 11, 13, 17, 19]
    assert next_primes(2, 2, {2, 5}) == [3, 7]
    assert not is_prime(1)
    assert not is_prime(646_403 * 3)


@pytest.mark.parametrize("size", [1, 2, 100, 99_092, 2**40])
def test_multipliers_are_odd_and_no_product_leaves_64_bits(size):
    m = odd_multipliers(1, 3, size).tolist()
    assert all(x % 2 == 1 and 0 < x * size < 2**63 for x in m)
    assert odd_multipliers(1, 3, size).tolist() == m != odd_multipliers(2, 3, size).tolist()


def test_negative_ids_pass_as_in_the_released_code_and_the_modulus_is_floored():
    hashing = hashes(sizes=(11,), H=1, keep_negative=True)[1]
    rows = hashing(torch.tensor([[-1, 3], [3, -6]]))
    m, p = hashing.multipliers.tolist(), hashing.primes.item()
    assert rows.flatten().tolist() == [(-m[0] ^ 0) % p, (2 * m[0] ^ -m[1]) % p, (2 * m[0] ^ 0) % p,
                                       (-6 * m[0] ^ 2 * m[1]) % p]
    assert bool((rows >= 0).all())


def test_the_state_dict_holds_all_that_the_rows_depend_on():
    there, here = hashes()[1], hashes(pad=7)[3]
    assert set(there.state_dict()) == {"multipliers", "primes", "pad", "compression.table"}
    here.load_state_dict(there.state_dict())
    tokens = torch.tensor([[3, 7, 11]])
    assert torch.equal(here(tokens), there(tokens))


def test_a_batch_of_ragged_sentences_hashes_each_as_if_alone():
    sentences = [[1, 3], [7, 11, 12, 1], [5]]
    tokens, real = batch(sentences, fill=9)
    assert tokens.shape == real.shape == (3, 4)
    rows = hashes()[1](tokens)
    for row, mask, sentence in zip(rows, real, sentences, strict=True):
        assert mask.tolist() == [True] * len(sentence) + [False] * (4 - len(sentence))
        assert torch.equal(row[mask], hashes()[1](torch.tensor([sentence]))[0])


def test_the_exported_hash_is_exact_in_64_bits():
    vocab = json.loads(str(np.load(GOLDEN / "engram_hash.npz")["config"]))["vocab"]
    hashing = ngram_hashes(Compression(*zip(*vocab, strict=True)), [1], [9973, 9973], 4, pad=2)[1]
    tokens = torch.randint(0, 300, (3, 12), generator=torch.Generator().manual_seed(0))
    graph = export(lambda tokens: step("out", hashing(tokens), axes="B L G H"), {"tokens": tokens}, {}, ["out", "mix"])
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for other in (tokens, tokens.flip(1)):
        rows, mix = session.run(None, {"in/tokens": other.numpy()})
        assert rows.dtype == mix.dtype == np.int64
        assert np.array_equal(rows, hashing(other).numpy())
        assert mix.max() > 2**53  # where float64 would have lost bits


def test_every_golden_file_of_engram_is_replayed():
    from tsattn_mini.official import REPLAYS
    for path in GOLDEN.glob("engram_*.npz"):
        official = json.loads(str(np.load(path)["config"]))["official"]
        assert (official["file"], official["cls"]) in REPLAYS


def refuse(message, call, *args, **kwargs):
    with pytest.raises(ValueError, match=message):
        call(*args, **kwargs)


@pytest.mark.bad_input
@pytest.mark.parametrize(("tokens", "message"), [
    ([[1, 13]], r"tokens: expected ids from 0 to 12, got 13 at index \(0, 1\) \(1 of 2"),
    ([[-1, 3]], r"tokens: expected ids from 0 to 12, got -1 at index \(0, 0\)"),
    ([[]], r"tokens: expected at least one entry along every axis of 'B L', got shape \(1, 0\)"),
    ([1, 2], r"tokens: expected axes 'B L', got shape \(2,\)"),
    ([[1.0]], "tokens: expected int64 ids, got float"),
])
def test_tokens_that_are_no_ids_are_refused(tokens, message):
    refuse(message, hashes()[1], torch.tensor(tokens) if tokens != [[]] else torch.zeros(1, 0, dtype=torch.int64))


@pytest.mark.bad_input
def test_ids_far_outside_raise_even_where_negative_ones_pass():
    """Defect 31: an id beyond the compressed vocabulary would wrap around without a word."""
    hashing = hashes(keep_negative=True)[1]
    refuse("tokens: expected ids from -6 to 12, got -7", hashing, torch.tensor([[-7]]))
    refuse("tokens: expected ids from -6 to 12, got 5000", hashing, torch.tensor([[5000]]))


@pytest.mark.bad_input
def test_vocabularies_and_sentences_that_do_not_fit_are_refused():
    refuse("texts: expected a list", Compression, [])
    refuse("texts: expected a list", Compression, "apple")
    refuse("raw: expected one name for each of the 2 texts, got 1", Compression, ["a", "b"], ["a"])
    refuse("pad: expected None or an id from 0 to 12, got 13", hashes, pad=13)
    refuse(r"sentences: expected at least one token in each .* got \[2, 0\]", batch, [[1, 2], []])
    refuse(r"sentences: expected .* got \[\]", batch, [])


@pytest.mark.bad_input
def test_hashes_that_cannot_work_are_refused():
    refuse(r"sizes: expected at least 2 rows .* got \[11, 1\]", hashes, sizes=(11, 1))
    refuse(r"sizes: .* got \[\]", hashes, sizes=())
    refuse("H: expected at least 1 head, got 0", hashes, H=0)
    refuse("layers: expected different numbers", hashes, layers=(1, 1))
    refuse("layers: expected different numbers", hashes, layers=())
    compression, primes = Compression(WORDS), torch.tensor([[11, 13]])
    fits = (2**63 - 1) // 6
    NgramHash(compression, torch.tensor([fits - (fits + 1) % 2, 1]), primes, pad=0)
    for wrong in (fits + 2, 2**62 + 1, 4, -3):
        refuse(f"multipliers: expected odd numbers from 1 to {fits}, .* got {wrong}",
               NgramHash, compression, torch.tensor([wrong, 1]), primes, pad=0)
    refuse(r"primes: expected different prime numbers, got \[11, 11\]",
           NgramHash, compression, torch.tensor([3, 1]), torch.tensor([[11, 11]]))
    refuse(r"primes: expected different prime numbers, got \[1\]",
           NgramHash, compression, torch.tensor([3, 1]), torch.tensor([[1]]))
    refuse("primes: expected one row per order 2 … 3 and one column per head",
           NgramHash, compression, torch.tensor([3, 1, 5]), primes)


@pytest.mark.bad_input
@pytest.mark.parametrize("sentences", [["ab"], None, "ab", [3], [None], [[1.5]], [[True]], [[2**63]], 5])
def test_sentences_that_hold_no_ids_are_refused(sentences):
    with pytest.raises(ValueError, match=r"^sentences: expected lists of whole numbers, got "):
        batch(sentences)


@pytest.mark.bad_input
def test_sentences_may_be_tensors_and_arrays():
    wanted = batch([[1, 2]])[0]
    for sentences in (torch.tensor([[1, 2]]), [torch.tensor([1, 2])], [np.array([1, 2])], ((np.int64(1), 2),)):
        assert torch.equal(batch(sentences)[0], wanted)
