"""Each item of the left side has a partner on the right side."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question.base import Question, computed
from tsattn_mini.explore.question.option import Option, Pair
from tsattn_mini.explore.question.text import inline, plain, points
from tsattn_mini.visible import escape


@dataclass(frozen=True, repr=False, kw_only=True)
class MatchQuestion(Question):
    """One partner is chosen for each item on the left; a partner may serve twice or not at all."""

    kind = "match"
    left: Mapping[str, Option]
    right: Mapping[str, str]
    partners: Mapping[str, str] | Callable[[], Mapping[str, str]]
    pairs: Sequence[Pair] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect_options("left", self.left)
        self.expect(len(self.right) >= 2, "right", "at least two", str(len(self.right)))
        for key, text in self.right.items():
            self.expect(bool(text.strip()), f"right[{key!r}]", "a sentence", repr(text))
        found = computed(self.partners)
        self.expect(isinstance(found, Mapping) and set(found) == set(self.left)
                    and set(found.values()) <= set(self.right), "answer",
                    f"one of {list(self.right)} for each of {list(self.left)}",
                    repr(found))
        self.expect([found[key] for key in self.left] != list(self.right), "right", "another order than the answer",
                    repr(list(self.right)))
        for i, pair in enumerate(self.pairs):
            at, joined = f"pairs[{i}]", (pair.first, pair.second)
            self.expect(pair.first in self.left and pair.second in self.right, at,
                        f"one of {list(self.left)} and one of {list(self.right)}", repr(joined))
            self.expect(found[pair.first] != pair.second, at, "a wrong pair", repr(joined))
            self.expect_remark(at, pair)

    def answer(self) -> dict[str, str]:
        found = computed(self.partners)
        return {key: found[key] for key in self.left}

    def remarks(self) -> Iterable[Option | Pair]:
        return [*self.left.values(), *self.pairs]

    def data(self) -> dict:
        return {"answer": self.answer(), "feedback": {key: inline(item.feedback) for key, item in self.left.items()},
                "pairs": [pair.data() for pair in self.pairs]}

    def controls(self) -> str:
        say = words("question")
        choices = f"<option value=''>{escape(say['choose'])}</option>" + "".join(
            f"<option value='{escape(key)}'>{plain(text)}</option>" for key, text in self.right.items())
        rows = "".join(f"<div><label><span>{inline(item.text)}</span><select data-key='{escape(key)}' "
                       f"autocomplete='off'>{choices}</select></label></div>" for key, item in self.left.items())
        offers = "".join(f"<li>{inline(text)}</li>" for text in self.right.values())
        return (f"<div class='ts-q-match'>{rows}</div>"
                f"<div class='ts-q-offers' hidden>{escape(say['offers'])}<ul>{offers}</ul></div>")

    def solution(self) -> str:
        return points((f"{item.text} → {self.right[self.answer()[key]]}", item.feedback)
                      for key, item in self.left.items())

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"  {item.text} → ?" for item in self.left.values()),
                          *(f"  ? = {text}" for text in self.right.values())])


def match(*, id: str, text: str, left: Mapping[str, Option], right: Mapping[str, str],
          answer: Mapping[str, str] | Callable[[], Mapping[str, str]], pairs: Sequence[Pair] = (),
          **about: Any) -> MatchQuestion:
    """A question whose answer is pairs. `answer` is a dict from keys of `left` to keys of `right`, or computes it.

    An item's feedback says why its partner is its partner; a pair's feedback is said instead to who joined its
    `first` and `second`. `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return MatchQuestion(id=id, text=text, left=left, right=right, partners=answer, pairs=pairs, **about)
