"""The answer is a number; known mistakes lead to numbers that are told apart."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from math import floor, inf, isfinite, log10
from typing import Any

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.text import inline


@dataclass(frozen=True)
class Slip:
    """A wrong number that a known mistake leads to, and what to say to the reader who made it.

    `slip` names where the mistake was seen: "claim 18", "defects: …" or "released …".
    """

    value: float | Callable[[], float]
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
            self.expect_remark(at, slip)
            for other, number in taken.items():
                self.expect(abs(value - number) > self.tolerance, f"{at}.value",
                            f"more than {self.tolerance} away from {other}, {number}", str(value))
            taken[at] = value

    def answer(self) -> float:
        return float(self.compute())

    def remarks(self) -> Iterable[Slip]:
        return self.slips.values()

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


def number(*, id: str, text: str, answer: Callable[[], float], right: str, wrong: str,
           tolerance: float = 0.01, unit: str = "", slips: Mapping[str, Slip] | None = None,
           **about: Any) -> NumberQuestion:
    """A question whose answer is a number.

    `right` is said to the right number, `wrong` to a number that none of the `slips` explains.
    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return NumberQuestion(id=id, text=text, compute=answer, right=right, wrong=wrong, tolerance=tolerance,
                          unit=unit, slips=slips or {}, **about)
