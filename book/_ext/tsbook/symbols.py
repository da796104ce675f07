"""The notation page: `{axes}` and `{symbols}` make its tables, and the built lessons say where each symbol appears.

The steps are those of the explorers and of the printed tables of steps; both are read off the pages' outputs.
"""

import json
import re
from html import unescape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from tsbook import lexicon
from tsbook.cards import BOOK, NOTATION
from tsbook.glossary import lesson_page

SPEC = re.compile(r"<script type='application/json' data-spec>(.*?)</script>", re.S)
TABLE = re.compile(r"<table class='ts-table'>(.*?)</table>", re.S)
CELL = re.compile(r"<t[hd][^>]*>(?:<code>)?(.*?)(?:</code>)?</t[hd]>", re.S)
HEADER = ["step", "operation", "axes", "shape"]


def steps_of(html):
    """What a page's output shows, as (name, axes, anchor): steps of explorers, handles, steps of printed tables.

    Handles have no axes (None), printed steps no anchor (None).
    """
    for spec in map(json.loads, SPEC.findall(html)):
        anchor = f"explorer-{spec['id']}"
        yield from ((step["name"], step["axes"], anchor) for step in spec["steps"])
        yield from ((handle["name"], None, anchor) for handle in spec["inputs"])
    for table in TABLE.findall(html):
        header, *rows = ([cell.replace("\N{NO-BREAK SPACE}", " ") for cell in map(unescape, CELL.findall(row))]
                         for row in table.split("<tr>")[1:])
        if header == HEADER:
            yield from ((row[0], row[2], None) for row in rows)


def collect(app, doctree):
    """Note the steps of a page that was read."""
    shown = [step for raw in doctree.findall(nodes.raw) if raw.get("format") == "html"
             for step in steps_of(raw.astext())]
    if shown:
        app.env.tsbook_steps[app.env.docname] = shown


def begin(app, env, docnames):
    env.tsbook_steps = getattr(env, "tsbook_steps", {})


def forget(app, env, docname):
    getattr(env, "tsbook_steps", {}).pop(docname, None)


def merge(app, env, docnames, other):
    env.tsbook_steps.update({page: other.tsbook_steps[page] for page in docnames if page in other.tsbook_steps})


def rewrite(app, env):
    """The notation page is written anew whenever the lessons show other steps."""
    before, env.tsbook_listed = getattr(env, "tsbook_listed", None), dict(env.tsbook_steps)
    return [NOTATION] if before != env.tsbook_listed and NOTATION in env.found_docs else []


class where(nodes.Inline, nodes.TextElement):
    """Filled with links to the lessons in which its symbol appears, once all of them are read."""


class Anchor(SphinxRole):
    """An empty place that a link can lead to."""

    def run(self):
        return [nodes.inline(ids=[self.text])], []


class Appears(SphinxRole):
    """The place for `where`."""

    def run(self):
        return [where(key=self.text)], []


def appearances(env, entries, symbol):
    """Lesson → {name of a step or handle: its anchor} for every place where `symbol` appears."""
    found = {symbol.lesson: {}}
    for page, steps in env.tsbook_steps.items():
        number = lexicon.lesson_of(page)
        for name, axes, place in steps:
            if lexicon.meant(entries, lexicon.basename(name), number, axes) is symbol:
                names = found.setdefault(number, {})
                names[name] = names.get(name) or place
    return dict(sorted(found.items()))


def fill(app, doctree, docname):
    """Put the links in their places: a lesson's number, then those of its steps that have a longer name."""
    places = list(doctree.findall(where))
    entries = lexicon.symbols(Path(app.srcdir, BOOK)) if places else []
    by_key = {symbol.key: symbol for symbol in entries}
    for place in places:
        symbol, inside = by_key[place["key"]], []
        for number, names in appearances(app.env, entries, symbol).items():
            first = next(filter(None, names.values()), None)
            inside += [nodes.Text(", " if inside else ""), link(app, docname, number, first)]
            for name in names:
                if "/" in name:
                    inside += [nodes.Text(" "), nodes.literal("", name)]
        place.replace_self(inside)


def link(app, docname, number, anchor):
    page = lesson_page(app.env, number)
    if page is None:
        return nodes.Text(f"{number:02d}")
    uri = app.builder.get_relative_uri(docname, page) + (f"#{anchor}" if anchor else "")
    return nodes.reference("", f"{number:02d}", internal=True, refuri=uri)


def table(header, rows):
    """A table in Markdown."""
    line = lambda cells: "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"  # noqa: E731
    return "\n".join([line(header), line(["---"] * len(header)), *map(line, rows)])


def coded(text):
    """Names or axes as code, none of which breaks over two lines; what already holds code stays."""
    if "`" in text or not text:
        return text
    return ", ".join(f"`{part}`".replace(" ", "\N{NO-BREAK SPACE}") for part in text.split(", "))


def said(counts, zh):
    return f"{counts} ({zh})" if zh else counts


class Axes(SphinxDirective):
    """The letters of axes in the code of one paper, `any` or `zoo`."""

    required_arguments = 1

    def run(self):
        path, of = self.env.srcdir / BOOK / "axes.yaml", self.arguments[0]
        self.env.note_dependency(str(path))
        zoo = of == "zoo"
        rows = [[coded(", ".join(axis["letters"])), said(axis["counts"], axis["zh"]),
                 axis["of"] if zoo else axis.get("papers", ""), f"{axis['lesson']:02d}"]
                for axis in yaml.safe_load(path.read_text("utf8"))
                if axis["of"] == of or (zoo and axis["of"] not in ("any", "kite", "engram"))]
        return self.parse_text_to_nodes(table(["letter", "counts", "model" if zoo else "papers also write", "lesson"],
                                              rows))


class Symbols(SphinxDirective):
    """The symbols of one file, and where each appears."""

    required_arguments = 1

    def run(self):
        part = self.arguments[0]
        self.env.note_dependency(str(self.env.srcdir / BOOK / f"symbols/{part}.yaml"))
        rows = [[f"{{anchor}}`{s.key}`" + s.symbol, coded(", ".join(s.code)), coded(s.axes), said(s.means, s.zh),
                 f"{{appears}}`{s.key}`"] for s in lexicon.symbols(self.env.srcdir / BOOK) if s.part == part]
        return self.parse_text_to_nodes(table(["symbol", "in code", "axes", "what it is", "lessons, and their steps"],
                                              rows))


def setup(app):
    app.add_directive("axes", Axes)
    app.add_directive("symbols", Symbols)
    app.add_role("anchor", Anchor())
    app.add_role("appears", Appears())
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-before-read-docs", begin)
    app.connect("doctree-read", collect)
    app.connect("env-updated", rewrite)
    app.connect("doctree-resolved", fill)
