"""The table of `make bench`: its columns stay, and what passes its limit is kept."""

import bench
import pytest


@pytest.fixture(autouse=True)
def over(monkeypatch):
    monkeypatch.setattr(bench, "OVER", [])


def test_a_long_label_has_a_line_of_its_own(capsys):
    for what in ("short", "x" * bench.LABEL, "x" * (bench.LABEL + 1)):
        bench.row(what, 1.5, 8)
    lines = capsys.readouterr().out.splitlines()
    assert [line.index("1.5 ms    ≤ 8 ms") for line in lines if "1.5" in line] == [bench.LABEL + 8] * 3
    assert lines[2] == "x" * (bench.LABEL + 1)


def test_what_passes_its_limit_is_named():
    bench.row("quick", 1, 8)
    bench.row("slow", 9, 8)
    assert bench.OVER == ["slow"]


def test_what_is_measured_is_said_before(capsys, monkeypatch):
    monkeypatch.setattr(bench, "every_explorer", lambda: iter(()))
    with pytest.raises(ValueError, match="empty"):
        bench.drags(None, "")
    assert capsys.readouterr().out.startswith("bench: dragging a handle of each of 0 explorers")
