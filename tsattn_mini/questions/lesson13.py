"""Check questions of lesson 13, the lookup of Engram."""

import torch

from tsattn_mini.engram.collisions import distinct_ngrams, expected_share, partners
from tsattn_mini.engram.hashing import next_primes, ngram_hashes, odd_multipliers, suffix_ngrams, xor_mix
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.vocabulary import Compression, compress_text
from tsattn_mini.explore.question import Option, Slip, choice, number

LESSON = "13_lookup"
ROWS = 5 * 129_280


def _merge() -> str:
    """Which pair is still two after compression?"""
    pairs = {"capital": ("Polish", "polish"), "accent": ("résumé", "resume"), "space": (" us", "US"),
             "plural": ("apple", "apples")}
    return next(name for name, pair in pairs.items() if len(set(map(compress_text, pair))) == 2)


def _start() -> str:
    """What stands in the bigram of the first token beside it?"""
    pad = torch.tensor(9)
    first = suffix_ngrams(torch.tensor([[4, 7, 8]]), 2, pad)[0, 0].tolist()
    return {9: "pad", 8: "last", 0: "zero"}.get(first[1], "none")


def _hash(newest: int, before: int, multipliers: tuple[int, int], p: int) -> int:
    mix = xor_mix(torch.tensor([[[newest, before]]]), torch.tensor(multipliers))
    return int(mix % p)


def _both() -> str:
    """Pairs among 100,000 bigrams that meet in two heads of a tenth of the released size: as likely as there."""
    count = 100_000
    mix = xor_mix(distinct_ngrams(count, 2, 10_000), odd_multipliers(1, 2, 10_000))[:, 0]
    rows = mix % torch.tensor(next_primes(ROWS // 10, 2, set()))
    pairs = int(partners(rows).sum()) / 2
    beliefs = {"share": count * 0.787**2 / 2, "half": count * 0.787 / 2, "few": 1.0}
    return min(beliefs, key=lambda name: abs(beliefs[name] - pairs))


def _grows() -> str:
    """What of a layer grows with its table: work for a token, weights of the projections, or memory?"""
    small, large = (Engram(ngram_hashes(Compression(["a", "b"]), [1], [size], 2)[1], M=8) for size in (10, 1000))
    costs = {
        "rows": [layer.hashing.primes.numel() for layer in (small, large)],
        "projections": [sum(p.numel() for p in layer.key.parameters()) for layer in (small, large)],
        "memory": [layer.table.rows.numel() for layer in (small, large)],
    }
    return next(name for name, (before, after) in costs.items() if after > before)


QUESTIONS = [
    choice(
        id="13-merge", lesson=LESSON, answer=_merge,
        text="Compression drops accents, capitals and spaces at the ends. Which pair is still two words afterwards?",
        options={
            "capital": Option("Polish, polish", "A capital goes: a people and a verb become one id."),
            "accent": Option("résumé, resume", "Accents are split off and dropped, so these two meet."),
            "space": Option("␣us, US", "The space is trimmed and the letters lowered: a pronoun and a country."),
            "plural": Option("apple, apples", "Nothing is taken off a word but its dress. An s is a letter like any "
                                              "other."),
        }),
    choice(
        id="13-start", lesson=LESSON, answer=_start,
        text="The first token of a sentence has nothing before it. What is the other half of its bigram?",
        options={
            "pad": Option("The padding id", "As if the sentence were preceded by padding, compressed like all ids. "
                                            "So the row also says: this is a beginning."),
            "none": Option("Nothing; it has no bigram", "Every position has every order, or shapes would differ."),
            "zero": Option("The number 0", "0 is an id like any other. The padding id is used, whatever its number."),
            "last": Option("The last token", "That would be a circle, and it would look into the future."),
        }),
    number(
        id="13-hash", lesson=LESSON, answer=lambda: _hash(4, 9, (5, 3), 11), tolerance=0.01,
        text="The newest token has id 4, the one before it 9. The multipliers are 5 (for the newest) and 3, the table "
             "has 11 rows. Which row, counted from 0?",
        right="20 xor 27 is 10100 xor 11011 = 01111 = 15, and 15 mod 11 = 4.",
        wrong="Multiply, write both products in binary, compare bit by bit, then take the remainder by 11.",
        slips={
            "sum": Slip(lambda: (4 * 5 + 9 * 3) % 11, "That is the sum of the products. xor sets a bit where exactly "
                                                      "one of the two has it."),
            "order": Slip(lambda: _hash(9, 4, (5, 3), 11), "The first multiplier belongs to the newest token."),
            "no modulus": Slip(15, "That is the mix. The table has 11 rows: take the remainder."),
        }),
    number(
        id="13-share", lesson=LESSON, answer=lambda: 100 * expected_share(1_000_000, ROWS), tolerance=2, unit="%",
        text="A million different bigrams fall on 646,400 rows as if at random. What share of them has company in its "
             "row?",
        right="1 − exp(−1.547) = 79 %. Every bigram has 1.55 others in its row on average, and is alone with "
              "probability exp(−1.547) = 21 %.",
        wrong="A bigram is alone if each of the 999,999 others missed its row.",
        slips={
            "surplus": Slip(lambda: 100 * (1 - ROWS / 1_000_000), "That would be the surplus if every row were taken "
                                                                   "once before any was taken twice."),
            "load": Slip(lambda: 100 * ROWS / 1_000_000, "That is rows per bigram. Some rows stay empty, others are "
                                                          "crowded."),
            "alone": Slip(lambda: 100 * (1 - expected_share(1_000_000, ROWS)), "That share is alone."),
        }),
    choice(
        id="13-both", lesson=LESSON, answer=_both,
        text="In one head 79 % of a million bigrams have company. How many pairs meet in head 0 and in head 1 as well?",
        options={
            "share": Option("About 310,000: 0.79 · 0.79 of the bigrams have company in both",
                            "They do have company in both, but other company in each."),
            "half": Option("About 390,000: the second head repeats the first",
                           "It would with the same prime. Different primes shuffle the bigrams anew."),
            "few": Option("A handful at most", "There are 5 · 10¹¹ pairs, and each meets in both heads with "
                                               "probability 1 / (4.2 · 10¹¹): about one."),
        }),
    choice(
        id="13-grows", lesson=LESSON, answer=_grows,
        text="A table becomes a hundred times larger. What grows with it?",
        options={
            "rows": Option("The number of rows fetched for a token", "One per order and head, whatever the table."),
            "projections": Option("The matrices behind it", "They know the width of a row, not how many there are."),
            "memory": Option("The memory it takes", "And only that, apart from slower memory: O(1) speaks of time."),
        }),
]
