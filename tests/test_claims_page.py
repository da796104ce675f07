"""The ledger of claims is whole: every number, every place it points to, every test it names, every count it prints."""

import ast
import re
import sys

import pytest
import yaml
from browsing import BOOK, ROOT

from tsattn_mini.explore.question import number
from tsattn_mini.explore.question.page import render

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.ledger import count, heading, read

FILES = {path.stem: read(path) for path in sorted((ROOT / "book/claims").glob("*.yaml"))}
NOTES = dict(re.findall(r"^(\d+) \w (\d+)$", (ROOT / "tests/claims.txt").read_text(), re.M))  # number: note
QUESTION = re.compile(r"<fieldset class='ts-question' [^>]*?data-question='([^']+)'[^>]*?data-claims='([0-9 ]*)'")
CLAIMS = [claim for file in FILES.values() for claim in file.values()]
each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: str(claim.number))


def functions_of(path):
    """The names of the test functions in a module."""
    return {node.name for node in ast.parse(path.read_text("utf8")).body if isinstance(node, ast.FunctionDef)}


def test_every_number_is_in_the_ledger_or_set_aside_once_and_with_its_note():
    assert {str(number): note for note, file in FILES.items() for number in file} == NOTES
    assert len(CLAIMS) == len(NOTES) == 111


@each_claim
def test_the_tests_of_a_claim_exist(claim):
    for test in claim.tests:
        path, name = test.split("[")[0].split("::")
        assert name in functions_of(ROOT / path), test


@each_claim
def test_the_places_of_a_claim_exist_in_its_lessons_and_on_their_pages(claim):
    for lesson, anchor in claim.places:
        assert heading(ROOT / f"lessons/{lesson}.ipynb", anchor)
        page = (BOOK / f"lessons/{lesson}.html").read_text("utf8")
        assert re.search(rf"""id=["']{anchor}["']""", page), f"{lesson} has no {anchor}"


@each_claim
def test_the_box_that_judges_a_claim_has_the_colour_of_its_verdict(claim):
    for lesson, anchor in claim.places:
        if anchor == "three-checks":  # one box for three claims
            continue
        text = (ROOT / f"lessons/{lesson}.ipynb").read_text("utf8")
        targets, title = rf'"\({anchor}\)=\\n",(?:\s*"\([\w-]+\)=\\n",)*', r'\s*":::{admonition}[^"]*",'
        box = re.search(rf'{targets}{title}\s*":class: (\w+)', text)
        if box and claim.verdict != "unverifiable":
            assert box[1] == ("note" if claim.verdict == "right" else "warning"), anchor


def test_the_page_prints_every_row_and_the_counts_of_the_rows():
    page = (BOOK / "book/claims.html").read_text("utf8")
    rows = dict(re.findall(r"<article class='ts-claim' id='claim-(\d+)' data-verdict='(\w+)'>", page))
    assert rows == {str(claim.number): claim.verdict for claim in CLAIMS}
    options = dict(re.findall(r"<option value='(\w+)'>\w+ \((\d+)\)</option>", page))
    assert {v: int(n) for v, n in options.items()} == {v: n for v, n in count(CLAIMS).items() if n}
    for verdict, n in count(CLAIMS).items():
        assert re.search(rf"</span> {verdict}</span> <b>{n}</b>", page)
        assert list(rows.values()).count(verdict) == n


def test_a_row_links_to_the_questions_that_are_built_on_its_claim():
    page, built_on = (BOOK / "book/claims.html").read_text("utf8"), {claim.number: [] for claim in CLAIMS}
    for lesson in sorted((BOOK / "lessons").glob("*.html")):
        for id, numbers in dict(QUESTION.findall(lesson.read_text("utf8"))).items():
            for claim in map(int, numbers.split()):
                built_on[claim].append(f"../lessons/{lesson.name}#question-{id}")
    for row in re.findall(r"<article class='ts-claim'.*?</article>", page, re.S):
        claim = int(re.search(r"id='claim-(\d+)'", row)[1])
        assert re.findall(r'href="([^"]*#question-[^"]*)"', row) == built_on[claim], claim


def test_a_question_says_on_which_claims_it_is_built():
    question = number(id="06-x", text="?", answer=lambda: 1.0, right="r", wrong="w", claims=(18, 32))
    assert QUESTION.findall(render(question)) == [("06-x", "18 32")]


GOOD = {"number": 7, "claim": "a", "verdict": "right", "teach": "b", "lesson": "01_x#y",
        "test": "tests/test_x.py::test_y"}


@pytest.mark.bad_input
@pytest.mark.parametrize(("change", "message"), [
    ({"verdict": "nearly"}, r"x.yaml, claim 7: expected a verdict out of \['right', 'imprecise', 'wrong', 'unverif"),
    ({"claim": " "}, "expected words for claim"), ({"teach": None}, "expected words for teach"),
    ({"number": "7"}, "expected a whole number"), ({"lesson": "01_x"}, "expected lesson as NN_name#id"),
    ({"test": "test_y"}, "expected test as"), ({"test": None}, "expected a lesson and a test, or a reason in aside"),
    ({"aside": "both"}, "expected a lesson and a test, or"), ({"lessons": "01_x#y"}, "expected only the fields"),
])
def test_an_entry_that_is_not_whole_is_refused(tmp_path, change, message):
    (tmp_path / "x.yaml").write_text(yaml.safe_dump([GOOD | change]))
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "x.yaml")


@pytest.mark.bad_input
def test_a_number_that_comes_twice_is_refused(tmp_path):
    (tmp_path / "x.yaml").write_text(yaml.safe_dump([GOOD, GOOD]))
    with pytest.raises(ValueError, match="expected every number once, got 7 twice"):
        read(tmp_path / "x.yaml")


def test_a_heading_is_found_by_its_own_words_and_by_the_target_above_it():
    lesson = ROOT / "lessons/06_forecast_chain.ipynb"
    assert heading(lesson, "layernorm-stands-in-between") == "LayerNorm stands in between"
    assert heading(lesson, "statistics-nonstationary") == "Restore, and drop six rows"
    assert heading(lesson, "nowhere") is None
