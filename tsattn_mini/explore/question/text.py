"""Texts of questions: `code`, *emphasis* and **strong emphasis**; formulas are written in Unicode."""

import re
from collections.abc import Iterable

from tsattn_mini.visible import escape


def inline(text: str) -> str:
    """`code`, *emphasis* and **strong emphasis** as HTML; everything else is shown as it is written."""
    parts = [escape(part) for part in re.split(r"`([^`]+)`", text)]
    return "".join(f"<code>{part}</code>" if i % 2 else _emphasis(part) for i, part in enumerate(parts))


def plain(text: str) -> str:
    """The same as HTML without any marks, where no other tag may stand."""
    return re.sub(r"<[^>]+>", "", inline(text))


def points(said: Iterable[tuple[str, str]], tag: str = "ul") -> str:
    """A list of what holds, each with the reason for it."""
    lines = "".join(f"<li><strong>{inline(text)}</strong><br>{inline(why)}</li>" for text, why in said)
    return f"<{tag}>{lines}</{tag}>"


def _emphasis(text: str) -> str:
    for mark, tag in ((r"\*\*", "strong"), (r"\*", "em")):
        inside = rf"(?<![\w*]){mark}(?=[^\s*])(.+?)(?<=[^\s*]){mark}(?![\w*])"
        text = re.sub(inside, rf"<{tag}>\1</{tag}>", text)
    return text
