"""A file is written whole or not at all, whatever lies beside it."""

import pytest

from tsattn_mini import whole


def test_the_file_takes_the_place_of_an_older_one_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "a.html"
    for text in ("é\r\n", "two\n"):
        whole.write_whole(path, text)
        assert path.read_bytes() == text.encode()
    assert [*tmp_path.iterdir()] == [path]


def test_a_link_that_waits_under_the_name_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(whole, "token_hex", lambda size: "guessed")
    mine, path = tmp_path / "mine", tmp_path / "a.html"
    mine.write_text("kept", "utf8")
    (tmp_path / "a.html.guessed.part").symlink_to(mine)
    with pytest.raises(FileExistsError):
        whole.write_whole(path, "new")
    assert mine.read_text("utf8") == "kept"
    assert not path.exists()


def test_what_cannot_be_written_leaves_the_older_file(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old", "utf8")
    with pytest.raises(UnicodeEncodeError):
        whole.write_whole(path, "a\ud800")
    assert path.read_text("utf8") == "old"
    assert [*tmp_path.iterdir()] == [path]
