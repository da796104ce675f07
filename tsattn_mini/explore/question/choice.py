"""One of several options is right."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tsattn_mini.explore.question.base import computed
from tsattn_mini.explore.question.option import Option
from tsattn_mini.explore.question.options import OptionsQuestion
from tsattn_mini.explore.question.text import inline


@dataclass(frozen=True, repr=False, kw_only=True)
class ChoiceQuestion(OptionsQuestion):
    """One of several options is right."""

    kind = "choice"
    box = "type='radio' name='{id}' value='{key}'"
    sign = "( )"
    key: str | Callable[[], str]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(self.answer() in self.options, "answer", f"one of {list(self.options)}",
                    repr(self.answer()))

    def answer(self) -> str:
        return computed(self.key)

    def solution(self) -> str:
        right = self.options[self.answer()]
        return f"<strong>{inline(right.text)}</strong><br>{inline(right.feedback)}"


def choice(*, id: str, text: str, options: Mapping[str, Option], answer: str | Callable[[], str],
           **about: Any) -> ChoiceQuestion:
    """A question with one right option. `answer` is its key, or computes its key.

    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.

    >>> options = {"two": Option("2", "Yes."), "three": Option("3", "Count again.")}
    >>> choice(id="01-sum", text="1 + 1?", answer=lambda: "two", options=options).answer()
    'two'
    """
    return ChoiceQuestion(id=id, text=text, options=options, key=answer, **about)
