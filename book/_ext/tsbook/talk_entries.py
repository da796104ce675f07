"""What a speaker needs to know about a lesson, read from book/talks/NN.yaml and checked: one file for each lesson.

    needs: what the talk asks of its audience   # Markdown
    questions:                                  # five hard ones, with short answers
      - ask: what a group asks
        answer: what is true                    # numbers in it are those that the lesson prints
        at: a-row-of-zeros                      # the section of the lesson that shows it
    drop: [two-rivals]                          # sections to leave out when time is short, the first to go first
    equations: [A_b, "#one-pair-two-scores"]    # for the handout: steps, and sections whose first formula it prints
    table: one-table                            # for the handout: the section or the cell that holds the table
"""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = "book/talks"
QUESTIONS = 5
FIELDS = {"needs", "questions", "drop", "equations", "table"}


@dataclass(frozen=True)
class Asked:
    """A question with its answer; `at` is the anchor of the section that shows it."""

    ask: str
    answer: str
    at: str


@dataclass(frozen=True)
class Entry:
    """One lesson as a talk. `drop` are anchors of sections, `equations` steps and #anchors, `table` one of a table."""

    needs: str
    questions: tuple[Asked, ...]
    drop: tuple[str, ...]
    equations: tuple[str, ...]
    table: str


def read(path):
    """The entry in one file.

    Raises:
        ValueError: when it is not as described above; names the file.
    """
    found = yaml.safe_load(Path(path).read_text("utf8"))

    def expect(holds, expected, got):
        if not holds:
            raise ValueError(f"{Path(path).name}: expected {expected}, got {got}")

    expect(isinstance(found, dict) and set(found) == FIELDS, f"the fields {sorted(FIELDS)}", found)
    for field in ("needs", "table"):
        expect(is_text(found[field]), f"words for {field}", found[field])
    for field in ("drop", "equations"):
        expect(isinstance(found[field], list) and all(map(is_text, found[field])), f"a list for {field}", found[field])
    asked = found["questions"]
    expect(isinstance(asked, list) and len(asked) == QUESTIONS, f"{QUESTIONS} questions", asked)
    for one in asked:
        expect(isinstance(one, dict) and set(one) == {"ask", "answer", "at"} and all(map(is_text, one.values())),
               "a question with ask, answer and at", one)
    return Entry(found["needs"], tuple(Asked(**one) for one in asked), tuple(found["drop"]),
                 tuple(found["equations"]), found["table"])


def is_text(value):
    return isinstance(value, str) and bool(value.strip())


def lessons(folder):
    """The notebooks of the lessons in `folder` by number: {"01": its path}."""
    return {path.name[:2]: path for path in sorted(Path(folder).glob("*.ipynb")) if re.match(r"\d\d_", path.name)}


def entry_of(root, number):
    """The entry of lesson `number` of the book at `root`.

    Raises:
        ValueError: when there is none, or it is not as it should be.
    """
    path = Path(root, FOLDER, f"{number}.yaml")
    if not path.exists():
        raise ValueError(f"{FOLDER}: expected {number}.yaml, as the book has a lesson {number}, got none")
    return read(path)
