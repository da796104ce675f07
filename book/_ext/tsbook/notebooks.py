"""Where things stand in the JSON of a notebook: sections by their anchor, what a cell has printed, formulas."""

import json
import re
from functools import cache
from pathlib import Path

from tsbook.talk_cells import anchor

FORMULA = re.compile(r"\$\$(.+?)\$\$", re.S)


def read(path):
    """The notebook as a dict; not to be changed, since it is read once."""
    return _parsed(Path(path).read_text("utf8"))


@cache
def _parsed(text):
    return json.loads(text)


def source(cell):
    return "".join(cell["source"])


def printed(cell):
    """What a code cell has left as text, an output after the other."""
    return ["".join(output.get("text", output.get("data", {}).get("text/plain", "")))
            for output in cell.get("outputs", ())]


def asked(cell):
    """The id of the question that a cell asks, or None."""
    return _named(cell, "Question")


def anchors(cell):
    """The ids on the page that a cell brings: of a question, of an explorer, of its headings and targets."""
    if cell["cell_type"] == "code":
        return {f"{kind.lower()}-{name}" for kind in ("Question", "Explorer") if (name := _named(cell, kind))}
    targets = re.findall(r"^\((.+)\)=$", source(cell), re.M)
    return {*targets, *map(anchor, re.findall(r"^#{1,3} +(.+)$", source(cell), re.M))}


def _named(cell, kind):
    found = (re.match(rf"{kind} (\S+):", text) for text in printed(cell))
    return next((one[1] for one in found if one), None)


def section(notebook, at):
    """The cells of the section whose anchor is `at`, with those of the sections inside it.

    Raises:
        ValueError: no such section.
    """
    cells = notebook["cells"]
    heads = [(i, *found) for i, cell in enumerate(cells) if (found := heading(cell))]
    for start, level, title in heads:
        if anchor(title) == at:
            return cells[start:next((i for i, other, _ in heads if i > start and other <= level), len(cells))]
    raise ValueError(f"expected the anchor of a section out of {[anchor(title) for _, _, title in heads]}, got {at!r}")


def heading(cell):
    """(level, title) of a Markdown cell that opens a section, or None."""
    found = cell["cell_type"] == "markdown" and re.search(r"^(#{1,3}) +(.+)$", source(cell), re.M)
    return (len(found[1]), found[2].strip()) if found else None


def formula(notebook, at):
    """The LaTeX of the first displayed formula in the section `at`.

    Raises:
        ValueError: no such section, or no formula in it.
    """
    for cell in section(notebook, at):
        if cell["cell_type"] == "markdown" and (found := FORMULA.search(source(cell))):
            return found[1].strip()
    raise ValueError(f"expected a displayed formula in the section {at!r}, got none")
