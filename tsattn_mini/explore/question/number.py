"""The answer is a number; known mistakes lead to numbers that are told apart."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import floor, inf, isfinite, log10
from typing import Any

from torch import Tensor

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.draw import Draw
from tsattn_mini.explore.question.drawing import Drawing
from tsattn_mini.explore.question.text import inline
from tsattn_mini.visible import escape


@dataclass(frozen=True)
class Slip:
    """A wrong number that a known mistake leads to, and what to say to the reader who made it.

    `value` is the number, computes it, or in a question with `draws` names the step that holds it. `slip` names where
    the mistake was seen: "claim 18", "defects: …" or "released …".
    """

    value: float | Callable[[], float] | str
    feedback: str
    slip: str | None = None

    def number(self) -> float:
        """The wrong number, computed anew."""
        return float(self.value() if callable(self.value) else self.value)


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
    drawing: Drawing | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(callable(self.compute), "answer", "a callable that computes it", repr(self.compute))
        self.expect(isfinite(self.answer()), "answer", "a finite number", str(self.answer()))
        self.expect(0 < self.tolerance < inf, "tolerance", "a finite number above 0", str(self.tolerance))
        for name in ("right", "wrong"):
            self.expect(bool(getattr(self, name).strip()), name, "a sentence", repr(getattr(self, name)))
        taken = {"the right answer": self.answer()}
        for name, slip in self.slips.items():
            at = f"slips[{name!r}]"
            self.expect(not isinstance(slip.value, str), f"{at}.value", "a number, or draws and the name of a step",
                        repr(slip.value))
            value = slip.number()
            self.expect(isfinite(value), f"{at}.value", "a finite number", str(value))
            self.expect_remark(at, slip)
            for other, number in taken.items():
                self.expect(abs(value - number) > self.tolerance, f"{at}.value",
                            f"more than {self.tolerance} away from {other}, {number}", str(value))
            taken[at] = value

    def answer(self) -> float:
        return float(self.compute())

    def remarks(self) -> Iterable[Slip]:
        return self.slips.values()

    def at(self, seed: int) -> "NumberQuestion":
        """The same question with the numbers of `seed`, as the page draws them; seed 0 stands for the first ones."""
        self.expect(self.drawing is not None, "at", "a question with draws", "one without")
        return replace(self, drawing=None, **self.drawing.asked(seed))

    def data(self) -> dict:
        drawn = {"draws": self.drawing.data()} if self.drawing else {}
        return {"answer": self.answer(), "tolerance": self.tolerance, "unit": self.unit,
                "right": inline(self.right), "wrong": inline(self.wrong),
                "slips": [{"value": s.number(), "feedback": inline(s.feedback)} for s in self.slips.values()],
                **drawn}

    def controls(self) -> str:
        # The decimal keypad of a phone has no minus sign.
        signed = min([self.answer(), *(slip.number() for slip in self.slips.values())]) < 0
        unit = f"<span>{inline(self.unit)}</span>" if self.unit else ""
        return (f"<label class='ts-q-number'><span>{escape(words('question')['yourAnswer'])}</span>"
                f"<input type='text' inputmode='{'text' if signed else 'decimal'}' autocomplete='off' "
                f"spellcheck='false'>{unit}</label>")

    def kernel(self) -> Callable[[dict], dict[str, bytes]] | None:
        return self.drawing and self.drawing.answered

    def more(self) -> str:
        """Buttons for other numbers."""
        if not self.drawing:
            return ""
        say = {key: escape(text) for key, text in words("draw").items()}
        return (f"<div class='ts-q-draw'><button type='button' data-draw='new'>{say['new']}</button>"
                f"<button type='button' data-draw='first' hidden>{say['first']}</button>"
                "<p data-drawn aria-live='polite'></p></div>")

    def solution(self) -> str:
        places = max(0, 1 - floor(log10(self.tolerance)))
        number = f"{round(self.answer(), places) + 0.0:.{places}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return f"<strong>{f'{number} {inline(self.unit)}'.strip()}</strong><br>{inline(self.right)}"

    def __repr__(self) -> str:
        return super().__repr__() + "\n  a number" + (f" in {self.unit}" if self.unit else "")


def number(*, id: str, text: str, answer: Callable[..., float | Tensor], right: str, wrong: str,
           tolerance: float = 0.01, unit: str = "", slips: Mapping[str, Slip] | None = None,
           draws: Mapping[str, Draw] | None = None, first: Mapping[str, Any] | None = None,
           **about: Any) -> NumberQuestion:
    """A question whose answer is a number.

    `right` is said to the right number, `wrong` to a number that none of the `slips` explains.
    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    With `draws` the reader can ask for new numbers, `first` are those the page comes with, and `answer` is torch code
    that takes the tensors of `draws` by name and returns a scalar; how to write one is said in `question/drawing.py`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.

    >>> q = number(id="01-sum", text="1 + 1?", answer=lambda: 1.0 + 1.0, right="Yes.", wrong="Count again.")
    >>> q.answer()
    2.0
    """
    asked = {"text": text, "right": right, "wrong": wrong, "compute": answer, "slips": slips or {}, **about}
    if draws is not None:
        asked |= _first(id, draws, first or {}, asked, tolerance)
    return NumberQuestion(id=id, tolerance=tolerance, unit=unit, **asked)


def _first(id: str, draws: Mapping[str, Draw], first: Mapping[str, Any], asked: Mapping[str, Any],
           tolerance: float) -> dict[str, Any]:
    """The question with its first numbers, and the drawing that asks it with others."""
    texts = {name: asked[name] for name in ("text", "hint", "right", "wrong") if asked.get(name)}
    try:
        drawing = Drawing(asked["compute"], draws, first, texts, asked["slips"], tolerance)
    except ValueError as error:
        raise ValueError(f"{id}: {error}") from error
    return {**drawing.asked(0), "drawing": drawing}
