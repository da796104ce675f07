"""Printed tables on the pages of the book: formulas as formulas, names of code as code, the rest as it was."""

import re
import sys

import pytest
from browsing import ROOT
from whole_book import names, soup

from tsattn_mini.figures import Table

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import tables

RAW = re.compile(r"[_^$`\\]|\*\*")
NO_TEXT = ["code", "math", "script", "style"]


def cells(header, row):
    """The cells of a set table: those of its header, then those of its row."""
    html = tables.set_tables(f"<p>x_t</p>{Table(header, [row]).html}")
    assert html.startswith("<p>x_t</p>")
    return [cell for _, cell, _ in tables.CELL.findall(html)]


def test_steps_are_code_and_their_operations_formulas():
    *head, name, operation, axes = cells(["step", "operation", "axes"], ["A", "softmax(Q Kᵀ)", "L S"])
    assert head == ["step", "operation", "axes"]
    assert name == "<code>A</code>"
    assert operation.startswith("<math>")
    assert axes == "L\N{NO-BREAK SPACE}S"


@pytest.mark.parametrize("name", ["label_len", "self_attn.out_proj", "dec0/self/M_top", "S_A_g",
                                  "input of self_attn (Linear)"])
def test_what_has_the_name_of_code_is_code(name):
    assert re.sub("\N{NO-BREAK SPACE}", " ", cells(["x"], [name])[1]) == f"<code>{name}</code>"


@pytest.mark.parametrize("text", ["A_g", "before W_k", "x_{t-1}", "a^2"])
def test_letters_with_an_index_are_formulas(text):
    assert "<math>" in cells(["x"], [text])[1]


@pytest.mark.parametrize("text", ["0.5", "-3", "two words", "a < b"])
def test_anything_else_stays(text):
    html = Table(["x"], [[text]]).html
    assert tables.set_tables(html) == html


@pytest.mark.parametrize("name", names() or ["none"])
def test_no_table_of_the_book_shows_raw_notation(book, name):
    for cell in soup(name).find_all(["td", "th"]):
        inside = "".join(text for text in cell.find_all(string=True)
                         if not text.find_parent(NO_TEXT) and not text.find_parent(class_="math"))
        assert not RAW.search(inside), inside
