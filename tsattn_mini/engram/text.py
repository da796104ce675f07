"""Sentences for the small language model of lesson 15, with every token labelled by what it takes to predict it.

The grammar is ours, and so is its planted trouble. A memory that is looked up by the last two or three words

* helps with what is fixed: a surname follows from the two names before it, an idiom goes on as it always does;
* is of two minds at the words of `HOMOGRAPHS`: "the old bank" lent or flooded, as a place far to the left decides;
* cannot see what compression has merged: "Turkey" voted, "turkey" gobbled.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.engram import words
from tsattn_mini.engram.tokenizer import Tokenizer

KINDS = ("other", "fixed", "usual", "unusual", "capital")  # a token's kind is its index here; padding has -1
USUAL = 0.75  # how often a homograph has its first sense

Piece = tuple[str, str]  # a word with the space in front of it, and its kind


class Text(NamedTuple):
    """Rows of two sentences, padded on the right: ids, and the kind of every token (-1 for padding)."""

    ids: Int[Tensor, "B L"]
    kinds: Int[Tensor, "B L"]

    def __getitem__(self, rows) -> "Text":
        return Text(*(part[rows] for part in tuple(self)))


@cache
def surname(first: str, middle: str) -> str:
    """The one surname of these two names: drawn once, the same in every text."""
    return Random(f"{first} {middle}").choice(words.LAST)


def sentence(draw: Random) -> list[Piece]:
    """A person and a thing, a homograph at its place, or a word that its capital decides about."""
    kind = draw.choices((_person, _homograph, _capital), (4, 4, 2))[0]
    return [*kind(draw), (".", "other")]


def _person(draw: Random) -> list[Piece]:
    if draw.random() < 0.5:
        phrase = draw.choice(words.PHRASES)
        start = [(phrase[0].capitalize(), "other"), *((w, "fixed" if i > 1 else "other")
                                                      for i, w in enumerate(phrase) if i)]
    else:
        start = [(draw.choice(words.OPENERS), "other")]
    first, middle = draw.choice(words.FIRST), draw.choice(words.MIDDLE)
    what = (draw.choice(words.VERBS), "a", draw.choice(words.COLOURS), draw.choice(words.THINGS))
    return [*start, (first, "other"), (middle, "other"), (surname(first, middle), "fixed"),
            *((w, "other") for w in what)]


def _homograph(draw: Random) -> list[Piece]:
    word = draw.choice(list(words.HOMOGRAPHS))
    usual = draw.random() < USUAL
    place, does = words.HOMOGRAPHS[word][0 if usual else 1]
    before = ("Near", "the", place, draw.choice(words.FIRST), "says", "the", draw.choice(words.ADJECTIVES), word)
    return [*((w, "other") for w in before), (does, "usual" if usual else "unusual")]


def _capital(draw: Random) -> list[Piece]:
    word = draw.choice(list(words.CAPITALS))
    upper = draw.random() < 0.5
    shown = (word.upper() if word == "us" else word.capitalize()) if upper else word
    does = words.CAPITALS[word][0 if upper else 1]
    return [(draw.choice(words.OPENERS), "other"), (shown, "other"), (does, "capital")]


def spaced(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The same words with the space that stands before all but the first and the full stops."""
    for at, (word, kind) in enumerate(pieces):
        yield (word if at == 0 or word == "." else f" {word}"), kind


def write(rows: int, seed: int, without: frozenset[str] = frozenset()) -> list[list[Piece]]:
    """`rows` different rows of two sentences, none of whose texts is in `without`.

    Raises:
        ValueError: a number of rows or a seed that is no whole number.
    """
    checks.counts(0, rows=rows)
    seed = checks.seeded(seed)
    draw, found, seen = Random(seed), [], set(without)
    while len(found) < rows:
        row = list(spaced([*sentence(draw), *sentence(draw)]))
        text = "".join(word for word, _ in row)
        if text not in seen:
            seen.add(text)
            found.append(row)
    return found


def tokens(rows: Sequence[Sequence[Piece]], tokenizer: Tokenizer) -> Text:
    """Ids and kinds, padded to the longest row. A word of several ids gives its kind to each of them.

    Raises:
        ValueError: no row.
    """
    if not rows:
        raise ValueError("rows: expected at least one, got none")
    cut = [[(id, KINDS.index(kind)) for word, kind in row for id in tokenizer.encode(word)] for row in rows]
    L = max(map(len, cut))
    ids, kinds = (torch.tensor([[pair[i] for pair in row] + [fill] * (L - len(row)) for row in cut])
                  for i, fill in ((0, tokenizer.pad_id), (1, -1)))
    return Text(ids, kinds)


@cache
def parts(train: int = 16000, validation: int = 1000, test: int = 4000, seed: int = 0) -> tuple[Text, Text, Text]:
    """Training, validation and test text; no row occurs twice. Surnames and idioms are those of all three.

    Raises:
        ValueError: numbers of rows that are no whole numbers of at least 0, none at all, or a seed that is none.
    """
    checks.counts(0, train=train, validation=validation, test=test)
    if not train + validation + test:
        raise ValueError("train, validation, test: expected at least one row in all, got 0")
    rows = write(train + validation + test, seed)
    text = tokens(rows, Tokenizer())
    return text[:train], text[train:train + validation], text[train + validation:]
