"""What lesson 13 says of the lookup, claim by claim; the modules are tested in test_engram_hash.py and _memory.py."""

from math import exp

import pytest
import torch

from tsattn_mini.engram.collisions import distinct_ngrams, expected_share, partners
from tsattn_mini.engram.hashing import next_primes, ngram_hashes, odd_multipliers, xor_mix
from tsattn_mini.engram.memory import Engram, MultiHeadTable
from tsattn_mini.engram.text import parts
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.engram.vocabulary import Compression, compress_text

LETTERS = Tokenizer()
COMPRESSION = Compression(LETTERS.pieces)
COUNT, SIZE = 1_000_000, round(129_280 * 0.77)


def ids(text):
    return torch.tensor([LETTERS.encode(text)])


def hashes(layers=(1, 15), sizes=(97, 97), H=2):
    return ngram_hashes(COMPRESSION, layers, sizes, H, LETTERS.pad_id)


@pytest.fixture(scope="module")
def million():
    """The rows of a million different bigrams in the eight tables of the released demonstration, and the primes."""
    primes = next_primes(5 * 129_280, 8, set())
    mix = xor_mix(distinct_ngrams(COUNT, 2, SIZE), odd_multipliers(1, 3, SIZE)[:2])[:, 0]
    return mix % torch.tensor(primes), primes


def test_claim_90_the_same_last_words_give_the_same_rows():
    sentences = ("Near the river Ada sold the apple", "Once in a blue moon Carl sold the apple", "lamp sold the apple")
    rows = [hashes()[1](ids(sentence))[0, -1] for sentence in sentences]
    assert torch.equal(rows[0], rows[1])
    assert torch.equal(rows[0], rows[2])
    assert not torch.equal(rows[0], hashes()[1](ids("Ada found the apple"))[0, -1])


def test_claim_91_rows_stay_16_and_the_projections_outweigh_the_gate():
    def costs(size, M):
        layer = Engram(hashes((1,), (size, size), H=8)[1], M=M, C=4, E=64)
        weights = sum(p.numel() for part in (layer.key, layer.value) for p in part.parameters())
        return layer.hashing.primes.numel(), weights, layer.C * layer.M
    assert costs(50, 1024) == costs(1000, 1024) == (16, 5_248_000, 4096)
    assert costs(50, 2048) == (16, 2 * 5_248_000, 2 * 4096)


def test_claim_97_eight_heads_of_two_orders_make_1024_numbers():
    hashing = hashes((1,), (50, 50), H=8)[1]
    table = MultiHeadTable(hashing.primes, E=64)
    z = hashing(ids("Apple sold the apple."))
    e = table(z)
    assert e.shape == (1, 5, 1024)
    rows = [table.rows[o + r] for o, r in zip(table.offsets.flatten(), z[0, 3].flatten(), strict=True)]
    assert torch.equal(torch.cat(rows), e[0, 3])


def test_claim_98_four_in_five_have_company_in_any_one_head(million):
    rows, primes = million
    for head, p in enumerate(primes):
        others = partners(rows[:, [head]]).double()
        assert float((others > 0).double().mean()) == pytest.approx(0.787, abs=0.0015)
        assert float(others.mean()) == pytest.approx(1.547, abs=0.005)
        assert expected_share(COUNT, p) == pytest.approx(1 - exp(-COUNT / p), abs=1e-6)


def test_claim_98_a_pair_or_two_meet_in_two_heads_and_none_in_all(million):
    rows, primes = million
    pairs = [int(partners(rows[:, [h, (h + 1) % 8]]).sum()) // 2 for h in range(8)]
    assert max(pairs) <= 5
    assert sum(pairs) / 8 == pytest.approx(COUNT**2 / 2 / primes[0] ** 2, abs=1.0)
    assert int(partners(rows).sum()) == 0


def test_claim_99_step_one_merges_what_it_was_said_to_part():
    assert {compress_text(word) for word in ("Apple", " apple", "APPLE", " ápple")} == {"apple"}
    assert compress_text("US") == compress_text(" us")
    assert compress_text("Polish") == compress_text("polish")
    text = parts(train=2000, validation=10, test=10)[0].ids
    real = text[:, 1:] != LETTERS.pad_id
    seen = []
    for tokens in (text, COMPRESSION.table[text]):
        bigrams = torch.stack([tokens[:, :-1], tokens[:, 1:]], -1)[real]
        seen.append(len(bigrams) / len(bigrams.unique(dim=0)))
    assert seen == pytest.approx([11.39, 12.90], abs=0.01)


def test_claim_102_layers_have_no_row_vector_in_common():
    first, second = hashes().values()
    assert not torch.isin(first.multipliers, second.multipliers).any()
    assert not torch.isin(first.primes, second.primes).any()


def test_partners_are_counted_as_by_loops():
    rows = torch.randint(3, (40, 2), generator=torch.Generator().manual_seed(2))
    by_hand = [sum(bool((a == b).all()) for b in rows) - 1 for a in rows]
    assert partners(rows).tolist() == by_hand
    assert partners(rows[:, :1]).tolist() == [int((rows[:, 0] == a).sum()) - 1 for a in rows[:, 0]]


def test_ngrams_are_different_and_in_range():
    found = distinct_ngrams(200, 3, 8)
    assert found.shape == (200, 1, 3)
    assert len(found.unique(dim=0)) == 200
    assert found.min() == 0
    assert found.max() == 7


def test_a_table_of_one_row_is_shared_by_all_and_a_huge_one_by_none():
    assert expected_share(2, 1) == 1
    assert expected_share(1, 5) == 0
    assert expected_share(1000, 10**9) == pytest.approx(1e-6, rel=1e-2)


@pytest.mark.bad_input
@pytest.mark.parametrize("count", [0, 33])
def test_more_ngrams_than_half_of_all_are_refused(count):
    with pytest.raises(ValueError, match=f"count: expected 1 to 32 of the 64 n-grams, got {count}"):
        distinct_ngrams(count, 2, 8)


@pytest.mark.bad_input
def test_rows_without_heads_are_refused():
    with pytest.raises(ValueError, match="rows"):
        partners(torch.zeros(3, dtype=torch.int64))
