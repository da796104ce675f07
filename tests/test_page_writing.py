"""What `page.write` takes, refuses and leaves on the disk."""

from dataclasses import replace

import pytest
import torch

from tsattn_mini import step
from tsattn_mini.explore import Explorer, Slider, page
from tsattn_mini.explore.element import embedded
from tsattn_mini.explore.question import Option, Show, choice, render
from tsattn_mini.figures import Table


@pytest.fixture(scope="module")
def explorer():
    made = Explorer(lambda x: step("y", x * torch.ones(3), axes="V"), {"x": Slider(1.0, -2, 2)}, id="page-writing")
    yield made
    made.close()


QUESTION = choice(id="97-page", text="Which?", answer=lambda: "a",
                  options={"a": Option("This.", "Yes."), "b": Option("That.", "No.")})


def test_the_same_blocks_are_the_same_bytes_in_the_place_of_an_older_file(explorer, tmp_path):
    first, again = tmp_path / "first.html", tmp_path / "again.html"
    again.write_text("older")
    for path in (first, again):
        page.write(path, [explorer, QUESTION, Table(["a"], [[1]]), "Words."], title="A page")
    assert first.read_bytes() == again.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.html", "first.html"]


def test_the_graphs_are_in_the_page_and_not_in_the_notebook(explorer, tmp_path):
    page.write(tmp_path / "page.html", [explorer], title="A page")
    assert '"graphs":{"":"H4sI' in (tmp_path / "page.html").read_text("utf8")
    assert '"graphs":{}' in explorer.html


def test_the_page_says_of_a_step_what_it_was_computed_from_and_by_which_line(explorer):
    about = explorer.alone().partition("data-about='y'")[2].partition("</div>")[0]
    assert about == explorer.html.partition("data-about='y'")[2].partition("</div>")[0]
    assert "<code>x * torch.ones(3)</code>" in about
    assert "<b>x</b>" in about


def test_a_lesson_too_writes_pages_that_lead_to_no_other_page(tmp_path, monkeypatch):
    monkeypatch.setenv("TSATTN_BOOK", "1")
    shows = replace(QUESTION, lesson="97_page", show=Show("page-writing", x=2.0))
    assert "97_page.html?s=" in render(shows)
    page.write(tmp_path / "page.html", [shows], title="A page")
    assert "<a href='#explorer-page-writing'" in (tmp_path / "page.html").read_text("utf8")


def test_a_page_names_no_folder_of_the_machine(explorer, tmp_path):
    page.write(tmp_path / "page.html", [explorer], title="A page")
    text = (tmp_path / "page.html").read_text("utf8")
    assert __file__ not in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(("blocks", "title", "message"), [
    ("text", "A page", "blocks: expected a list, got str"),
    (Table(["a"], []), "A page", "blocks: expected a list, got Table"),
    (3, "A page", "blocks: expected a list, got int"),
    (["text", 3], "A page", r"blocks\[1\]: expected an Explorer, a Question, a Table or Figure, or text, got int"),
    ([QUESTION, QUESTION], "A page", r"blocks\[1\]: expected every explorer and question once, got '97-page' again"),
    ([], " ", "title: expected a few words, got ' '"),
    ([], None, "title: expected a text, got NoneType"),
])
def test_what_is_no_page_is_refused_and_nothing_is_written(tmp_path, blocks, title, message):
    with pytest.raises(ValueError, match=message):
        page.write(tmp_path / "page.html", blocks, title=title)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^path: expected a file in a folder that exists, got '.*missing.page"):
        page.write(tmp_path / "missing/page.html", [], title="A page")


@pytest.mark.parametrize("path", [None, 3, "", "/"])
def test_a_path_that_names_no_file_is_refused(path):
    with pytest.raises(ValueError, match=r"^path: expected (a file|the name of a file), got "):
        page.write(path, [], title="A page")


def test_names_that_work_unseen_are_refused_where_a_page_finds_parts_by_them():
    odd = "a\0b"
    with pytest.raises(ValueError, match="fn: expected a step name that the page can use"):
        Explorer(lambda x: step(odd, x * torch.ones(3), axes="V"), {"x": Slider(1.0, -2, 2)}, id="page-odd")
    with pytest.raises(ValueError, match="inputs: expected names that can be seen whole"):
        Explorer(lambda **x: step("y", x[odd] * torch.ones(3), axes="V"), {odd: Slider(1.0, -2, 2)}, id="page-odd")


def test_json_in_a_page_has_no_half_characters():
    assert embedded({"a": "\ud800</script>"}) == '{"a":"\\ud800\\u003c/script>"}'
