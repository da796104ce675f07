"""One of several options is right."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from tsattn_mini.explore.question.base import Question, computed
from tsattn_mini.explore.question.option import Option
from tsattn_mini.explore.question.text import inline


@dataclass(frozen=True, repr=False, kw_only=True)
class ChoiceQuestion(Question):
    """One of several options is right."""

    kind = "choice"
    options: Mapping[str, Option]
    key: str | Callable[[], str]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect_options("options", self.options)
        self.expect(self.answer() in self.options, "answer", f"one of {list(self.options)}",
                    repr(self.answer()))

    def answer(self) -> str:
        return computed(self.key)

    def remarks(self) -> Iterable[Option]:
        return self.options.values()

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


def choice(*, id: str, text: str, options: Mapping[str, Option], answer: str | Callable[[], str],
           **about: Any) -> ChoiceQuestion:
    """A question with one right option. `answer` is its key, or computes its key.

    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return ChoiceQuestion(id=id, text=text, options=options, key=answer, **about)
