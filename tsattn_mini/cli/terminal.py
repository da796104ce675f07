"""What is written to a terminal, and what to a pipe: streams, colours, widths, tables that fold, a line that waits."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from tsattn_mini.visible import visible

NARROWEST = 8  # columns that a folded column of a table keeps
GAP = "  "
COLOURS = {"bold": "1", "dim": "2", "right": "32", "wrong": "31"}


def prepare() -> None:
    """Write UTF-8, whatever the locale says, unless PYTHONIOENCODING asks for something else."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = {} if os.environ.get("PYTHONIOENCODING") else {"encoding": "utf8"}
            stream.reconfigure(errors="replace", **encoding)


def say(text: str) -> None:
    """One line beside the answer, on the standard error; what is named in it works on no terminal."""
    print(f"tsattn-mini: {visible(text)}", file=sys.stderr, flush=True)


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """`text` in a colour of `COLOURS`, on a terminal that shows colours and unless `NO_COLOR` is set."""
    stream = stream or sys.stdout
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def columns() -> int | None:
    """How many columns the terminal has; None where the output goes to a file or a pipe, which has no edge."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def width(text: str) -> int:
    """The columns that a text takes: two for a wide letter, none for a mark that lies over another."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def folded(text: str, room: int | None, indent: str = "") -> str:
    """A paragraph in lines of at most `room` columns."""
    if room is None:
        return indent + text
    return "\n".join(indent + line for line in _pieces(text, max(room - len(indent), NARROWEST)))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], room: int | None = None) -> str:
    """A table of texts that nothing can break; in less room than it needs, its widest columns fold, then it is cut."""
    lines = [list(header), *([visible(cell) for cell in row] for row in rows)]
    widths = _squeezed([max(width(line[i]) for line in lines) for i in range(len(header))], room)
    rule = ["─" * w for w in widths]
    written = [line for cells in (lines[0], rule, *lines[1:]) for line in _folded_row(cells, widths)]
    return "\n".join(cut(line, room) for line in written)


def cut(line: str, room: int | None) -> str:
    """`line` in `room` columns; what is cut off leaves a sign."""
    if room is None or width(line) <= room:
        return line
    kept = ""
    for c in line:
        if width(kept + c) > room - 1:
            break
        kept += c
    return kept + "…"


def _squeezed(widths: list[int], room: int | None) -> list[int]:
    """Widths that fit into `room`, where possible: the widest gives way first."""
    widths = list(widths)
    while room is not None and sum(widths) + len(GAP) * (len(widths) - 1) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _folded_row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    parts = [_pieces(cell, w) for cell, w in zip(cells, widths, strict=True)]
    for i in range(max(map(len, parts))):
        line = [part[i] if i < len(part) else "" for part in parts]
        yield GAP.join(piece + " " * (w - width(piece)) for piece, w in zip(line, widths, strict=True)).rstrip()


def _pieces(text: str, room: int) -> list[str]:
    """Lines of at most `room` columns, broken at spaces where that is possible."""
    pieces, line = [], ""
    for word in text.split(" "):
        if line and width(f"{line} {word}") > room:
            pieces.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
        while width(line) > room:
            fits = next(i for i in range(len(line), 0, -1) if width(line[:i]) <= room or i == 1)
            pieces.append(line[:fits])
            line = line[fits:]
    return [*pieces, line]


@contextmanager
def waiting(text: str, at: int = 0, stages: int = 0) -> Iterator[None]:
    """Say what takes a while, the stage `at` of some `stages`; on a terminal only, and gone when it is done."""
    if not sys.stderr.isatty():
        yield
        return
    bar = "▇" * at + "·" * (stages - at)
    line = cut(f"{bar} {visible(text)} …".lstrip(), shutil.get_terminal_size().columns)
    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
