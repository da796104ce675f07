"""Numbers as people type them: "0,5", " 0.5 ", "5e-1", "1/2", "50 %", "−0.5", "1 000", full-width digits.

The page reads them alike (`explore/web/read_number.js`).
"""

import re
import unicodedata
from math import inf, isfinite

_DECIMAL = r"(?:[1-9][0-9]{0,2}(?:\s[0-9]{3})+(?:[.,][0-9]*)?|[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:e[+-]?[0-9]+)?"
_NUMBER = re.compile(rf"([+-]?)\s*({_DECIMAL})(?:\s*/\s*({_DECIMAL}))?\s*(%?)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?:^|[^0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9])")


class Unread(ValueError):
    """No number; the message is the name of a sentence in `en.json`: "empty", "notNumber" or "thousands"."""


def read_number(typed: str, unit: str = "") -> tuple[float, bool]:
    """The number, and whether it was typed so plainly that nobody asks how it was read.

    A trailing `unit` may be typed or left out; a comma that could mean either thing is not guessed at.

    Raises:
        Unread: when there is no number.

    >>> read_number("3.5")
    (3.5, True)
    """
    text = _ascii(typed).strip()
    if not text:
        raise Unread("empty")
    if unit:
        text = text.removesuffix(_ascii(unit)).strip()
    if _THOUSANDS.search(text):
        raise Unread("thousands")
    found = _NUMBER.fullmatch(text)
    if not found:
        raise Unread("notNumber")
    sign, top, bottom, percent = found.groups()
    below = _decimal(bottom or "1")
    value = (-1 if sign == "-" else 1) * _decimal(top) / below / (100 if percent else 1) if below else inf
    if not isfinite(value):
        raise Unread("notNumber")
    return value, not re.search(r"[\s,/%]", text)


def _ascii(text: str) -> str:
    wide = "".join(chr(ord(c) - 0xFEE0) if "！" <= c <= "～" else c for c in text)
    seen = "".join(c for c in wide if unicodedata.category(c) != "Cf")  # marks that come along with what is copied
    return re.sub("[⁄∕]", "/", re.sub("[‐‑‒–−]", "-", seen))


def _decimal(text: str) -> float:
    return float(re.sub(r"\s", "", text).replace(",", "."))
