"""What a cell of a lesson is to a talk, and how much of a slide it takes."""

import re
from enum import Enum, auto

from docutils.nodes import make_id

HEADING = r"^#{1,2} +(.*)$"
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


def block(cell):
    tags, source = cell["metadata"].get("tags", ()), "".join(cell["source"])
    if "skip" in tags:
        return Block.NONE
    if cell["cell_type"] == "code":
        return code(cell, tags)
    if "notes" in tags:
        return Block.NOTES
    if ":::{dropdown}" in source:
        return Block.NONE
    if ":::{admonition}" in source:
        return Block.BOX
    plain = not re.search(r"\$\$|^\|", source, re.M)
    return Block.PROSE if plain else Block.TEXT


def code(cell, tags):
    said = "".join("".join(output.get("data", {}).get("text/plain", "")) for output in cell["outputs"])
    if said.startswith("Explorer "):
        return Block.EXPLORER
    if said.startswith("Question "):
        return Block.QUESTION
    return Block.CODE if cell["outputs"] and "hide-output" not in tags else Block.NONE


def heading(cell):
    """(level, title) of a Markdown cell that opens the page or a section of it; else None."""
    found = cell["cell_type"] == "markdown" and re.search(r"^(#{1,2}) +(.*)$", "".join(cell["source"]), re.M)
    return (len(found[1]), found[2].strip()) if found else None


def anchor(title):
    """The id that Sphinx gives to a section."""
    return make_id(re.sub(r"[`$*\\]", "", title))


def lines(cell):
    """About how many lines of a slide a cell takes."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return prose(re.sub(HEADING, "", source, flags=re.M))
    return (source.count("\n") + 2 if shows_code(cell) else 0) + sum(map(printed, cell["outputs"]))


def shows_code(cell):
    """A table or a picture says what it is; what `print` says is read beside the code. Folded code stays folded."""
    folded = {"hide-input", "remove-input"} & set(cell["metadata"].get("tags", ()))
    return not folded and not any("text/html" in output.get("data", {}) for output in cell["outputs"])


def prose(source):
    rows = len(re.findall(r"^\|", source, re.M))
    formulas = source.count("$$") / 2
    items = len(re.findall(r"^(?:[-*]|\d+\.) ", source, re.M))
    return 1 + len(source.split()) / WIDE + 1.2 * rows + 2.5 * formulas + 0.5 * items


def printed(output):
    """Lines of one output: of a table its rows, of a picture its height."""
    html = "".join(output.get("data", {}).get("text/html", ""))
    rows, pictures = html.count("<tr"), [float(height) for height in SVG.findall(html)]
    if rows or pictures:
        return 1.2 * rows + max(pictures, default=0) / 22
    return "".join(output.get("text", output.get("data", {}).get("text/plain", ""))).count("\n") + 1
