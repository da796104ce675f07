"""One of several options is right."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.text import inline


@dataclass(frozen=True)
class Option:
    """One answer to choose from, and what to say to the reader who chose it."""

    text: str
    feedback: str


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


def choice(*, id: str, text: str, options: Mapping[str, Option], answer: str | Callable[[], str],
           hint: str | None = None, lesson: str | None = None) -> ChoiceQuestion:
    """A question with one right option. `answer` is its key, or computes its key.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return ChoiceQuestion(id=id, text=text, hint=hint, lesson=lesson, options=options, key=answer)
