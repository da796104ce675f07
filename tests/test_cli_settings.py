"""`tsattn-mini settings`: the table, and everything that is wrong with a file in one line."""

import json

import own
import pytest
import torch

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


@pytest.mark.parametrize(("given", "why"), [
    ("model=nonstationary", "set: expected settings of the model, got model=nonstationary; --model names the model"),
    ("pred_length=7", "set: expected a setting of nonstationary, got pred_length; did you mean pred_len?"),
    *((f"{name}=3", f"set: expected a setting of nonstationary, got {name}; it has d_model, n_heads, ")
      for name in ("foo", "state", "self", "__class__", "path_or_dict")),
    ("a=" + "[" * 100_000, "set: expected a setting of nonstationary, got a; it has d_model")])
@pytest.mark.parametrize("command", ["settings", "trace"])
def test_a_name_that_is_no_setting_of_the_model_is_refused(checkpoint, command, given, why, capsys):
    assert main([command, str(checkpoint), "--set", *own.SET, given]) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"tsattn-mini: error: {why}")
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_whole_released_configuration_may_hold_more_and_name_the_model(checkpoint, tmp_path, capsys):
    more = {"model": "Nonstationary_Transformer", "state": "train", "n_heads": 2, "seg_len": 96, "path_or_dict": "."}
    (tmp_path / "args.json").write_text(json.dumps(more))
    assert main(["settings", str(checkpoint), "--config", str(tmp_path / "args.json")]) == 0
    assert any(line.split() == ["model", "nonstationary", "given"] for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(("content", "why"), [
    (b'{"a": "\xff"}', "it is no text in UTF-8"),
    (b'{"a": ' + b"9" * 5000 + b"}", "a number in it has too many digits"),
    (b'{"a": ' + b"[" * 100_000, "it is nested too deep"), (b"{", "expected JSON, got an error in line 1")])
def test_a_file_without_settings_is_named(checkpoint, content, why, tmp_path, capsys):
    (tmp_path / "args.json").write_bytes(content)
    assert main(["settings", str(checkpoint), "--config", str(tmp_path / "args.json")]) == 1
    said = capsys.readouterr().err
    expected = "tsattn-mini: error: config: expected a file with settings, got "
    assert said.startswith(f"{expected}{tmp_path / 'args.json'}: {why}")
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", ["settings", "trace"])
def test_what_loading_refuses_settings_refuses_with_the_same_sentence(checkpoint, tmp_path, command, capsys):
    torch.save(torch.load(checkpoint) | {"extra.weight": torch.ones(1)}, checkpoint)
    data = ["--data", str(own.data(tmp_path / "my.csv"))] if command == "trace" else []
    assert main([command, str(checkpoint), *data, "--set", *own.SET]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "tsattn-mini: error: state dict: unknown key 'extra.weight'\n")


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "uint16"])
def test_numbers_that_nothing_here_computes_with_are_refused_by_name(dtype, checkpoint, capsys):
    state = torch.load(checkpoint)
    first = next(iter(state))
    torch.save(state | {first: state[first].abs().to(getattr(torch, dtype))}, checkpoint)
    assert main(["settings", str(checkpoint)]) == 1
    said = capsys.readouterr().err
    assert said == ("tsattn-mini: error: state dict: expected float16, bfloat16, float32 or float64 under "
                    f"{first!r}, got {dtype}\n")


def test_a_device_is_no_file_of_weights(capsys):
    assert main(["settings", "/dev/null"]) == 1
    assert "checkpoint: '/dev/null' is a device or a pipe; pass a file" in capsys.readouterr().err


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
