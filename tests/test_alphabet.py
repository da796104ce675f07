"""The words for the letters of axes: those of the notation page, and those of the paper at hand."""

import re

import torch
from browsing import ROOT

from tsattn_mini import record, step
from tsattn_mini.engram.hashing import suffix_ngrams
from tsattn_mini.explore.element import words
from tsattn_mini.explore.stepbar import alphabet
from tsattn_mini.kite.gate import knowledge_guided


def letters_of(table):
    """The first column of one of the tables of axes on the notation page."""
    return re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", table, re.M)


def test_every_letter_of_the_notation_page_has_words_and_no_other():
    page = (ROOT / "book/notation.md").read_text("utf8").partition("## Tensors")[0]
    tables = {"any": page.partition("in KITE")[0], "kite": page.partition("in KITE")[2].partition("in Engram")[0],
              "engram": page.partition("in Engram")[2]}
    for paper, table in tables.items():
        listed = {letter for pair in letters_of(table) for letter in pair if letter}
        assert listed <= words("axes")[paper].keys(), paper
        assert words("axes")[paper].keys() - listed <= words("axes")["any"].keys(), paper


def recorded(make, *given):
    with record() as trace:
        make(*given)
    return trace


def guided():
    A = torch.ones(2, 3)
    knowledge_guided(A, A, A)


def plain():
    step("x", torch.ones(2), axes="N")


def beside(**names):
    """A function of this module with `names` at hand."""
    return eval("lambda: None", {"__name__": __name__, **names})


def test_a_letter_means_what_it_means_in_the_paper_whose_code_made_the_steps():
    say = words("axes")
    assert alphabet(recorded(guided), beside())["N"] == say["kite"]["N"]
    assert alphabet(recorded(guided), beside(f=suffix_ngrams))["N"] == say["kite"]["N"]
    assert alphabet(recorded(plain), beside(f=suffix_ngrams))["N"] == say["engram"]["N"]
    assert "N" not in alphabet(recorded(plain), beside())
    assert alphabet(recorded(plain), beside())["B"] == say["any"]["B"]
