"""What every kind of question has."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tsattn_mini.explore.question.element import QuestionElement
from tsattn_mini.explore.question.option import Option, seen_somewhere
from tsattn_mini.explore.question.page import render
from tsattn_mini.explore.question.show import Show

CLAIMS = range(1, 112)  # the numbers of the ledger


@dataclass(frozen=True, repr=False, kw_only=True)
class Question(ABC):
    """What every kind of question has.

    Args:
        id: `NN-slug`, where NN is the number of its lesson.
        text: the question. Every text may hold `code`, *emphasis* and **strong emphasis**.
        hint: folded below the question until the reader asks for it.
        lesson: the name of the notebook that asks it.
        difficulty: 1 recall, 2 apply, 3 think.
        claims: the numbers of the ledger that it is built on.
        show: a state of an explorer of the lesson, offered once an answer was checked.
    """

    kind: ClassVar[str]
    button: ClassVar[str] = "check"
    id: str
    text: str
    hint: str | None = None
    lesson: str | None = None
    difficulty: int = 2
    claims: tuple[int, ...] = ()
    show: Show | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[0-9]{2}(-[a-z0-9]+)+", self.id):
            raise ValueError(f"id: expected two digits and a slug like '01-row-sum', got {self.id!r}")
        self.expect(bool(self.text.strip()), "text", "the question", repr(self.text))
        self.expect(self.hint is None or bool(self.hint.strip()), "hint", "None or a sentence",
                    repr(self.hint))
        self.expect(self.lesson is None or self.lesson.startswith(self.id[:2] + "_"), "lesson",
                    f"a name that starts with {self.id[:2]}_", repr(self.lesson))
        self.expect(self.difficulty in (1, 2, 3), "difficulty", "1, 2 or 3", repr(self.difficulty))
        self.expect(all(number in CLAIMS for number in self.claims), "claims",
                    f"numbers from {CLAIMS[0]} to {CLAIMS[-1]}", repr(self.claims))
        self.expect(self.show is None or isinstance(self.show, Show), "show", "None or a Show(…)", repr(self.show))
        self.expect(self.show is None or self.lesson is not None, "lesson", "the name of its notebook, for show",
                    "None")

    def expect(self, holds: bool, name: str, expected: str, got: str) -> None:
        """Raise the ValueError of this question's argument `name` unless `holds`."""
        if not holds:
            raise ValueError(f"{self.id}: {name}: expected {expected}, got {got}")

    def expect_remark(self, at: str, remark: Any) -> None:
        """Raise unless the option, slip or pair at `at` says something, and its `slip` was seen somewhere."""
        self.expect(bool(remark.feedback.strip()), f"{at}.feedback", "a sentence", repr(remark.feedback))
        self.expect(remark.slip is None or seen_somewhere(remark.slip, CLAIMS), f"{at}.slip",
                    "None, 'claim 18', 'defects: …' or 'released …'", repr(remark.slip))

    def expect_options(self, name: str, options: Mapping[str, Option]) -> None:
        """Raise unless the argument `name` holds at least two options that can be shown."""
        self.expect(len(options) >= 2, name, "at least two", str(len(options)))
        for key, option in options.items():
            at = f"{name}[{key!r}]"
            self.expect(isinstance(option, Option), at, "an Option(text, feedback)", repr(option))
            self.expect(bool(option.text.strip()), f"{at}.text", "a sentence", repr(option.text))
            self.expect_remark(at, option)

    @abstractmethod
    def remarks(self) -> Iterable[Any]:
        """The options, slips and pairs that say something to a reader."""

    def seen(self) -> list[str]:
        """Where the mistakes that this question knows were seen."""
        return [remark.slip for remark in self.remarks() if remark.slip]

    @abstractmethod
    def answer(self) -> Any:
        """The right answer, computed anew."""

    @abstractmethod
    def data(self) -> dict:
        """What the page's script judges by."""

    @abstractmethod
    def controls(self) -> str:
        """The native inputs, as HTML."""

    def more(self) -> str:
        """Further controls below the button that checks, as HTML."""
        return ""

    def kernel(self) -> Callable[[dict], dict[str, bytes]] | None:
        """What answers the page's script in a notebook, for a question that computes anew."""
        return None

    @abstractmethod
    def solution(self) -> str:
        """The right answer and why, as HTML, for a page whose script does not run."""

    def element(self) -> QuestionElement:
        """The question to show: a widget in Jupyter, plain HTML in the book."""
        return QuestionElement(repr(self), render(self), self.kernel())

    def __repr__(self) -> str:
        return f"Question {self.id}: {self.text}"


def computed(answer: Any) -> Any:
    """The answer itself, or what it computes."""
    return answer() if callable(answer) else answer
