"""Every answer key is recomputed, every lesson asks its questions, and no broken question can be made."""

import base64
import json
import re
from collections import Counter
from contextlib import contextmanager
from math import inf, isfinite, nan
from pathlib import Path

import pytest
import torch
from asked import in_page
from sample_questions import ROW_SUM, SAMPLES, SCORE, SHIFT

from tsattn_mini.explore.question import Option, Show, Slip, choice, inline, number
from tsattn_mini.explore.question.text import plain
from tsattn_mini.questions import all_questions, ask, by_id

LESSONS = Path(__file__).parents[1] / "lessons"
QUESTIONS = [pytest.param(q, id=q.id) for q in [*SAMPLES, *all_questions()]]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_answer_in_the_page_is_the_computed_one(question):
    data, answer = in_page(question), question.answer()
    assert data["kind"] == question.kind
    assert data["answer"] == answer
    if question.kind == "choice":
        assert answer in question.options
    if question.kind == "number":
        assert isfinite(answer)
        assert all(abs(slip["value"] - answer) > data["tolerance"] for slip in data["slips"])


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answer_depends_on_the_default_dtype(question):
    found = {}
    for dtype in (torch.float32, torch.float64):
        with default_dtype(dtype):
            found[dtype] = question.answer()
    one, other = found.values()
    assert other == (pytest.approx(one, abs=question.tolerance / 4) if question.kind == "number" else one)


@contextmanager
def default_dtype(dtype):
    """The dtype that a lesson asks torch for."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_has_feedback_of_its_own(question):
    data = in_page(question)
    said = [*data.get("feedback", {}).values(), *filter(None, map(data.get, ("right", "wrong"))),
            *(known["feedback"] for known in [*data.get("slips", ()), *data.get("pairs", ())])]
    assert len(set(said)) == len(said)


def test_ids_are_unique():
    counts = Counter(q.id for q in all_questions())
    assert [id for id, n in counts.items() if n > 1] == []


def asked_in(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return re.findall(r"\bask\(\s*[\"']([^\"']*)[\"']\s*\)", code)


@pytest.mark.parametrize("notebook", [pytest.param(p, id=p.stem) for p in sorted(LESSONS.glob("*.ipynb"))])
def test_a_lesson_asks_each_of_its_questions_once(notebook):
    here = [q for q in all_questions() if q.id[:2] == notebook.name[:2]]
    assert sorted(asked_in(notebook)) == sorted(q.id for q in here)
    assert {q.lesson for q in here} <= {None, notebook.stem}


def test_the_parts_of_a_written_answer_are_questions():
    known = {q.id for q in [*SAMPLES, *all_questions()]}
    assert [(q.id, part) for q in [*SAMPLES, *all_questions()] if q.kind == "written"
            for part in q.parts if part not in known] == []


def test_every_question_has_a_lesson():
    lessons = {p.name[:2] for p in LESSONS.glob("*.ipynb")}
    assert [q.id for q in all_questions() if q.id[:2] not in lessons] == []


def test_the_stored_text_names_the_options_and_keeps_the_answer_to_itself():
    assert repr(ROW_SUM.element()) == (
        "Question 97-row-sum: What do the weights of *one row* of `A` sum to? </script>\n"
        "  ( ) 1\n  ( ) the number of keys\n  ( ) it depends on q & k")
    assert repr(SHIFT.element()) == "Question 97-shift: By how much does the level change?\n  a number in %"


def test_the_book_shows_html_and_the_stored_text(monkeypatch):
    monkeypatch.setenv("TSATTN_BOOK", "1")
    element = SCORE.element()
    assert element._repr_mimebundle_() == {"text/html": element.html, "text/plain": repr(SCORE)}


def test_text_is_shown_as_written_apart_from_code_and_emphasis():
    assert inline("a *b* **c d** `x*y*<z>`") == "a <em>b</em> <strong>c d</strong> <code>x*y*&lt;z&gt;</code>"
    assert inline("2 * 3 * 4, a*b*c < d") == "2 * 3 * 4, a*b*c &lt; d"


def test_the_index_of_a_letter_stands_below_it_and_names_of_code_and_holes_stay():
    assert inline("s_ij k_jᵀ, S̃_g,a") == "s<sub>ij</sub> k<sub>j</sub>ᵀ, S̃<sub>g,a</sub>"
    kept = "seq_len, max_j, {v_u} x_, e^x"
    assert inline(kept) == kept
    assert inline("`W_q`") == "<code>W_q</code>"
    assert plain("s_ij `W_q`") == "s_ij W_q"


def test_a_phone_offers_a_minus_sign_where_one_is_needed():
    assert "inputmode='decimal'" in SCORE.element().html
    assert "inputmode='text'" in SHIFT.element().html


def test_the_folded_answer_is_within_tolerance_and_carries_its_unit():
    assert "<strong>30.022</strong>" in SCORE.element().html
    assert "<strong>-12.5 %</strong>" in SHIFT.element().html


def test_ids_are_known_in_the_registry():
    assert by_id(SAMPLES, "lesson97") == {q.id: q for q in SAMPLES}
    with pytest.raises(ValueError, match="lesson97: expected every id once, got '97-score' twice"):
        by_id([SCORE, SCORE], "lesson97")
    with pytest.raises(ValueError, match="lesson96: expected ids 96-…, got '97-score'"):
        by_id([SCORE], "lesson96")
    with pytest.raises(ValueError, match=r"id: expected one of \[.*\], got 'no-such'"):
        ask("no-such")


TWO = {"a": Option("A", "because a"), "b": Option("B", "because b")}
CHOICES = [
    ({"id": "1-x"}, "id: expected two digits and a slug like '01-row-sum', got '1-x'"),
    ({"id": "01-Row"}, "id: expected two digits"),
    ({"text": " "}, "97-x: text: expected the question, got ' '"),
    ({"hint": ""}, "hint: expected None or a sentence"),
    ({"lesson": "05_other"}, "lesson: expected a name that starts with 97_, got '05_other'"),
    ({"options": {"a": TWO["a"]}}, "options: expected at least two, got 1"),
    ({"options": {"a": TWO["a"], "b": Option("B", "")}}, "feedback: expected a sentence, got ''"),
    ({"options": {"a": TWO["a"], "b": Option("", "b")}}, r"options\['b'\].text: expected a sentence"),
    ({"options": {"a": TWO["a"], "b": Option("B", "b", slip="claim 112")}}, r"options\['b'\].slip: .* got 'claim 112'"),
    ({"options": {"a": TWO["a"], "b": Option("B", "b", slip="a talk")}}, "expected None, 'claim 18', 'defects: …' or"),
    ({"difficulty": 4}, "difficulty: expected 1, 2 or 3, got 4"),
    ({"claims": (18, 112)}, r"claims: expected numbers from 1 to 111, got \(18, 112\)"),
    ({"show": "kgc"}, r"show: expected None or a Show\(…\), got 'kgc'"),
    ({"show": Show("kgc", n=1)}, "lesson: expected the name of its notebook, for show, got None"),
    ({"answer": "c"}, r"answer: expected one of \['a', 'b'\], got 'c'"),
    ({"answer": lambda: 1}, r"answer: expected one of \['a', 'b'\], got 1"),
]
NUMBERS = [
    ({"answer": 3.0}, "answer: expected a callable that computes it, got 3.0"),
    ({"answer": lambda: nan}, "answer: expected a finite number, got nan"),
    ({"tolerance": 0}, "tolerance: expected a finite number above 0, got 0"),
    ({"tolerance": inf}, "tolerance: expected a finite number above 0, got inf"),
    ({"wrong": ""}, "wrong: expected a sentence, got ''"),
    ({"slips": {"s": Slip(3.005, "near")}}, "expected more than 0.01 away from the right answer, 3.0"),
    ({"slips": {"s": Slip(lambda: inf, "far")}}, r"slips\['s'\].value: expected a finite number, got inf"),
    ({"slips": {"s": Slip(4, " ")}}, r"slips\['s'\].feedback: expected a sentence"),
    ({"slips": {"s": Slip(4, "four", slip="claim 0")}}, r"slips\['s'\].slip: expected None, 'claim 18', .*'claim 0'"),
    ({"slips": {"s": Slip(4, "one"), "t": Slip(4.001, "two")}}, r"slips\['t'\].value: .* slips\['s'\], 4.0"),
]


@pytest.mark.parametrize(("change", "message"), CHOICES)
def test_a_choice_that_cannot_be_asked_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        choice(**{"id": "97-x", "text": "Which?", "options": TWO, "answer": "a", **change})


@pytest.mark.parametrize(("change", "message"), NUMBERS)
def test_a_number_that_cannot_be_asked_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        number(**{"id": "97-x", "text": "How?", "answer": lambda: 3, "right": "Y", "wrong": "N", **change})


SHOWS = [
    (lambda: Show(""), "explorer: expected the id of an explorer, got ''"),
    (lambda: Show("kgc"), "kgc: expected either a preset or inputs, got preset=None"),
    (lambda: Show("kgc", preset="All zero", gate=True), "kgc: expected either a preset or inputs, got preset='All"),
]


@pytest.mark.parametrize(("make", "message"), SHOWS)
def test_a_state_that_cannot_be_shown_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_fieldset_says_what_a_page_may_filter_by_and_where_its_slips_were_seen():
    question = choice(id="97-x", lesson="97_x", text="Which?", answer="a", difficulty=3, claims=(18, 111), options={
        "a": TWO["a"], "b": Option("B", "b", slip="claim 18"), "c": Option("C", "c", slip="released FEDformer")})
    assert question.seen() == ["claim 18", "released FEDformer"]
    assert ("id='question-97-x' data-question='97-x' data-lesson='97_x' data-kind='choice' data-difficulty='3' "
            in question.element().html)
    assert SCORE.seen() == ["defects: Informer 3"]


def test_show_me_leads_to_the_state_in_the_book_and_to_the_explorer_in_a_notebook(monkeypatch):
    show = Show("kgc", gate=0.5)
    question = choice(id="97-x", lesson="97_x", text="Which?", answer="a", options=TWO, show=show)
    assert "href='#explorer-kgc'" in question.element().html
    monkeypatch.setenv("TSATTN_BOOK", "1")
    address = re.search(r"href='(.*?)'", question.element().html)[1]
    page, _, rest = address.partition("?s=")
    text, _, place = rest.partition("#")
    assert (page, place) == ("../lessons/97_x.html", "explorer-kgc")
    assert json.loads(base64.urlsafe_b64decode(text + "==")) == {"kgc": {"gate": 0.5}}
    assert repr(show) == "Show('kgc', gate=0.5)"
    assert Show("kgc", preset="All zero").state == "All zero"
