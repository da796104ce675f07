"""How many questions the book asks, of what kinds and levels, and that those of the lecture notes are among them."""

from collections import Counter

import pytest
from notes import ASKED, EVERY

from tsattn_mini.questions import all_questions

QUESTIONS = {q.id: q for q in all_questions()}
LESSONS = sorted({id[:2] for id in QUESTIONS})


def of_lesson(number):
    return [q for id, q in QUESTIONS.items() if id[:2] == number]


def test_there_are_120_questions_and_40_of_them_are_numbers_that_are_computed():
    kinds = Counter(q.kind for q in QUESTIONS.values())
    assert kinds.total() >= 120
    assert kinds["number"] >= 40
    assert all(callable(q.compute) for q in QUESTIONS.values() if q.kind == "number")


def test_25_can_be_asked_with_new_numbers():
    assert sum(bool(getattr(q, "drawing", None)) for q in QUESTIONS.values()) >= 25


def test_30_are_built_on_a_mistake_that_was_seen_somewhere():
    assert sum(bool(q.seen()) for q in QUESTIONS.values()) >= 30


@pytest.mark.parametrize("number", LESSONS)
def test_a_lesson_asks_on_more_than_one_level_and_for_more_than_one_answer_out_of_a_list(number):
    asked, where = of_lesson(number), f"tsattn_mini/questions/lesson{number}.py"
    levels, kinds = {q.difficulty for q in asked}, {q.kind for q in asked}
    assert len(levels) >= 2, f"{where} asks on level {levels} alone: give a question another difficulty="
    assert kinds & {"several", "order", "match"}, f"{where} has only {kinds}: add one of kind several, order or match"


@pytest.mark.parametrize("note", ASKED)
def test_the_questions_of_the_notes_are_asked(note):
    assert [id for id in ASKED[note] if id not in QUESTIONS] == []


def test_the_five_of_note_004_are_answered_in_words_and_backed_by_computed_answers():
    five = [QUESTIONS[id] for id in ASKED["004"]]
    assert [q.kind for q in five] == ["written"] * 5
    assert [q.id for q in five if not q.parts or {QUESTIONS[part].kind for part in q.parts} & {"written"}] == []


def test_each_question_of_the_notes_names_claims_of_the_ledger():
    assert sorted(id for id in EVERY if not QUESTIONS[id].claims) == []
