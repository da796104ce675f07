"""Firefox, the second browser: it goes through the built book by keyboard, and each page's test reads what it saw.

`firefox/walk.mjs` drives it by puppeteer-core and WebDriver BiDi. Every page comes from the disk, three over http too.
Printing is left to Chromium's tests, and so are the numbers themselves, which are those of the page's graph there.
"""

import json
import os
import re
import subprocess
from shutil import which

import pytest
from browsing import ROOT, pages

pytestmark = pytest.mark.browser
KGC, SELF_TEST = "lessons/09_knowledge_guided_conditioning.html", "book/self_test.html"
OVER_HTTP = ("index.html", KGC, SELF_TEST)
VISITS = [*(("file", name) for name in (*pages(), "handouts/09.html")), *(("http", name) for name in OVER_HTTP)]
HANDS = {  # what is done on a page that holds this
    "explorers": r"data-explorer=", "question": r"data-question='[^>]*data-kind='choice'",
    "theme": r"theme-switch-button", "talk": r"<template data-cell="}


def does(book, name):
    """What the reader's hands do on a page."""
    text = (book / name).read_text("utf8")
    found = [hand for hand, mark in HANDS.items() if re.search(mark, text)]
    if name == SELF_TEST:
        return ["score", "theme"]
    return [*found, "speaker"] if name == KGC else found


@pytest.fixture(scope="module")
def seen(book, served):
    """What Firefox saw, by the way to a page and its name."""
    program = next(filter(None, map(which, filter(None, (os.environ.get("FIREFOX"), "firefox-esr", "firefox")))), None)
    if program is None:
        pytest.fail("no Firefox found: `apt-get install firefox-esr`, or set FIREFOX to the program", pytrace=False)
    sites = {"file": book.as_uri() + "/", "http": served}
    plan = [{"site": sites[way], "name": name, "does": does(book, name)} for way, name in VISITS]
    done = subprocess.run(["node", "tests/firefox/walk.mjs"], input=json.dumps({"program": program, "visits": plan}),
                          cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {(way, name): found[f"{sites[way]} {name}"] for way, name in VISITS}


@pytest.mark.parametrize(("way", "name"), VISITS)
def test_a_page_in_firefox(seen, book, way, name):
    """Quiet, no wider than its window, every handle moves a picture, answers are judged, dark when asked, a talk."""
    page = seen[way, name]
    assert page.get("error") is None, page["error"]
    assert page["problems"] == []
    assert page["tooWide"] <= 0
    assert page.keys() - {"problems", "tooWide"} == set(does(book, name))
    for id, explorer in page.get("explorers", {}).items():
        assert (explorer["still"], explorer["back"]) == ([], True), id
    assert page.get("question", ["wrong", "right"]) == ["wrong", "right"]
    assert page.get("theme", "dark") == "dark"
    if talk := page.get("talk"):
        assert (talk["first"], talk["then"], talk["last"]) == (1, 2, talk["count"])
        assert talk["took"] > 0
        assert talk["left"]
    if "speaker" in page:
        assert page["speaker"][1] == page["speaker"][0] + 1


def test_the_score_of_all_questions_counts_in_firefox(seen):
    for way in ("file", "http"):
        score = seen[way, SELF_TEST]["score"]
        assert score["verdicts"] == ["wrong", "right"]
        assert (score["before"][:8], score["after"][:8]) == ("0 solved", "1 solved")
