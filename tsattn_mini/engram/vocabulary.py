"""Step 1: tokens that differ only in spelling share one id, so that their n-grams meet in one row.

Source: arXiv 2601.07372, section 2.2, and the normalisers of the released demonstration.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain
from reprlib import repr as short
from typing import Any

import torch
from jaxtyping import Bool, Int64
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.trace import meaning, step

UNDECODABLE = "\ufffd"  # stands in a text for bytes that are no characters


def compress_text(text: str, raw: str | None = None) -> str:
    """The spelling that `text` shares with its variants: `compress_text(" Ápple")` is `"apple"`.

    Compatibility forms are unified (NFKC), accents split off (NFD) and dropped (category Mn), letters lowered one by
    one (a capital sigma becomes σ at the end of a word, too), runs of space, tab and line break become one space, the
    spaces at both ends go. A token of spaces alone stays `" "`; a token that would vanish keeps its own text.

    Args:
        raw: the tokenizer's own name of the token, such as `"<0xE3>"`; taken instead of a text with U+FFFD, since
            all undecodable pieces look alike as text.
    Raises:
        ValueError: something that is no text.

    >>> compress_text(" Ápple"), compress_text("APPLE")
    ('apple', 'apple')
    """
    if not isinstance(text, str):
        raise ValueError(f"text: expected a string, got {type(text).__name__}")
    if UNDECODABLE in text:
        return text if raw is None else raw
    split = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    bare = "".join(letter.lower() for letter in split if unicodedata.category(letter) != "Mn")
    spaced = re.sub(r"[ \t\r\n]+", " ", bare)
    return " " if spaced == " " else spaced.strip() or text


class Compression(nn.Module):
    """The map from token ids to compressed ids, numbered in the order in which spellings first appear.

    Args:
        texts: the decoded text of every token id.
        raw: the tokenizer's own names of the same tokens, for those that do not decode.
        keep_negative: let negative ids through unchanged, as the released code does. They must stay above minus the
            number of compressed ids, or the hash would overflow. By default they raise like any id out of range.

    `table` (a buffer, so that it is saved with the weights) holds the compressed id of each token, `texts` its text.
    Raises:
        ValueError: `texts` that are no list of words, or another number of `raw` names.

    >>> compression = Compression(["", "Apple", " apple", "pear"])
    >>> compression.size, compression(torch.tensor([[1, 2, 3]])).tolist()  # two spellings of one word share an id
    (3, [[1, 1, 2]])
    """

    def __init__(self, texts: Sequence[str], raw: Sequence[str] | None = None, keep_negative: bool = False) -> None:
        super().__init__()
        if isinstance(texts, str) or not len(texts):
            raise ValueError(f"texts: expected a list with the text of every token, got {texts!r}")
        if raw is not None and len(raw) != len(texts):
            raise ValueError(f"raw: expected one name for each of the {len(texts)} texts, got {len(raw)}")
        first: dict[str, int] = {}
        names = raw or [None] * len(texts)
        table = [first.setdefault(compress_text(*pair), len(first)) for pair in zip(texts, names, strict=True)]
        self.register_buffer("table", torch.tensor(table))
        self.keep_negative, self.texts = keep_negative, tuple(texts)

    @property
    def size(self) -> int:
        """How many compressed ids there are."""
        return int(self.table.max()) + 1

    def pad_id(self, pad: int | None) -> int:
        """The compressed id that stands in front of a sentence: that of token `pad`.

        A tokenizer without a padding token (None) gets an id that no token has, `size`.

        Raises:
            ValueError: a `pad` that is no id of the vocabulary.
        """
        if pad is None:
            return self.size
        if not checks.whole(pad):
            raise ValueError(f"pad: expected None or a whole number, got {pad!r}")
        if not 0 <= pad < len(self.table):
            raise ValueError(f"pad: expected None or an id from 0 to {len(self.table) - 1}, got {pad}")
        return int(self.table[pad])

    @meaning("1 compress")
    def forward(self, tokens: Int64[Tensor, "B L"]) -> Int64[Tensor, "B L"]:
        """The compressed id of every token.

        Raises:
            ValueError: an empty sentence, tokens that are not int64, or an id outside the vocabulary, with its place.
        """
        if not torch.compiler.is_compiling():
            check_tokens(tokens, 1 - self.size if self.keep_negative else 0, len(self.table) - 1)
        tokens = step("tokens", tokens, axes="B L", note="What the tokenizer gave.")
        ids = self.table[tokens.clamp(min=0)]
        if self.keep_negative:
            ids = torch.where(tokens < 0, tokens, ids)
        return step("ids", ids, axes="B L", eq="x' = P(x)", note="Spellings of one word share one id.")


def check_tokens(tokens: Int64[Tensor, "B L"], low: int, high: int) -> None:
    """Raise ValueError unless `tokens` are int64 ids from `low` to `high`, at least one."""
    checks.shapes(tokens=(tokens, "B L"))
    checks.required(tokens=tokens)
    if tokens.dtype != torch.int64:
        raise ValueError(f"tokens: expected int64 ids, got {checks.dtype_name(tokens.dtype)}")
    outside = (tokens < low) | (tokens > high)
    if bool(outside.any()):
        at = tuple(outside.nonzero()[0].tolist())
        raise ValueError(f"tokens: expected ids from {low} to {high}, got {int(tokens[at])} at index {at} "
                         f"({int(outside.sum())} of {tokens.numel()} are outside)")


def batch(sentences: Sequence[Sequence[int]], fill: int = 0) -> tuple[Int64[Tensor, "B L"], Bool[Tensor, "B L"]]:
    """Sentences of different lengths as one tensor, filled up on the right; also returns where the tokens are real.

    Hash, gate and convolution look back only, so what stands behind a sentence changes nothing in it: `fill` may be
    any id of the vocabulary. Filling up on the left would change the n-grams of the first tokens, unless `fill` is
    the padding token.

    Raises:
        ValueError: no sentence, an empty one, or ids that are no whole numbers.

    >>> batch([[3, 4, 5], [6]])[0].tolist()
    [[3, 4, 5], [6, 0, 0]]
    """
    given, sentences = sentences, [_listed(sentence) for sentence in _listed(sentences) or ()]
    if _listed(given) is None or None in sentences or not all(map(_id, chain(*sentences))):
        raise ValueError(f"sentences: expected lists of whole numbers, got {short(given)}")
    if not _id(fill):
        raise ValueError(f"fill: expected an id, a whole number, got {short(fill)}")
    lengths = [len(sentence) for sentence in sentences]
    if not lengths or not min(lengths):
        raise ValueError(f"sentences: expected at least one token in each of at least one sentence, got {lengths}")
    rows = [[*sentence, *[fill] * (max(lengths) - len(sentence))] for sentence in sentences]
    return torch.tensor(rows), torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def _listed(x: Any) -> list | None:
    """The entries of a list, a tuple, a tensor or an array; None for anything else."""
    plain = x.tolist() if hasattr(x, "tolist") else x
    return list(plain) if isinstance(plain, list | tuple) else None


def _id(id: Any) -> bool:
    return checks.whole(id) and -2**63 <= id < 2**63
