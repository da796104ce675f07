"""`{glossary-list}` on the glossary page: every word A to Z with its Chinese name, meaning, symbols and lesson."""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from tsbook import lexicon
from tsbook.cards import BOOK, GLOSSARY, link


def lesson_page(env, number):
    """The name of a lesson's page, or None where this build leaves it out."""
    return next((page for page in sorted(env.found_docs) if lexicon.lesson_of(page) == number), None)


def lesson_link(env, number):
    """The number of a lesson, as a link to its page."""
    text, page = nodes.inline("", f"{number:02d}"), lesson_page(env, number)
    if page is None:
        return text
    return addnodes.pending_xref("", text, refdomain="std", reftype="doc", reftarget=f"/{page}", refexplicit=True,
                                 refdoc=env.docname)


class Glossary(SphinxDirective):
    """One list of definitions; each word carries the anchor that marked words of other pages lead to."""

    def run(self):
        book = Path(self.env.srcdir, BOOK)
        for path in [*book.glob("glossary/*.yaml"), *book.glob("symbols/*.yaml")]:
            self.env.note_dependency(str(path))
        self.known = lexicon.symbols(book)
        found = nodes.definition_list(classes=["ts-glossary"])
        for term in lexicon.terms(book):
            found += self.item(term)
        return [found]

    def item(self, term):
        name = nodes.term("", "", nodes.strong("", term.term), ids=[term.key])
        name += [nodes.Text(" "), nodes.inline("", term.zh, classes=["ts-zh"])]
        if term.also:
            name += nodes.inline("", f"  also: {', '.join(term.also)}", classes=["ts-also"])
        inside, _ = self.parse_inline(term.means)
        text = nodes.paragraph("", "", *inside, nodes.Text(" "))
        for i, code in enumerate(term.symbols):
            text += [nodes.Text(", " if i else ""), self.symbol(code, term)]
        text += nodes.Text(" ")
        text += nodes.inline("", "Lesson ", lesson_link(self.env, term.lesson), classes=["ts-lesson"])
        return nodes.definition_list_item("", name, nodes.definition("", text))

    def symbol(self, code, term):
        """A symbol's name, as a link to its row of the notation page."""
        found = lexicon.meant(self.known, code, term.lesson)
        if found is None:
            raise lexicon.BadEntry(f"{term.term}: no symbol {code!r} in lesson {term.lesson}")
        return link(self.env.app.builder, GLOSSARY, found, nodes.literal("", code))


def setup(app):
    app.add_directive("glossary-list", Glossary)
