"""What is right in an answer, and what to say to it: the kinds of questions as the page judges them."""

from collections.abc import Mapping, Sequence
from functools import singledispatch
from html import unescape
from typing import Any, NamedTuple

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question import (
    ChoiceQuestion,
    MatchQuestion,
    NumberQuestion,
    OrderQuestion,
    Question,
    SeveralQuestion,
    WrittenQuestion,
)
from tsattn_mini.explore.question.text import plain

SAY = words("question")


class Verdict(NamedTuple):
    """`said` is one sentence; each of the `remarks` is a part of the answer, and what there is to say of it."""

    right: bool
    said: str = ""
    remarks: Sequence[tuple[str, str]] = ()


def shown(text: str) -> str:
    """A text of a question without the marks of emphasis and code."""
    return unescape(plain(text))


@singledispatch
def judge(question: Question, answer: Any) -> Verdict:
    """The verdict on an answer: a key, a number, keys, keys in order, pairs, or the numbers of points.

    Raises:
        TypeError: for a kind that is not known here.
    """
    raise TypeError(f"question: expected one of a known kind, got {type(question).__name__}")


@judge.register
def _(question: ChoiceQuestion, answer: str) -> Verdict:
    return Verdict(answer == question.answer(), shown(question.options[answer].feedback))


@judge.register
def _(question: NumberQuestion, answer: float) -> Verdict:
    def near(target: float) -> bool:
        return abs(answer - target) <= question.tolerance * (1 + 1e-9)

    if near(question.answer()):
        return Verdict(True, shown(question.right))
    slips = [slip for slip in question.slips.values() if near(slip.number())]
    nearest = min(slips, key=lambda slip: abs(answer - slip.number()), default=None)
    return Verdict(False, shown(nearest.feedback if nearest else question.wrong))


@judge.register
def _(question: SeveralQuestion, answer: Sequence[str]) -> Verdict:
    holds, options = question.answer(), question.options
    missed = [key for key in holds if key not in answer]
    extra = [key for key in options if key in answer and key not in holds]
    if not missed and not extra:
        return Verdict(True, remarks=[(shown(options[key].text), shown(options[key].feedback)) for key in holds])
    counts = {"hit": len(holds) - len(missed), "all": len(holds), "count": len(extra)}
    wrong = [(SAY[sentence].format(text=shown(options[key].text)), shown(options[key].feedback))
             for sentence, keys in (("ticked", extra), ("missed", missed)) for key in keys]
    return Verdict(False, SAY["extra" if extra else "found"].format(**counts), wrong)


@judge.register
def _(question: OrderQuestion, answer: Sequence[str]) -> Verdict:
    kept = _in_order(answer, question.answer())
    if len(kept) == len(answer):
        return Verdict(True, shown(question.right))
    text = {key: shown(item.text) for key, item in question.items.items()}
    known = [pair for pair in question.pairs if answer.index(pair.first) < answer.index(pair.second)]
    told = {key for pair in known for key in (pair.first, pair.second)}
    remarks = [(SAY["before"].format(first=text[pair.first], second=text[pair.second]), shown(pair.feedback))
               for pair in known]
    remarks += [(text[key], shown(question.items[key].feedback)) for key in answer if key not in {*kept, *told}]
    return Verdict(False, SAY["inOrder"].format(kept=len(kept), all=len(answer)), remarks)


def _in_order(keys: Sequence[str], answer: Sequence[str]) -> list[str]:
    """The most keys that stand in the right order among themselves; of several such runs the first."""
    runs: list[list[str]] = []
    for key in keys:
        before = [run for run in runs if answer.index(run[-1]) < answer.index(key)]
        runs.append([*max(before, key=len, default=[]), key])
    return max(runs, key=len)


@judge.register
def _(question: MatchQuestion, answer: Mapping[str, str]) -> Verdict:
    right, pairs = question.answer(), {(pair.first, pair.second): pair.feedback for pair in question.pairs}
    wrong = [key for key in question.left if answer[key] != right[key]]
    remarks = [(f"{shown(question.left[key].text)} → {shown(question.right[answer[key]])}",
                shown(pairs.get((key, answer[key]), question.left[key].feedback))) for key in wrong or question.left]
    said = SAY["paired"].format(hit=len(right) - len(wrong), all=len(right)) if wrong else ""
    return Verdict(not wrong, said, remarks)


@judge.register
def _(question: WrittenQuestion, answer: Sequence[int]) -> Verdict:
    missing = [(shown(point), "") for i, point in enumerate(question.rubric) if i not in answer]
    said = SAY["points"].format(hit=len(answer), all=len(question.rubric))
    return Verdict(not missing, f"{said} {SAY['missing']}" if missing else said, missing)
