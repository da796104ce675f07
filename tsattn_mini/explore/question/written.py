"""An answer in the reader's own words, which the reader compares with a model answer, point by point."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.text import inline
from tsattn_mini.visible import escape


@dataclass(frozen=True, repr=False, kw_only=True)
class WrittenQuestion(Question):
    """The reader writes, sees the model answer and ticks the points that the own answer makes."""

    kind = "written"
    button = "compare"
    model: str
    rubric: Sequence[str]
    parts: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(bool(self.model.strip()), "model_answer", "an answer", repr(self.model))
        self.expect(not isinstance(self.rubric, str) and len(self.rubric) >= 2, "rubric", "at least two points",
                    repr(self.rubric))
        for i, point in enumerate(self.rubric):
            self.expect(bool(point.strip()), f"rubric[{i}]", "a sentence", repr(point))
        for i, part in enumerate(self.parts):
            self.expect(bool(re.fullmatch(rf"{self.id[:2]}(-[a-z0-9]+)+", part)) and part != self.id, f"parts[{i}]",
                        f"another question of the lesson, '{self.id[:2]}-…'", repr(part))

    def answer(self) -> list[int]:
        """The places of all points of the rubric."""
        return list(range(len(self.rubric)))

    def remarks(self) -> tuple[()]:
        return ()

    def data(self) -> dict:
        return {"answer": self.answer()}

    def controls(self) -> str:
        say = {key: escape(text) for key, text in words("question").items()}
        rubric = "".join(f"<div><label><input type='checkbox'><span>{inline(point)}</span></label></div>"
                         for point in self.rubric)
        links = ", ".join(f"<a href='#question-{part}'>{part[3:].replace('-', ' ')}</a>" for part in self.parts)
        parts = f"<p class='ts-q-parts'>{say['parts']} {links}</p>" if links else ""
        return (f"<label class='ts-q-written'><span>{say['yourAnswer']}</span>"
                f"<textarea rows='5' autocomplete='off'></textarea></label>{parts}"
                f"<div class='ts-q-model' hidden><p><strong>{say['model']}</strong></p>"
                f"<div role='group' aria-label='{say['rubric']}'><p><strong>{say['rubric']}</strong></p>"
                f"<div class='ts-q-options'>{rubric}</div></div></div>")

    def solution(self) -> str:
        return (f"<blockquote>{inline(self.model)}</blockquote><ul>"
                + "".join(f"<li>{inline(point)}</li>" for point in self.rubric) + "</ul>")

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n  in your own words, then graded by {len(self.rubric)} points"


def written(*, id: str, text: str, model_answer: str, rubric: Sequence[str], parts: Sequence[str] = (),
            **about: Any) -> WrittenQuestion:
    """A question that is answered in words; it counts as right when the reader finds every point of the rubric in it.

    `parts`: ids of the questions of the same lesson whose computed answers back the model answer.
    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return WrittenQuestion(id=id, text=text, model=model_answer, rubric=rubric, parts=parts, **about)
