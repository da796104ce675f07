"""What several commands are given: a checkpoint with its settings, a CSV file, files to write."""

import argparse
import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from tsattn_mini.cli.terminal import say, waiting

if TYPE_CHECKING:
    from torch import nn

    from tsattn_mini.datasets import Series
    from tsattn_mini.official import Settings

NO_SETTINGS = ("model", "path_or_dict", "state")  # of the functions that take settings by name
ARGUMENT = re.compile(r"(?<![\w'\"])(columns|date_format|date|decimal|encoding|freq|missing|sep)="
                      r"(?:\[…\])?(?=(['\"])?)")


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """The arguments that name a checkpoint, and what its weights do not tell."""
    part = parser.add_argument_group("what the weights do not tell")
    parser.add_argument("checkpoint", type=a_path, metavar="CHECKPOINT",
                      help="a file that torch.save wrote, such as my_model.pth")
    part.add_argument("--model", metavar="NAME", help="nonstationary, informer, autoformer, fedformer, itransformer, "
                      "timexer, duet, kite or engram; left out, it is found by the weights")
    part.add_argument("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", type=_pair,
                      help="what the weights do not tell, such as n_heads=8 (see the command settings)")
    part.add_argument("--config", type=a_path, metavar="FILE", help="the settings of the run, as JSON or as printed; "
                      "--set goes before it")


def add_data(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how a CSV file is read."""
    part = parser.add_argument_group("the data")
    part.add_argument("--data", type=a_path, metavar="FILE.csv", help="a CSV file with a header, .csv or .csv.gz")
    part.add_argument("--target", metavar="COL", help="the column to forecast; left out, the last one")
    part.add_argument("--columns", nargs="+", metavar="COL", help="the columns to read beside it; left out, all")
    part.add_argument("--date", nargs="+", metavar="COL", help="the column of the times, or those that make them up")
    part.add_argument("--date-format", metavar="FORMAT", help="such as %%d/%%m/%%Y, where day and month could be "
                      "swapped")
    part.add_argument("--freq", metavar="STEP", help="the step of the time axis, such as h, 15min, D, MS")
    part.add_argument("--missing", default="refuse", metavar="RULE", help="what to do about missing values: refuse "
                      "(unless you say otherwise), interpolate, last or zero")
    part.add_argument("--sep", metavar="CHAR", help="what parts the cells; left out, it is found")
    part.add_argument("--decimal", metavar="CHAR", help=". or a comma; left out, it is found")
    part.add_argument("--encoding", metavar="NAME", help="of the text; left out, it is found")
    part.add_argument("--start", type=_row_or_date, metavar="ROW|DATE", help="where the window begins: a row, counted "
                      "from 0, or a date; left out, the last window of the file")
    part.add_argument("--no-scale", dest="scaled", action="store_false", help="take the numbers as they are; otherwise "
                      "every column is z-scored by the first 70 %% of the rows")
    part.add_argument("--text", help="for Engram, which reads a text instead of data")


def checkpoint(asked: argparse.Namespace) -> "nn.Module":
    """The model, loaded.

    Raises:
        ValueError: what is wrong with the file, or which settings its weights do not tell.
    """
    from tsattn_mini.official import load_checkpoint
    with waiting(f"reading {asked.checkpoint}", 1, asked.stages):
        found, model, given = described(asked)
        if found.missing:
            told = "; ".join(f"{name}: {text}" for name, text in found.missing.items())
            raise ValueError(f"{asked.checkpoint}: its weights do not tell everything, so add --set "
                             f"{' '.join(f'{name}=…' for name in found.missing)} ({told})")
        try:
            return load_checkpoint(asked.checkpoint, model, **given)
        except TypeError as error:
            words = ", ".join(f"{name}={value!r}" for name, value in given.items() if isinstance(value, str))
            raise ValueError(f"set: expected numbers where the model takes numbers, got {words or error}") from error


def described(asked: argparse.Namespace) -> tuple["Settings", str | None, dict[str, Any]]:
    """What the checkpoint tells; the model and the settings that were named: of `--config`, and over them of `--set`.

    Raises:
        ValueError: a file without settings, or a setting of `--set` that the model does not have. A whole released
            configuration, which `--config` may name, holds more than a model has.
    """
    from tsattn_mini.official import settings
    given = dict(asked.set)
    if "model" in given:
        raise ValueError(f"set: expected settings of the model, got model={given['model']}; --model names the model")
    beside = _configuration(asked.config) if asked.config else {}
    model = asked.model or (beside["model"] if isinstance(beside.get("model"), str) else None)
    both = {name: value for name, value in {**beside, **given}.items() if name not in NO_SETTINGS}
    found = settings(asked.checkpoint, model, **both)
    _refuse_unknown(given, found)
    return found, model, both


def _refuse_unknown(given: Mapping[str, Any], found: "Settings") -> None:
    from tsattn_mini.official.checkpoint import kind
    module = kind(found.model, found.ours)
    ours = {*found.read, *module.NEEDED, *module.OPTIONAL}
    released = [*module.NAMES, *sorted(ours - {*module.NAMES.values()}), "task_name"]
    for name in given:
        if name not in {*ours, *released}:
            near = get_close_matches(name, released, n=1)
            raise ValueError(f"set: expected a setting of {found.model}, got {name}; "
                             + (f"did you mean {near[0]}?" if near else f"it has {', '.join(released)}"))


def _configuration(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"config: expected a file, got {path}, which is not there")
    from tsattn_mini.official import configuration
    try:
        return configuration(path)
    except UnicodeDecodeError:
        why = "it is no text in UTF-8"
    except (RecursionError, MemoryError):
        why = "it is nested too deep"
    except ValueError as error:
        why = str(error).removeprefix("source: ")
        why = "a number in it has too many digits" if why.startswith("Exceeds the limit") else why
    raise ValueError(f"config: expected a file with settings, got {path}: {why}")


def source(asked: argparse.Namespace) -> dict[str, Any]:
    """What the model reads, as `explain` takes it: a text, or a series with its window and its scale.

    Raises:
        ValueError: neither or both, or what is wrong with the file.
    """
    if (asked.data is None) == (asked.text is None):
        raise ValueError("data: expected a CSV file, --data my.csv, or for Engram a text, --text \"…\", got "
                         + ("neither" if asked.data is None else "both"))
    if asked.text is not None:
        return {"text": asked.text}
    return {"series": _series(asked), "start": asked.start, "scaled": asked.scaled}


def _series(asked: argparse.Namespace) -> "Series":
    """The data, read; what was found is told beside the answer."""
    from tsattn_mini.datasets import read_csv
    with waiting(f"reading {asked.data}", 2, asked.stages):
        found = read_csv(asked.data, target=asked.target, date=_one(asked.date), sep=asked.sep, decimal=asked.decimal,
                         freq=asked.freq, columns=asked.columns, missing=asked.missing, date_format=asked.date_format,
                         encoding=asked.encoding)
    for line in found.report:
        say(f"{found.source}: {spoken(line)}")
    return found


def spoken(text: str) -> str:
    """What the package says, with its arguments as the command line calls them: `freq='h'` becomes `--freq 'h'`."""
    text = re.sub(r"^path_or_dict:", "checkpoint:", text).replace("columns=[…] of read_csv, on the command line ", "")
    return ARGUMENT.sub(lambda m: f"--{m[1].replace('_', '-')}{' ' if m[2] else ''}", text)


def writable(path: Path | None, name: str, suffix: str, asked: argparse.Namespace) -> None:
    """Refuse, before the work, a file that has another suffix, cannot be written, or is what the command reads.

    Raises:
        ValueError: as said.
    """
    if path is None:
        return
    if path.suffix.lower() != suffix:
        raise ValueError(f"{name}: expected a name that ends in {suffix}, got {path}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{name}: expected a file in a folder that exists, got {path}")
    if path.is_dir():
        raise ValueError(f"{name}: expected a file, got the folder {path}")
    for read in (asked.checkpoint, asked.data):
        if read is not None and path.resolve() == read.resolve():
            raise ValueError(f"{name}: {path} is what is read; name another file")
    try:
        TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        raise ValueError(f"{name}: expected a folder that can be written to, got {path}: {error.strerror}") from None


def a_path(text: str) -> Path:
    """The path that was typed.

    Raises:
        argparse.ArgumentTypeError: one that no file can have.
    """
    if "\0" in text:
        raise argparse.ArgumentTypeError(f"expected the name of a file, got {text!r}")
    return Path(text)


def _one(names: list[str] | None) -> str | list[str] | None:
    return names[0] if names and len(names) == 1 else names


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, such as n_heads=8, got {text!r}")
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """A number, true, false, null or a list as JSON writes them, or as Python does; everything else is a word."""
    python: Mapping[str, Any] = {"True": True, "False": False, "None": None}
    if text in python:
        return python[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _row_or_date(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text
