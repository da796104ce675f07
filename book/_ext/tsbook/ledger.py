"""The ledger of claims, read from book/claims/*.yaml and checked: one file for each of the lecture notes.

A file is a list of entries:

    - number: 18                    # the number in tests/claims.txt
      claim: what the notes say     # our own words; inline Markdown
      verdict: wrong                # right, imprecise, wrong or unverifiable
      teach: what is right          # inline Markdown, `code` and $formulas$
      lesson: 06_forecast_chain#layernorm-stands-in-between   # one or a list; any id of the lesson's page
      test: tests/test_x.py::test_name                        # one or a list; [case] may follow
      note: anything to add         # optional
      aside: why nothing shows it   # instead of lesson and test
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from docutils.nodes import make_id

VERDICTS = {"right": "✓", "imprecise": "≈", "wrong": "✕", "unverifiable": "?"}  # each with its sign
FIELDS = {"number", "claim", "verdict", "teach", "lesson", "test", "note", "aside"}
LESSON, TEST = re.compile(r"\d\d_\w+#[\w-]+"), re.compile(r"tests/test_\w+\.py::test_\w+(\[.+\])?")


@dataclass(frozen=True)
class Claim:
    """One row; `places` are (lesson, anchor), `tests` are test ids."""

    number: int
    claim: str
    verdict: str
    teach: str
    places: tuple[tuple[str, str], ...] = ()
    tests: tuple[str, ...] = ()
    note: str = ""
    aside: str = ""


def read(path):
    """The claims of one file by number, in the order of the file.

    Raises:
        ValueError: when an entry is not as described above, or a number comes twice; names file and number.
    """
    claims = {}
    for entry in yaml.safe_load(Path(path).read_text("utf8")):
        claim = _claim(entry, f"{Path(path).name}, claim {entry.get('number')}")
        if claim.number in claims:
            raise ValueError(f"{Path(path).name}: expected every number once, got {claim.number} twice")
        claims[claim.number] = claim
    return claims


def count(claims):
    """How many of these claims have which verdict."""
    return {verdict: sum(c.verdict == verdict for c in claims) for verdict in VERDICTS}


def heading(notebook, anchor):
    """The words of the heading in `notebook` under which the id `anchor` stands, or None where there is no such id."""
    words = None
    for cell in json.loads(Path(notebook).read_text("utf8"))["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        found = False
        for line in "".join(cell["source"]).splitlines():
            found |= line.strip() == f"({anchor})="
            if title := re.match(r"#+ (.+)", line):
                words = title[1]
                found |= make_id(words) == anchor
            if found and not line.startswith("("):
                return words
    return None


def _claim(entry, where):
    def expect(holds, expected):
        if not holds:
            raise ValueError(f"{where}: expected {expected}, got {entry}")

    expect(not set(entry) - FIELDS, f"only the fields {sorted(FIELDS)}")
    for field in ("claim", "verdict", "teach"):
        expect(isinstance(entry.get(field), str) and entry[field].strip(), f"words for {field}")
    expect(isinstance(entry.get("number"), int), "a whole number")
    expect(entry["verdict"] in VERDICTS, f"a verdict out of {list(VERDICTS)}")
    lessons, tests = _several(entry.get("lesson")), _several(entry.get("test"))
    expect(all(LESSON.fullmatch(x) for x in lessons), "lesson as NN_name#id")
    expect(all(TEST.fullmatch(x) for x in tests), "test as tests/test_x.py::test_name")
    expect(bool(entry.get("aside")) != bool(lessons and tests), "a lesson and a test, or a reason in aside")
    return Claim(entry["number"], entry["claim"], entry["verdict"], entry["teach"],
                 tuple(tuple(x.split("#")) for x in lessons), tests, entry.get("note", ""), entry.get("aside", ""))


def _several(value):
    return tuple(value) if isinstance(value, list) else () if value is None else (value,)
