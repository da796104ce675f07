"""From text to numbers, exactly: decimal sign, thousands, percent, missing values, words.

A cell is a number only if the whole of it is one. The decimal sign is read from a cell that allows
one reading; '1,234' allows two, and is asked about when no other cell decides.
"""

import re

import numpy as np

from tsattn_mini.datasets.reading.faults import fault, listed, shown

_BLANKS = ("NA", "N/A", "#N/A", "NaN", "NULL", "None", "NIL")
MISSING = frozenset({"", "-", "--", "—", "–", "?", "."}
                    | {form for word in _BLANKS for form in (word, word.lower(), word.upper(), word.capitalize())})
MOST_WORDS = 20  # a column of words with more different ones is no category
EXACT = 2**53  # above it a float64 skips whole numbers

_EXPONENT, _PERCENT = r"(?:[eE][+-]?\d+)?", r"\s?%?"
_SPACES = " \u00a0\u2009\u202f'’"


def _pattern(decimal: str, group: str) -> re.Pattern:
    thousands = rf"[1-9]\d{{0,2}}([{re.escape(group + _SPACES)}])\d{{3}}(?:\1\d{{3}})*"
    point = re.escape(decimal)
    return re.compile(rf"[+-]?(?:{thousands}(?:{point}\d*)?|\d+(?:{point}\d*)?|{point}\d+){_EXPONENT}{_PERCENT}")


NUMBER = {".": _pattern(".", ","), ",": _pattern(",", ".")}
_OTHER = {".": ",", ",": "."}
_GROUPS = {decimal: str.maketrans({decimal: ".", _OTHER[decimal]: None, "%": None,
                                   **dict.fromkeys(_SPACES)}) for decimal in NUMBER}


def looks_like_a_number(text: str) -> bool:
    """Whether `text` is a number with a decimal point or with a decimal comma."""
    text = text.replace("−", "-")
    return any(pattern.fullmatch(text) for pattern in NUMBER.values())


def decimal_sign(texts: dict[str, np.ndarray], rows: np.ndarray, file: str, sep: str) -> str | None:
    """"." or ",", from the first cell that allows one reading only; None when no cell holds either sign.

    When every cell reads like '1.234', a file parted by commas has a decimal point.

    Raises:
        ValueError: every cell reads like '1,234', or like '1.234' in a file that is not parted by commas.
    """
    doubts = {}
    for name, column in texts.items():
        for at in [at for at, text in enumerate(column) if "," in text or "." in text]:
            text = column[at].strip().replace("−", "-")
            fits = [sign for sign, pattern in NUMBER.items() if pattern.fullmatch(text)]
            if len(fits) == 1:
                return fits[0]
            if fits:
                doubts.setdefault("," if "," in text else ".", (text, int(rows[at]), name))
    if not doubts or (sep == "," and "," not in doubts):
        return "." if doubts else None
    text, *place = doubts.get(",") or doubts["."]
    raise fault(file, f"{shown(text)} can be read in two ways, as a fraction or as thousands: "
                      "say decimal='.' or decimal=','", *place)


class Column:
    """The values of one column, gathered part by part; words become codes."""

    def __init__(self, name: str, file: str) -> None:
        self.name, self.file = name, file
        self.parts: list[np.ndarray] = []
        self.words: dict[str, int] | None = None  # word -> order of appearance
        self.percent: bool | None = None
        self.begun = False  # whether a value was seen

    def add(self, texts: np.ndarray, rows: np.ndarray, decimal: str) -> None:
        """Read the cells of these rows.

        Raises:
            ValueError: a cell that is neither a number nor missing in a column of numbers; a number in a column
                of words, or too many different words; a number that is not finite, or that float64 cannot hold.
        """
        cells = [text.strip() for text in texts]
        if not self.begun:
            first = next((cell for cell in cells if cell not in MISSING), None)
            self.begun = first is not None
            if self.begun and not _reads(first, decimal):
                self.words = {}
        self.parts.append(self._codes(cells, rows) if self.words is not None else self._numbers(cells, rows, decimal))

    def finish(self) -> tuple[np.ndarray, dict[int, str] | None]:
        """(float64 values with NaN where missing, {code: word} in alphabetical order or None)."""
        values = np.concatenate(self.parts)
        self.parts = []
        if self.words is None:
            return values, None
        order = sorted(self.words)
        place = np.array([order.index(word) for word in self.words], dtype="float64")
        known = ~np.isnan(values)
        values[known] = place[values[known].astype(int)]
        return values, dict(enumerate(order))

    def _fault(self, what: str, row: int) -> ValueError:
        return fault(self.file, what, int(row), self.name)

    def _codes(self, cells: list[str], rows: np.ndarray) -> np.ndarray:
        codes = np.full(len(cells), np.nan)
        for at, cell in enumerate(cells):
            if cell in MISSING:
                continue
            if looks_like_a_number(cell):
                raise self._fault(f"got the number {shown(cell)} in a column of words ({listed([*self.words], 3)}): "
                                  "leave the column out with columns=[…]", rows[at])
            codes[at] = self.words.setdefault(cell, len(self.words))
            if len(self.words) > MOST_WORDS:
                raise self._fault(f"got {shown(cell)}, a further word in a column of words; more than {MOST_WORDS} "
                                  "different ones are no category: leave the column out with columns=[…]", rows[at])
        return codes

    def _numbers(self, cells: list[str], rows: np.ndarray, decimal: str) -> np.ndarray:
        values = self._plain(cells, decimal)
        if values is None:
            values = np.array([self._number(cell, row, decimal) for cell, row in zip(cells, rows, strict=True)])
        for at in np.flatnonzero(np.abs(values) >= EXACT):
            whole = cells[at].translate(_GROUPS[decimal])
            if not np.isfinite(values[at]):
                raise self._fault(_not_finite(cells[at]), rows[at])
            if whole.lstrip("+-").isdigit() and int(whole) != int(values[at]):
                raise self._fault(f"got {shown(cells[at])}, more digits than a float64 keeps (2⁵³ and above): leave "
                                  "the column out with columns=[…] if it is an identifier", rows[at])
        return values

    def _plain(self, cells: list[str], decimal: str) -> np.ndarray | None:
        """All cells at once, if each is a bare number or missing; else None."""
        if self.percent:
            return None
        plain = ["nan" if cell in MISSING else cell for cell in cells]
        joined = "\n".join(plain)
        if "_" in joined or (decimal == "," and "." in joined):
            return None
        if decimal == ",":
            plain = [cell.replace(",", ".") for cell in plain]
        try:
            values = np.array(plain, dtype=object).astype("float64")
        except ValueError:
            return None
        missing = sum(cell == "nan" for cell in plain)
        if np.isnan(values).sum() != missing or np.isinf(values).any():
            return None
        if missing < len(cells):
            self.percent = False
        return values

    def _number(self, cell: str, row: int, decimal: str) -> float:
        if cell in MISSING:
            return np.nan
        text = cell.replace("−", "-")
        if not NUMBER[decimal].fullmatch(text):
            raise self._fault(_what_is_wrong(text, decimal), row)
        percent = text.endswith("%")
        if self.percent is None:
            self.percent = percent
        if percent != self.percent:
            raise self._fault(f"got {shown(cell)} in a column {'with' if self.percent else 'without'} percent signs: "
                              "write every cell the same way", row)
        return float(text.translate(_GROUPS[decimal]))


def _reads(cell: str, decimal: str) -> bool:
    """Whether the first value of a column makes it a column of numbers, be it a faulty one."""
    return looks_like_a_number(cell) or cell.lower().lstrip("+-") in {"inf", "infinity"}


def _what_is_wrong(text: str, decimal: str) -> str:
    if text.lower().lstrip("+-") in {"inf", "infinity"}:
        return _not_finite(text)
    if NUMBER[_OTHER[decimal]].fullmatch(text):
        return (f"got {shown(text)}, but the decimal sign of this file is {decimal!r}: write every cell the same way, "
                f"or say decimal={_OTHER[decimal]!r}")
    return f"expected a number, got {shown(text)}: write NA if missing, or leave the column out with columns=[…]"


def _not_finite(text: str) -> str:
    return f"expected a finite number, got {shown(text)}: write NA if it is missing"
