"""One-click states of an explorer, and what to predict before the click."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A state worth seeing. One with a question asks first: the reader predicts, moves, and then sees the answer.

    Args:
        values: the inputs to set; the others go back to their first values.
        question: one sentence that can be answered before the move; empty for a plain state.
        answer: what the move shows, and why.

    Raises:
        ValueError: when an argument is of another kind, or one of question and answer comes alone.
    """

    values: Mapping[str, Any]
    question: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise ValueError(f"values: expected a dict, got {type(self.values).__name__}")
        for name in ("question", "answer"):
            if not isinstance(text := getattr(self, name), str):
                raise ValueError(f"{name}: expected a sentence, got {text!r}")
        if bool(self.question.strip()) != bool(self.answer.strip()):
            alone, missing = ("question", "answer") if self.question.strip() else ("answer", "question")
            raise ValueError(f"{missing}: expected a sentence beside the {alone} {getattr(self, alone)!r}, got none")

    def asks(self) -> dict[str, str]:
        """Question and answer for the page; nothing for a plain state."""
        return {"question": self.question, "answer": self.answer} if self.question.strip() else {}
