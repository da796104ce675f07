"""The stored lessons keep the form that readers and nbval rely on."""

import json
import re
from itertools import takewhile
from pathlib import Path

import pytest

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
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    assert not [c["id"] for c in code if any(o["output_type"] == "error" for o in c["outputs"])]
    assert not [c["id"] for c in code if any(o.get("name") == "stderr" for o in c["outputs"])]


def test_stores_text_and_drawings_and_nothing_that_differs_between_machines(path):
    notebook = json.loads(path.read_text("utf8"))
    assert set(notebook["metadata"]) <= {"kernelspec", "language_info"}
    assert "version" not in notebook["metadata"]["language_info"]
    stored = {kind for c in cells(path, "code") for o in c["outputs"] for kind in o.get("data", {})}
    assert stored <= {"text/plain", "text/html"}
    assert not [c["id"] for c in cells(path, "code") if "execution" in c["metadata"]]
    assert path.stat().st_size < 80 * 1024


def test_outputs_hold_no_addresses_and_no_negative_zero(path):
    for c in cells(path, "code"):
        text = "".join("".join([*o.get("text", ()), *o.get("data", {}).get("text/plain", ())]) for o in c["outputs"])
        assert not re.search(r" at 0x[0-9a-f]+|-0\.000(?!\d)", text), c["id"]


def test_cells_are_short_and_named(path):
    prefix = f"c{path.stem[:2]}-"
    for c in cells(path, "code") + cells(path, "markdown"):
        assert re.fullmatch(prefix + r"[a-z0-9]+(-[a-z0-9]+)*", c["id"]), c["id"]
    for c in cells(path, "code"):
        lines = c["source"].splitlines()
        assert len(lines) <= 12, c["id"]
        assert max(map(len, lines)) <= 100, c["id"]
    for c in cells(path, "markdown"):
        prose = " ".join(line for line in c["source"].splitlines() if not line.startswith(("|", "$$", ":::")))
        assert len(prose.split()) <= (100 if tagged(c, "notes") else 75), c["id"]


def test_ends_in_recap_exercises_where_it_lives(path):
    text = "\n".join(c["source"] for c in cells(path, "markdown"))
    headings = re.findall(r"^## (.+)$", text, flags=re.M)
    assert headings[-4:] == CLOSING
    recap = text.split("## Recap\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^- ", recap, flags=re.M)) == 3
    exercises = text.split("## Exercises\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^\*\*\d, ", exercises, flags=re.M)) == exercises.count(":::{dropdown} Answer") >= 3


def test_asks_every_question_it_owns_once(path):
    source = "\n".join(c["source"] for c in cells(path, "code"))
    asked = re.findall(r'^ask\("([\w-]+)"\)$', source, flags=re.M)
    owned = [q.id for q in all_questions() if q.lesson == path.stem]
    assert sorted(asked) == sorted(owned)
    assert 4 <= len(asked) <= 8


def test_has_an_explorer_and_a_talk_script(path):
    assert [c for c in cells(path, "code") if "Explorer(" in c["source"]]
    notes = [c for c in cells(path, "markdown") if tagged(c, "notes")]
    assert notes
    assert "minutes" in notes[0]["source"], "the first notes cell plans the talk"
    assert any(re.search(r'^\*".+\?"\*', c["source"], flags=re.M) for c in notes), "questions that a group asks"


def test_every_path_it_names_exists(path):
    root = path.parent.parent
    text = "\n".join(c["source"] for c in cells(path, "markdown"))
    named = set(re.findall(r"`((?:tsattn_mini|tests)/[\w/.]+)`", text))
    linked = {str(Path("lessons") / target) for target in re.findall(r"\]\(([\w./]+\.(?:md|ipynb))\)", text)}
    assert named
    assert not [name for name in sorted(named | linked) if not (root / name).exists()]


def test_key_terms_carry_their_chinese_name_before_the_first_explorer(path):
    notebook = json.loads(path.read_text("utf8"))["cells"]
    opening = takewhile(lambda c: "Explorer(" not in "".join(c["source"]), notebook)
    text = "\n".join("".join(c["source"]) for c in opening if c["cell_type"] == "markdown")
    assert len(re.findall(r"[\u4e00-\u9fff]{1,8}", text)) >= 4
