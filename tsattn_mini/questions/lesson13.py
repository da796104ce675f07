"""Check questions of lesson 13, the lookup of Engram."""

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.engram.collisions import distinct_ngrams, partners
from tsattn_mini.engram.hashing import next_primes, ngram_hashes, odd_multipliers, suffix_ngrams, xor_mix
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.vocabulary import Compression, compress_text
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, number, order, several
from tsattn_mini.trace import step

LESSON = "13_lookup"
LOOKUP = "from-a-sentence-to-rows"
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


def _binary(x: Tensor) -> Tensor:
    """The bits of a number below 128, read as decimal digits."""
    place = torch.arange(7)
    return (x.long() // 2**place % 2 * 10**place).sum()


def _hash(newest: Tensor, before: Tensor, m: Tensor, p: Tensor) -> Tensor:
    """The row of a bigram, and those of a reader who adds, swaps, or stops before the remainder."""
    def mixed(*ids: Tensor) -> Tensor:
        return xor_mix(torch.stack(ids).long()[None, None], m.long())[0, 0, 0]

    products = step("products", torch.stack([newest * m[0], before * m[1]]), axes="N")
    step("bits", torch.stack([_binary(x) for x in products]), axes="N")
    mix = step("mix", mixed(newest, before).to(p), axes="")
    step("mixed", _binary(mix).to(p), axes="")
    step("sum", products.sum() % p, axes="")
    step("turned", mixed(before, newest).to(p) % p, axes="")
    return mix % p


def _share(n: Tensor, p: Tensor) -> Tensor:
    """Percent of n thousand n-grams that have company in p thousand rows; only more n-grams than rows are drawn."""
    load = step("load", n / p, axes="")
    step("rows per n-gram", 100 * p / n, axes="")
    step("surplus", 100 - 100 * p / n, axes="")
    alone = step("alone", 100 * torch.exp(-load), axes="")
    return torch.where(n > p, 100 - alone, torch.nan)


def _small(M: int = 4) -> Engram:
    """A memory of an alphabet."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Engram(ngram_hashes(Compression(list("abcdefghij")), [1], [11, 11], 2)[1], M=M, E=2).float()


def _steps() -> list[str]:
    """The steps of a lookup in the order in which the layer makes them."""
    with torch.no_grad(), record() as trace:
        _small()(torch.tensor([[1, 2, 3]]), torch.zeros(1, 3, 1, 4, dtype=torch.float32))
    return [name for name in trace if name in ("ids", "ngrams", "mix", "hash", "rows", "e")]


def _same() -> set[str]:
    """What two sentences have in common at the last word, if their last three words are the same.

    The running mean of embeddings stands for a hidden state that has read the sentence.
    """
    layer, tokens = _small(), torch.tensor([[5, 6, 1, 2, 3], [9, 8, 1, 2, 3]])
    embedding = torch.arange(40, dtype=torch.float32).sin().reshape(10, 1, 4)
    with torch.no_grad(), record() as trace:
        layer(tokens, embedding[tokens].cumsum(1) / torch.arange(1, 6)[:, None, None])
    names = ("hash", "e", "k", "h", "alpha")
    return {name for name in names if torch.equal(*trace[name].tensor[:, -1])}


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
        id="13-merge", lesson=LESSON, answer=_merge, difficulty=1, claims=(99,),
        show=Show(LOOKUP, text="Polish polish us US apple apples"),
        text="Compression drops accents, capitals and spaces at the ends. Which pair is still two words afterwards?",
        options={
            "capital": Option("Polish, polish", "A capital goes: a people and a verb become one id. Compression "
                                                "does not part such words, it makes them one.", slip="claim 99"),
            "accent": Option("résumé, resume", "Accents are split off and dropped, so these two meet."),
            "space": Option("␣us, US", "The space is trimmed and the letters lowered: a pronoun and a country."),
            "plural": Option("apple, apples", "Nothing is taken off a word but its dress. An s is a letter like any "
                                              "other."),
        }),
    choice(
        id="13-start", lesson=LESSON, answer=_start, difficulty=1, show=Show(LOOKUP, text="Apple"),
        text="The first token of a sentence has nothing before it. What is the other half of its bigram?",
        options={
            "pad": Option("The padding id", "As if the sentence were preceded by padding, compressed like all ids. "
                                            "So the row also says: this is a beginning."),
            "none": Option("Nothing; it has no bigram", "Every position has a bigram and a trigram. Padding stands in "
                                                        "front of the sentence."),
            "zero": Option("The number 0", "0 is an id like any other. The padding id is used, whatever its number."),
            "last": Option("The last token", "That would be a circle, and it would look into the future."),
        }),
    order(
        id="13-order", lesson=LESSON, answer=_steps,
        text="From a token to its memory. Bring the steps of the lookup in order.",
        items={
            "hash": Option("Take the remainder by a prime, one for each head",
                           "The remainder makes a row out of a huge number, so it needs that number first."),
            "ngrams": Option("Take the last two and the last three ids",
                             "n-grams are made of compressed ids, and are what is hashed."),
            "e": Option("Read the rows and lay them side by side", "Last: this is the memory e that it is all for."),
            "ids": Option("Give all spellings of a word one id",
                          "First: Apple and apple are to meet in the same n-grams, so in the same rows."),
            "rows": Option("Add the place where the head's table begins",
                           "All heads lie in one table, one behind the other: a head's row counts from its beginning."),
            "mix": Option("Multiply each id by an odd number, combine the products by xor",
                          "One number for the whole n-gram. It is far too large for a row, so the remainder follows."),
        },
        pairs=[Pair("ngrams", "ids", "Then Apple sold and apple sold would be two n-grams, and lie in two rows."),
               Pair("hash", "mix", "A remainder of each id would throw the words away before they are mixed. The "
                                   "n-gram is mixed first, and every head takes its remainder of the same number."),
               Pair("e", "rows", "In front of it lie the tables of the other heads: a row read too early is another "
                                 "head's.")],
        right="Compress, n-grams, multiply and xor, remainder, place in the table, read. Nothing asks the sentence."),
    number(
        id="13-hash", lesson=LESSON, answer=_hash, tolerance=0.01,
        draws={"newest": Draw(low=1, high=9, whole=True), "before": Draw(low=1, high=9, whole=True),
               "m": Draw((2,), values=(3, 5, 7, 9)), "p": Draw(values=(7, 11, 13))},
        first={"newest": 4, "before": 9, "m": (5, 3), "p": 11},
        text="The newest token has id {newest}, the one before it {before}. The multipliers are {m[0]} (for the "
             "newest) and {m[1]}, the table has {p} rows. Which row, counted from 0?",
        right="{products[0]} xor {products[1]} is {bits[0]} xor {bits[1]} = {mixed} in binary, which is {mix}, and "
              "{mix} mod {p} = {answer}.",
        wrong="Multiply: {products[0]} and {products[1]}. Write both in binary, {bits[0]} and {bits[1]}, set a bit "
              "where exactly one of them has it, then take the remainder by {p}.",
        slips={
            "sum": Slip("sum", "That is the remainder of the sum {products[0]} + {products[1]}. xor sets a bit "
                               "where exactly one of the two has it: {mix} here."),
            "order": Slip("turned", "The first multiplier, {m[0]}, belongs to the newest token: {newest} · {m[0]} and "
                                    "{before} · {m[1]}."),
            "no modulus": Slip("mix", "That is the mix. The table has {p} rows: take the remainder of {mix} by {p}."),
        }),
    number(
        id="13-share", lesson=LESSON, answer=_share, tolerance=2, unit="%", claims=(98,),
        draws={"n": Draw(values=(600, 800, 1000, 1500, 2000)), "p": Draw(values=(400, 500, 646.4, 900, 1200))},
        first={"n": 1000, "p": 646.4},
        text="{n} thousand different bigrams fall on {p} thousand rows as if at random. What share of them has company "
             "in its row?",
        hint="Others fall into the row of a bigram n/p times on average. How often is it none?",
        right="1 − exp(−{load:3}) = {answer:0} %. Every bigram has {load:2} others in its row on average, and is alone "
              "with probability exp(−{load:3}) = {alone:0} %.",
        wrong="A bigram is alone if each of the others missed its row: with probability exp(−{n}/{p}).",
        slips={
            "surplus": Slip("surplus", "That would be the surplus if every row were taken once before any was taken "
                                       "twice. Chance leaves {alone:0} % alone, and some rows empty."),
            "load": Slip("rows per n-gram", "That is rows per bigram. Some rows stay empty, others are crowded: "
                                            "{alone:0} % of the bigrams are alone."),
            "alone": Slip("alone", "That share is alone. The other {answer:0} % have company."),
        }),
    choice(
        id="13-both", lesson=LESSON, answer=_both, difficulty=3, claims=(98,), show=Show(LOOKUP, size=4),
        text="In one head 79 % of a million bigrams have company. How many pairs meet in head 0 and in head 1 as well?",
        options={
            "share": Option("About 310,000: 0.79 · 0.79 of the bigrams have company in both",
                            "They do have company in both, but other company in each. A pair meets twice only if "
                            "chance joins the same two again."),
            "half": Option("About 390,000: the second head repeats the first",
                           "It would with the same prime. Different primes shuffle the bigrams anew."),
            "few": Option("A handful at most", "There are 5 · 10¹¹ pairs, and each meets in both heads with "
                                               "probability 1 / (4.2 · 10¹¹): about one."),
        }),
    several(
        id="13-same", lesson=LESSON, answer=_same, difficulty=2, claims=(90, 93),
        text="Two sentences differ at first, and end in the same three words. The hidden state has read the whole "
             "sentence. Tick all that is the same in both at the last word.",
        options={
            "hash": Option("the rows that are looked up", "Same: they are a hash of the last two and three ids."),
            "e": Option("the memory e, those rows side by side", "Same: rows hold what they hold, whoever reads them. "
                                                                "So they can be fetched ahead."),
            "h": Option("the hidden state h", "Different: it has read what stands before the three words. Only the "
                                              "lookup has not."),
            "k": Option("the key k that a matrix makes of e", "Same: a matrix times the same e, plus a bias."),
            "alpha": Option("the gate α, which compares k with h",
                            "Different: k is the same, and h is not. Here the sentence enters for the first time."),
        }),
    choice(
        id="13-grows", lesson=LESSON, answer=_grows, difficulty=1, claims=(91,),
        text="A table becomes a hundred times larger. What grows with it?",
        options={
            "rows": Option("The number of rows fetched for a token",
                           "One per order and head, whatever the table: two orders with eight heads make 16."),
            "projections": Option("The matrices behind it", "They know the width of a row, not how many there are."),
            "memory": Option("The memory it takes", "And only that, apart from slower memory: O(1) speaks of time."),
        }),
]
