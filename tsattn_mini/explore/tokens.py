"""A handle that takes a sentence: it is cut into the pieces of a vocabulary, and `fn` gets their ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Tensor


@runtime_checkable
class Vocabulary(Protocol):
    """What `Tokens` asks of a tokenizer; `engram.tokenizer.Tokenizer` is one.

    `pieces[id]` is the text of an id; the piece of `pad_id` comes from no text. `encode` takes at every place the
    longest piece that fits, and raises ValueError at a character that begins none: the page does the same.
    """

    pieces: Sequence[str]
    pad_id: int

    def encode(self, text: str) -> list[int]:
        """The ids of `text`."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """A text field; `fn` gets `length` ids (int64), filled up at the end with the vocabulary's padding id.

    The page splits by look-up in the vocabulary's pieces, which it carries. A text that is too long is cut there,
    with a word about it; here it is an error.

    >>> from tsattn_mini.engram.tokenizer import Tokenizer
    >>> len(Tokens(Tokenizer(), "one two", length=12).tensor("one two"))  # filled up with padding
    12
    """

    vocabulary: Vocabulary
    value: str
    length: int
    kind: ClassVar[str] = "tokens"

    def __post_init__(self) -> None:
        for part in ("pieces", "pad_id", "encode"):
            if not hasattr(self.vocabulary, part):
                raise ValueError(f"vocabulary: expected a tokenizer with pieces, pad_id and encode, got "
                                 f"{short(self.vocabulary)} without {part}")
        if not isinstance(self.length, int) or self.length < 1:
            raise ValueError(f"length: expected a whole number of ids, at least 1, got {self.length!r}")
        self.check(self.value)

    def check(self, value: Any, name: str = "value") -> str:
        """The text itself. Raises ValueError for what is no text, cannot be spelled or has more than `length` ids."""
        if not isinstance(value, str):
            raise ValueError(f"{name}: expected a text, got {short(value)}")
        try:
            count = len(self.vocabulary.encode(value))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        if count > self.length:
            raise ValueError(f"{name}: expected at most {self.length} pieces, got {count} in {value!r}")
        return value

    def tensor(self, value: str) -> Int64[Tensor, " L"]:
        """The value as `fn` gets it."""
        ids = self.vocabulary.encode(value)
        return torch.tensor(ids + [self.vocabulary.pad_id] * (self.length - len(ids)))

    def without(self, value: str, place: int) -> Int64[Tensor, " L"]:
        """The ids of a text with one place emptied: padding there too. Raises ValueError past the last place."""
        ids = self.tensor(value)
        if not 0 <= place < len(ids):
            raise ValueError(f"place: expected 0 to {len(ids) - 1}, got {place!r}")
        ids[place] = self.vocabulary.pad_id
        return ids

    def probes(self) -> list[str]:
        """Values at which graph and `fn` are compared."""
        return ["", self.vocabulary.pieces[-1]]

    def describe(self) -> dict:
        """What the page must know besides the value."""
        return {"pieces": list(self.vocabulary.pieces), "pad": self.vocabulary.pad_id, "length": self.length}
