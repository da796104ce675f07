"""Directives of the page of claims: `{claims} 003` lists the rows of one file, `{claims-count}` counts all of them.

A row links to the questions that are built on its claim, as self_test.py gathers them.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tsbook.claims_html import claim_part, claim_questions, claim_row, filter_html, register, say, test_id
from tsbook.ledger import count, heading, read
from tsbook.self_test import lessons

FOLDER = "book/claims"
BUILT_ON = re.compile(r"<fieldset [^>]*?data-claims='([0-9 ]*)'")


class ClaimsDirective(SphinxDirective):
    """What both directives need."""

    def files(self):
        """The claims of every file by the file's name; the page is read again when one of them changes."""
        paths = sorted(Path(self.env.srcdir, FOLDER).glob("*.yaml"))
        for path in paths:
            self.env.note_dependency(str(path))
        try:
            return {path.stem: read(path) for path in paths}
        except ValueError as error:
            raise ExtensionError(str(error)) from error


class Claims(ClaimsDirective):
    """The rows of one file."""

    required_arguments = 1

    def run(self):
        files = self.files()
        self.env.tsbook_self_tests.add(self.env.docname)  # written anew when a question has changed
        if self.arguments[0] not in files:
            raise self.error(f"claims: expected one of {list(files)}, got {self.arguments[0]}")
        return [self.row(claim) for claim in files[self.arguments[0]].values()]

    def row(self, claim):
        row = claim_row(number=claim.number, verdict=claim.verdict)
        row += [self.part(name, text) for name, text in
                (("says", claim.claim), ("teach", claim.teach), ("note", claim.note)) if text]
        row += self.where(claim)
        return row

    def part(self, name, text):
        """The Markdown `text` as a part of a row."""
        part = claim_part(name=name)
        self.state.nested_parse(StringList(text.splitlines(), self.get_source_info()[0]), self.content_offset, part)
        return part

    def where(self, claim):
        """Where the claim is shown, what proves it and which questions are built on it, a line each."""
        if claim.aside:
            part = self.part("where", say()["aside"].format(reason=claim.aside))
        else:
            part = claim_part("", listed("shown", [self.place(*place) for place in claim.places]),
                              listed("proved", [test_id(test) for test in claim.tests]), name="where")
        part += claim_questions(number=claim.number)
        return part

    def place(self, lesson, anchor):
        notebook = Path(self.env.srcdir, "lessons", f"{lesson}.ipynb")
        self.env.note_dependency(str(notebook))
        words = heading(notebook, anchor)
        if words is None:
            raise ExtensionError(f"claims: {lesson} has no heading or target for #{anchor}")
        shown, _ = self.state.inline_text(f"{lesson[:2]} · {words.removeprefix(f'{lesson[:2]} · ')}", self.lineno)
        return link(self.env.app.builder, self.env.docname, f"lessons/{lesson}", anchor, shown)


class ClaimsCount(ClaimsDirective):
    """How many claims have which verdict, and the form that shows some of them only."""

    def run(self):
        claims = [claim for file in self.files().values() for claim in file.values()]
        return [nodes.raw("", filter_html(count(claims)), format="html")]


def listed(name, links):
    """One line: the words `name` of the page, then the links."""
    line = nodes.paragraph()
    for i, one in enumerate(links):
        line += [nodes.Text(", " if i else say()[name]), one]
    return line


def link(builder, docname, page, anchor, shown):
    return nodes.reference("", "", *shown, refuri=f"{builder.get_relative_uri(docname, page)}#{anchor}", internal=True)


def link_questions(app, doctree, docname):
    """Put the questions of each claim where they belong, now that all lessons are read."""
    for place in list(doctree.findall(claim_questions)):
        links = [link(app.builder, docname, lesson, f"question-{one.id}", [nodes.Text(one.id)])
                 for lesson, questions in lessons(app.env) for one in questions
                 if str(place["number"]) in BUILT_ON.match(one.html)[1].split()]
        place.replace_self([listed("asked", links)] if links else [])


def setup(app):
    register(app)
    app.connect("doctree-resolved", link_questions)
    app.add_directive("claims", Claims)
    app.add_directive("claims-count", ClaimsCount)
