"""Words of the glossary and names of symbols, marked where running text first uses them in a section.

A marked word is a link to its entry. Headings, links, code, formulas, tables and what cells print are left alone.
"""

import hashlib
import re
from pathlib import Path

from docutils import nodes

from tsbook import lexicon
from tsbook.cards import BOOK, GLOSSARY, NOTATION, link
from tsbook.notes import speaker_notes

LEFT_ALONE = (nodes.title, nodes.rubric, nodes.caption, nodes.table, nodes.term)
RUNNING = (nodes.paragraph, nodes.emphasis, nodes.strong)  # what holds running text; other things in a line do not


class Marker:
    """Marks one page; remembers which entries each of its sections has marked already."""

    def __init__(self, app, page):
        self.builder, self.page, self.lesson = app.builder, page, lexicon.lesson_of(page)
        book = Path(app.srcdir, BOOK)
        self.symbols = lexicon.symbols(book)
        spelled = sorted(((form, term) for term in lexicon.terms(book) if term.means_this(self.lesson)
                          for form in term.spellings()), key=lambda pair: len(pair[0]), reverse=True)
        self.terms = [term for _, term in spelled]
        self.pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(f'({form})' for form, _ in spelled)})(?![\w-])")
        self.seen, self.stops = set(), set()

    def paragraph(self, paragraph):
        """Mark the words and names of a paragraph that its section has not marked yet."""
        section, folded = place(paragraph)
        for holder in list(paragraph.findall(lambda n: isinstance(n, RUNNING))):
            join_texts(holder)
        for node in list(paragraph.findall(lambda n: isinstance(n, nodes.Text | nodes.literal))):
            if not isinstance(node.parent, RUNNING):
                continue
            if isinstance(node, nodes.Text):
                self.text(node, section, folded)
                continue
            symbol = lexicon.meant(self.symbols, lexicon.basename(node.astext()), self.lesson)
            if symbol and self.free(symbol, section, folded):
                node.replace_self(self.link(symbol, node.deepcopy(), folded))

    def text(self, node, section, folded):
        text, end, inside = node.astext(), 0, []
        for found in self.pattern.finditer(text):
            term = self.terms[found.lastindex - 1]
            if self.free(term, section, folded):
                inside += [nodes.Text(text[end:found.start()]), self.link(term, nodes.Text(found[0]), folded)]
                end = found.end()
        if inside:
            node.parent.replace(node, [*inside, nodes.Text(text[end:])])

    def free(self, entry, section, folded):
        """Whether `entry` is still to be marked in this section; from now on it is marked."""
        where = (entry.key, folded if isinstance(entry, lexicon.Term) and entry.once else section)
        new = where not in self.seen
        self.seen.add(where)
        return new

    def link(self, entry, child, folded):
        """The Tab key stops at the first link of the page to an entry, and at the first in what is folded."""
        first = (entry.key, folded) not in self.stops
        self.stops.add((entry.key, folded))
        return link(self.builder, self.page, entry, child, first)


def join_texts(holder):
    """One text where there were several in a row: a parser ends one at each line."""
    children = []
    for node in holder.children:
        if children and isinstance(node, nodes.Text) and isinstance(children[-1], nodes.Text):
            children[-1] = nodes.Text(children[-1].astext() + node.astext())
        else:
            children.append(node)
    holder.children = []
    holder.extend(children)


def above(node):
    """What a node is in, from the inside out."""
    while node.parent is not None:
        node = node.parent
        yield node


def place(node):
    """The section below the page's own, or the folded block, that a node is in; and whether it is folded."""
    sections = [0]
    for outer in above(node):
        if isinstance(outer, speaker_notes) or any("dropdown" in name for name in outer.get("classes", ())):
            return id(outer), True
        if isinstance(outer, nodes.section):
            sections.append(id(outer))
    return sections[-2:][0], False


def is_running(paragraph):
    """Whether a paragraph is text that somebody wrote, and neither in a table nor printed by a cell."""
    return not any(isinstance(outer, LEFT_ALONE) or "cell_output" in outer.get("classes", ())
                   for outer in above(paragraph))


def mark(app, doctree, docname):
    if docname in (GLOSSARY, NOTATION) or not {GLOSSARY, NOTATION} <= app.env.found_docs:
        return
    marker = Marker(app, docname)
    for paragraph in filter(is_running, list(doctree.findall(nodes.paragraph))):
        marker.paragraph(paragraph)


def digest_entries(app, config):
    """A build reads the files once; every page is written anew when an entry changes."""
    lexicon.terms.cache_clear()
    lexicon.symbols.cache_clear()
    book = Path(app.srcdir, BOOK)
    files = sorted([*book.glob("glossary/*.yaml"), *book.glob("symbols/*.yaml")])
    config.tsbook_entries = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def setup(app):
    app.add_config_value("tsbook_entries", "", "html")
    app.connect("config-inited", digest_entries)
    app.connect("doctree-resolved", mark)
