"""Several of the options may be right; the answer is right when it holds all of these and no other."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tsattn_mini.explore.question.base import computed
from tsattn_mini.explore.question.option import Option
from tsattn_mini.explore.question.options import OptionsQuestion
from tsattn_mini.explore.question.text import points


@dataclass(frozen=True, repr=False, kw_only=True)
class SeveralQuestion(OptionsQuestion):
    """Every option that holds is to be ticked."""

    kind = "several"
    box = "type='checkbox' value='{key}'"
    sign = "[ ]"
    keys: Collection[str] | Callable[[], Collection[str]]

    def __post_init__(self) -> None:
        super().__post_init__()
        found = computed(self.keys)
        self.expect(isinstance(found, (set, frozenset)) and set() < found <= set(self.options), "answer",
                    f"a set of some of {list(self.options)}", repr(found))

    def answer(self) -> list[str]:
        """The keys of the options that hold, in the order in which they are shown."""
        found = computed(self.keys)
        return [key for key in self.options if key in found]

    def solution(self) -> str:
        return points((self.options[key].text, self.options[key].feedback) for key in self.answer())


def several(*, id: str, text: str, options: Mapping[str, Option],
            answer: Collection[str] | Callable[[], Collection[str]], **about: Any) -> SeveralQuestion:
    """A question with one right option or more. `answer` is the set of their keys, or computes it.

    An option's feedback says why it holds or why it does not; who missed it and who ticked it wrongly both read it.
    `about`: hint, lesson, difficulty, claims and show, as for every `Question`.

    Raises:
        ValueError: when an argument cannot make a question; names it, what was expected and what came.

    >>> options = {"two": Option("2", "Even."), "three": Option("3", "Odd.")}
    >>> several(id="01-even", text="Which are even?", answer={"two"}, options=options).answer()
    ['two']
    """
    return SeveralQuestion(id=id, text=text, options=options, keys=answer, **about)
