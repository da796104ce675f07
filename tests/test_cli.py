"""The command line as a whole: help, exit codes, errors in one line, pipes, locales, interruption."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tsattn_mini.cli import lessons, main

RUN = [sys.executable, "-m", "tsattn_mini"]
UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}
COMMANDS = ["lessons", "quiz"]


def run(*arguments, **options):
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, encoding="utf8", **options)


@pytest.mark.parametrize("command", [[], *([c] for c in COMMANDS)])
def test_help_has_examples_that_the_parser_understands(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    examples = re.findall(rf"^  tsattn-mini ({' '.join(command)}.*?)(?:  +.*)?$", said, re.MULTILINE)
    assert len(examples) >= 3, said
    for example in examples:
        with pytest.raises(SystemExit) as ended:
            main([*example.split(), "--help"])
        assert ended.value.code == 0, example


def test_help_loads_neither_torch_nor_pandas():
    look = "import sys, tsattn_mini.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "pandas", "numpy", "anywidget", "IPython"} & set(loaded)


def test_help_comes_at_once():
    before = sum(os.times()[2:4])
    assert run("--help").returncode == 0
    assert sum(os.times()[2:4]) - before < 0.5  # seconds of a processor, so that a busy machine does not count


@pytest.mark.parametrize("arguments", [["nonsense"], [], ["quiz", "--number", "three"], ["lessons", "--nope"]])
def test_what_is_not_understood_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(r"tsattn-mini \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_an_error_is_one_line_and_the_traceback_is_for_who_asks(capsys):
    assert main(["lessons", "open", "99\x1b[2J\nnot"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"tsattn-mini: error: lesson: .*got '99\\x1b\[2J\\nnot'\n", said.err)
    with pytest.raises(ValueError, match="lesson: expected"):
        main(["lessons", "open", "99", "--debug"])


@pytest.mark.parametrize(("error", "line"), [
    (FileNotFoundError(2, "No such file or directory", "gone.csv"), "gone.csv: No such file or directory"),
    (ValueError("a: one\n  two\u2028three"), r"a: one two three"),
    (KeyError("odd"), "KeyError: 'odd' (not foreseen; --debug shows where it came from)"),
])
def test_whatever_fails_is_told_in_one_line(error, line, monkeypatch, capsys):
    def fail(asked):
        raise error

    monkeypatch.setattr(lessons, "show", fail)
    assert main(["lessons"]) == 1
    assert capsys.readouterr().err == f"tsattn-mini: error: {line}\n"


def test_a_reader_that_has_enough_ends_it_quietly():
    many = f"{' '.join(RUN)} lessons | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", many], capture_output=True, text=True, env=UNBUFFERED)
    assert done.stdout == "01  Attention by hand\n0\n"
    assert done.stderr == ""


def test_control_c_ends_with_130_and_without_a_traceback():
    with subprocess.Popen([*RUN, "quiz", "02"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, encoding="utf8", env=UNBUFFERED) as asking:
        while "Question 1" not in asking.stdout.readline():
            assert asking.poll() is None
        asking.send_signal(signal.SIGINT)
        _, said = asking.communicate(timeout=30)
    assert (asking.returncode, said) == (130, "tsattn-mini: interrupted\n")


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
                                    {"LC_ALL": "POSIX", "LANG": ""}])
def test_letters_arrive_whole_in_any_locale(locale):
    done = subprocess.run([*RUN, "lessons", "open", "θ"], capture_output=True, env={**os.environ, **locale})
    assert done.returncode == 1
    assert "'θ'" in done.stderr.decode("utf8") or r"'\udcce\udcb8'" in done.stderr.decode("utf8")
    assert run("lessons", env={**os.environ, **locale, "PYTHONIOENCODING": "ascii"}).stderr == ""


def test_a_pipe_gets_no_colour_and_whole_lines(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["lessons"]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "07  Non-stationary in the wild\n" in said


@pytest.mark.parametrize("command", [[], ["trace"], ["page"]])
def test_every_example_that_loads_a_model_says_what_its_weights_do_not(command, capsys):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    examples = [line for line in capsys.readouterr().out.splitlines() if "my_model.pth --data" in line]
    assert examples
    assert [line for line in examples if "--config args.json" not in line
            and "--set n_heads=8 label_len=48 pred_len=96" not in line] == []
