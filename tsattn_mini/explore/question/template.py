"""Texts with holes: `{q}` is filled with the numbers of q as a reader writes them. `web/draw.js` fills them alike.

`{q}` is a whole tensor, `{q[0]}` its first entry or row, `{k[1,2]}` one entry, `{answer:2}` has at most two decimals.
"""

import re
from collections.abc import Iterable, Mapping
from math import floor

from torch import Tensor

HOLE = re.compile(r"\{(\w+)(?:\[(\d+(?:,\d+)*)\])?(?::(\d))?\}")


def names_in(texts: Iterable[str]) -> set[str]:
    """What the holes of these texts ask for."""
    return {hole[1] for text in texts for hole in HOLE.finditer(text)}


def fill(text: str, tensors: Mapping[str, Tensor], places: Mapping[str, int]) -> str:
    """`text` with every hole filled.

    `places` are the decimals of drawn numbers; those of computed ones follow from their size (see `written`).
    """
    def said(hole: re.Match) -> str:
        name, index, decimals = hole.groups()
        x = tensors[name]
        for i in map(int, index.split(",")) if index else ():
            x = x[i]
        return _said(x.tolist(), int(decimals) if decimals else places.get(name))

    return HOLE.sub(said, text)


def written(v: float, places: int | None = None) -> str:
    """A number with at most `places` decimals; when left out, with four digits, or as many as stand before the point.

    Halves are rounded up, and a true minus sign is written, in JavaScript too.
    """
    if places is None:
        places = next((p for p in range(12) if not v or abs(v) * 10**p >= 1000), 12)
    units = floor(abs(v) * 10**places + 0.5)
    digits = str(units).rjust(places + 1, "0")
    cut = len(digits) - places
    decimals = digits[cut:].rstrip("0")
    return ("−" if v < 0 and units else "") + digits[:cut] + (f".{decimals}" if decimals else "")


def _said(x: float | list, places: int | None) -> str:
    """A number; a vector in brackets; the rows of a matrix one after the other."""
    if not isinstance(x, list):
        return written(x, places)
    parts = ", ".join(_said(part, places) for part in x)
    return parts if isinstance(x[0], list) else f"({parts})"
