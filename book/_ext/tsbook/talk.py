"""The talk that a lesson holds: which of its cells stand on which slide, and what the speaker says beside them.

`plan` reads nothing but the notebook. The page gets a mark before each cell, an empty `template`, and the front end
moves what lies between two marks onto the slide that the first one names (`explore/web/talk`).

Tags steer it: `slide` begins a new slide, `fragment` shows a cell one step later, `notes` is said and not shown,
`skip` is left out. Without tags, these rules hold.

- The title has a slide of its own, and so has every explorer; a question makes a slide that asks for a prediction.
- Text and the code that it announces share a slide, as long as a slide has lines for them; so do the boxes.
- Text without a formula that leads to an explorer, or comments on what was shown, is said: it goes to the notes.
- Imports, definitions, folded answers, exercises and names of files are left out.
"""

import json
from html import escape
from itertools import pairwise
from typing import NamedTuple

from nbformat.v4 import new_markdown_cell

from tsbook.talk_cells import SECTIONS, Block, anchor, block, heading, lines, tagged, words

ROOM = 24  # lines of a slide, its title not counted
LEAD = 4  # lines that do not stand alone, whatever comes next
SHORT = 50  # words above a question, at most


class Slide(NamedTuple):
    """One slide. `id` is that of its first cell, `section` the anchor of the section that it stands in.

    `kind` is title, idea, explorer, predict, recap or sources. `cells` are shown, in this order, and those in
    `fragments` one step later; `notes` are said. All are places in `notebook["cells"]`.
    """

    id: str
    title: str
    section: str
    kind: str
    cells: tuple[int, ...]
    fragments: tuple[int, ...]
    notes: tuple[int, ...]


def plan(notebook: dict) -> list[Slide]:
    """The slides of a lesson, from the JSON of its notebook."""
    cells = notebook["cells"]
    starts = [i for i, cell in enumerate(cells) if heading(cell)]
    return [slide for start, end in zip(starts, [*starts[1:], len(cells)], strict=True)
            for slide in section(cells, range(start, end))]


def section(cells, places):
    """The slides of one section, the first of whose cells holds its heading."""
    level, title = heading(cells[places[0]])
    kind = "title" if level == 1 else SECTIONS.get(title, "idea")
    if kind == "skip":
        return []
    blocks = {i: block(cells[i]) for i in places}
    draft = Draft(cells, blocks, kind)
    shown = visible(cells, blocks, kind)
    for i, after in zip(shown, following(shown, blocks), strict=True):
        draft.put(i, after)
    notes = [i for i in places if blocks[i] is Block.NOTES]
    return [Slide(cells[shown[0]]["id"], title, anchor(title), kind, tuple(shown),
                  tuple(i for i in shown if tagged(cells[i], "fragment")), (*said, *notes))
            for kind, shown, said in draft.slides]


def visible(cells, blocks, kind):
    """The places of a section that may be shown: neither the set-up of a page nor what makes the explorer after it."""
    shown = [i for i, what in blocks.items() if what not in (Block.NOTES, Block.NONE)]
    if kind == "title":
        return [i for i in shown if heading(cells[i]) or blocks[i] in (Block.QUESTION, Block.EXPLORER)]
    makes = {i for i, after in pairwise(shown)
             if (blocks[i], blocks[after]) == (Block.CODE, Block.EXPLORER) and not tagged(cells[i], "slide")}
    return [i for i in shown if i not in makes]


def following(shown, blocks):
    """What each cell leads to: the next one, or past the texts between an explorer. None at the end of a section."""
    for place in range(1, len(shown) + 1):
        later = shown[place:]
        after = next((i for i in later if blocks[i] is not Block.PROSE), None)
        explorer = after is not None and blocks[after] is Block.EXPLORER
        yield after if explorer else next(iter(later), None)


class Draft:
    """The slides of a section while they fill: [kind, cells shown, cells said]."""

    def __init__(self, cells, blocks, kind):
        self.cells, self.blocks, self.kind = cells, blocks, kind
        self.slides = []
        self.lead, self.said = [], []  # for the next question to show, for the next explorer to say

    def put(self, i, after):
        """Place cell `i`, which leads to cell `after`."""
        what, then = self.blocks[i], self.blocks.get(after)
        if self.kind == "title" and heading(self.cells[i]):
            self.slides.append(["title", [i], []])
        elif what is Block.EXPLORER:
            self.slides.append(["explorer", [i], self.said])
            self.said = []
        elif what is Block.QUESTION:
            self.slides.append(["predict", [*self.lead, i], []])
            self.lead = []
        elif what is Block.PROSE and then is Block.EXPLORER:
            self.said.append(i)
        elif what is Block.PROSE and then is Block.QUESTION and words(self.cells[i]) <= SHORT:
            self.lead.append(i)
        elif self.comments(i, then):
            self.slides[-1][2].append(i)
        else:
            self.show(i, after)

    def comments(self, i, then):
        announces = then in (Block.CODE, Block.QUESTION)
        return self.blocks[i] is Block.PROSE and not announces and self.slides and not tagged(self.cells[i], "slide")

    def show(self, i, after):
        """On the slide at hand if that has room for it and for what it announces; else on a new one."""
        announces = self.blocks[i] in (Block.PROSE, Block.TEXT) and self.blocks.get(after) is Block.CODE
        need = lines(self.cells[i]) + (lines(self.cells[after]) if announces else 0)
        kind, shown, _ = self.slides[-1] if self.slides else ("", [], [])
        there = sum(lines(self.cells[j]) for j in shown)
        fits = there <= LEAD or there + need <= ROOM
        if kind == self.kind and fits and not tagged(self.cells[i], "slide"):
            shown.append(i)
        else:
            self.slides.append([self.kind, [i], []])


def marks(notebook):
    """What the front end reads before each cell: {name: value}. Slides are counted from 1."""
    found = [{"cell": cell["id"]} for cell in notebook["cells"]]
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
