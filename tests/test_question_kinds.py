"""The kinds beside choice and number: what a stored notebook keeps of them, and what cannot be asked."""

import re

import pytest
from sample_questions import CHAIN, KEPT, KINDS, SHAPES, WHY

from tsattn_mini.explore.question import Option, Pair, match, order, several, written

TWO = {"a": Option("A", "because a"), "b": Option("B", "because b")}


def test_the_stored_text_names_what_is_given_and_keeps_the_answer_to_itself():
    assert repr(KEPT.element()) == (
        "Question 97-kept: What survives `softmax`?\n  [ ] the order of the scores\n  [ ] their sum\n"
        "  [ ] their ratios\n  [ ] what a shift of all scores leaves")
    assert repr(CHAIN.element()).endswith("\n  ↕ softmax\n  ↕ `q·k`\n  ↕ divide by √d_k\n  ↕ project to q and k")
    assert repr(SHAPES.element()).endswith("\n  `softmax(S)` → ?\n  ? = 2 × 3\n  ? = 2 × 5\n  ? = 5 × 2")
    assert repr(WHY.element()) == ("Question 97-why: Why divide by √d_k?\n"
                                   "  in your own words, then graded by 2 points")


def test_answers_stand_in_the_order_in_which_the_reader_sees_them():
    assert KEPT.answer() == ["order", "shift"]
    assert list(SHAPES.answer()) == ["scores", "out", "again"]
    assert WHY.answer() == [0, 1]


def test_where_slips_were_seen_is_told_by_every_kind():
    assert [question.seen() for question in KINDS] == [["claim 3"], ["claim 3"], ["released Sample"], []]


def test_a_title_without_marks_stands_where_no_tag_may():
    html = SHAPES.element().html + CHAIN.element().html
    assert "aria-label='q·k: move up'" in html
    assert not re.search(r"<option[^>]*>[^<]*<(?!/option)", html)


SEVERAL = [
    ({"options": {"a": TWO["a"]}}, "options: expected at least two, got 1"),
    ({"options": {"a": "A", "b": "B"}}, r"options\['a'\]: expected an Option\(text, feedback\), got 'A'"),
    ({"answer": set()}, r"answer: expected a set of some of \['a', 'b'\], got set\(\)"),
    ({"answer": {"c"}}, r"answer: expected a set of some of \['a', 'b'\], got \{'c'\}"),
    ({"answer": "a"}, r"answer: expected a set of some of \['a', 'b'\], got 'a'"),
]
ORDER = [
    ({"answer": ["a"]}, r"answer: expected each of \['a', 'b'\] once, got \['a'\]"),
    ({"answer": lambda: ["b", "b"]}, r"answer: expected each of \['a', 'b'\] once, got \['b', 'b'\]"),
    ({"answer": ["a", "b"]}, "items: expected another order than the answer"),
    ({"right": " "}, "right: expected a sentence, got ' '"),
    ({"pairs": [Pair("a", "c", "why")]}, r"pairs\[0\]: expected keys of \['a', 'b'\], got \('a', 'c'\)"),
    ({"pairs": [Pair("b", "a", "why")]}, r"pairs\[0\]: expected a wrong order, got \('b', 'a'\)"),
    ({"pairs": [Pair("a", "a", "why")]}, r"pairs\[0\]: expected a wrong order, got \('a', 'a'\)"),
    ({"pairs": [Pair("a", "b", "")]}, r"pairs\[0\].feedback: expected a sentence, got ''"),
    ({"pairs": [Pair("a", "b", "why", slip="claim 200")]}, r"pairs\[0\].slip: .* got 'claim 200'"),
]
MATCH = [
    ({"left": {"a": TWO["a"]}}, "left: expected at least two, got 1"),
    ({"right": {"x": "X"}}, "right: expected at least two, got 1"),
    ({"right": {"x": "X", "y": ""}}, r"right\['y'\]: expected a sentence, got ''"),
    ({"answer": {"a": "y"}}, r"answer: expected one of \['x', 'y'\] for each of \['a', 'b'\], got \{'a': 'y'\}"),
    ({"answer": {"a": "y", "b": "z"}}, "answer: expected one of"),
    ({"answer": {"a": "x", "b": "y"}}, r"right: expected another order than the answer, got \['x', 'y'\]"),
    ({"pairs": [Pair("x", "a", "why")]}, r"pairs\[0\]: expected one of \['a', 'b'\] and one of \['x', 'y'\]"),
    ({"pairs": [Pair("a", "y", "why")]}, r"pairs\[0\]: expected a wrong pair, got \('a', 'y'\)"),
]
WRITTEN = [
    ({"model_answer": ""}, "model_answer: expected an answer, got ''"),
    ({"rubric": ["one"]}, r"rubric: expected at least two points, got \['one'\]"),
    ({"rubric": "both"}, "rubric: expected at least two points, got 'both'"),
    ({"rubric": ["one", " "]}, r"rubric\[1\]: expected a sentence, got ' '"),
    ({"parts": ["96-y"]}, r"parts\[0\]: expected another question of the lesson, '97-…', got '96-y'"),
    ({"parts": ["97-x"]}, r"parts\[0\]: expected another question of the lesson, '97-…', got '97-x'"),
]
WHOLE = {
    several: {"options": TWO, "answer": {"a"}},
    order: {"items": TWO, "answer": ["b", "a"], "right": "So."},
    match: {"left": TWO, "right": {"x": "X", "y": "Y"}, "answer": {"a": "y", "b": "x"}},
    written: {"model_answer": "So.", "rubric": ["one", "two"]},
}
REFUSED = [(make, *case) for make, cases in zip(WHOLE, (SEVERAL, ORDER, MATCH, WRITTEN), strict=True) for case in cases]


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "change", "message"), REFUSED)
def test_what_cannot_be_asked_is_refused(make, change, message):
    with pytest.raises(ValueError, match=f"97-x: {message}"):
        make(**{"id": "97-x", "text": "What?", **WHOLE[make], **change})
