"""Tables that fold, lines that are cut, colours and waiting lines for terminals only."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsattn_mini.cli import terminal
from tsattn_mini.cli.terminal import coloured, columns, cut, folded, table, waiting, width

HEADER, ROWS = ("step", "operation", "shape"), [("A", "softmax(τ Q Kᵀ + 1 δᵀ) over the keys", "(1, 8, 96, 96)")]
LETTER = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp", "Mn", "Me", "Mc"])
TEXT = st.text(LETTER | st.just(" "), max_size=60)


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """`screen()` makes both streams a terminal of 40 columns, and returns them."""
    def on():
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("COLUMNS", "40")
        streams = Screen(), Screen()
        monkeypatch.setattr("sys.stdout", streams[0])
        monkeypatch.setattr("sys.stderr", streams[1])
        return streams

    return on


def test_a_table_has_all_it_needs_in_a_pipe():
    assert table(HEADER, ROWS).splitlines() == [
        "step  operation                             shape",
        "────  ────────────────────────────────────  ──────────────",
        "A     softmax(τ Q Kᵀ + 1 δᵀ) over the keys  (1, 8, 96, 96)"]


def test_in_little_room_the_widest_column_folds():
    assert table(HEADER, ROWS, 40).splitlines() == [
        "step  operation           shape",
        "────  ──────────────────  ──────────────",
        "A     softmax(τ Q Kᵀ + 1  (1, 8, 96, 96)",
        "      δᵀ) over the keys"]


def test_in_no_room_lines_are_cut_with_a_sign():
    lines = table(HEADER, ROWS, 20).splitlines()
    assert all(width(line) <= 20 for line in lines)
    assert any(line.endswith("…") for line in lines)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4), st.integers(12, 60))
def test_no_line_is_too_wide_and_no_letter_is_lost(rows, room):
    folded_table = table(("a", "b"), rows, room)
    assert all(width(line) <= room for line in folded_table.splitlines())
    if "…" not in folded_table and room >= 2 * terminal.NARROWEST + 2:
        letters = sorted("".join(folded_table.split()).replace("─", ""))
        assert letters == sorted("ab" + "".join("".join("".join(row).split()).replace("─", "") for row in rows))


@given(TEXT, st.integers(12, 60))
def test_a_folded_text_is_the_text(text, room):
    lines = folded(text, room, "  ").splitlines()
    assert all(width(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_what_works_unseen_is_spelled_out():
    assert table(("name",), [("a\x1b[31m\nb\u202e",)]).splitlines()[-1] == r"a\x1b[31m\nb\u202e"


def test_wide_letters_take_two_columns_and_marks_none():
    assert [width(text) for text in ("τ", "注意力", "e\u0301", "")] == [1, 6, 1, 0]
    assert cut("注意力机制", 6) == "注意…"


def test_colours_are_for_terminals_that_want_them(screen, monkeypatch):
    screen()
    assert coloured("no", "wrong") == "\x1b[31mno\x1b[0m"
    assert coloured("no", "wrong", io.StringIO()) == "no"
    monkeypatch.setenv("TERM", "dumb")
    assert coloured("no", "wrong") == "no"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("no", "wrong") == "no"


def test_a_terminal_has_columns(screen):
    screen()
    assert columns() == 40


def test_what_takes_a_while_is_said_and_taken_back_on_a_terminal_only(screen, monkeypatch):
    _, beside = screen()
    with waiting("reading"):
        assert beside.getvalue() == "\r\x1b[Kreading …"
    assert beside.getvalue().endswith("\r\x1b[K")
    with waiting("making\x1b[2J a page that takes a very long while", 3, 4):
        assert beside.getvalue().endswith("\r\x1b[K▇▇▇· making\\x1b[2J a page that takes a …")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with waiting("reading"):
        pass
    assert terminal.sys.stderr.getvalue() == ""
