"""Tables that lessons print: on a page formulas stand as formulas, and names of code as code.

The notebook's own table stays plain text, which Jupyter shows and a test compares; here its cells are set.
"""

import re
from html import unescape

TABLE = re.compile(r"<table class='ts-table'>.*?</table>", re.S)
ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
CELL = re.compile(r"(<t[dh]\b[^>]*>)(.*?)(</t[dh]>)", re.S)
STEPS = ("step", "operation")
CODE = re.compile(r"(?!\w_[^_]+$)[\w./]+_[\w./]+|(?:in|out)put of .*")  # one letter with an index is a formula
SCRIPT = re.compile(r"[_^]")


def set_tables(html):
    """The page with every printed table set."""
    return TABLE.sub(lambda table: set_table(table[0]), html)


def set_table(html):
    """One table. In a table of steps the first column holds names and the second formulas."""
    head = tuple(cell for _, cell, _ in CELL.findall(ROW.search(html)[0])[:2])
    return ROW.sub(lambda row: set_row(row[0], head == STEPS), html)


def set_row(html, of_steps):
    columns = iter(("name", "formula") if of_steps and "<td" in html else ())
    return CELL.sub(lambda cell: cell[1] + set_cell(cell[2], next(columns, cell[3])) + cell[3], html)


def set_cell(html, kind):
    text = unescape(html).replace("\N{NO-BREAK SPACE}", " ")
    if kind == "name" or CODE.fullmatch(text):
        return f"<code>{html}</code>"
    if kind != "formula" and not SCRIPT.search(text):
        return html
    return inline(text) if kind == "</th>" else rendered(text)


def rendered(eq):
    from tsattn_mini.explore.formula import rendered as mathml
    return mathml(eq)


def inline(text):
    """The text of a head, which checkers of pages take for empty when it is MathML alone."""
    from tsattn_mini.explore.question.text import inline as marked
    return marked(text)


def on_page(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = set_tables(context["body"])


def setup(app):
    app.connect("html-page-context", on_page)
