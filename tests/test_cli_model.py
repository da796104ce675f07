"""`tsattn-mini trace` and `page`: the table, the files, and every bad input in one line with exit code 1."""

import csv
from xml.etree import ElementTree

import own
import pytest

from tsattn_mini.cli import main
from tsattn_mini.cli.given import spoken

COMMANDS = ["trace", "page"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a checkpoint and data that fit."""
    monkeypatch.chdir(tmp_path)
    own.checkpoint(tmp_path / "my_model.pth")
    own.data(tmp_path / "my.csv")
    return tmp_path


def run(command, *arguments, checkpoint="my_model.pth", data="my.csv", given=own.SET):
    out = ["--out", "my_model.html"] if command == "page" and "--out" not in arguments else []
    source = ["--data", data] if data else []
    return main([command, checkpoint, *source, *(["--set", *given] if given else []), *out, *arguments])


def refused(capsys):
    """The one line that is said about what is wrong, beside what was found in the data."""
    said = capsys.readouterr()
    assert said.out == ""
    wrong = [line for line in said.err.splitlines() if line.startswith("tsattn-mini: error: ")]
    assert len(wrong) == 1
    assert said.err.endswith(f"{wrong[0]}\n")
    assert "Traceback" not in said.err
    return wrong[0]


def test_the_table_has_a_row_for_every_step(here, capsys):
    assert run("trace", "--target", "load") == 0
    said = capsys.readouterr()
    rows = said.out.splitlines()
    assert rows[0].split() == ["step", "operation", "axes", "shape"]
    assert [row.split()[0] for row in rows[2:6]] == ["x", "x_raw", "mu", "x_centred"]
    assert rows[-1].startswith("forecast")
    assert rows[-1].endswith("B F V    (1, 5, 3)")
    assert "my.csv: the target is 'load'\n" in said.err
    assert "my.csv: 200 rows" in said.err


def test_steps_are_picked_in_the_order_of_the_model(here, capsys):
    assert run("trace", "--steps", "tau", "enc0/[qk]", "x") == 0
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()[2:]] == ["x", "tau", "enc0/q", "enc0/k"]


def test_the_table_is_written_as_csv(here, capsys):
    assert run("trace", "--steps", "tau", "delta", "--csv", "steps.csv") == 0
    with open("steps.csv", newline="", encoding="utf8") as lines:
        rows = list(csv.reader(lines))
    assert rows == [["step", "operation", "axes", "shape"], ["tau", "τ = exp(log τ)", "B 1", "(1, 1)"],
                    ["delta", "δ = P_δ(x, μ)", "B S", "(1, 11)"]]
    assert "wrote steps.csv" in capsys.readouterr().err


def test_the_flow_is_drawn_as_a_picture_by_itself(here):
    assert run("trace", "--steps", "enc0/*", "--flow", "flow.svg") == 0
    root = ElementTree.parse("flow.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"enc0/q", "enc0/A", "enc0/norm2"} <= set(texts)
    assert "enc0/A ← enc0/logits" in root.get("aria-label")


def test_a_window_is_chosen_by_row_or_by_date(here, capsys, monkeypatch):
    from tsattn_mini import explain

    asked = []
    monkeypatch.setattr(explain, "trace", lambda model, series, **given: asked.append(given) or stop())
    for start in ("24", "2016-07-02 00:00", None):
        run("trace", *(["--start", start] if start else []), *(["--no-scale"] if start == "24" else []))
    assert asked == [{"start": 24, "scaled": False}, {"start": "2016-07-02 00:00", "scaled": True},
                     {"start": None, "scaled": True}]


def stop():
    raise ValueError("enough")


def test_a_start_by_row_and_by_date_is_the_same_window(here, capsys):
    from tsattn_mini import explain
    from tsattn_mini.datasets import read_csv
    from tsattn_mini.official import load_checkpoint

    model = load_checkpoint("my_model.pth", n_heads=2, label_len=3, pred_len=5)
    series = read_csv("my.csv")
    by_row, by_date = (explain.trace(model, series, start=start, scaled=False) for start in (24, "2016-07-02"))
    assert by_row["x"].tensor.equal(by_date["x"].tensor)
    want = series.tensor(["load", "wind", "price"])[24:35]
    assert by_row["x"].tensor[0].equal(want)


@pytest.fixture
def written(monkeypatch):
    """What the page would be made of, instead of the seconds that making it takes."""
    from tsattn_mini import explain

    asked = []
    monkeypatch.setattr(explain, "explorers", lambda model, series, **named: asked.append(named) or ["Words.", "More."])
    return asked


def test_a_page_is_written_and_named(here, written, capsys):
    assert run("page", "--title", "Load & <price>", "--lead", "In July.", "--start", "7") == 0
    said = capsys.readouterr()
    assert said.out == "my_model.html\n"
    assert "wrote" in said.err
    assert "MB: open it in a browser" in said.err
    page = (here / "my_model.html").read_text("utf8")
    assert "<title>Load &amp; &lt;price&gt;</title>" in page
    assert "In July." in page
    assert written == [{"start": 7, "scaled": True}]
    assert run("page", "--out", "second.html", "--no-scale") == 0
    assert "<title>my_model.pth on my.csv</title>" in (here / "second.html").read_text("utf8")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["code", "zipped", "module", "cut", "empty", "words", "page", "gone", "folder"])
def test_what_is_no_checkpoint_is_refused_and_never_run(command, name, here, capsys):
    path, why = own.bad_checkpoints(here)[name]
    assert run(command, checkpoint=str(path)) == 1
    assert why in refused(capsys)
    assert not (here / "ran").exists()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("arguments", "why"), [
    (["--model", "nonsense"], "model: expected one of"), (["--model", "itransformer"], "nonstationary"),
    (["--start", "195"], "start: expected a row from 0 to 184"), (["--start", "2015-01-01"], "start: expected a date"),
    (["--start", "soon"], "start: expected a row or a date"), (["--start", "-1"], "start: expected"),
    (["--target", "gone"], "gone"), (["--columns", "wind", "price"], "the weights take 3 variables, got 2 columns"),
    (["--sep", ";;"], "sep: expected one character"), (["--decimal", "x"], "decimal"), (["--freq", "blue"], "freq"),
    (["--freq", "99999999999999999h"], "freq: expected a step"), (["--freq", "999999999999h"], "freq: expected a step"),
    (["--date-format", "%Q"], "date_format: expected one that Python knows, like '%d/%m/%Y %H:%M', got '%Q'"),
    (["--date-format", "%d%d"], "date_format: expected one"), (["--date-format", "%"], "date_format: expected one"),
    (["--missing", "guess"], "missing: expected one of"), (["--date", "load"], "load"),
    (["--encoding", "utf9"], "encoding")])
def test_what_does_not_fit_is_refused(command, arguments, why, here, capsys):
    assert run(command, *arguments) == 1
    assert why in refused(capsys)


@pytest.mark.parametrize(("written", "asked"), [
    ("date,load,wind,price\n2016-07-01,1,2,3\n2016-07-02,,2,3\n", "say --missing 'interpolate', 'last' or 'zero'"),
    ("load,wind,price\n1,2,3\n2,2,3\n", "or --freq 'h' to count the rows"),
    ("date,load,wind,price\n2016-07-01,a b,2,3\n2016-07-02,1,2,3\n", "leave the column out with --columns")])
def test_what_to_do_is_said_as_the_command_line_says_it(written, asked, here, capsys):
    (here / "my.csv").write_text(written, "utf8")
    assert run("trace") == 1
    said = refused(capsys)
    assert asked in said
    assert "=" not in said


def test_a_checkpoint_is_called_what_the_command_line_calls_it(here, capsys):
    assert run("trace", checkpoint="gone.pth") == 1
    assert "error: checkpoint: 'gone.pth' does not exist" in refused(capsys)


def test_names_in_quotes_stay_as_they_are():
    assert spoken("column 'freq=': say date='…' or date_format='%d', or freq=, or columns=[…]") == (
        "column 'freq=': say --date '…' or --date-format '%d', or --freq, or --columns")


@pytest.mark.parametrize("command", COMMANDS)
def test_settings_that_are_missing_are_named_all_at_once(command, here, capsys):
    assert run(command, given=["pred_len=5"]) == 1
    said = refused(capsys)
    assert "my_model.pth: its weights do not tell everything, so add --set label_len=… n_heads=…" in said
    assert "number of heads" in said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("given", "why"), [
    ("n_heads=3", "divisor"), ("n_heads=two", "n_heads: expected a whole number, got 'two'"),
    ("d_model=16", "weights say 10"), ("label_len=99", "label_len")])
def test_settings_that_contradict_the_weights_are_refused(command, given, why, here, capsys):
    assert run(command, given=[*own.SET, given]) == 1
    assert why in refused(capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_data_it_says_how_to_name_some(command, here, capsys):
    assert run(command, data=None) == 1
    assert "expected a CSV file, --data my.csv, or for Engram a text" in refused(capsys)
    assert run(command, "--text", "a few words") == 1
    assert "got both" in refused(capsys)
    assert run(command, data="gone.csv") == 1
    assert "gone.csv" in refused(capsys)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("text", "why"), [
    ("", "empty"), ("date,load,wind,price\n", "row"), ("date,load,wind,price\n2016-07-01,1,2\n", "row 2"),
    ("date,load,wind,price\n2016-07-01,1,2,x\n2016-07-02,1,2,3\n", "price"),
    ("load,wind,price\n1,2,3\n4,5,6\n", "freq")])
def test_data_that_cannot_be_read_is_refused(command, text, why, here, capsys):
    (here / "bad.csv").write_text(text)
    assert run(command, data="bad.csv") == 1
    assert why in refused(capsys)


@pytest.mark.parametrize("command", COMMANDS)
def test_data_that_is_too_short_or_too_wide_says_what_fits(command, here, capsys):
    own.data(here / "short.csv", rows=16)
    assert run(command, data="short.csv") == 1
    assert "expected at least 17 rows" in refused(capsys)
    own.data(here / "wide.csv", columns=[f"c{i}" for i in range(500)])
    assert run(command, data="wide.csv") == 1
    assert "the weights take 3 variables, got 500 columns" in refused(capsys)


def test_names_of_columns_never_reach_the_terminal_as_they_are(here, capsys):
    own.data(here / "odd.csv", columns=["\x1b[31mred", "=1+1", "<b>&\n"])
    assert run("trace", "--target", "gone", data="odd.csv") == 1
    assert "\x1b" not in refused(capsys)
    assert run("trace", "--steps", "tau", data="odd.csv") == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.err + said.out


@pytest.mark.parametrize(("command", "arguments", "why"), [
    ("trace", ["--flow", "flow.png"], "flow: expected a name that ends in .svg"),
    ("trace", ["--csv", "gone/steps.csv"], "csv: expected a file in a folder that exists"),
    ("trace", ["--csv", "my.csv"], "csv: my.csv is what is read; name another file"),
    ("trace", ["--steps", "enc9/*"], "steps: 'enc9/*' meets none of the"),
    ("page", ["--out", "my_model.pth"], "out: expected a name that ends in .html"),
    ("page", ["--out", "gone/page.html"], "out: expected a file in a folder that exists"),
    ("page", ["--title", " "], "title: expected a few words")])
def test_files_that_cannot_be_written_are_refused(command, arguments, why, here, written, capsys):
    before = (here / "my.csv").read_bytes()
    assert run(command, *arguments) == 1
    assert why in refused(capsys)
    assert (here / "my.csv").read_bytes() == before


@pytest.mark.parametrize("option", ["--csv", "--flow", "--config", "--data"])
def test_a_name_that_no_file_can_have_is_not_understood(option, here, capsys):
    with pytest.raises(SystemExit) as ended:
        run("trace", option, "a\0b.csv")
    assert ended.value.code == 2
    assert f"argument {option}: expected the name of a file, got 'a\\x00b.csv'" in capsys.readouterr().err


def test_a_place_that_takes_no_file_is_refused_before_the_work(here, written, capsys, monkeypatch):
    (here / "taken.html").mkdir()
    assert run("page", "--out", "taken.html") == 1
    assert "out: expected a file, got the folder taken.html" in refused(capsys)

    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tsattn_mini.cli.given.TemporaryFile", full)
    assert run("page", "--out", "my_model.html") == 1
    assert "out: expected a folder that can be written to, got my_model.html: No space left" in refused(capsys)


def test_a_page_needs_a_name_to_be_written_to(here, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["page", "my_model.pth", "--data", "my.csv"])
    assert ended.value.code == 2
    assert "--out" in capsys.readouterr().err
