"""`tsattn-mini lessons`: the list, and what opens a lesson."""

import json
import sys
from types import SimpleNamespace

import pytest

from tsattn_mini.cli import lessons, main


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout of two lessons; the programs that would be started are noted instead."""
    monkeypatch.setattr(lessons, "PACKAGE", tmp_path / "tsattn_mini")
    place(tmp_path / "lessons")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    started = []
    monkeypatch.setattr(lessons.webbrowser, "open", lambda address: started.append(address) or True)
    monkeypatch.setattr(lessons.subprocess, "run",
                        lambda command, check: started.append(command) or SimpleNamespace(returncode=0))
    return SimpleNamespace(root=tmp_path, started=started)


def place(folder):
    folder.mkdir(parents=True)
    for name, heading in (("01_first", "# 01 · First things\n"), ("02_second", "# 02: Second\n")):
        cells = [{"cell_type": "markdown", "source": [heading, "\n", "Words."]}]
        (folder / f"{name}.ipynb").write_text(json.dumps({"cells": cells}), "utf8")


def build(root, name):
    page = root / "_build/html/lessons" / f"{name}.html"
    page.parent.mkdir(parents=True)
    page.write_text("<!doctype html>")
    return page


def test_all_lessons_are_listed_with_their_titles(capsys):
    assert main(["lessons"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[4] == "05  De-stationary attention"
    assert [line[:2] for line in listed] == [f"{i:02}" for i in range(1, len(listed) + 1)]
    assert len(listed) >= 21


@pytest.mark.parametrize("name", ["2", "02", "02_sec", "02_second", "02_second.ipynb"])
def test_a_built_page_is_opened_first(checkout, name, capsys):
    page = build(checkout.root, "02_second")
    assert main(["lessons", "open", name]) == 0
    assert checkout.started == [page.as_uri()]
    assert main(["lessons", "open", name, "--print"]) == 0
    assert capsys.readouterr().out == f"{page}\n"


def test_a_page_below_the_folder_at_hand_counts(checkout):
    page = build(checkout.root / "here", "01_first")
    assert main(["lessons", "open", "1"]) == 0
    assert checkout.started == [page.as_uri()]


def test_without_a_page_the_notebook_is_opened_in_jupyterlab(checkout, capsys):
    notebook = checkout.root / "lessons/01_first.ipynb"
    assert main(["lessons", "open", "1"]) == 0
    assert checkout.started == [[sys.executable, "-m", "jupyterlab", notebook]]
    assert main(["lessons", "open", "1", "--print"]) == 0
    said = capsys.readouterr()
    assert said.out == f"{notebook}\n"
    assert said.err == ("tsattn-mini: lesson 01 has no built page here (`make book` makes it): JupyterLab opens "
                        "its notebook\n")


@pytest.mark.parametrize(("user", "code", "refused"), [(0, 1, True), (0, 0, False), (1000, 1, False)])
def test_root_is_told_how_jupyterlab_starts(checkout, monkeypatch, capsys, user, code, refused):
    monkeypatch.setattr(lessons.os, "geteuid", lambda: user)
    monkeypatch.setattr(lessons.subprocess, "run", lambda command, check: SimpleNamespace(returncode=code))
    assert main(["lessons", "open", "1"]) == refused
    how = f"unless you allow it: {sys.executable} -m jupyterlab {checkout.root / 'lessons/01_first.ipynb'} --allow-root"
    assert (how in capsys.readouterr().err) is refused


def test_an_installed_notebook_is_copied_once_and_never_over_ones_own_work(checkout, capsys):
    (checkout.root / "lessons").rename(checkout.root / "elsewhere")
    place(checkout.root / "tsattn_mini/lessons")
    copy = checkout.root / "here/01_first.ipynb"
    assert main(["lessons", "open", "1"]) == 0
    assert checkout.started == [[sys.executable, "-m", "jupyterlab", copy]]
    assert f"made {copy}" in capsys.readouterr().err
    copy.write_text("my own work")
    assert main(["lessons", "open", "1"]) == 0
    assert copy.read_text() == "my own work"
    assert "made" not in capsys.readouterr().err


def test_without_jupyterlab_it_says_what_to_do(checkout, monkeypatch, capsys):
    monkeypatch.setattr(lessons, "find_spec", lambda name: None)
    assert main(["lessons", "open", "1"]) == 1
    assert "run `make book` in a checkout, or `pip install jupyterlab`; the notebook is" in capsys.readouterr().err


def test_without_a_browser_it_says_which_file_to_open(checkout, monkeypatch, capsys):
    page = build(checkout.root, "01_first")
    monkeypatch.setattr(lessons.webbrowser, "open", lambda address: False)
    assert main(["lessons", "open", "1"]) == 1
    assert f"open this file in one: {page}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["0", "3", "", "nonsense", "../01_first", "01*", "-1", "1.5", "１"])
def test_a_lesson_that_is_not_there_is_refused_with_what_is(checkout, name, capsys):
    assert main(["lessons", "open", "--", name]) == 1
    assert "lesson: expected a number from 01 to 02 or the beginning of a name" in capsys.readouterr().err


def test_a_package_without_lessons_says_so(checkout, capsys):
    (checkout.root / "lessons").rename(checkout.root / "elsewhere")
    assert main(["lessons"]) == 1
    assert "install it again" in capsys.readouterr().err


def test_a_notebook_without_a_heading_goes_by_its_name(checkout, capsys):
    (checkout.root / "lessons/02_second.ipynb").write_text(json.dumps({"cells": []}))
    assert main(["lessons"]) == 0
    assert capsys.readouterr().out == "01  First things\n02  02_second\n"
