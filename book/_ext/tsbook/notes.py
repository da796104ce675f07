"""Two kinds of notes, kept apart.

Speaker notes are Markdown cells with the tag `notes`; they become a closed block that opens on a click. The notes that
boxes quote are the lecture notes behind the book, and the first such box of a page says so.
"""

import json
import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

TITLE = "Speaker notes"
QUOTED = re.compile(r"The (lecture )?notes say")
WHOSE = "“The notes” are the lecture notes that this book grew from, not the speaker notes of these pages: "
CLAIMS, CLAIMS_SHOWN = "book/claims", "all they claim, and what is true of it"


class speaker_notes(nodes.General, nodes.Element):
    """A folded block; its first child is its title."""


class speaker_notes_title(nodes.Part, nodes.TextElement):
    """The one line that shows while the block is closed."""


class SpeakerNotes(SphinxDirective):
    """The block around the Markdown of one notes cell."""

    has_content = True

    def run(self):
        title = speaker_notes_title(TITLE, TITLE)
        self.set_source_info(title)
        block = speaker_notes("", title)
        self.set_source_info(block)
        self.state.nested_parse(self.content, self.content_offset, block)
        return [block]


def fence(source):
    """Wrap Markdown in the directive, with a fence longer than any inside it."""
    longest = max(map(len, re.findall(r"`{3,}", source)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{{speaker-notes}}\n{source}\n{ticks}"


def fold_notes(app, docname, content):
    """Rewrite the notes cells of a notebook before it is parsed."""
    if not str(app.env.doc2path(docname)).endswith(".ipynb"):
        return
    notebook = json.loads(content[0])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and "notes" in cell["metadata"].get("tags", ()):
            cell["source"] = fence("".join(cell["source"]))
    content[0] = json.dumps(notebook)


def say_whose_notes(app, doctree, docname):
    """A line at the end of the first box of a page that quotes the lecture notes; other boxes stay as they are."""
    quoting = (box for box in doctree.findall(nodes.admonition) if QUOTED.match(box[0].astext()))
    if CLAIMS in app.env.found_docs and (box := next(quoting, None)):
        address = app.builder.get_relative_uri(docname, CLAIMS)
        claims = nodes.reference("", CLAIMS_SHOWN, refuri=address, internal=True)
        box += nodes.paragraph("", "", nodes.Text(WHOSE), claims, nodes.Text("."), classes=["ts-whose"])


def _html_pair(opening, closing):
    return (lambda self, node: self.body.append(opening)), (lambda self, node: self.body.append(closing))


def _nothing(self, node):
    """Other builders show the notes as plain text."""


def setup(app):
    block = _html_pair('<details class="ts-notes">\n', "</details>\n")
    title = _html_pair("<summary>", "</summary>\n")
    others = dict.fromkeys(("latex", "text", "texinfo", "man"), (_nothing, _nothing))
    app.add_node(speaker_notes, html=block, **others)
    app.add_node(speaker_notes_title, html=title, **others)
    app.add_directive("speaker-notes", SpeakerNotes)
    app.connect("source-read", fold_notes)
    app.connect("doctree-resolved", say_whose_notes)
