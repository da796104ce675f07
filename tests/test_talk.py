"""The plan of a talk: which cells of a notebook stand on which slide, by the default rules and by tags."""

import json
import sys

import pytest
from browsing import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.talk import ROOM, marks, plan, template
from tsbook.talk_cells import Block, block

LESSONS = sorted((ROOT / "lessons").glob("*.ipynb"))
LONG = "A word " * 40  # more than stands above a question


def text(source, *tags, id=""):
    return new_markdown_cell(source, metadata={"tags": list(tags)}, **({"id": id} if id else {}))


def code(said, *tags, source="f(x)", html=None):
    data = {"text/plain": said} | ({"text/html": html} if html else {})
    outputs = [new_output("execute_result", data)] if said else []
    return new_code_cell(source, outputs=outputs, metadata={"tags": list(tags)})


def numbers(how_many):
    return code("\n".join(map(str, range(how_many))), "hide-input")


TITLE, HEAD = text("# 01 · A lesson\n\nWhy?", id="title"), text("## A thing\n\nLook at it.", id="head")
EXPLORER, QUESTION = code("Explorer kgc: tau=1.000", "hide-input"), code("Question 01-a: Which?", "remove-input")
FORMULA, BOX = text("As a formula:\n\n$$a = b$$"), text(":::{admonition} The notes say: so\n:class: note\nYes.\n:::")


def shape(*cells):
    """(kind, cells shown, cells said) of each slide, the title and the heading of the section put before `cells`."""
    slides = plan({"cells": [TITLE, HEAD, *cells]})
    assert slides[0].kind == "title"
    return [(slide.kind, slide.cells, slide.notes) for slide in slides[1:]]


@pytest.mark.parametrize(("cells", "slides"), [
    pytest.param([numbers(3)], [("idea", (1, 2), ())], id="text and what it announces"),
    pytest.param([numbers(3), text("So it is.")], [("idea", (1, 2), (3,))], id="a comment is said"),
    pytest.param([numbers(3), FORMULA], [("idea", (1, 2, 3), ())], id="a formula is shown"),
    pytest.param([numbers(3), BOX], [("idea", (1, 2, 3), ())], id="a box is shown"),
    pytest.param([numbers(ROOM), BOX], [("idea", (1, 2), ()), ("idea", (3,), ())], id="no room for a box"),
    pytest.param([numbers(ROOM - 6), text(LONG), numbers(9)], [("idea", (1, 2), ()), ("idea", (3, 4), ())],
                 id="a text moves on with its code"),
    pytest.param([EXPLORER], [("explorer", (2,), (1,))], id="text that leads to an explorer is said"),
    pytest.param([text("More."), numbers(1), EXPLORER], [("explorer", (4,), (1, 2))], id="what makes it is left out"),
    pytest.param([FORMULA, EXPLORER], [("idea", (1, 2), ()), ("explorer", (3,), ())], id="a formula before it"),
    pytest.param([QUESTION], [("predict", (1, 2), ())], id="a question with its lead"),
    pytest.param([text(LONG), QUESTION], [("idea", (1, 2), ()), ("predict", (3,), ())], id="a long lead"),
    pytest.param([QUESTION, QUESTION], [("predict", (1, 2), ()), ("predict", (3,), ())], id="two questions"),
    pytest.param([numbers(1), text("Say.", "notes"), QUESTION], [("idea", (1, 2), (3,)), ("predict", (4,), (3,))],
                 id="notes belong to every slide of their section"),
    pytest.param([numbers(1), code(""), text(":::{dropdown} Answer\n1\n:::")], [("idea", (1, 2), ())],
                 id="definitions and folded answers"),
    pytest.param([numbers(1), text("## Recap\n\n- One."), text("## Exercises\n\n1."), text("## References\n\n- A.")],
                 [("idea", (1, 2), ()), ("recap", (3,), ()), ("sources", (5,), ())], id="the end of a lesson"),
    pytest.param([numbers(3), BOX, text("Not this.", "skip")], [("idea", (1, 2, 3), ())], id="skip"),
    pytest.param([numbers(3), text("So.", "slide"), BOX], [("idea", (1, 2), ()), ("idea", (3, 4), ())], id="slide"),
])
def test_cells_come_to_slides(cells, slides):
    assert shape(*cells) == slides


def test_a_fragment_is_shown_one_step_later():
    slide = plan({"cells": [HEAD, numbers(3), text(BOX.source, "fragment")]})[0]
    assert (slide.cells, slide.fragments) == ((0, 1, 2), (2,))


def test_the_set_up_of_a_page_is_not_shown_but_its_first_question_is():
    slides = plan({"cells": [TITLE, text("If an import fails …"), numbers(1), QUESTION, HEAD]})
    assert [(slide.kind, slide.cells) for slide in slides] == [("title", (0,)), ("predict", (3,)), ("idea", (4,))]


def test_a_slide_knows_its_section_and_its_first_cell():
    head = text("(aim)=\n## `A_b` and $\\tau$: two things\n\nLook.", id="two-things")
    slide = plan({"cells": [TITLE, head, numbers(3)]})[1]
    assert slide[:3] == ("two-things", "`A_b` and $\\tau$: two things", "a-b-and-tau-two-things")


def test_a_table_needs_room_for_itself_and_print_for_its_code_too():
    lines = "\n".join(["f(x)"] * (ROOM - 5))
    table = code("table", source=lines, html="<table>" + 4 * "<tr></tr>" + "</table>")
    assert shape(table) == [("idea", (1, 2), ())]
    assert shape(table, code("1", source=lines)) == [("idea", (1, 2), ()), ("idea", (3,), ())]


def test_a_mark_says_what_a_cell_is_to_the_talk():
    cells = [HEAD, numbers(3), text("Say.", "notes", id="said"), text("## Exercises\n\nNone.", id="none"), numbers(1)]
    first, _, said, none, _ = marks({"cells": cells})
    assert first == {"cell": "head", "slide": 1, "kind": "idea"}
    assert said == {"cell": "said", "notes": "1"}
    assert none == {"cell": "none"}
    assert template({"cell": 'a"b'}) == '```{raw} html\n<template data-cell="a&quot;b"></template>\n```'


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_a_talk_of_25_to_40_slides_that_shows_each_cell_once(path):
    cells = json.loads(path.read_text("utf8"))["cells"]
    slides = plan({"cells": cells})
    assert 25 <= len(slides) <= 40, (f"{path.name} makes {len(slides)} slides, a talk has 25 to 40: join or part cells "
                                     "by the tags slide and skip (book/_ext/tsbook/talk.py)")
    assert [slides[0].kind, *(slide.kind for slide in slides[-2:])] == ["title", "recap", "sources"], (
        f"{path.name}: the talk begins with the title and ends with Recap and References")
    shown = [i for slide in slides for i in slide.cells]
    assert shown == sorted(set(shown))
    kinds = [block(cell) for cell in cells]
    for kind, name in ((Block.EXPLORER, "explorer"), (Block.QUESTION, "predict")):
        there, own = kinds.count(kind), [slide.kind for slide in slides].count(name)
        assert there == own > 0, (f"{path.name}: {there} cells and {own} slides of the kind {name}: have one or more, "
                                  "and tag none of them skip")
    said = {i for slide in slides for i in slide.notes}
    unsaid = [cells[i]["id"] for i, kind in enumerate(kinds) if kind is Block.NOTES and i not in said]
    assert not unsaid, f"{path.name}: the notes {unsaid} stand in sections without a slide: move them"
