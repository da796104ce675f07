"""Any text can be shown: nothing in it is HTML, and nothing in it works unseen."""

import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsattn_mini.figures import Table
from tsattn_mini.visible import escape, visible

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("<>&\"'\0\n\r\ud800\u202e\ufffe"))
KEPT = "naïve 中文 עברית \N{RIGHT-TO-LEFT MARK}👩\N{ZERO WIDTH JOINER}💻 $x$ a\\nb <b>\"quoted\"</b> &amp;"


class Parsed(HTMLParser):
    """The tags and the text of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.text += data


@given(TEXTS)
def test_a_text_is_text_to_whoever_reads_the_html(text):
    html = escape(text)
    html.encode("utf8")
    found = Parsed(f"<p title='{html}' lang=\"{html}\">{html}</p>")
    shown = "".join(c if c in "\n\t" else visible(c) for c in text)
    assert found.tags == [("p", [("title", shown), ("lang", shown)])]
    assert found.text == shown


@given(TEXTS)
def test_a_name_stays_in_one_line_and_every_character_of_it_is_seen(text):
    name = visible(text)
    assert len(name.splitlines()) <= 1
    assert not {unicodedata.category(c) for c in name} & {"Cc", "Cs", "Zl", "Zp"}
    assert visible(name) == name


def test_what_people_type_stays_as_typed():
    assert visible(KEPT) == KEPT


@pytest.mark.parametrize(("text", "shown"), [
    ("a\nb", "a\\nb"), ("\0", "\\x00"), ("\ud83d", "\\ud83d"), ("a\u202eb", "a\\u202eb"),
    ("\x1b[31m", "\\x1b[31m"), ("\u2028", "\\u2028"), ("\U0001ffff", "\\U0001ffff")])
def test_what_works_unseen_is_spelled_as_python_spells_it(text, shown):
    assert visible(text) == shown


def test_a_table_keeps_its_rows_whatever_the_names_of_its_columns():
    table = Table(["a\nb", "\x1b[31mred"], [["<i>", "\ud800"]])
    assert repr(table).splitlines() == ["a\\nb  \\x1b[31mred", "────  ───────────", "<i>   \\ud800"]
    assert "&lt;i&gt;" in table.html
