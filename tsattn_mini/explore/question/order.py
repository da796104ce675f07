"""Lines to be put in order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tsattn_mini.explore.element import words
from tsattn_mini.explore.question.base import Question, computed
from tsattn_mini.explore.question.option import Option, Pair
from tsattn_mini.explore.question.text import inline, plain, points
from tsattn_mini.visible import escape


@dataclass(frozen=True, repr=False, kw_only=True)
class OrderQuestion(Question):
    """The items are shown in the order given, and moved by the reader."""

    kind = "order"
    items: Mapping[str, Option]
    keys: Sequence[str] | Callable[[], Sequence[str]]
    right: str
    pairs: Sequence[Pair] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect_options("items", self.items)
        self.expect(bool(self.right.strip()), "right", "a sentence", repr(self.right))
        found = computed(self.keys)
        self.expect(isinstance(found, (list, tuple)) and sorted(found) == sorted(self.items), "answer",
                    f"each of {list(self.items)} once", repr(found))
        self.expect(list(found) != list(self.items), "items", "another order than the answer", repr(found))
        for i, pair in enumerate(self.pairs):
            at, joined = f"pairs[{i}]", (pair.first, pair.second)
            self.expect(set(joined) <= set(self.items), at, f"keys of {list(self.items)}", repr(joined))
            self.expect(found.index(pair.first) > found.index(pair.second), at, "a wrong order", repr(joined))
            self.expect_remark(at, pair)

    def answer(self) -> list[str]:
        return list(computed(self.keys))

    def remarks(self) -> Iterable[Option | Pair]:
        return [*self.items.values(), *self.pairs]

    def data(self) -> dict:
        return {"answer": self.answer(), "items": list(self.items), "right": inline(self.right),
                "feedback": {key: inline(item.feedback) for key, item in self.items.items()},
                "pairs": [pair.data() for pair in self.pairs]}

    def controls(self) -> str:
        say = words("question")

        def button(by: int, label: str, item: Option) -> str:
            label = escape(say[label]).replace("{item}", plain(item.text))
            return f"<button type='button' data-move='{by}' aria-label='{label}'>{'↑' if by < 0 else '↓'}</button>"

        lines = "".join(f"<li data-key='{escape(key)}'><span>{inline(item.text)}</span>"
                        f"{button(-1, 'moveUp', item)}{button(1, 'moveDown', item)}</li>"
                        for key, item in self.items.items())
        return f"<ol class='ts-q-order'>{lines}</ol><p class='ts-q-moved' aria-live='polite'></p>"

    def solution(self) -> str:
        return points(((self.items[key].text, self.items[key].feedback) for key in self.answer()), tag="ol")

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"  ↕ {item.text}" for item in self.items.values())])


def order(*, id: str, text: str, items: Mapping[str, Option], answer: Sequence[str] | Callable[[], Sequence[str]],
          right: str, pairs: Sequence[Pair] = (), **about: Any) -> OrderQuestion:
    """A question whose answer is an order. `answer` is the list of the keys of `items`, or computes it.

    An item's feedback says why it stands where it stands; a pair's feedback is said instead to who has its `first`
    item before its `second`. `right` is said to the whole order.
    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.
    """
    return OrderQuestion(id=id, text=text, items=items, keys=answer, right=right, pairs=pairs, **about)
