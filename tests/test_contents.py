"""A book that gains, loses or renames a page says so on every other, and an edit writes one page alone."""

import pytest
import yaml
from browsing import ROOT
from small_book import build

# sphinx_external_toc looks at every object of the process, deprecated ones of torch too.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
CONF = f"""
import sys
sys.path.append({str(ROOT / "book/_ext")!r})
extensions = ["sphinx_external_toc", "tsbook.contents"]
external_toc_exclude_missing = True
html_theme = "basic"


def setup(app):
    app.connect("source-read", count_pages)


def count_pages(app, page, content):
    content[0] += f"\\n{{len(app.env.found_docs)}} pages.\\n"
"""


@pytest.fixture
def book(tmp_path):
    """A book of four pages, built; each says how many there are, and has a link to the page after it."""
    (tmp_path / "conf.py").write_text(CONF, "utf8")
    (tmp_path / "lessons").mkdir()
    write(tmp_path, "index", "A book")
    for name in ("one", "two", "three"):
        write(tmp_path, f"lessons/{name}", name.title())
    order(tmp_path, "one", "two", "three")
    build(tmp_path)
    return tmp_path


def write(book, name, title):
    (book / f"{name}.rst").write_text(f"{title}\n{'=' * len(title)}\n", "utf8")


def order(book, *names, caption="All"):
    part = {"caption": caption, "chapters": [{"file": f"lessons/{name}"} for name in names]}
    (book / "_toc.yml").write_text(yaml.safe_dump({"format": "jb-book", "root": "index", "parts": [part]}))


def written(book):
    """Page → when it was written."""
    out = book / "_build/html"
    return {page.relative_to(out).as_posix(): page.stat().st_mtime_ns for page in out.rglob("*.html")}


def text(book, page):
    return (book / f"_build/html/{page}.html").read_text("utf8")


def test_a_page_that_was_taken_away_leaves_nothing_behind(book):
    out = book / "_build/html"
    (out / "ts").mkdir()
    (out / "ts/help.html").touch()
    assert "Three" in text(book, "lessons/two")
    (book / "lessons/three.rst").unlink()
    order(book, "one", "two")
    build(book)
    assert {"index.html", "search.html", "lessons/one.html", "lessons/two.html", "ts/help.html"} <= written(book).keys()
    assert not list(out.rglob("three*"))
    assert not [name for name in written(book) if "hree" in (out / name).read_text("utf8")]


def test_a_page_that_came_stands_on_all_others(book):
    write(book, "lessons/four", "Four")
    order(book, "four", "one", "two", "three")
    before = written(book)
    build(book)
    assert "Four" in text(book, "lessons/one")
    assert "5 pages." in text(book, "lessons/two")
    assert all(then < written(book)[name] for name, then in before.items())


@pytest.mark.parametrize(("names", "caption"), [(("two", "one", "three"), "All"), (("one", "two", "three"), "Some")])
def test_another_order_or_part_writes_every_page(book, names, caption):
    before = written(book)
    order(book, *names, caption=caption)
    build(book)
    assert all(then < written(book)[name] for name, then in before.items())


def test_a_new_title_stands_on_every_page(book):
    write(book, "lessons/three", "Last")
    build(book)
    assert "Last" in text(book, "lessons/two")
    assert "Three" not in text(book, "lessons/two")


def test_an_edit_writes_one_page_and_nothing_none(book, capsys):
    before = written(book)
    capsys.readouterr()
    build(book)
    assert written(book) == before
    assert capsys.readouterr().err == ""
    with (book / "lessons/two.rst").open("a", encoding="utf8") as page:
        page.write("\nMore.\n")
    build(book)
    assert capsys.readouterr().err == "  writing the pages\n"
    again = {name for name, then in written(book).items() if then != before[name]}
    assert {name for name in again if name.startswith("lessons/")} == {"lessons/two.html"}


def test_a_lesson_that_the_book_leaves_out_is_named(book, capsys):
    (book / "lessons/23_new.ipynb").write_text("{}")
    capsys.readouterr()
    build(book)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "  lessons/23_new.ipynb is not named in _toc.yml, so the book leaves it out"
