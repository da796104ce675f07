"""The talk that a lesson holds: which of its cells stand on which slide, and what the speaker says beside them.

`plan` reads nothing but the notebook. The page gets a mark before each cell, an empty `template`, and the front end
moves what lies between two marks onto the slide that the first one names (`explore/web/talk`).

Tags steer it: `slide` begins a new slide, `fragment` shows a cell one step later, `notes` is said and not shown,
`skip` is left out. Without tags, these rules hold.

- The title has a slide of its own, and so has every explorer; a question makes a slide that asks for a prediction.
- Text and the code that it announces share a slide, as long as a slide has lines for them; so do the boxes.
- Plain text that announces an explorer, or comments on what was just shown, is said: it goes to the notes.
- Imports, definitions, folded answers, exercises and file names are left out.
"""

import json
import re
from html import escape
from typing import NamedTuple

from nbformat.v4 import new_markdown_cell

from tsbook.talk_cells import HEADING, SECTIONS, Block, anchor, block, heading, lines

ROOM = 24  # lines of a slide, its title not counted
SHORT = 50  # words above a question, at most
LEAD = 4  # lines that never stand alone, whatever comes next


class Slide(NamedTuple):
    """One slide. `id` is that of its first cell, and `section` the anchor of the section that it stands in.

    `cells` are shown, in this order, and those in `fragments` one step later; `notes` are said. All are places in
    `notebook["cells"]`.
    """

    id: str
    title: str
    section: str
    kind: str
    cells: tuple[int, ...]
    fragments: tuple[int, ...] = ()
    notes: tuple[int, ...] = ()


def plan(notebook: dict) -> list[Slide]:
    """The slides of a lesson, from the JSON of its notebook."""
    blocks = [block(cell) for cell in notebook["cells"]]
    starts = [i for i, cell in enumerate(notebook["cells"]) if heading(cell)] or [0]
    slides = []
    for start, end in zip(starts, [*starts[1:], len(blocks)], strict=True):
        slides += section(notebook["cells"], blocks, range(start, end))
    return slides


def section(cells, blocks, places):
    """The slides of one section, the first of whose cells holds its heading."""
    level, title = heading(cells[places[0]]) or (1, "")
    kind = "title" if level == 1 else SECTIONS.get(title, "idea")
    if kind == "skip":
        return []
    draft = Draft(cells, blocks, kind)
    spoken = [i for i in places if blocks[i] is Block.NOTES]
    shown = [i for i in places if blocks[i] not in (Block.NOTES, Block.NONE)]
    if kind == "title":
        shown = [i for i in shown if i == places[0] or blocks[i] in (Block.QUESTION, Block.EXPLORER)]
    shown = [i for i, after in zip(shown, [*shown[1:], None], strict=True) if not makes_explorer(cells, blocks, i, after)]
    for i, after in zip(shown, following(shown, blocks), strict=True):
        draft.put(i, after)
    return [Slide(cells[shown[0]].get("id", ""), title, anchor(title), kind, tuple(shown), draft.late(shown),
                  (*said, *(n for n in spoken if n not in said)))
            for kind, shown, said in draft.finished()]


def makes_explorer(cells, blocks, i, after):
    """Whether a cell prepares the explorer right after it."""
    tagged = "slide" in cells[i]["metadata"].get("tags", ())
    return blocks[i] is Block.CODE and after is not None and blocks[after] is Block.EXPLORER and not tagged


def following(shown, blocks):
    """What each cell leads to: the next one, but past the texts to an explorer that they speak of."""
    for place in range(1, len(shown) + 1):
        after = next((i for i in shown[place:] if blocks[i] is not Block.PROSE), None)
        explorer = after is not None and blocks[after] is Block.EXPLORER
        yield after if explorer else next(iter(shown[place:]), None)


class Draft:
    """The slides of a section while they fill: [kind, cells shown, cells said]."""

    def __init__(self, cells, blocks, kind):
        self.cells, self.blocks, self.kind = cells, blocks, kind
        self.slides, self.waiting, self.said = [], [], []

    def put(self, i, after):
        """Place cell `i`; `after` is the next cell that is shown, or None at the end of the section."""
        what, then = self.blocks[i], None if after is None else self.blocks[after]
        if what is Block.EXPLORER:
            self.slides.append(["explorer", [i], self.take_said()])
        elif what is Block.QUESTION:
            self.slides.append(["predict", [*self.take_waiting(), i], self.take_said()])
        elif what is Block.PROSE and then is Block.EXPLORER:
            self.said.append(i)
        elif what is Block.PROSE and then is Block.QUESTION and words(self.cells[i]) <= SHORT:
            self.waiting.append(i)
        elif what is Block.PROSE and then not in (Block.CODE, Block.QUESTION) and self.slides and not self.tagged(i):
            self.slides[-1][2].append(i)
        else:
            self.show(i, after)

    def show(self, i, after):
        """On the slide at hand if that has room for it, and for what it announces; else on a new one."""
        need = self.lines(i) + (self.lines(after) if self.announces(i, after) else 0)
        last = self.slides[-1] if self.slides else None
        there = sum(map(self.lines, last[1])) if last else 0
        if last and last[0] == self.kind and not self.tagged(i) and (there <= LEAD or there + need <= ROOM):
            last[1].append(i)
        else:
            self.slides.append([self.kind, [i], []])

    def announces(self, i, after):
        return after is not None and self.blocks[i] in (Block.PROSE, Block.TEXT) and self.blocks[after] is Block.CODE

    def lines(self, i):
        return lines(self.cells[i])

    def tagged(self, i):
        return "slide" in self.cells[i]["metadata"].get("tags", ())

    def take_said(self):
        said, self.said = self.said, []
        return said

    def take_waiting(self):
        waiting, self.waiting = self.waiting, []
        return waiting

    def late(self, shown):
        return tuple(i for i in shown if "fragment" in self.cells[i]["metadata"].get("tags", ()))

    def finished(self):
        return self.slides


def words(cell):
    return len(re.sub(HEADING, "", "".join(cell["source"]), flags=re.M).split())


def marks(notebook):
    """A mark for each cell: {what the front end reads of it: value}. Numbers of slides count from 1."""
    found = [{"cell": cell.get("id", "")} for cell in notebook["cells"]]
    for number, slide in enumerate(plan(notebook), 1):
        for i in slide.cells:
            found[i] |= {"slide": number, "kind": slide.kind} | ({"fragment": ""} if i in slide.fragments else {})
        for i in slide.notes:
            found[i]["notes"] = f"{found[i].get('notes', '')} {number}".strip()
    return found


def template(mark):
    data = "".join(f' data-{name}="{escape(str(value))}"' for name, value in mark.items())
    return f"```{{raw}} html\n<template{data}></template>\n```"


def mark_cells(app, docname, content):
    """Put a mark before each cell of a lesson before it is parsed."""
    if not docname.startswith("lessons/"):
        return
    notebook = json.loads(content[0])
    pairs = zip(marks(notebook), notebook["cells"], strict=True)
    notebook["cells"] = [one for mark, cell in pairs for one in (new_markdown_cell(template(mark)), cell)]
    content[0] = json.dumps(notebook)


def setup(app):
    app.connect("source-read", mark_cells, priority=400)  # the notes cells are still what the author wrote
