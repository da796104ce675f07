"""Directives of the page of claims: `{claims} 003` lists the rows of one file, `{claims-count}` counts all of them."""

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tsbook.claims_html import claim_part, claim_row, filter_html, register, say, test_id
from tsbook.ledger import count, heading, read

FOLDER, QUESTIONS = "book/claims", "tsattn_mini/questions"


class ClaimsDirective(SphinxDirective):
    """What both directives need."""

    def files(self):
        """The claims of every file by the file's name; the page is read again when these or the questions change."""
        paths = sorted(Path(self.env.srcdir, FOLDER).glob("*.yaml"))
        for path in [*paths, *Path(self.env.srcdir, QUESTIONS).glob("*.py")]:
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
        if self.arguments[0] not in files:
            raise self.error(f"claims: expected one of {list(files)}, got {self.arguments[0]}")
        return [self.row(claim) for claim in files[self.arguments[0]].values()]

    def row(self, claim):
        row = claim_row(number=claim.number, verdict=claim.verdict)
        row += [self.part(name, text) for name, text in
                (("says", claim.claim), ("teach", claim.teach), ("note", claim.note)) if text]
        row += self.part("where", say()["aside"].format(reason=claim.aside)) if claim.aside else self.where(claim)
        return row

    def part(self, name, text):
        """The Markdown `text` as a part of a row."""
        part = claim_part(name=name)
        self.state.nested_parse(StringList(text.splitlines(), self.get_source_info()[0]), self.content_offset, part)
        return part

    def where(self, claim):
        """Where the claim is shown, what proves it and which questions are built on it, a line each."""
        part = claim_part(name="where")
        for name, links in (("shown", [self.place(*place) for place in claim.places]),
                            ("proved", [test_id(test) for test in claim.tests]),
                            ("asked", [self.link(lesson, f"question-{id}", [nodes.Text(id)])
                                       for id, lesson in questions_on(claim.number)])):
            line = nodes.paragraph()
            for i, link in enumerate(links):
                line += [nodes.Text(", " if i else say()[name]), link]
            part += line if links else []
        return part

    def place(self, lesson, anchor):
        notebook = Path(self.env.srcdir, "lessons", f"{lesson}.ipynb")
        self.env.note_dependency(str(notebook))
        words = heading(notebook, anchor)
        if words is None:
            raise ExtensionError(f"claims: {lesson} has no heading or target for #{anchor}")
        shown, _ = self.state.inline_text(f"{lesson[:2]} · {words.removeprefix(f'{lesson[:2]} · ')}", self.lineno)
        return self.link(lesson, anchor, shown)

    def link(self, lesson, anchor, shown):
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"lessons/{lesson}")
        return nodes.reference("", "", *shown, refuri=f"{page}#{anchor}", internal=True)


class ClaimsCount(ClaimsDirective):
    """How many claims have which verdict, and the form that shows some of them only."""

    def run(self):
        claims = [claim for file in self.files().values() for claim in file.values()]
        return [nodes.raw("", filter_html(count(claims)), format="html")]


def questions_on(number):
    """(id, lesson) of every question that is built on claim `number`, in the order of the lessons."""
    from tsattn_mini.questions import all_questions  # torch takes seconds: only where the page is built
    return [(q.id, q.lesson) for q in all_questions() if q.lesson and number in q.claims]


def setup(app):
    register(app)
    app.add_directive("claims", Claims)
    app.add_directive("claims-count", ClaimsCount)
