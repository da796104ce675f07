"""The words and symbols of the book, from `book/glossary/*.yaml` and `book/symbols/*.yaml`.

A name may mean one thing in one lesson and another in the next (δ, `A`, mode), so every entry has the lesson that
explains it and those in which it means this: the ones listed under `only`, or else all of its file's.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml
from sphinx.errors import SphinxError

LESSONS = range(1, 23)
PARTS = {"attention": LESSONS, "kite": range(8, 13), "engram": range(13, 16)}  # in other files: the entry's own lesson


class BadEntry(SphinxError):
    category = "A glossary or symbol file has a fault"


@dataclass(frozen=True, kw_only=True)
class Term:
    """A word: `also` are other names it goes by, `forms` more spellings that mean it.

    `once` marks a common word on its first place of a page only, `mark` false nowhere.
    """

    term: str
    zh: str
    means: str
    lesson: int
    also: list[str] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    only: list[int] = field(default_factory=list)
    once: bool = False
    mark: bool = True

    @property
    def key(self):
        """Its anchor on the glossary page."""
        return f"term-{slug(self.term).lower()}"

    def spellings(self):
        """Regular expressions for all its spellings: the plurals, and a capital where a sentence begins."""
        names = [re.escape(name) + ending(name) for name in (self.term, *self.also)]
        return [either_case(spelled).replace(r"\ ", r"\s+") for spelled in [*names, *map(re.escape, self.forms)]]

    def means_this(self, lesson):
        """Whether its spellings may be marked in a lesson (0: on a page that is no lesson)."""
        return self.mark and (not self.only or lesson in self.only)


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A tensor or a number by the names `code` that steps and functions give it; `symbol` is LaTeX in Markdown."""

    code: list[str]
    means: str
    lesson: int
    part: str
    symbol: str = ""
    axes: str = ""
    zh: str = ""
    only: list[int] = field(default_factory=list)

    @property
    def key(self):
        """Its anchor on the notation page."""
        return f"symbol-{self.lesson:02d}-{slug(self.code[0])}"

    @property
    def lessons(self):
        """Where its names mean this."""
        return self.only or PARTS.get(self.part, [self.lesson])


def slug(text):
    return re.sub(r"\W+", "-", text).strip("-")


def ending(word):
    """What may follow a word in the plural, as a regular expression."""
    return "(?:es)?" if re.search(r"([sxz]|[cs]h)$", word) else "s?"


def either_case(spelled):
    """A word that begins small may begin a sentence, and one in -y has its plural in -ies."""
    spelled = re.sub(r"(?<=[^aeiou])ys\?$", "(?:y|ies)", spelled)
    return f"[{spelled[0].upper()}{spelled[0]}]{spelled[1:]}" if spelled[0].islower() else spelled


def read(folder, make):
    """The entries of all files of a folder, in order of their names."""
    found = []
    for path in sorted(Path(folder).glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text("utf8")):
            try:
                found.append(make(path.stem, entry))
            except TypeError as error:
                raise BadEntry(f"{path.name}: {entry}: {error}") from None
    return found


@cache
def terms(book):
    """The glossary, A to Z."""
    return sorted(read(Path(book, "glossary"), lambda part, entry: Term(**entry)), key=lambda t: t.term.lower())


@cache
def symbols(book):
    """The symbols, part by part."""
    return read(Path(book, "symbols"), lambda part, entry: Symbol(part=part, **entry))


def lesson_of(page):
    """The number of a lesson's page, 0 for other pages."""
    found = re.match(r"lessons/(\d\d)_", page)
    return int(found[1]) if found else 0


def meant(entries, name, lesson, axes=None):
    """The symbol that `name` means in a lesson, or None; `axes` tell two tensors of one lesson apart."""
    def distance(entry):
        return (axes is not None and axes not in entry.axes.split(", "), entry.lesson != lesson, len(entry.lessons),
                abs(entry.lesson - lesson))
    return min((e for e in entries if name in e.code and lesson in e.lessons), key=distance, default=None)


def basename(step):
    """The name of a step without its scopes: `enc0/A` is an `A`."""
    return step.rpartition("/")[2]
