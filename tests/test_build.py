"""`make book` and `make lessons` end in a sentence where a file of the book has a fault."""

import importlib.util
import warnings

import pytest
from browsing import ROOT
from nbformat.v4 import new_code_cell, new_notebook
from sphinx.errors import ExtensionError
from tsbook import hard_questions, run, store

SPEC = importlib.util.spec_from_file_location("build", ROOT / "book/build.py")
build = importlib.util.module_from_spec(SPEC)
with warnings.catch_warnings(action="ignore"):  # Jupyter Book uses names that click has deprecated
    import jupyter_book.sphinx
    SPEC.loader.exec_module(build)


@pytest.fixture
def book(tmp_path):
    """A book of nothing but its contents."""
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    return tmp_path


@pytest.mark.parametrize("result", [ExtensionError("23.yaml: expected 5 questions, got 4"), 1])
def test_an_error_of_the_book_has_no_traceback(book, monkeypatch, result):
    monkeypatch.setattr(jupyter_book.sphinx, "build_sphinx", lambda *places, **options: result)
    with pytest.raises(SystemExit) as ended:
        build.main([str(book)])
    assert ended.value.code == 1


def test_a_fault_of_ours_keeps_its_traceback(book, monkeypatch):
    monkeypatch.setattr(jupyter_book.sphinx, "build_sphinx", lambda *places, **options: KeyError("x"))
    with pytest.raises(RuntimeError):
        build.main([str(book)])


@pytest.mark.parametrize("contents", ["root: [", "chapters: []"])
def test_contents_that_are_malformed_are_named(book, contents):
    (book / "_toc.yml").write_text(contents)
    with pytest.raises(SystemExit, match=r"_toc\.yml"):
        build.main([str(book)])


def test_a_talk_with_a_fault_stops_its_lesson_in_its_own_words(tmp_path):
    (tmp_path / "book/talks").mkdir(parents=True)
    (tmp_path / "book/talks/23.yaml").write_text("needs: x\n")

    class App:
        srcdir = tmp_path

        class env:
            note_dependency = print

    with pytest.raises(ExtensionError, match=r"^23\.yaml: expected the fields "):
        hard_questions.append(App, "lessons/23_x", ['{"cells": []}'])


def test_lessons_that_do_not_exist_are_named_before_any_runs(monkeypatch):
    monkeypatch.setattr(store, "run_each", lambda jobs: pytest.fail("a lesson ran"))
    there = str(ROOT / "lessons/02_handles.ipynb")
    with pytest.raises(SystemExit, match=r"^LESSONS: expected .*, got lessons/98_x\.ipynb, lessons/99_x\.ipynb"):
        store.main(["lessons/98_x.ipynb", there, "lessons/99_x.ipynb"])


def test_a_lesson_that_was_stored_says_how_many_are_left(tmp_path, monkeypatch, capsys):
    async def nothing(notebook, path, book):
        pass

    def one_by_one(jobs):
        for job in jobs:
            with pytest.raises(StopIteration):
                job().send(None)

    monkeypatch.setattr(store, "run", nothing)
    monkeypatch.setattr(store, "run_each", one_by_one)  # no event loop of asyncio: Playwright's may be running
    for name in ("01_a", "02_b"):
        store.nbformat.write(new_notebook(cells=[new_code_cell("1")]), tmp_path / f"{name}.ipynb")
    store.main([str(tmp_path / "01_a.ipynb"), str(tmp_path / "02_b.ipynb")])
    assert capsys.readouterr().out == "  1 of 2: stored 01_a.ipynb\n  2 of 2: stored 02_b.ipynb\n"


def test_places_are_counted():
    place = run.counted(3)
    assert [place(), place(), place()] == ["1 of 3", "2 of 3", "3 of 3"]
