"""Directives of the page of claims: `{claims} 003` lists the rows of one file, `{claims-count}` counts all of them."""

from html import escape
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tsbook.ledger import VERDICTS, count, heading, read

FOLDER = "book/claims"


class claim_row(nodes.General, nodes.Element):
    """One claim with its verdict; its children are what it says, what is right and where that is shown."""


class claim_part(nodes.General, nodes.Element):
    """A part of a row, with the class it is styled by."""


class ClaimsDirective(SphinxDirective):
    """What both directives need: the files, and Markdown that becomes nodes."""

    def files(self):
        """The claims of every file by the file's name; a page is read again when one of them changes."""
        paths = sorted(Path(self.env.srcdir, FOLDER).glob("*.yaml"))
        for path in paths:
            self.env.note_dependency(str(path))
        try:
            return {path.stem: read(path) for path in paths}
        except ValueError as error:
            raise ExtensionError(str(error)) from error

    def part(self, name, text):
        """The Markdown `text` as a part of a row."""
        part = claim_part(name=name)
        self.state.nested_parse(StringList(text.splitlines(), self.get_source_info()[0]), self.content_offset, part)
        return part


class Claims(ClaimsDirective):
    """The rows of one file."""

    required_arguments = 1

    def run(self):
        files = self.files()
        if self.arguments[0] not in files:
            raise self.error(f"claims: expected one of {list(files)}, got {self.arguments[0]}")
        return [self.row(claim) for claim in files[self.arguments[0]].values()]

    def row(self, claim):
        row = claim_row(ids=[f"claim-{claim.number}"], number=claim.number, verdict=claim.verdict)
        row += self.part("says", claim.claim)
        row += self.part("teach", claim.teach)
        if claim.note:
            row += self.part("note", claim.note)
        row += self.where(claim)
        return row

    def where(self, claim):
        """Where the claim is shown, what proves it and which questions are built on it."""
        if claim.aside:
            return self.part("where", f"Set aside: {claim.aside}")
        line = nodes.paragraph()
        for label, links in (("Shown in ", [self.link(*place) for place in claim.places]),
                             ("Proved by ", [nodes.literal("", test.removeprefix("tests/")) for test in claim.tests]),
                             ("Asked in ", [self.ask(id, lesson) for id, lesson in questions_on(claim.number)])):
            for i, link in enumerate(links):
                line += [nodes.Text(", " if i else label), link]
            line += nodes.Text(". " if links else "")
        return claim_part("", line, name="where")

    def link(self, lesson, anchor):
        notebook = Path(self.env.srcdir, "lessons", f"{lesson}.ipynb")
        self.env.note_dependency(str(notebook))
        words = heading(notebook, anchor)
        if words is None:
            raise ExtensionError(f"claims: {lesson} has no heading or target for #{anchor}")
        shown, _ = self.state.inline_text(f"{lesson[:2]} · {words.removeprefix(f'{lesson[:2]} · ')}", self.lineno)
        return self.reference(lesson, anchor, shown)

    def ask(self, id, lesson):
        return self.reference(lesson, f"question-{id}", [nodes.Text(id)])

    def reference(self, lesson, anchor, shown):
        page = self.env.app.builder.get_relative_uri(self.env.docname, f"lessons/{lesson}")
        return nodes.reference("", "", *shown, refuri=f"{page}#{anchor}", internal=True)


class ClaimsCount(ClaimsDirective):
    """How many claims have which verdict, and the controls that show some of them only."""

    def run(self):
        claims = [claim for file in self.files().values() for claim in file.values()]
        counts = count(claims)
        listed = "".join(f"<li>{verdict_html(v)} <b>{n}</b></li>" for v, n in counts.items())
        options = "".join(f"<option value='{v}'>{v} ({n})</option>" for v, n in counts.items() if n)
        return [nodes.raw("", COUNT.format(listed=listed, options=options, total=len(claims)), format="html")]


COUNT = """<ul class="ts-verdicts">{listed}</ul>
<form class="ts-claims-filter" data-claims-filter role="search">
<label>Verdict <select name="verdict"><option value="">all ({total})</option>{options}</select></label>
<label>Words or number <input type="search" name="words" autocomplete="off"></label>
<p role="status">{total} of {total} claims</p>
</form>
"""


def questions_on(number):
    """(id, lesson) of every question that is built on claim `number`, in the order of the lessons."""
    from tsattn_mini.questions import all_questions  # torch takes seconds: only where the page is built
    return [(q.id, q.lesson) for q in all_questions() if q.lesson and number in q.claims]


def verdict_html(verdict):
    sign = f"<span aria-hidden='true'>{VERDICTS[verdict]}</span>"
    return f"<span class='ts-verdict' data-verdict='{verdict}'>{sign} {verdict}</span>"


def open_row(self, node):
    number, verdict = node["number"], node["verdict"]
    self.body.append(f"<article class='ts-claim' id='claim-{number}' data-verdict='{escape(verdict)}'>"
                     f"<p class='ts-claim-head'><a href='#claim-{number}' aria-label='Claim {number}'>{number}</a> "
                     f"{verdict_html(verdict)}</p>")


def close(tag):
    return lambda self, node: self.body.append(f"</{tag}>\n")


def open_part(self, node):
    self.body.append(f"<div class='ts-claim-{node['name']}'>")


def nothing(self, node):
    """Other builders show the parts one after the other."""


def setup(app):
    others = dict.fromkeys(("latex", "text", "texinfo", "man"), (nothing, nothing))
    app.add_node(claim_row, html=(open_row, close("article")), **others)
    app.add_node(claim_part, html=(open_part, close("div")), **others)
    app.add_directive("claims", Claims)
    app.add_directive("claims-count", ClaimsCount)
