"""The handout of a lesson: equations, its summary table, the takeaways and the questions, drawn from its notebook.

Nothing is written a second time. Equations are those of the recorded steps and of displayed formulas, as MathML, so
that a handout needs no script; the takeaways are the recap; a question stands there as the notebook prints it, which is
without its answer.
"""

import re
from html import escape, unescape
from typing import NamedTuple

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tsbook import notebooks, tables

TABLE = re.compile(r"<table class='ts-table'>.*?</table>", re.S)
LONG = 2600  # signs on a page in the larger type
BOXES = {"( )": "○", "[ ]": "□", "↕": "↕", "? =": "·"}
CHOICE = re.compile(r"(\( \)|\[ \]|↕|\? =) (.*)")


class Formula(NamedTuple):
    """One equation: the name of its step (empty for a displayed formula), its HTML, its axes."""

    name: str
    html: str
    axes: str = ""


class Question(NamedTuple):
    """A question as it stands on paper: HTML of the text, and what can be chosen, if there is a choice."""

    text: str
    choices: tuple[str, ...] = ()


def markdown():
    """Markdown to HTML with MathML; links become their words, since paper cannot follow them."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").use(dollarmath_plugin, renderer=mathml)
    for rule in ("link_open", "link_close"):
        reader.add_render_rule(rule, lambda self, *_: "")
    return reader


def mathml(latex, options=None):
    from tsattn_mini.explore.formula import mathml
    return mathml(latex, display="block" if (options or {}).get("display_mode") else "inline")


MARKDOWN = markdown()


def takeaways(notebook):
    """The lines of the recap as HTML.

    Raises:
        ValueError: no section called Recap, or no list in it.
    """
    text = "\n".join(notebooks.source(cell) for cell in notebooks.section(notebook, "recap"))
    found = re.findall(r"^- (.+?)(?=^- |\Z)", text, re.M | re.S)
    if not found:
        raise ValueError("expected a list in the recap, got none")
    return [inline(one) for one in found]


def inline(text):
    return MARKDOWN.renderInline(" ".join(text.split()))


def questions(notebook):
    """The questions of a lesson in their order."""
    return [question(text) for cell in notebook["cells"] if notebooks.asked(cell) for text in notebooks.printed(cell)]


def question(text):
    """One question from the text that it prints: the question, then a line for each choice or line to be matched."""
    first, *rest = text.split("\n")
    lines = [line.strip() for line in rest]
    choices = [(BOXES[found[1]], inline(found[2])) for line in lines if (found := CHOICE.match(line))]
    partners = [f"{inline(line.removesuffix('→ ?'))} → …" for line in lines if line.endswith("→ ?")]
    return Question(inline(re.sub(r"^Question \S+: ", "", first)),
                    (*partners, *(f"{box} {words}" for box, words in choices)))


def table(notebook, at):
    """The table of a cell with the id `at`, or the first one written in the section `at`.

    Raises:
        ValueError: no such cell or section, or no table in it.
    """
    for cell in notebook["cells"]:
        if cell.get("id") == at:
            return printed_table(cell, at)
    for cell in notebooks.section(notebook, at):
        if cell["cell_type"] == "markdown" and (found := re.search(r"(^\|.*\n?)+", notebooks.source(cell), re.M)):
            return MARKDOWN.render(found[0])
    raise ValueError(f"expected a table in the section {at!r}, got none")


def printed_table(cell, at):
    for output in cell["outputs"]:
        if found := TABLE.search("".join(output.get("data", {}).get("text/html", ""))):
            return tables.set_table(found[0])
    raise ValueError(f"expected a table in the output of the cell {at!r}, got none")


def formulas(names, notebook, steps, others):
    """The equations `names`: steps of the lesson, and displayed formulas of a section (`#anchor`, `05#anchor`).

    Args:
        steps: {name of a step: (its formula as HTML, its axes)}.
        others: the notebooks of all lessons by number.

    Raises:
        ValueError: a step that the lesson does not name, or a section without a formula.
    """
    found = []
    for name in names:
        number, sign, at = name.partition("#")
        if sign:
            latex = notebooks.formula(others[number] if number else notebook, at)
            found.append(Formula("", mathml(latex, {"display_mode": True})))
        elif name in steps:
            found.append(Formula(name, *steps[name]))
        else:
            raise ValueError(f"equations: expected a step with a formula out of {sorted(steps)}, got {name!r}")
    return found


def body(title, about, say, parts):
    """The page: `parts` are the HTML of equations, table, takeaways and questions under their headings."""
    inner = "".join(f"<section class='{name}'><h2>{escape(say[name])}</h2>{html}</section>"
                    for name, html in parts.items() if html)
    return f"<header><h1>{title}</h1><p>{about}</p></header><main>{inner}</main>"


def equations_html(found):
    return f"<ul>{''.join(map(equation_html, found))}</ul>" if found else ""


def equation_html(one):
    name, axes = (f"<code>{escape(one.name)}</code>", f"<i>{escape(one.axes)}</i>") if one.name else ("", "")
    return f"<li>{name}<span>{one.html}</span>{axes}</li>"


def scrolling(html, name):
    """What may be wider than a phone scrolls by itself, also by keyboard."""
    return html and f"<div tabindex='0' role='region' aria-label='{escape(name)}'>{html}</div>"


def takeaways_html(found):
    return "<ul>" + "".join(f"<li>{one}</li>" for one in found) + "</ul>"


def questions_html(found):
    """Each with what can be chosen, or with a line to write on."""
    rows = "".join(f"<li>{one.text}{choices_html(one.choices) or '<hr>'}</li>" for one in found)
    return f"<ol>{rows}</ol>" if rows else ""


def choices_html(choices):
    return "<div>" + " ".join(f"<span>{one}</span>" for one in choices) + "</div>" if choices else ""


def is_long(html):
    """Whether a page needs smaller type; a measure of its words that leaves room for other fonts."""
    return len(unescape(re.sub(r"<annotation.*?</annotation>|<[^>]*>", "", html))) > LONG
