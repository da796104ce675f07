"""Explorers without a lesson's page around them: those that a notebook makes, and pages made of a few of them."""

import warnings
from contextlib import contextmanager

import nbformat
import pytest
import torch
from browsing import BOOK, ROOT, specs, watched
from live import Live

from tsattn_mini.explore.explorer import Explorer


@contextmanager
def made_by(lesson, needed=None):
    """By id, the explorers that the cells of a lesson make; torch keeps the lesson's settings meanwhile.

    With `needed` no cell runs after the last one that makes one of these explorers.
    """
    path = ROOT / "lessons" / f"{lesson}.ipynb"
    made, dtype = {}, torch.get_default_dtype()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")
        patch.delenv("TSATTN_BOOK", raising=False)
        patch.chdir(path.parent)
        # The page brings the graphs that are compared, so none is exported here.
        patch.setattr(Explorer, "_export", lambda explorer: made.setdefault(explorer.id, explorer) and {})
        namespace = {"__name__": path.stem}
        try:
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type == "code" and (needed is None or not made.keys() >= needed):
                    exec(compile(cell.source, f"{path.name}:{cell.id}", "exec"), namespace)
            yield made
        finally:
            for explorer in made.values():
                explorer.close()
            torch.set_default_dtype(dtype)


@contextmanager
def page_of(make, folder):
    """`folder`/page.html with the explorers of the list that `make()` returns, and the book's front end beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSATTN_BOOK", "1")
        made = make()
    (folder / "ts").symlink_to(BOOK / "ts")
    (folder / "page.html").write_text(
        "<!doctype html><html lang='en'><meta charset='utf8'><title>Explorers</title>"
        "<meta name='viewport' content='width=device-width'>"
        "<link rel='icon' href='data:,'><link rel='stylesheet' href='ts/style.css'>"
        "<script defer src='ts/book.js'></script>"
        "<body><main>" + "".join(explorer.html for explorer in made) + "</main></body></html>", "utf8")
    yield folder
    for explorer in made:
        explorer.close()


@contextmanager
def opened(browser, folder, site=None, query="", **context):
    """The page of `page_of` in a fresh window: by id its explorers. What goes wrong on it fails the test.

    It is opened from the disk, or from the address `site` where `folder` is served.
    """
    window, problems = browser.new_context(**context), []
    site = site or folder.as_uri() + "/"
    page = watched(window, site, problems)
    page.goto(f"{site}page.html{query}")
    yield {id: Live(page, spec) for id, spec in specs("page.html", folder).items()}
    window.close()
    assert problems == []
