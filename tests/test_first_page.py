"""The first page leads into the book before it lists it, and a lesson says once whose notes its boxes quote."""

import sys

import pytest
from browsing import ROOT
from whole_book import names, soup

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.notes import QUOTED, WHOSE


def test_the_first_page_begins_with_lesson_01_and_the_parts_and_shows_an_explorer():
    article = soup("book/index.html").article
    found = [element.name for element in article.find_all(["table", "img", "li"])]
    assert found[:2] == ["table", "img"]
    assert article.find("strong").a["href"].endswith("/01_attention_by_hand.html")
    assert len(article.table.tbody.find_all("tr")) == 6
    assert all(row.a for row in article.table.tbody.find_all("tr"))


@pytest.mark.parametrize("name", names("lessons/"))
def test_the_first_box_that_quotes_the_notes_says_whose_they_are(name):
    titles = soup(name).select("article .admonition > p.admonition-title")
    boxes = [title.parent for title in titles if QUOTED.match(title.get_text())]
    assert [WHOSE.strip() in box.get_text() for box in boxes] == [True, *[False] * (len(boxes) - 1)][:len(boxes)]
    assert sum(line.a is not None for line in soup(name).select("p.ts-whose")) == bool(boxes)
