"""Check questions: the right answer is computed by a callable, and every wrong answer says why it is wrong.

Texts may hold `code`, *emphasis* and **strong emphasis**; formulas are written in Unicode. A further kind of
question is one more subclass of `Question` here and one more entry of `kinds` in `web/question.js`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from math import floor, inf, isfinite, log10
from typing import ClassVar

from tsattn_mini.explore.element import Element, words


@dataclass(frozen=True)
class Option:
    """One answer to choose from, and what to say to the reader who chose it."""

    text: str
    feedback: str


@dataclass(frozen=True)
class Slip:
    """A wrong number that a known mistake leads to, and what to say to the reader who made it."""

    value: float | Callable[[], float]
    feedback: str

    def number(self) -> float:
        """The wrong number, computed anew."""
        return float(self.value() if callable(self.value) else self.value)


@dataclass(frozen=True, repr=False, kw_only=True)
class Question(ABC):
    """What every kind of question has; `id` is `NN-slug`, where NN is the number of its lesson."""

    kind: ClassVar[str]
    id: str
    text: str
    hint: str | None = None
    lesson: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9]{2}(-[a-z0-9]+)+", self.id):
            raise ValueError(f"id: expected two digits and a slug like '01-row-sum', got {self.id!r}")
        self.expect(bool(self.text.strip()), "text", "the question", repr(self.text))
        self.expect(self.hint is None or bool(self.hint.strip()), "hint", "None or a sentence",
                    repr(self.hint))
        self.expect(self.lesson is None or self.lesson.startswith(self.id[:2] + "_"), "lesson",
                    f"a name that starts with {self.id[:2]}_", repr(self.lesson))

    def expect(self, holds: bool, name: str, expected: str, got: str) -> None:
        """Raise the ValueError of this question's argument `name` unless `holds`."""
        if not holds:
            raise ValueError(f"{self.id}: {name}: expected {expected}, got {got}")

    @abstractmethod
    def answer(self) -> str | float:
        """The right answer, computed anew."""

    @abstractmethod
    def data(self) -> dict:
        """What `question.js` judges by."""

    @abstractmethod
    def controls(self) -> str:
        """The native inputs, as HTML."""

    @abstractmethod
    def solution(self) -> str:
        """The right answer and why, as HTML, for a page whose script does not run."""

    def element(self) -> "QuestionElement":
        """The question to show: a widget in Jupyter, plain HTML in the book."""
        return QuestionElement(self)

    def __repr__(self) -> str:
        return f"Question {self.id}: {self.text}"


@dataclass(frozen=True, repr=False, kw_only=True)
class ChoiceQuestion(Question):
    """One of several options is right."""

    kind = "choice"
    options: Mapping[str, Option]
    key: str | Callable[[], str]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(len(self.options) >= 2, "options", "at least two", str(len(self.options)))
        for key, option in self.options.items():
            self.expect(isinstance(option, Option), f"options[{key!r}]", "an Option(text, feedback)", repr(option))
            self.expect(bool(option.text.strip()), f"options[{key!r}].text", "a sentence", repr(option.text))
            self.expect(bool(option.feedback.strip()), f"options[{key!r}].feedback", "a sentence",
                        repr(option.feedback))
        self.expect(self.answer() in self.options, "answer", f"one of {list(self.options)}",
                    repr(self.answer()))

    def answer(self) -> str:
        return self.key() if callable(self.key) else self.key

    def data(self) -> dict:
        return {"answer": self.answer(),
                "feedback": {key: inline(option.feedback) for key, option in self.options.items()}}

    def controls(self) -> str:
        return "<div class='ts-q-options'>" + "".join(
            f"<label><input type='radio' name='{self.id}' value='{escape(key)}'>"
            f"<span>{inline(option.text)}</span></label>" for key, option in self.options.items()) + "</div>"

    def solution(self) -> str:
        right = self.options[self.answer()]
        return f"<strong>{inline(right.text)}</strong><br>{inline(right.feedback)}"

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"  ( ) {option.text}" for option in self.options.values())])


@dataclass(frozen=True, repr=False, kw_only=True)
class NumberQuestion(Question):
    """A number is right when it lies within `tolerance` of the computed one; both carry `unit`."""

    kind = "number"
    compute: Callable[[], float]
    right: str
    wrong: str
    tolerance: float = 0.01
    unit: str = ""
    slips: Mapping[str, Slip] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(callable(self.compute), "answer", "a callable that computes it", repr(self.compute))
        self.expect(isfinite(self.answer()), "answer", "a finite number", str(self.answer()))
        self.expect(0 < self.tolerance < inf, "tolerance", "a finite number above 0", str(self.tolerance))
        for name in ("right", "wrong"):
            self.expect(bool(getattr(self, name).strip()), name, "a sentence", repr(getattr(self, name)))
        taken = {"the right answer": self.answer()}
        for name, slip in self.slips.items():
            value, at = slip.number(), f"slips[{name!r}]"
            self.expect(isfinite(value), f"{at}.value", "a finite number", str(value))
            self.expect(bool(slip.feedback.strip()), f"{at}.feedback", "a sentence", repr(slip.feedback))
            for other, number in taken.items():
                self.expect(abs(value - number) > self.tolerance, f"{at}.value",
                            f"more than {self.tolerance} away from {other}, {number}", str(value))
            taken[at] = value

    def answer(self) -> float:
        return float(self.compute())

    def data(self) -> dict:
        return {"answer": self.answer(), "tolerance": self.tolerance, "unit": self.unit,
                "right": inline(self.right), "wrong": inline(self.wrong),
                "slips": [{"value": s.number(), "feedback": inline(s.feedback)} for s in self.slips.values()]}

    def controls(self) -> str:
        # The decimal keypad of a phone has no minus sign.
        signed = min([self.answer(), *(slip.number() for slip in self.slips.values())]) < 0
        unit = f"<span>{inline(self.unit)}</span>" if self.unit else ""
        return (f"<label class='ts-q-number'><span>{escape(words('question')['yourAnswer'])}</span>"
                f"<input type='text' inputmode='{'text' if signed else 'decimal'}' autocomplete='off' "
                f"spellcheck='false'>{unit}</label>")

    def solution(self) -> str:
        places = max(0, 1 - floor(log10(self.tolerance)))
        number = f"{round(self.answer(), places) + 0.0:.{places}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return f"<strong>{f'{number} {inline(self.unit)}'.strip()}</strong><br>{inline(self.right)}"

    def __repr__(self) -> str:
        return super().__repr__() + "\n  a number" + (f" in {self.unit}" if self.unit else "")


def choice(*, id: str, text: str, options: Mapping[str, Option], answer: str | Callable[[], str],
           hint: str | None = None, lesson: str | None = None) -> ChoiceQuestion:
    """A question with one right option. `answer` is its key, or computes its key.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return ChoiceQuestion(id=id, text=text, hint=hint, lesson=lesson, options=options, key=answer)


def number(*, id: str, text: str, answer: Callable[[], float], right: str, wrong: str,
           tolerance: float = 0.01, unit: str = "", slips: Mapping[str, Slip] | None = None,
           hint: str | None = None, lesson: str | None = None) -> NumberQuestion:
    """A question whose answer is a number.

    `right` is said to the right number, `wrong` to a number that none of the `slips` explains.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return NumberQuestion(id=id, text=text, hint=hint, lesson=lesson, compute=answer, right=right,
                          wrong=wrong, tolerance=tolerance, unit=unit, slips=slips or {})


class QuestionElement(Element):
    """A question on a page; the controls stay out of reach until `question.js` brings them to life."""

    def __init__(self, question: Question) -> None:
        self._text = repr(question)
        super().__init__(kind="question", html=render(question))

    def __repr__(self) -> str:
        return self._text


def render(question: Question) -> str:
    """The whole question as HTML: text, inputs, hint, and as JSON what the script judges by."""
    say = {key: escape(text) for key, text in words("question").items()}
    hint = question.hint and (f"<details class='ts-q-hint'><summary>{say['hint']}</summary>"
                              f"<p>{inline(question.hint)}</p></details>")
    data = json.dumps({"kind": question.kind, **question.data()}, ensure_ascii=False).replace("<", "\\u003c")
    return (f"<fieldset class='ts-question' data-question='{question.id}' data-lm-suppress-shortcuts='true' "
            f"disabled><legend>{inline(question.text)}</legend>{question.controls()}"
            f"<div class='ts-q-row'><button type='button'>{say['check']}</button>"
            "<span class='ts-q-status'></span></div>"
            f"<details class='ts-q-answer'><summary>{say['answer']}</summary>"
            f"<p>{question.solution()}</p></details>"
            f"<div class='ts-q-feedback' aria-live='polite'></div>{hint or ''}"
            f"<script type='application/json'>{data}</script></fieldset>")


def inline(text: str) -> str:
    """`code`, *emphasis* and **strong emphasis** as HTML; everything else is shown as it is written."""
    parts = [escape(part) for part in re.split(r"`([^`]+)`", text)]
    return "".join(f"<code>{part}</code>" if i % 2 else _emphasis(part) for i, part in enumerate(parts))


def _emphasis(text: str) -> str:
    for mark, tag in ((r"\*\*", "strong"), (r"\*", "em")):
        inside = rf"(?<![\w*]){mark}(?=[^\s*])(.+?)(?<=[^\s*]){mark}(?![\w*])"
        text = re.sub(inside, rf"<{tag}>\1</{tag}>", text)
    return text
