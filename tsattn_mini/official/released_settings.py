"""The settings of a released run, as people have them: a dict, a Namespace, its print, JSON, or a folder's name."""

import ast
import json
import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = re.compile(  # Time-Series-Library and the projects before it; what is not certain is not read
    r"(?:(?P<task_name>(?:long|short)_term_forecast)_)?(?P<name>.*?)_ft(?P<features>MS|M|S)_sl(?P<seq_len>\d+)_ll(?P<label_len>\d+)_pl(?P<pred_len>\d+)"
    r"_dm(?P<d_model>\d+)_nh(?P<n_heads>\d+)_el(?P<e_layers>\d+)_dl(?P<d_layers>\d+)_df(?P<d_ff>\d+)"
    r"(?:_expand\d+_dc\d+)?(?:_at[a-z]+)?(?:_fc(?P<factor>\d+))?(?:_eb[a-zA-Z]+_dt(?P<distil>True|False))?(?:_.*)?")
MODEL = re.compile(r"(?<![A-Za-z])(Nonstationary_Transformer|ns_Transformer|i?Transformer|TimeXer|"
                   r"Autoformer|FEDformer|i?(?:In|Re|Flow|Flash)former)(?![A-Za-z])")
DRAWN = re.compile(r"_(random|low)_modes(\d+)_")  # FEDformer's


def configuration(source: Mapping[str, Any] | Namespace | str | Path) -> dict[str, Any]:
    """The settings of a released run, for `load_checkpoint(path, **configuration(source))`.

    Args:
        source: the `args` of the run, a dict or a Namespace; its JSON, or what printing it gave, as text; a file with
            such a text; or the name of the folder that Time-Series-Library saves a checkpoint to
            (`long_term_forecast_…_ftM_sl96_ll48_pl96_dm512_nh8_el2_dl1_df2048_…`).

    Raises:
        ValueError: something that is none of these.
    """
    if isinstance(source, Namespace):
        return dict(vars(source))
    if isinstance(source, Mapping):
        return dict(source)
    if isinstance(source, Path):
        return configuration(source.read_text(encoding="utf-8") if source.is_file() else source.name)
    if not isinstance(source, str):
        raise ValueError(f"source: expected settings, JSON or a folder's name, got {type(source).__name__}")
    text = source.strip()
    found = _json(text) if text.startswith("{") else _printed(text) if text.startswith("Namespace(") else \
        in_folder(text.rstrip("/").rpartition("/")[2])
    if not found:
        raise ValueError("source: expected JSON, a printed Namespace, or a folder's name with "
                         f"_ftM_sl96_ll48_pl96_dm512_nh8_el2_dl1_df2048 in it, got {text[:60]!r}")
    return found


def in_folder(name: str) -> dict[str, Any]:
    """What a folder's name says for certain; nothing if it is not of that kind."""
    match = FOLDER.fullmatch(name)
    if not match:
        return {}
    found = {key: value for key, value in match.groupdict().items() if value is not None}
    run = found.pop("name")
    if models := MODEL.findall(run):
        found["model"] = models[-1]  # the words in front of it are the reader's own
    if drawn := DRAWN.search(f"{run}_"):
        found["mode_select"], found["modes"] = drawn.groups()
    return {key: int(value) if value.isdigit() else value == "True" if key == "distil" else value
            for key, value in found.items()}


def _json(text: str) -> dict[str, Any]:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"source: expected JSON, got an error in line {error.lineno}: {error.msg}") from None


def _printed(text: str) -> dict[str, Any]:
    """The entries of `Namespace(a=1, b='x')` that are plain values."""
    try:
        call = ast.parse(text, mode="eval").body
        return {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg}
    except (SyntaxError, ValueError, AttributeError):
        raise ValueError("source: expected a printed Namespace(…) of plain values, got "
                         f"{text[:60]!r}") from None
