"""`tsattn-mini quiz`: the check questions in the terminal, with the feedback that the page gives, and a score."""

import argparse
import random
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING

from tsattn_mini.cli import progress
from tsattn_mini.cli.given import a_path
from tsattn_mini.cli.lessons import find, notebooks
from tsattn_mini.cli.terminal import coloured, say, waiting

if TYPE_CHECKING:
    from tsattn_mini.explore.question import Question

DEFAULT = 10  # questions, of the whole book
SEEDS = 10_000
EPILOG = """
examples:
  tsattn-mini quiz 05                       every question of lesson 05, in its order
  tsattn-mini quiz 05 --number 3            three of them, drawn
  tsattn-mini quiz --number 20 --seed 7     twenty of the whole book; the same twenty for everybody with seed 7
  tsattn-mini quiz 01 --new-numbers         with other numbers than in the lesson, where a question can be asked so
  tsattn-mini quiz 05 --progress mine.json  remembers what was solved; the self-test page loads and saves the same file

At a question: s skips it, ? shows a hint, q or Ctrl-D ends the quiz with the score.
"""


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("quiz", parents=[shared], help="ask the check questions in the terminal",
                                 description="Ask the check questions of one lesson, or of the whole book.",
                                 epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lesson", nargs="?", help="its number or the beginning of its name; left out, the whole book")
    parser.add_argument("--number", type=int, metavar="N", help="how many questions; left out, all of the lesson, or "
                        f"{DEFAULT} of the book")
    parser.add_argument("--seed", type=int, metavar="S", help="which questions are drawn, and which new numbers")
    parser.add_argument("--new-numbers", action="store_true", help="ask with new numbers where a question can be")
    parser.add_argument("--progress", type=a_path, metavar="FILE", help="remember tries and what was solved there")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> None:
    """Ask, judge, count.

    Raises:
        ValueError: a lesson without questions, a number below 1, a seed below 0, or a file that is no progress file.
    """
    for name, value, least in (("number", asked.number, 1), ("seed", asked.seed, 0)):
        if value is not None and value < least:
            raise ValueError(f"{name}: expected {least} or more, got {value}")
    entries, skipped = progress.read(asked.progress) if asked.progress else ({}, [])
    if skipped:
        say(f"left out of {asked.progress}, because they could not be read: {', '.join(skipped[:5])}")
    seed = random.randrange(1, SEEDS) if asked.seed is None else asked.seed
    drawn = asked.lesson is None or asked.number is not None
    chosen = _of_the_book(seed) if asked.lesson is None else _of_a_lesson(asked.lesson, seed if drawn else None)
    most = asked.number or (DEFAULT if asked.lesson is None else None)
    if drawn or asked.new_numbers:
        print(coloured(f"Seed {seed}: `--seed {seed}` asks the same again.", "dim"))
    from tsattn_mini.cli.round import Round
    keep = partial(progress.write, asked.progress) if asked.progress else lambda entries: None
    Round(entries, keep, seed if asked.new_numbers else None).ask(islice(chosen, most))


def _of_a_lesson(name: str, seed: int | None) -> "Iterator[Question]":
    """The questions of a lesson, in their order or drawn by a seed."""
    number = find(name).stem[:2]
    questions = _questions(number)
    if not questions:
        raise ValueError(f"lesson: expected one with questions, got {number}")
    return iter(questions if seed is None else random.Random(seed).sample(questions, len(questions)))


def _of_the_book(seed: int) -> "Iterator[Question]":
    """A question of one lesson after the other, in an order drawn by a seed, until none is left."""
    draw = random.Random(seed)
    numbers = [path.stem[:2] for path in notebooks()]
    draw.shuffle(numbers)
    seeds = {number: draw.randrange(SEEDS) for number in numbers}
    left = {}
    while numbers:
        for number in list(numbers):
            if number not in left:
                questions = _questions(number)
                left[number] = random.Random(seeds[number]).sample(questions, len(questions))
            if left[number]:
                yield left[number].pop()
            else:
                numbers.remove(number)


def _questions(number: str) -> "list[Question]":
    """The questions of a lesson; making them computes their answers."""
    with waiting(f"the questions of lesson {int(number)}"):
        try:
            return list(import_module(f"tsattn_mini.questions.lesson{number}").QUESTIONS)
        except ModuleNotFoundError as error:
            if error.name != f"tsattn_mini.questions.lesson{number}":
                raise
            return []
