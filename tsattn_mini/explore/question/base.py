"""What every kind of question has, and the page it makes."""

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from typing import ClassVar

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question.element import QuestionElement
from tsattn_mini.explore.question.text import inline


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

    def element(self) -> QuestionElement:
        """The question to show: a widget in Jupyter, plain HTML in the book."""
        return QuestionElement(repr(self), render(self))

    def __repr__(self) -> str:
        return f"Question {self.id}: {self.text}"


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
