"""One round of questions: asked, judged, counted."""

import re
import sys
from collections.abc import Callable, Iterable
from html import unescape
from itertools import count

from tsattn_mini.cli.asking import Given, Refused, asks, offers, places, read
from tsattn_mini.cli.judging import SAY, Verdict, judge, shown
from tsattn_mini.cli.lessons import notebooks, title
from tsattn_mini.cli.progress import Entries, counted
from tsattn_mini.cli.terminal import coloured, columns, folded
from tsattn_mini.explore.question import NumberQuestion, Question, WrittenQuestion


class Ended(Exception):
    """The reader has had enough."""


class Skipped(Exception):
    """The reader leaves this question."""


class Round:
    """Asks questions one after the other and keeps the score.

    Args:
        entries: of the progress file; keep: called with the entries after every answer.
        seed: of new numbers; None asks with those of the lesson.
    """

    def __init__(self, entries: Entries, keep: Callable[[Entries], None], seed: int | None) -> None:
        self.entries, self.keep, self.seed = entries, keep, seed
        self.asked: list[Question] = []
        self.solved: dict[str, int] = {}  # id → at which try
        self.tried: set[str] = set()

    def ask(self, questions: Iterable[Question]) -> None:
        """Ask until there is no question left, or the reader ends it; then print the score."""
        try:
            for number, question in enumerate(questions, 1):
                self.asked.append(question)
                self._one(number, question)
        except (Ended, EOFError):
            print()
        self._score()

    def _one(self, number: int, question: Question) -> None:
        seed = self.seed if isinstance(question, NumberQuestion) and question.drawing else None
        question = question.at(seed) if seed else question
        self._show(number, question, seed)
        for attempt in count(1):
            try:
                given = _written(question) if isinstance(question, WrittenQuestion) else _given(question)
            except Skipped:
                return
            verdict = judge(question, given.value)
            self.tried.add(question.id)
            last = f"{given.last} #{seed}" if seed else given.last
            self.entries = counted(self.entries, question.id, verdict.right, last)
            self.keep(self.entries)
            _tell(verdict, given.note)
            if verdict.right:
                self.solved[question.id] = attempt
                return
            if not _again(question):
                return

    def _show(self, number: int, question: Question, seed: int | None) -> None:
        about = f"Question {number} · {question.id} · {SAY[f'level{question.difficulty}']}"
        print(f"\n{coloured(about + (f' · numbers {seed}' if seed else ''), 'dim')}")
        _print(shown(question.text), "bold")
        for sign, text in offers(question):
            _line(sign, text)
        if self.entries.get(question.id, {}).get("right"):
            _print("Solved before.", "dim")

    def _score(self) -> None:
        left, at_once = len(self.asked) - len(self.tried), sum(at == 1 for at in self.solved.values())
        print(f"\nScore: {len(self.solved)} of {len(self.asked)} solved, {at_once} at the first try"
              + (f", {left} left out" if left else ""))
        wrong = {q.lesson for q in self.asked if q.id in self.tried and q.id not in self.solved}
        for notebook in notebooks():
            if notebook.stem in wrong:
                print(f"Read again: {title(notebook)}   (tsattn-mini lessons open {notebook.stem[:2]})")


def _given(question: Question) -> Given:
    """Ask until what was typed is an answer."""
    while True:
        try:
            return read(question, _typed(question, f"type {asks(question)}: "))
        except Refused as why:
            _print(str(why))


def _written(question: WrittenQuestion) -> Given:
    """Words, then the points that the reader finds in them."""
    lines = []
    while not lines:
        line = _typed(question, f"type {asks(question)}:\n")
        while line.strip():
            lines.append(line)
            line = _line_in("")
        if not lines:
            _print(SAY["writeFirst"])
    text = "\n".join(lines)
    _print(f"{SAY['model']}: {shown(question.model)}")
    print(SAY["rubric"])
    for i, point in enumerate(question.rubric, 1):
        _line(str(i), shown(point))
    while True:
        try:
            typed = _typed(question, "their numbers, or 0 for none: ")
            points = [] if typed.strip() == "0" else sorted(places(typed, len(question.rubric)))
            return Given(points, {"text": text, "points": points})
        except Refused as why:
            _print(str(why))


def _typed(question: Question, prompt: str) -> str:
    """A line that is none of the commands.

    Raises:
        Skipped, Ended: the commands.
    """
    while True:
        typed = _line_in(f"  {prompt}")
        match typed.strip().lower():
            case "q":
                raise Ended
            case "s":
                raise Skipped
            case "?":
                _print(shown(question.hint) if question.hint else "There is no hint for this one.")
            case _:
                return typed


def _line_in(prompt: str) -> str:
    """What is typed; where it comes from a file, it is shown as if it were."""
    typed = input(prompt)
    if not sys.stdin.isatty():
        print(typed)
    return typed


def _tell(verdict: Verdict, note: str) -> None:
    _print(" ".join(filter(None, [SAY["right" if verdict.right else "wrong"], note, verdict.said])),
           "right" if verdict.right else "wrong")
    for title_, text in verdict.remarks:
        _print(f"• {title_}")
        if text:
            print(folded(text, columns(), "    "))


def _again(question: Question) -> bool:
    """After a wrong answer: once more?"""
    match _line_in("  Enter goes on, r tries again, a shows the answer: ").strip().lower():
        case "r":
            return True
        case "a":
            text = re.sub(r"<br>|</li>|</strong>(?=<)|</blockquote>", "\n", question.solution())
            for line in filter(None, unescape(re.sub(r"<[^>]+>", "", text)).splitlines()):
                _print(line)
        case "q":
            raise Ended
    return False


def _print(text: str, colour: str | None = None) -> None:
    lines = folded(text, columns(), "  ")
    print(coloured(lines, colour) if colour else lines)


def _line(sign: str, text: str) -> None:
    print(f"{sign:>4}  {folded(text, columns(), ' ' * 6).lstrip()}")
