"""A tokenizer small enough to read: text becomes ids of whole words and word pieces, the longest that fits first.

Its pieces are ours, written for the lessons. As in the vocabularies of large models, one word has many ids: with
and without the space in front, with a capital, in capitals, with an accent. Compression (`vocabulary`) merges them.
"""

from collections.abc import Iterable, Sequence
from operator import index

from tsattn_mini.engram import words

PAD = "<pad>"
ACCENTED = "áàâäãåéèêëíìîïóòôöõúùûüñçøÁÀÂÄÃÅÉÈÊËÍÌÎÏÓÒÔÖÕÚÙÛÜÑÇØ"


def default_pieces() -> list[str]:
    """The padding piece, every printable ASCII character, accented letters, endings, then the words of `words`.

    >>> default_pieces()[0] == Tokenizer().pieces[0]  # the padding comes first
    True
    """
    singles = [chr(code) for code in range(32, 127)]
    senses = [w for pairs in words.HOMOGRAPHS.values() for pair in pairs for w in pair]
    capitals = [w for pair in words.CAPITALS.values() for w in pair]
    lower = [*words.LITTLE, *words.ADJECTIVES, *words.COLOURS, *words.THINGS, *words.VERBS, *words.HOMOGRAPHS,
             *words.CAPITALS, *senses, *capitals, *(w for phrase in words.PHRASES for w in phrase)]
    named = [w.upper() if w == "us" else w.capitalize() for w in words.CAPITALS]
    upper = [*words.OPENERS, *words.FIRST, *words.MIDDLE, *words.LAST, *named,
             *(phrase[0].capitalize() for phrase in words.PHRASES), *words.VARIANTS]
    spaced = [variant for w in [*lower, *upper] for variant in (w, f" {w}")]
    return list(dict.fromkeys([PAD, *singles, *ACCENTED, *words.ENDINGS, *spaced]))


class Tokenizer:
    """`pieces[id]` is the text of an id.

    Args:
        pieces: all different, none empty; the first is the padding, which no text contains. Left out: our own.
    Raises:
        ValueError: no pieces, an empty piece, or the same piece twice.

    >>> tokenizer = Tokenizer()
    >>> tokenizer.decode(tokenizer.encode("New York"))
    'New York'
    """

    pad_id = 0

    def __init__(self, pieces: Sequence[str] | None = None) -> None:
        self.pieces = default_pieces() if pieces is None else list(pieces)
        if not all(self.pieces) or not self.pieces:
            raise ValueError("pieces: expected at least one, each with at least one character, got "
                             f"{len(self.pieces)} with {self.pieces.count('')} empty")
        self._ids = {piece: id for id, piece in enumerate(self.pieces)}
        if len(self._ids) < len(self.pieces):
            twice = next(p for id, p in enumerate(self.pieces) if self._ids[p] != id)
            raise ValueError(f"pieces: expected all different, got {twice!r} twice")
        del self._ids[self.pieces[self.pad_id]]
        self._longest = max(map(len, self._ids), default=0)

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, at every place the longest piece that fits. An empty text has none.

        Raises:
            ValueError: a character that begins no piece, named with its place; something that is no text.
        """
        if not isinstance(text, str):
            raise ValueError(f"text: expected a string, got {type(text).__name__}")
        ids, at = [], 0
        while at < len(text):
            fitting = (text[at:end] for end in range(at + self._longest, at, -1) if text[at:end] in self._ids)
            piece = next(fitting, None)
            if piece is None:
                raise ValueError(f"text: expected characters the pieces can spell, got {text[at]!r} at place {at}")
            ids.append(self._ids[piece])
            at += len(piece)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`; padding leaves nothing.

        Raises:
            ValueError: an id without a piece; it is named with its place. Something that is no whole number.
        """
        try:
            ids = [index(id) for id in ids]
        except TypeError:
            raise ValueError(f"ids: expected whole numbers, got {ids!r}") from None
        for at, id in enumerate(ids):
            if not 0 <= id < len(self.pieces):
                raise ValueError(f"ids: expected 0 to {len(self.pieces) - 1}, got {id} at place {at}")
        return "".join(self.pieces[id] for id in ids if id != self.pad_id)
