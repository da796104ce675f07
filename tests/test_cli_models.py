"""`tsattn-mini trace` on the released weights of all nine models: each finds its columns, its marks, its settings."""

import own
import pytest
import torch
from test_checkpoint_round_trip import KINDS, golden

from tsattn_mini.cli import main

ONE_EACH = {model: name for name, (model, _) in reversed(KINDS.items())}
LAST = {"kite": "samples", "engram": "h_out"}


def brought(name, folder):
    """The checkpoint with its settings, and what it reads, as arguments of a command."""
    weights, params, x, _ = golden(name)
    torch.save({"model": weights, "args": params}, folder / "mine.pth")
    if "ids" in x:
        return [str(folder / "mine.pth"), "--text", "zegaMADE darer"]
    width = x["x_exo"].shape[-1] + 1 if "x_exo" in x else x.get("x_enc", x.get("x")).shape[-1]
    own.data(folder / "my.csv", [f"c{i}" for i in range(width)], rows=300)
    return [str(folder / "mine.pth"), "--data", str(folder / "my.csv")]


@pytest.mark.parametrize("model", ONE_EACH)
def test_every_released_model_is_traced(model, tmp_path, capsys):
    assert main(["trace", *brought(ONE_EACH[model], tmp_path)]) == 0, capsys.readouterr().err
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split() == ["step", "operation", "axes", "shape"]
    assert any(row.startswith(LAST.get(model, "forecast")) for row in rows), rows[-3:]
    assert len(rows) > 12


@pytest.mark.parametrize("model", ["engram", "itransformer"])
def test_a_text_and_a_series_are_not_taken_for_each_other(model, tmp_path, capsys):
    arguments = brought(ONE_EACH[model], tmp_path)
    own.data(tmp_path / "other.csv")
    other = ["--data", str(tmp_path / "other.csv")] if model == "engram" else ["--text", "a few words"]
    assert main(["trace", arguments[0], *other]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "error: text: " in said.err
    assert ("Engram reads a text" if model == "engram" else "reads a series") in said.err


def test_a_text_that_cannot_be_spelled_is_refused(tmp_path, capsys):
    path, *_ = brought(ONE_EACH["engram"], tmp_path)
    for text in ("", "\u4e00\u0416"):
        assert main(["trace", path, "--text", text]) == 1
        assert "error: text: " in capsys.readouterr().err
