"""The words for the letters of axes: those of the notation page, and those of the paper at hand."""

import torch
import yaml
from browsing import ROOT

from tsattn_mini import record, step
from tsattn_mini.engram.hashing import suffix_ngrams
from tsattn_mini.explore.element import words
from tsattn_mini.explore.stepbar import alphabet
from tsattn_mini.kite.gate import knowledge_guided

ZOO = {"Informer": "zoo.prob_sparse", "Autoformer": "zoo.autoformer", "FEDformer": "zoo.fourier",
       "iTransformer": "zoo.itransformer", "TimeXer": "zoo.timexer", "DUET": "zoo.duet"}  # model → module of its steps


def tables():
    """Paper → the letters that the notation page's tables of axes give it."""
    found = {}
    for axis in yaml.safe_load((ROOT / "book/axes.yaml").read_text("utf8")):
        found.setdefault(ZOO.get(axis["of"], axis["of"]), set()).update(axis["letters"])
    return found


def test_every_letter_of_the_notation_page_has_words_and_no_other():
    say, listed = words("axes"), tables()
    assert listed.keys() == say.keys()
    for paper, letters in listed.items():
        assert letters <= say[paper].keys(), paper
        assert say[paper].keys() - letters <= say["any"].keys(), paper


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
