"""What the page of claims is made of: the nodes of a row, the form above the rows, and their HTML."""

from html import escape

from docutils import nodes

from tsbook.ledger import VERDICTS

FILTER = """<ul class="ts-verdicts">{counts}</ul>
<form class="ts-claims" data-ledger role="search" autocomplete="off">
<label>{verdict} <select name="verdict"><option value="">{all}</option>{options}</select></label>
<label>{words} <input type="search" name="words"></label>
<p role="status">{found}</p>
</form>
"""


class claim_row(nodes.General, nodes.Element):
    """One claim with its verdict; its children are what it says, what is right and where that is shown."""


class claim_questions(nodes.General, nodes.Element):
    """Stands for the questions that are built on a claim until all lessons are read."""


class claim_part(nodes.General, nodes.Element):
    """A part of a row, with the class it is styled by."""


def say():
    """The strings of the page; imported late, as Sphinx alone needs no package."""
    from tsattn_mini.explore.element import words
    return words("claims")


def filter_html(counts):
    """How many claims have which verdict, and the form that shows some of them only."""
    words, total = say(), sum(counts.values())
    options = {v: words["option"].format(verdict=words[v], count=n) for v, n in counts.items() if n}
    return FILTER.format(
        counts="".join(f"<li>{verdict_html(v)} <b>{n}</b></li>" for v, n in counts.items()),
        options="".join(f"<option value='{v}'>{text}</option>" for v, text in options.items()),
        verdict=words["verdict"], words=words["words"],
        all=words["option"].format(verdict=words["all"], count=total),
        found=words["found"].format(shown=total, total=total))


def test_id(test):
    """The id as code that may break after each of its words, and is copied whole."""
    words = escape(test.removeprefix("tests/")).replace("_", "_<wbr>").replace("::", "::<wbr>")
    return nodes.raw("", f"<code>{words}</code>", format="html")


def verdict_html(verdict):
    sign = f"<span aria-hidden='true'>{VERDICTS[verdict]}</span>"
    return f"<span class='ts-verdict' data-verdict='{verdict}'>{sign} {say()[verdict]}</span>"


def open_row(self, node):
    number = node["number"]
    label = say()["number"].format(number=number)
    self.body.append(f"<article class='ts-claim' id='claim-{number}' data-verdict='{node['verdict']}'>"
                     f"<p class='ts-claim-head'><a href='#claim-{number}' aria-label='{label}'>{number}</a> "
                     f"{verdict_html(node['verdict'])}</p>")


def open_part(self, node):
    self.body.append(f"<div class='ts-claim-{node['name']}'>")


def close(tag):
    return lambda self, node: self.body.append(f"</{tag}>\n")


def nothing(self, node):
    """Other builders show the parts one after the other."""


def register(app):
    """Tell Sphinx how the nodes are written."""
    others = dict.fromkeys(("latex", "text", "texinfo", "man"), (nothing, nothing))
    app.add_node(claim_row, html=(open_row, close("article")), **others)
    app.add_node(claim_questions)
    app.add_node(claim_part, html=(open_part, close("div")), **others)
