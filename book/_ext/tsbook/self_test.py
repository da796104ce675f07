"""All questions of the book on one page, gathered from the outputs of the lessons as Sphinx reads them.

The page holds the directive `self-test`; no question is written a second time, and none is left out. It is written
anew as soon as a question or the title of its lesson or section has changed, although its own text has not.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.util.docutils import SphinxDirective

from tsbook.self_test_page import page

QUESTION = re.compile(r"""<fieldset class='ts-question' [^>]*?data-question='([^']+)'""")
WORDS = "tsattn_mini/explore/web/en.json"


class Asked(NamedTuple):
    """One question where it stands: its id, its HTML, and the anchor and title of its section."""

    id: str
    html: str
    anchor: str
    section: str


class every_question(nodes.General, nodes.Element):
    """Stands for the questions until all lessons are read."""


class SelfTest(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(Path(self.env.srcdir, WORDS)))
        self.env.tsbook_self_tests.add(self.env.docname)
        return [every_question()]


class Questions(EnvironmentCollector):
    """`env.tsbook_questions`: {page: its questions}; `env.tsbook_self_tests`: the pages that show them all."""

    def clear_doc(self, app, env, docname):
        env.tsbook_questions.pop(docname, None)
        env.tsbook_self_tests.discard(docname)

    def merge_other(self, app, env, docnames, other):
        for docname in docnames:
            if docname in other.tsbook_questions:
                env.tsbook_questions[docname] = other.tsbook_questions[docname]
        env.tsbook_self_tests |= other.tsbook_self_tests & docnames

    def process_doc(self, app, doctree):
        found = [asked(node) for node in doctree.findall(nodes.raw) if QUESTION.match(node.astext())]
        if found:
            app.env.tsbook_questions[app.env.docname] = found

    def get_updated_docs(self, app, env):
        shown = [(env.titles[lesson].astext(), lesson, questions) for lesson, questions in lessons(env)]
        before, env.tsbook_shown = env.tsbook_shown, shown
        return [] if shown == before else sorted(env.tsbook_self_tests)


def prepare(app):
    """A new environment knows no questions; one from an earlier build keeps those it has."""
    for name, empty in (("tsbook_questions", {}), ("tsbook_self_tests", set()), ("tsbook_shown", None)):
        if not hasattr(app.env, name):
            setattr(app.env, name, empty)


def asked(node):
    """The question in a raw node, with the section that it stands in."""
    html = node.astext()
    while not isinstance(node, (nodes.section, nodes.document)):
        node = node.parent
    return Asked(QUESTION.match(html)[1], html, node["ids"][0], node[0].astext())


def lessons(env):
    """(page, its questions) in the order of the pages' names; a question that is asked twice counts once."""
    seen = set()
    for lesson, questions in sorted(env.tsbook_questions.items()):
        first = []
        for one in questions:
            if one.id not in seen:
                seen.add(one.id)
                first.append(one)
        if first:
            yield lesson, first


def fill_in(app, doctree, docname):
    """Put the questions where the directive stands."""
    places = list(doctree.findall(every_question))
    if places:
        words = json.loads(Path(app.srcdir, WORDS).read_text("utf8"))
        groups = [(app.env.titles[lesson].astext(), app.builder.get_relative_uri(docname, lesson), questions)
                  for lesson, questions in lessons(app.env)]
        html = page(groups, words["selfTest"])
        for place in places:
            place.replace_self(nodes.raw("", html, format="html"))


def setup(app):
    app.connect("builder-inited", prepare)
    app.add_node(every_question)
    app.add_directive("self-test", SelfTest)
    app.add_env_collector(Questions)
    app.connect("doctree-resolved", fill_in)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
