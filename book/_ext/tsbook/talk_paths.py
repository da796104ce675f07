"""Ways through the whole book that fit into a given time, read from book/talks/paths.yaml and checked.

A file is a list of paths:

    - minutes: 30
      title: In half an hour
      about: for whom it is                   # Markdown
      steps:
        - lesson: "09"
          at: a-row-of-zeros                  # a section; the id of a question, an explorer or a place: a single slide
          slides: 2                           # how many of it, from its first on, a minute each
          say: what this step is for          # Markdown, one sentence

A section is named by its anchor and not by a number, so that a path survives slides that come and go before it.
"""

from dataclasses import dataclass
from pathlib import Path

import yaml

from tsbook import notebooks
from tsbook.talk import plan
from tsbook.talk_entries import is_text

FILE = "book/talks/paths.yaml"


@dataclass(frozen=True)
class Step:
    """`slides` slides of lesson `lesson`, from the first of those at `at` on."""

    lesson: str
    at: str
    slides: int
    say: str


@dataclass(frozen=True)
class Route:
    """Slides of several lessons, a minute each, in the order in which they are shown."""

    minutes: int
    title: str
    about: str
    steps: tuple[Step, ...]


def read(path):
    """The paths of the file.

    Raises:
        ValueError: a path is not as described above, or its minutes do not add up; names the path.
    """
    return [route(entry, Path(path).name) for entry in yaml.safe_load(Path(path).read_text("utf8"))]


def route(entry, name):
    """One path of the file `name`, checked."""
    def expect(holds, expected, got):
        if not holds:
            raise ValueError(f"{name}, {entry.get('title')}: expected {expected}, got {got}")

    expect(set(entry) == {"minutes", "title", "about", "steps"}, "minutes, title, about and steps", entry)
    for step in entry["steps"]:
        expect(set(step) == {"lesson", "at", "slides", "say"}, "lesson, at, slides and say", step)
        expect(all(is_text(step[field]) for field in ("lesson", "at", "say")), "words", step)
        expect(isinstance(step["slides"], int) and step["slides"] > 0, "a number of slides", step)
    steps = tuple(Step(**step) for step in entry["steps"])
    total = sum(step.slides for step in steps)
    expect(total == entry["minutes"], f"steps of {entry['minutes']} minutes in all", total)
    return Route(entry["minutes"], entry["title"], entry["about"], steps)


def numbers(notebook, step):
    """The numbers of the slides, from 1, that a step shows of its lesson.

    Raises:
        ValueError: no slide stands at `step.at`, or too few do.
    """
    found = [i for i, slide in enumerate(plan(notebook), 1) if stands_at(notebook, slide, step.at)]
    if len(found) < step.slides:
        raise ValueError(f"lesson {step.lesson}: expected {step.slides} slides at {step.at!r}, got {len(found)}")
    return found[:step.slides]


def stands_at(notebook, slide, at):
    """Whether a slide belongs to the section `at`, or shows the cell in which `at` stands."""
    return at == slide.section or any(at in notebooks.anchors(notebook["cells"][i]) for i in slide.cells)
