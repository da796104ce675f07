"""A question in a terminal: what it offers, how its answer is typed, and what that means."""

import re
from functools import singledispatch
from string import ascii_lowercase
from typing import Any, NamedTuple

from tsattn_mini.cli.judging import SAY, shown
from tsattn_mini.cli.typed import Unread, read_number
from tsattn_mini.explore.question import (
    ChoiceQuestion,
    MatchQuestion,
    NumberQuestion,
    OrderQuestion,
    Question,
    SeveralQuestion,
    WrittenQuestion,
)


class Refused(ValueError):
    """What was typed is no answer; the message says what one looks like."""


class Given(NamedTuple):
    """An answer: what is judged, what is remembered, and a note on how it was read."""

    value: Any
    last: Any
    note: str = ""


@singledispatch
def offers(question: Question) -> list[tuple[str, str]]:
    """What can be typed, and what it stands for, line by line."""
    return []


@singledispatch
def asks(question: Question) -> str:
    """What to type, in a few words.

    Raises:
        TypeError: a question of a kind that no terminal knows.
    """
    raise TypeError(f"question: expected one of a known kind, got {type(question).__name__}")


@singledispatch
def read(question: Question, typed: str) -> Given:
    """The answer that was typed.

    Raises:
        Refused: when it is none.
    """
    raise TypeError(f"question: expected one of a known kind, got {type(question).__name__}")


def places(typed: str, most: int) -> list[int]:
    """Numbers of lines, counted from 0: "1 3", "1, 3", and "13" where there are fewer than ten lines.

    Raises:
        Refused: what is no such number, or one that comes twice.
    """
    words = re.findall(r"[0-9]" if most < 10 else r"[0-9]+", typed)
    found = [int(word) - 1 for word in words]
    if re.search(r"[^0-9\s,.;]", typed) or not all(0 <= i < most for i in found) or len(set(found)) != len(found):
        raise Refused(f"Type numbers from 1 to {most}, each at most once.")
    return found


@offers.register(ChoiceQuestion)
@offers.register(SeveralQuestion)
def _(question: ChoiceQuestion | SeveralQuestion) -> list[tuple[str, str]]:
    return [(str(i), shown(option.text)) for i, option in enumerate(question.options.values(), 1)]


@asks.register
def _(question: ChoiceQuestion) -> str:
    return "the number of one answer"


@read.register
def _(question: ChoiceQuestion, typed: str) -> Given:
    found = places(typed, len(question.options))
    if len(found) != 1:
        raise Refused(SAY["chooseOne"])
    key = list(question.options)[found[0]]
    return Given(key, key)


@asks.register
def _(question: SeveralQuestion) -> str:
    return "the numbers of all that hold, such as 1 3"


@read.register
def _(question: SeveralQuestion, typed: str) -> Given:
    found = places(typed, len(question.options))
    if not found:
        raise Refused(SAY["tickOne"])
    keys = [key for i, key in enumerate(question.options) if i in found]
    return Given(keys, keys)


@asks.register
def _(question: NumberQuestion) -> str:
    return f"a number in {shown(question.unit)}" if question.unit else "a number"


@read.register
def _(question: NumberQuestion, typed: str) -> Given:
    try:
        value, plainly = read_number(typed, question.unit)
    except Unread as problem:
        raise Refused(SAY[str(problem)].format(typed=typed.strip()[:40])) from problem
    note = "" if plainly else SAY["readAs"].format(typed=typed.strip()[:40], value=f"{value:.6g}")
    return Given(value, typed.strip(), note)


@offers.register
def _(question: OrderQuestion) -> list[tuple[str, str]]:
    return [(str(i), shown(item.text)) for i, item in enumerate(question.items.values(), 1)]


@asks.register
def _(question: OrderQuestion) -> str:
    return "the numbers of all lines in their order, such as " + " ".join(
        str(i) for i in [2, 1, *range(3, len(question.items) + 1)])


@read.register
def _(question: OrderQuestion, typed: str) -> Given:
    found, keys = places(typed, len(question.items)), list(question.items)
    if len(found) != len(keys):
        raise Refused(f"Type each number from 1 to {len(keys)} once, in the order you think right.")
    ordered = [keys[i] for i in found]
    return Given(ordered, ordered)


@offers.register
def _(question: MatchQuestion) -> list[tuple[str, str]]:
    return [*((str(i), f"{shown(item.text)} → ?") for i, item in enumerate(question.left.values(), 1)),
            *((letter, shown(text)) for letter, text in zip(ascii_lowercase, question.right.values(), strict=False))]


@asks.register
def _(question: MatchQuestion) -> str:
    return "the letter of a partner for each line, such as " + " ".join(
        f"{i}{ascii_lowercase[i % len(question.right)]}" for i in range(1, len(question.left) + 1))


@read.register
def _(question: MatchQuestion, typed: str) -> Given:
    keys, partners = list(question.left), list(question.right)
    packed = re.sub(r"[\s,.;:=→-]", "", typed.lower())
    pairs = re.findall(r"([0-9]*)([a-z])", packed)
    lines = [int(line) - 1 if line else i for i, (line, _) in enumerate(pairs)]
    letters = [ascii_lowercase.index(letter) for _, letter in pairs]
    whole = "".join(line + letter for line, letter in pairs) == packed
    if not whole or sorted(lines) != list(range(len(keys))) or max(letters) >= len(partners):
        raise Refused(f"Type one letter from a to {ascii_lowercase[len(partners) - 1]} for each line from 1 to "
                      f"{len(keys)}.")
    chosen = {keys[i]: partners[j] for i, j in zip(lines, letters, strict=True)}
    chosen = {key: chosen[key] for key in keys}
    return Given(chosen, chosen)


@asks.register
def _(question: WrittenQuestion) -> str:
    return "your answer; an empty line ends it"
