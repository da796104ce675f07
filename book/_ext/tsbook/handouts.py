"""A handout of one page for each lesson, written beside the lessons as `handouts/NN.html`, and the way to it.

The equations of the steps are gathered while the lessons are read: from their tables of steps and from their explorers.
"""

import json
import re
from html import unescape
from pathlib import Path

from docutils import nodes
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.errors import ExtensionError

from tsbook import handout, notebooks
from tsbook.talk_entries import entry_of, lessons

SPEC = re.compile(r"<script type='application/json' data-spec>(.*?)</script>", re.S)
STEPS = re.compile(r"<th scope='col'>step</th><th scope='col'>operation</th>(.*?)</table>", re.S)
ROW = re.compile(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>")
LESSON = re.compile(r"lessons/(\d\d)_")


def page_of(number):
    return f"handouts/{number}"


class Equations(EnvironmentCollector):
    """`env.tsbook_formulas`: {page: {name of a step: (its formula, its axes)}}, the first of each name."""

    def clear_doc(self, app, env, docname):
        env.tsbook_formulas.pop(docname, None)

    def merge_other(self, app, env, docnames, other):
        env.tsbook_formulas |= {name: other.tsbook_formulas[name] for name in docnames if name in other.tsbook_formulas}

    def process_doc(self, app, doctree):
        if LESSON.match(app.env.docname):
            found = {}
            for node in doctree.findall(nodes.raw):
                for name, formula, axes in [*table_steps(node.astext()), *explorer_steps(node.astext())]:
                    found.setdefault(name, (formula, axes))
            app.env.tsbook_formulas[app.env.docname] = found


def table_steps(html):
    """(name, formula, axes) of every row of a table of steps."""
    rows = [row for table in STEPS.findall(html) for row in ROW.findall(table)]
    return [tuple(re.sub(r"\s", " ", unescape(cell)) for cell in row) for row in rows]


def explorer_steps(html):
    """(name, formula, axes) of the steps that an explorer shows, those without a formula left out."""
    return [(step["name"], step["eq"], step["axes"]) for spec in SPEC.findall(html)
            for step in json.loads(spec)["steps"] if step.get("eq")]


def prepare(app):
    if not hasattr(app.env, "tsbook_formulas"):
        app.env.tsbook_formulas = {}


def say():
    """The strings of the page; imported late, as Sphinx alone needs no package."""
    from tsattn_mini.explore.element import words
    return words("talks")["paper"]


def rendered(eq):
    from tsattn_mini.explore.formula import rendered as mathml
    return mathml(eq)


def collect(app):
    """A page for each lesson of the book."""
    read = {number: notebooks.read(path) for number, path in lessons(Path(app.srcdir, "lessons")).items()}
    for docname, steps in sorted(app.env.tsbook_formulas.items()):
        number = LESSON.match(docname)[1]
        shown = {name: (rendered(formula), axes) for name, (formula, axes) in steps.items()}
        try:
            page = html_of(app, docname, number, read, shown)
        except ValueError as error:
            raise ExtensionError(f"handout {number}: {error}") from error
        about = {"title": app.env.titles[docname].astext(), "body": page, "long": handout.is_long(page)}
        yield page_of(number), about, "handout.html"


def html_of(app, docname, number, read, steps):
    """What stands on the handout of a lesson."""
    entry, notebook, words = entry_of(app.srcdir, number), read[number], say()
    at = app.builder.get_target_uri(docname)
    about = words["about"].format(book=app.config.project, page=f"<a href='../{at}'>{at}</a>")
    equations = handout.formulas(entry.equations, notebook, steps, read)
    title = handout.inline(notebooks.heading(notebook["cells"][0])[1])
    return handout.body(title, about, words, {
        "takeaways": handout.takeaways_html(handout.takeaways(notebook)),
        "equations": handout.scrolling(handout.equations_html(equations), words["equations"]),
        "table": handout.scrolling(handout.table(notebook, entry.table), words["table"]),
        "questions": handout.questions_html(handout.questions(notebook))})


def link_handout(app, pagename, templatename, context, doctree):
    """A button in the header of a lesson."""
    if found := LESSON.match(pagename):
        words = say()
        context.setdefault("header_buttons", []).insert(0, {
            "type": "link", "url": context["pathto"](page_of(found[1])), "icon": "fas fa-file-lines",
            "tooltip": words["open"], "label": "handout-button"})


def setup(app):
    app.connect("builder-inited", prepare)
    app.add_env_collector(Equations)
    app.connect("html-collect-pages", collect)
    app.connect("html-page-context", link_handout, priority=950)  # theme.py takes every button for a group
