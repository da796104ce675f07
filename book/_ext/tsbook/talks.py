"""Directives of the page of talks: `{talks}` has a section for each lesson, `{talk-paths}` ways through all of them.

Numbers of slides and minutes come from `talk.plan`, titles from the lessons; what a speaker has to know is written in
book/talks/*.yaml. A lesson of the book without its file there stops the build.
"""

import re
from itertools import groupby
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tsbook import notebooks, talk_entries, talk_paths
from tsbook.handouts import page_of
from tsbook.talk import plan
from tsbook.talk_entries import entry_of, lessons

PLAN = re.compile(r"\*\*Plan, (\d+) minutes\.\*\*")


def say():
    """The strings of the page; imported late, as Sphinx alone needs no package."""
    from tsattn_mini.explore.element import words
    return words("talks")


class TalkDirective(SphinxDirective):
    """What both directives need."""

    def run(self):
        self.say = say()
        self.paths = lessons(Path(self.env.srcdir, "lessons"))
        for path in [*self.paths.values(), *Path(self.env.srcdir, talk_entries.FOLDER).glob("*.yaml")]:
            self.env.note_dependency(str(path))
        try:
            return self.content_nodes()
        except ValueError as error:
            raise ExtensionError(str(error)) from error

    def markdown(self, text, kind):
        """The Markdown `text` in a box of the class `kind`."""
        box = nodes.container(classes=[kind])
        self.state.nested_parse(StringList(text.splitlines(), self.get_source_info()[0]), self.content_offset, box)
        return box

    def inline(self, text):
        return self.state.inline_text(text, self.lineno)[0]

    def built(self, number):
        """Whether this book has lesson `number`."""
        return f"lessons/{self.paths[number].stem}" in self.env.found_docs

    def link(self, number, rest, shown):
        """A link to the page of a lesson, with `rest` behind its address; plain words where this book has none."""
        if not self.built(number):
            return nodes.inline("", "", *shown)
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"lessons/{self.paths[number].stem}")
        return nodes.reference("", "", *shown, refuri=page + rest, internal=True)

    def section_title(self, number, at):
        """The title of a section of a lesson, as inline nodes."""
        cells = notebooks.section(notebooks.read(self.paths[number]), at)
        return self.inline(notebooks.heading(cells[0])[1])


class Talks(TalkDirective):
    """A section for each lesson of this book: slides, needs, questions, what to drop, the handout."""

    def content_nodes(self):
        return [self.talk(number) for number in self.paths if self.built(number)]

    def talk(self, number):
        notebook, entry = notebooks.read(self.paths[number]), entry_of(self.env.srcdir, number)
        slides = plan(notebook)
        talk_entries.check_places(f"{number}.yaml", entry, list(dict.fromkeys(slide.section for slide in slides)))
        box = nodes.section(ids=[f"talk-{number}"], names=[f"talk-{number}"], classes=["ts-lecture"])
        box += nodes.title("", "", *self.inline(notebooks.heading(notebook["cells"][0])[1]))
        needs = self.markdown(f"**{self.say['needs']}** {entry.needs}", "ts-lecture-needs")
        box += [self.doors(number, len(slides), planned(notebook)), needs, self.drop(number, entry, slides),
                *self.questions(number, entry)]
        return box

    def doors(self, number, count, plan):
        """The links that open slides and handout, and how long the talk is: by its slides, by the speaker's `plan`."""
        handout = self.env.app.builder.get_relative_uri(self.env.docname, page_of(number))
        length = self.say["planned" if plan else "length"].format(slides=count, minutes=count, planned=plan)
        return nodes.paragraph(
            "", "", self.link(number, "?talk", [nodes.Text(self.say["open"])]), nodes.Text(f" {length} · "),
            nodes.reference("", self.say["handout"], refuri=handout, internal=True), classes=["ts-lecture-doors"])

    def drop(self, number, entry, slides):
        """Which sections to leave out, with the minutes that each of them saves."""
        line, left = nodes.paragraph("", self.say["short"], classes=["ts-lecture-drop"]), len(slides)
        for i, at in enumerate(entry.drop):
            saved = sum(slide.section == at for slide in slides)
            left -= saved
            line += [nodes.Text(", " if i else " "), self.link(number, f"#{at}", self.section_title(number, at)),
                     nodes.Text(f" ({saved})")]
        line += nodes.Text(self.say["left"].format(minutes=left))
        return line

    def questions(self, number, entry):
        """The hard questions in a fold; each answer ends in the place that shows it."""
        summary = self.say["questions"].format(count=len(entry.questions))
        found = nodes.definition_list(classes=["ts-lecture-asked"])
        for one in entry.questions:
            answer = self.markdown(one.answer, "ts-lecture-answer")
            shown = self.link(number, f"#{one.at}", self.section_title(number, one.at))
            answer.children[-1] += [nodes.Text(f" {self.say['shown']} "), shown]
            found += nodes.definition_list_item("", nodes.term("", "", *self.inline(one.ask)),
                                                nodes.definition("", *answer.children))
        return [raw(f"<details class='ts-lecture-questions'><summary>{summary}</summary>"), found, raw("</details>")]


def planned(notebook):
    """The minutes of the plan that opens the speaker notes of a lesson; None where there is no plan."""
    found = filter(None, (PLAN.search(notebooks.source(cell)) for cell in notebook["cells"]))
    return next((match[1] for match in found), None)


class TalkPaths(TalkDirective):
    """The ways through the whole book, each step a link to the slide that it begins with."""

    def content_nodes(self):
        return [self.path(path) for path in talk_paths.read(Path(self.env.srcdir, talk_paths.FILE))]

    def path(self, path):
        box = nodes.section(ids=[f"path-{path.minutes}"], names=[f"path-{path.minutes}"], classes=["ts-path"])
        box += [nodes.title("", path.title), self.markdown(path.about, "ts-path-about")]
        stops, minute = nodes.bullet_list(classes=["ts-path-stops"]), 0
        for number, steps in groupby(path.steps, key=lambda step: step.lesson):
            stop = nodes.bullet_list()
            stops += nodes.list_item("", self.stop(number, minute), stop)
            for step in steps:
                stop += nodes.list_item("", self.step(step))
                minute += step.slides
        box += [stops, nodes.paragraph("", self.say["total"].format(minutes=minute))]
        return box

    def stop(self, number, minute):
        """When a lesson's turn comes."""
        title = notebooks.heading(notebooks.read(self.paths[number])["cells"][0])[1]
        line = nodes.paragraph("", "", nodes.strong("", self.say["from"].format(minute=minute)), nodes.Text(" "))
        line += self.inline(title)
        return line

    def step(self, step):
        """One line: which slides, and what for."""
        notebook = notebooks.read(self.paths[step.lesson])
        shown = talk_paths.numbers(notebook, step)
        first = plan(notebook)[shown[0] - 1]
        words = self.inline(first.title)
        if first.kind in self.say["kinds"]:
            words.append(nodes.Text(f" ({self.say['kinds'][first.kind]})"))
        count = self.say["slides" if len(shown) > 1 else "slide"].format(first=shown[0], last=shown[-1])
        line = nodes.paragraph("", "", self.link(step.lesson, f"?talk#{step.at}", words), nodes.Text(f", {count}. "))
        line += self.inline(step.say)
        return line


def raw(html):
    return nodes.raw("", html, format="html")


def setup(app):
    app.add_directive("talks", Talks)
    app.add_directive("talk-paths", TalkPaths)
