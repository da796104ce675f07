"""`tsattn-mini settings`: the table, and everything that is wrong with a file in one line."""

import json

import own
import pytest

from tsattn_mini.cli import main

BAD = ["code", "zipped", "module", "cut", "empty", "words", "page", "gone", "folder"]


@pytest.fixture
def checkpoint(tmp_path):
    return own.checkpoint(tmp_path / "my_model.pth")


def test_what_the_weights_tell_and_what_not(checkpoint, capsys):
    assert main(["settings", str(checkpoint)]) == 0
    said = capsys.readouterr()
    rows = [line.split() for line in said.out.splitlines()]
    assert rows[0] == ["setting", "value", "where", "from"]
    assert ["model", "nonstationary", "read", "from", "the", "weights"] in rows
    assert ["d_model", "10", "read", "from", "the", "weights"] in rows
    assert "to load it, add --set label_len=… pred_len=… n_heads=…" in said.err


def test_what_is_given_is_shown_and_the_rest_is_asked_for(checkpoint, tmp_path, capsys):
    (tmp_path / "args.json").write_text(json.dumps({"n_heads": 5, "label_len": 3, "learning_rate": 1e-4}))
    assert main(["settings", str(checkpoint), "--config", str(tmp_path / "args.json"), "--set", "n_heads=2"]) == 0
    said = capsys.readouterr()
    assert any(line.split()[:3] == ["n_heads", "2", "given"] for line in said.out.splitlines())
    assert said.err == "tsattn-mini: to load it, add --set pred_len=…\n"
    assert main(["settings", str(checkpoint), "--set", *own.SET]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_checkpoint_is_refused_in_one_line_and_never_run(name, tmp_path, capsys):
    path, why = own.bad_checkpoints(tmp_path)[name]
    assert main(["settings", str(path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("tsattn-mini: error: ")
    assert said.err.count("\n") == 1
    assert why in said.err, said.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("arguments", "why"), [
    (["--model", "nonsense"], "model: expected one of"), (["--model", "duet"], "nonstationary"),
    (["--config", "gone.json"], "config: expected a file, got gone.json"),
    (["--set", "n_head=2"], "did you mean n_heads"),
    (["--set", "d_model=16"], "the weights say 10, got 16")])
def test_settings_that_do_not_fit_are_refused_in_one_line(checkpoint, arguments, why, capsys):
    assert main(["settings", str(checkpoint), *arguments]) == 1
    said = capsys.readouterr().err
    assert why in said, said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("text", "value"), [
    ("a=8", 8), ("a=0.5", 0.5), ("a=relu", "relu"), ("a=true", True), ("a=True", True), ("a=None", None),
    ("a=[1, 2]", [1, 2]), ("a=", ""), (" a = 8 ", 8), ("a=b=c", "b=c"), ("a=1e-4", 1e-4), ('a="8"', "8")])
def test_a_value_is_read_as_what_it_looks_like(text, value):
    from tsattn_mini.cli.given import _pair

    assert _pair(text) == ("a", value)


@pytest.mark.parametrize("text", ["n_heads", "=8", "my_model.pth"])
def test_a_setting_without_name_or_value_is_not_understood(checkpoint, text, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["settings", str(checkpoint), "--set", text])
    assert ended.value.code == 2
    assert "expected NAME=VALUE, such as n_heads=8" in capsys.readouterr().err
