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
        ValueError: when it is not as described above; names the file and every fault.
    """
    try:
        found = yaml.safe_load(Path(path).read_text("utf8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{Path(path).name}: expected YAML, got {error}") from error
    refuse(Path(path).name, faults(found))
    return Entry(found["needs"], tuple(Asked(**one) for one in found["questions"]), tuple(found["drop"]),
                 tuple(found["equations"]), found["table"])


def faults(found):
    """What is wrong with the content of a file, a sentence each."""
    if not isinstance(found, dict) or set(found) != FIELDS:
        return [f"expected the fields {sorted(FIELDS)}, got {list(found) if isinstance(found, dict) else found}"]
    said = [f"expected words for {field}, got {found[field]}"
            for field in ("needs", "table") if not is_text(found[field])]
    said += [f"expected a list for {field}, got {found[field]}" for field in ("drop", "equations")
             if not isinstance(found[field], list) or not all(map(is_text, found[field]))]
    asked = found["questions"]
    if not isinstance(asked, list) or len(asked) != QUESTIONS:
        return [*said, f"expected {QUESTIONS} questions, got {len(asked) if isinstance(asked, list) else asked}"]
    return said + [f"expected a question with ask, answer and at, got {one}" for one in asked if not is_question(one)]


def is_question(one):
    return isinstance(one, dict) and set(one) == {"ask", "answer", "at"} and all(map(is_text, one.values()))


def is_text(value):
    return isinstance(value, str) and bool(value.strip())


def refuse(name, faults):
    """Raise ValueError with the `faults` of the file `name`, if there are any."""
    if faults:
        raise ValueError("; ".join(f"{name}: {fault}" for fault in faults))


def check_places(name, entry, sections):
    """Check that the entry in the file `name` names `sections` of its lesson that have slides, by their anchors.

    Raises:
        ValueError: naming the file, every anchor that is none of them, and those that would do.
    """
    named = {"drop": entry.drop, "questions": tuple(one.at for one in entry.questions)}
    refuse(name, [f"expected in {field} sections with slides, out of {sections}, got {at!r}"
                  for field, places in named.items() for at in places if at not in sections])


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
