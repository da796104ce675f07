"""Texts that come from outside, such as the names of somebody's columns, made safe to show.

Nothing that is typed ends or opens a tag, and no character works unseen: line breaks, control characters, halves of
characters (lone surrogates) and marks that turn the order of the text around them are written as Python would, `\\n`,
`\\x00`, `\\ud800`, `\\u202e`. All else stays as typed, emoji and right-to-left scripts too.
"""

import html
import re

_UNSEEN = ("\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for a tab and a new line
           "\u2028\u2029\u202a-\u202e\u2066-\u2069"  # ends of lines and paragraphs, turns of direction
           "\ud800-\udfff\ufdd0-\ufdef" + "".join(map(chr, range(0xFFFE, 0x110000, 0x10000)))
           + "".join(map(chr, range(0xFFFF, 0x110000, 0x10000))))  # what is no character at all
_IN_TEXT, _IN_NAME = re.compile(f"[{_UNSEEN}]"), re.compile(f"[\t\n{_UNSEEN}]")


def visible(name: str) -> str:
    r"""A name in one line, with every character that works unseen spelled out.

    >>> visible("two\nlines")
    'two\\nlines'
    """
    return _IN_NAME.sub(_spelled, name)


def escape(text: str, quote: bool = True) -> str:
    """A text as HTML, for between tags and in quoted attributes; new lines and tabs stay.

    >>> escape("a < b")
    'a &lt; b'
    """
    return html.escape(_IN_TEXT.sub(_spelled, text), quote)


def _spelled(found: re.Match) -> str:
    return found[0].encode("unicode_escape").decode()
