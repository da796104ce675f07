"""The page of all questions holds what the lessons ask: all of it, once, in order, and as it is now."""

import re
import shutil

import pytest
from sample_questions import ROW_SUM, SCORE, SHIFT
from small_book import asked, build, lay_out, write_lesson

PLAIN = {f"9{i}_plain": (f"9{i} · Plain", {"Text": []}) for i in range(6)}


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setenv("TSATTN_BOOK", "1")
    lay_out(tmp_path, PLAIN | {
        "97_rows": ("97 · Rows & sums", {"One row": [ROW_SUM, SCORE], "A level": [SHIFT]}),
        "96_other": ("96 · Other", {"First": [asked("96-b")], "Then": [asked("96-a"), asked("96-b")]})})
    return tmp_path


def page(html):
    return (html / "book/self_test.html").read_text("utf8")


def ids(html):
    return re.findall(r"data-question='([^']+)'", page(html))


def test_every_question_stands_once_in_its_lesson_and_links_to_its_section(book):
    html = build(book)
    assert ids(html) == ["96-b", "96-a", "97-row-sum", "97-score", "97-shift"]
    text = page(html)
    for question in (ROW_SUM, SCORE, SHIFT):
        assert question.element().html in text
    folds = re.findall(r"<details class='ts-group' id='lesson-(\d+)'.*?<h2>(.*?)</h2>", text)
    assert folds == [("96", "96 · Other"), ("97", "97 · Rows &amp; sums")]
    places = re.findall(r"<b>([\d.]+)</b><a href='([^']+)'>([^<]+)</a>", text)
    assert places == [("96.1", "../lessons/96_other.html#first", "First"),
                      ("96.2", "../lessons/96_other.html#then", "Then"),
                      ("97.1", "../lessons/97_rows.html#one-row", "One row"),
                      ("97.2", "../lessons/97_rows.html#one-row", "One row"),
                      ("97.3", "../lessons/97_rows.html#a-level", "A level")]
    for _, address, _ in places:
        name, anchor = address[3:].split("#")
        assert f'id="{anchor}"' in (html / name).read_text("utf8")


def test_the_page_follows_its_lessons_and_rests_when_they_do(book):
    html = build(book)
    written = (html / "book/self_test.html").stat().st_mtime_ns
    write_lesson(book, "90_plain", "90 · Plain", {"Other text": []})
    build(book)
    assert (html / "book/self_test.html").stat().st_mtime_ns == written
    write_lesson(book, "90_plain", "90 · Plain", {"A question now": [asked("90-new")]})
    build(book)
    assert ids(html) == ["90-new", "96-b", "96-a", "97-row-sum", "97-score", "97-shift"]
    write_lesson(book, "96_other", "96 · Other name", {"First": [asked("96-a")]})
    build(book)
    assert ids(html) == ["90-new", "96-a", "97-row-sum", "97-score", "97-shift"]
    assert "96 · Other name" in page(html)
    (book / "lessons/97_rows.ipynb").unlink()
    build(book)
    assert ids(html) == ["90-new", "96-a"]


def test_lessons_that_are_read_side_by_side_make_the_same_page(book):
    alone, together = build(book), build(book, jobs=2, out="together")
    assert page(together) == page(alone)
    write_lesson(book, "97_rows", "97 · Rows", {"One row": [ROW_SUM]})
    for name in PLAIN:
        shutil.copy(book / "lessons/96_other.ipynb", book / f"lessons/{name}.ipynb")
    alone, together = build(book), build(book, jobs=2, out="together")
    assert ids(together) == ids(alone) == ["96-b", "96-a", "97-row-sum"]
