"""What the kinds that choose among options share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from tsattn_mini.explore.question.base import Question
from tsattn_mini.explore.question.option import Option
from tsattn_mini.explore.question.text import inline
from tsattn_mini.visible import escape


@dataclass(frozen=True, repr=False, kw_only=True)
class OptionsQuestion(Question):
    """Options to choose among: each with a native input, `box`, and a sign for it in a stored notebook, `sign`."""

    box: ClassVar[str]
    sign: ClassVar[str]
    options: Mapping[str, Option]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect_options("options", self.options)

    def remarks(self) -> Iterable[Option]:
        return self.options.values()

    def data(self) -> dict:
        return {"answer": self.answer(),
                "feedback": {key: inline(option.feedback) for key, option in self.options.items()}}

    def controls(self) -> str:
        return "<div class='ts-q-options'>" + "".join(
            f"<div><label><input {self.box.format(id=self.id, key=escape(key))}>"
            f"<span>{inline(option.text)}</span></label></div>" for key, option in self.options.items()) + "</div>"

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *(f"  {self.sign} {option.text}" for option in self.options.values())])
