"""Spelling of what a reader sees: the text of every built page, and the strings of the front end."""

import json
import re
import subprocess
import sys
from pathlib import Path

import codespell_lib
import pytest
from browsing import ROOT
from whole_book import names, prose, texts

STRINGS = ROOT / "tsattn_mini/explore/web/en.json"
PAIRS = Path(codespell_lib.__file__).parent / "data/dictionary_en-GB_to_en-US.txt"
# Spelled as whoever wrote it: titles of papers; names of functions and of a model's parts; a verb beside its noun.
ACCEPTED = {"modeling", "normalization", "practice"}

pytestmark = pytest.mark.usefixtures("book")


def written():
    """Every text by the name of the page that shows it."""
    return {name: prose(name) for name in names()} | {"en": "\n".join(texts(json.loads(STRINGS.read_text("utf8"))))}


def test_no_word_that_a_reader_sees_is_misspelled(tmp_path):
    for name, text in written().items():
        (tmp_path / name.replace("/", "-")).write_text(text, "utf8")
    command = [sys.executable, "-m", "codespell_lib", "-L", "froms,nd", tmp_path]
    found = subprocess.run(command, capture_output=True, text=True)
    assert (found.stdout, found.returncode) == ("", 0)


def test_a_word_is_spelled_the_british_way_or_the_american_way_but_not_both():
    words = set(re.findall("[a-z]+", " ".join(written().values()).lower()))
    pairs = [line.partition("->")[::2] for line in PAIRS.read_text("utf8").splitlines()]
    both = {american for british, (american, *_) in ((one, other.split(", ")) for one, other in pairs)
            if {british, american} <= words}
    assert both <= ACCEPTED
    assert words >= ACCEPTED
