"""What a cell of a lesson is to a talk, and how much of a slide it takes."""

import re
from enum import Enum, auto

from docutils.nodes import make_id

HEADING = re.compile(r"(?:\([\w-]+\)=\s*\n)*(#{1,2}) +(.*)")  # a target may stand above it
SECTIONS = {"Recap": "recap", "References": "sources", "Exercises": "skip", "Where it lives": "skip"}
WIDE = 14  # words in a line of a slide
SVG = re.compile(r"<svg\b[^>]*?\bheight=['\"]([\d.]+)")


class Block(Enum):
    PROSE = auto()  # text without a formula or table of its own
    TEXT = auto()
    BOX = auto()
    CODE = auto()  # with an output
    EXPLORER = auto()
    QUESTION = auto()
    NOTES = auto()
    NONE = auto()  # not part of a talk


def tagged(cell, tag):
    return tag in cell["metadata"].get("tags", ())


def block(cell):
    """Which of them a cell is, by its type, tags, source and stored outputs."""
    source = "".join(cell["source"])
    if tagged(cell, "skip"):
        return Block.NONE
    if cell["cell_type"] == "code":
        return code(cell)
    if tagged(cell, "notes"):
        return Block.NOTES
    if ":::{dropdown}" in source:
        return Block.NONE
    if ":::{admonition}" in source:
        return Block.BOX
    plain = not re.search(r"\$\$|^\|", source, re.M)
    return Block.PROSE if plain else Block.TEXT


def code(cell):
    said = "".join("".join(output.get("data", {}).get("text/plain", "")) for output in cell["outputs"])
    if said.startswith("Explorer "):
        return Block.EXPLORER
    if said.startswith("Question "):
        return Block.QUESTION
    return Block.CODE if cell["outputs"] and not tagged(cell, "hide-output") else Block.NONE


def heading(cell):
    """(level, title) of a Markdown cell that opens the page or a section of it; else None."""
    found = cell["cell_type"] == "markdown" and HEADING.match("".join(cell["source"]))
    return (len(found[1]), found[2].strip()) if found else None


def anchor(title):
    """The id that Sphinx gives to a section."""
    return make_id(re.sub(r"[`$*\\]", "", title))


def words(cell):
    return len(HEADING.sub("", "".join(cell["source"]), count=1).split())


def lines(cell):
    """About how many lines of a slide a cell takes, its heading not counted."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        rows = len(re.findall(r"^\|", source, re.M))
        items = len(re.findall(r"^(?:[-*]|\d+\.) ", source, re.M))
        return 1 + words(cell) / WIDE + 1.2 * rows + 0.5 * items + 2.5 * source.count("$$") / 2
    return (source.count("\n") + 2 if shows_code(cell) else 0) + sum(map(printed, cell["outputs"]))


def shows_code(cell):
    """A table or a picture says what it is; what `print` says is read beside the code. Folded code stays folded."""
    folded = tagged(cell, "hide-input") or tagged(cell, "remove-input")
    return not folded and not any("text/html" in output.get("data", {}) for output in cell["outputs"])


def printed(output):
    """Lines of one output: of a table its rows, of a picture its height."""
    html = "".join(output.get("data", {}).get("text/html", ""))
    rows, pictures = html.count("<tr"), [float(height) for height in SVG.findall(html)]
    if rows or pictures:
        return 1.2 * rows + max(pictures, default=0) / 22
    return "".join(output.get("text", output.get("data", {}).get("text/plain", ""))).count("\n") + 1
