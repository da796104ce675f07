"""Texts of questions: `code`, *emphasis* and **strong emphasis**; formulas are in Unicode, with indices as in s_ij."""

import re
from collections.abc import Callable, Iterable

from tsattn_mini.visible import escape

# s_ij, but not seq_len, nor the hole {v_u} of a text that is drawn anew
INDEXED = re.compile(r"(?<![\w{])([^\W\d_]\u0303?)_([A-Za-zα-ω\d]{1,4}(?:,[a-z\d])?)(?![A-Za-z\d_}])")


def inline(text: str) -> str:
    """`code`, *emphasis*, **strong emphasis** and a letter's index as HTML; everything else is shown as written."""
    return _marked(text, lambda part: INDEXED.sub(r"\1<sub>\2</sub>", part))


def plain(text: str) -> str:
    """As HTML without any marks, where no other tag may stand."""
    return re.sub(r"<[^>]+>", "", _marked(text, str))


def _marked(text: str, indexed: Callable[[str], str]) -> str:
    parts = [escape(part) for part in re.split(r"`([^`]+)`", text)]
    return "".join(f"<code>{part}</code>" if i % 2 else _emphasis(indexed(part)) for i, part in enumerate(parts))


def points(said: Iterable[tuple[str, str]], tag: str = "ul") -> str:
    """A list of what holds, each with the reason for it."""
    lines = "".join(f"<li><strong>{inline(text)}</strong><br>{inline(why)}</li>" for text, why in said)
    return f"<{tag}>{lines}</{tag}>"


def _emphasis(text: str) -> str:
    for mark, tag in ((r"\*\*", "strong"), (r"\*", "em")):
        inside = rf"(?<![\w*]){mark}(?=[^\s*])(.+?)(?<=[^\s*]){mark}(?![\w*])"
        text = re.sub(inside, rf"<{tag}>\1</{tag}>", text)
    return text
