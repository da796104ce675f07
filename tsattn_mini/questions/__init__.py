"""The check questions of every lesson: `lessonNN.py` holds them as `QUESTIONS`, each with an id `NN-slug`."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tsattn_mini.explore.question import Question, QuestionElement
from tsattn_mini.predictions import predict

__all__ = ["all_questions", "ask", "by_id", "predict"]


def ask(id: str) -> QuestionElement:
    """The question to show in a lesson; as the last line of a cell it is the cell's output.

    Raises:
        ValueError: when no question has this id; says which ids its lesson has.
        ImportError: when the lesson's module fails; says how.
    """
    lesson = f"lesson{id[:2]}"
    known = _questions_of(lesson) if lesson in _lessons() else {q.id: q for q in all_questions()}
    if id not in known:
        raise ValueError(f"id: expected one of {list(known)}, got {id!r}")
    return known[id].element()


def all_questions() -> list[Question]:
    """Every question, in the order of the lessons."""
    return [question for lesson in _lessons() for question in _questions_of(lesson).values()]


def by_id(questions: Iterable[Question], lesson: str) -> dict[str, Question]:
    """The questions of one lesson module by their ids.

    Raises:
        ValueError: when two share an id, or one carries another lesson's number.

    >>> len(all_questions()) > 160
    True
    """
    found: dict[str, Question] = {}
    for question in questions:
        if not lesson.endswith(question.id[:2]):
            raise ValueError(f"QUESTIONS of {lesson}: expected ids {lesson[-2:]}-…, got {question.id!r}")
        if question.id in found:
            raise ValueError(f"QUESTIONS of {lesson}: expected every id once, got {question.id!r} twice")
        found[question.id] = question
    return found


def _lessons() -> list[str]:
    return sorted(m.name for m in iter_modules(__path__) if re.fullmatch(r"lesson\d\d", m.name))


@cache
def _questions_of(lesson: str) -> dict[str, Question]:
    module = f"{__name__}.{lesson}"
    try:
        questions = import_module(module).QUESTIONS
    except Exception as error:
        raise ImportError(f"{module} fails: {type(error).__name__}: {error}") from error
    return by_id(questions, lesson)
