"""The stored lessons keep the form that readers and nbval rely on."""

import json
import re
from itertools import takewhile
from pathlib import Path

import nbformat
import pytest
from notes import EVERY
from tsbook.store import clean

from tsattn_mini.questions import all_questions

LESSONS = sorted((Path(__file__).parent.parent / "lessons").glob("[0-9][0-9]_*.ipynb"))
CLOSING = ["Recap", "Exercises", "Where it lives", "References"]
pytestmark = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def cells(path, kind):
    """The cells of one kind with their source as one string."""
    found = [c for c in json.loads(path.read_text("utf8"))["cells"] if c["cell_type"] == kind]
    return [{**c, "source": "".join(c["source"])} for c in found]


def tagged(cell, tag):
    return tag in cell["metadata"].get("tags", ())


def test_ran_from_top_to_bottom(path):
    code = cells(path, "code")
    counts = [c["execution_count"] for c in code]
    assert counts == list(range(1, len(code) + 1)), "not stored from one run: make lessons"
    failed = [c["id"] for c in code if any(o["output_type"] == "error" for o in c["outputs"])]
    assert not failed, "cells that stored an error"
    noisy = [c["id"] for c in code if any(o.get("name") == "stderr" for o in c["outputs"])]
    assert not noisy, "cells that wrote to stderr"


def test_stores_text_and_drawings_and_nothing_that_differs_between_machines(path):
    notebook = json.loads(path.read_text("utf8"))
    again = "store it with make lessons, not from an editor"
    assert set(notebook["metadata"]) <= {"kernelspec", "language_info"}, again
    assert "version" not in notebook["metadata"]["language_info"], again
    stored = {kind for c in cells(path, "code") for o in c["outputs"] for kind in o.get("data", {})}
    assert stored <= {"text/plain", "text/html"}, "outputs other than text and drawings"
    assert not [c["id"] for c in cells(path, "code") if "execution" in c["metadata"]], again
    assert path.stat().st_size < 80 * 1024, "a stored lesson stays below 80 KiB: shorten tables, show fewer steps"


def test_storing_a_run_again_writes_the_same_bytes(path):
    text = path.read_text("utf8")
    notebook = nbformat.reads(text, as_version=4)
    clean(notebook)
    assert nbformat.writes(notebook) + "\n" == text


def test_outputs_hold_no_addresses_and_no_negative_zero(path):
    for c in cells(path, "code"):
        text = "".join("".join([*o.get("text", ()), *o.get("data", {}).get("text/plain", ())]) for o in c["outputs"])
        assert not re.search(r" at 0x[0-9a-f]+|-0\.000(?!\d)", text), (
            f"{c['id']} prints an address or -0.000")


def test_cells_are_short_and_named(path):
    prefix = f"c{path.stem[:2]}-"
    for c in cells(path, "code") + cells(path, "markdown"):
        assert re.fullmatch(prefix + r"[a-z0-9]+(-[a-z0-9]+)*", c["id"]), (
            f"{c['id']}: a cell id is {prefix} and small words joined by hyphens")
    for c in cells(path, "code"):
        lines = c["source"].splitlines()
        assert len(lines) <= 12, f"{c['id']}: {len(lines)} lines, a code cell has at most 12"
        assert max(map(len, lines)) <= 100, f"{c['id']}: a line of code has at most 100 characters"
    for c in cells(path, "markdown"):
        prose = " ".join(line for line in c["source"].splitlines() if not line.startswith(("|", "$$", ":::")))
        words, most = len(prose.split()), 100 if tagged(c, "notes") else 75
        assert words <= most, f"{c['id']}: {words} words, at most {most}"


def test_its_title_carries_its_number(path):
    title = cells(path, "markdown")[0]["source"].splitlines()[0]
    assert title.startswith(f"# {path.stem[:2]} · "), "the sidebar shows the number only where the title has it"


def test_ends_in_recap_exercises_where_it_lives(path):
    text = "\n".join(c["source"] for c in cells(path, "markdown"))
    headings = re.findall(r"^## (.+)$", text, flags=re.M)
    assert headings[-4:] == CLOSING, f"the last four sections are {', '.join(CLOSING)}"
    recap = text.split("## Recap\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^- ", recap, flags=re.M)) == 3, "a Recap has three lines"
    exercises = text.split("## Exercises\n")[1].split("\n## ")[0]
    asked = len(re.findall(r"^\*\*\d, ", exercises, flags=re.M))
    assert asked == exercises.count(":::{dropdown} Answer") >= 3, "three exercises or more, each with a folded answer"


def test_asks_every_question_it_owns_once(path):
    source = "\n".join(c["source"] for c in cells(path, "code"))
    asked = re.findall(r'^ask\("([\w-]+)"\)$', source, flags=re.M)
    owned = [q.id for q in all_questions() if q.lesson == path.stem]
    assert sorted(asked) == sorted(owned), "every question of tsattn_mini/questions/lessonNN.py has one ask(…) cell"
    most = 9 if EVERY & set(asked) else 8
    assert 4 <= len(asked) <= most, "a lesson asks 4 to 8 questions, or 9 with one of the notes' own"


def test_has_an_explorer_and_a_talk_script(path):
    assert [c for c in cells(path, "code") if "Explorer(" in c["source"]], "a lesson has an explorer"
    notes = [c for c in cells(path, "markdown") if tagged(c, "notes")]
    assert notes, "a lesson has Markdown cells with the tag notes"
    assert "minutes" in notes[0]["source"], "the first notes cell plans the talk"
    assert any(re.search(r'^\*".+\?"\*', c["source"], flags=re.M) for c in notes), "questions that a group asks"


def test_every_path_it_names_exists(path):
    root = path.parent.parent
    text = "\n".join(c["source"] for c in cells(path, "markdown"))
    named = set(re.findall(r"`((?:tsattn_mini|tests)/[\w/.]+)`", text))
    linked = {str(Path("lessons") / target) for target in re.findall(r"\]\(([\w./]+\.(?:md|ipynb))\)", text)}
    assert named, "Where it lives names files"
    assert not [name for name in sorted(named | linked) if not (root / name).exists()], "files that do not exist"


def test_key_terms_carry_their_chinese_name_before_the_first_explorer(path):
    notebook = json.loads(path.read_text("utf8"))["cells"]
    opening = takewhile(lambda c: "Explorer(" not in "".join(c["source"]), notebook)
    text = "\n".join("".join(c["source"]) for c in opening if c["cell_type"] == "markdown")
    assert len(re.findall(r"[\u4e00-\u9fff]{1,8}", text)) >= 4, "key terms carry their Chinese name at first use"
