"""Links to entries of the glossary and the notation, and the cards that say what is in an entry.

`web/terms.js` shows the card of a link beside it; the cards of a page lie in a template at its end.
"""

import re
from html import escape

from docutils import nodes
from latex2mathml.converter import convert

from tsbook import lexicon

BOOK = "book"  # the folder of the data files, below the source folder
GLOSSARY, NOTATION = f"{BOOK}/glossary", f"{BOOK}/notation"
CODE_OR_FORMULA = re.compile(r"`([^`]+)`|\$([^$]+)\$")


class marked(nodes.Inline, nodes.TextElement):
    """A link to the entry `key`, whose `card` is shown beside it; the Tab key stops at it if `stop`."""


def link(builder, page, entry, child, stop=True):
    """A node around `child` that leads from `page` to an entry."""
    target = GLOSSARY if isinstance(entry, lexicon.Term) else NOTATION
    uri = builder.get_relative_uri(page, target)
    return marked("", "", child, refuri=f"{uri}#{entry.key}", key=entry.key, card=card(entry), stop=stop)


def card(entry):
    """What is shown beside a marked word, as HTML."""
    if isinstance(entry, lexicon.Term):
        name = f"<b>{escape(entry.term)}</b>"
    else:
        codes = ", ".join(f"<code>{escape(code)}</code>" for code in entry.code)
        name = f"{inline(entry.symbol)} {codes} <span class='ts-axes'>{inline(entry.axes)}</span>"
    zh = f" <span lang='zh'>{escape(entry.zh)}</span>" if entry.zh else ""
    return f"<p>{name}{zh}</p><p>{inline(entry.means)}</p>"


def inline(text):
    """Markdown of one line, with code and formulas, as HTML."""
    def made(found):
        return f"<code>{found[1]}</code>" if found[1] else convert(found[2].replace("&lt;", "<"))
    return CODE_OR_FORMULA.sub(made, escape(text, quote=False))


def lay_out_cards(app, pagename, templatename, context, doctree):
    """The cards of the marked words go to the end of the page's body."""
    cards = {node["key"]: node["card"] for node in doctree.findall(marked)} if doctree else {}
    if cards:
        context["body"] += "<template data-terms>" + "".join(
            f"<div data-term='{key}'>{inside}</div>" for key, inside in cards.items()) + "</template>"


def open_link(self, node):
    more = {} if node["stop"] else {"tabindex": "-1"}
    self.body.append(self.starttag(node, "a", "", CLASS="ts-term", href=node["refuri"], **more))


def close_link(self, node):
    self.body.append("</a>")


def plain(self, node):
    """Other builders show the words alone."""


def setup(app):
    app.add_node(marked, html=(open_link, close_link), **dict.fromkeys(("latex", "text", "texinfo", "man"),
                                                                       (plain, plain)))
    app.connect("html-page-context", lay_out_cards, priority=400)
