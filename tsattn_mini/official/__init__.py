"""The released implementations: replay what they computed, and load what they trained.

A golden file (`tests/golden/README.md`) holds one run of one released module: its settings, weights, inputs,
intermediates and outputs. `replay` builds the module of this package, gives it the same weights and inputs,
and returns the arrays it gets, under the file's own names. `load_checkpoint` does the same for a state dict
saved by the released code, `settings` says what its weights tell and what they do not, and `configuration` reads the
settings of a released run.
"""

import json
import warnings
from collections.abc import Callable, Mapping
from reprlib import repr as short
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tsattn_mini.official import (
    autoformer,
    duet,
    engram,
    fedformer,
    informer,
    itransformer,
    kite,
    kite_kgc,
    kite_prior,
    nonstationary,
    timexer,
)
from tsattn_mini.official.checkpoint import Settings, load_checkpoint, settings
from tsattn_mini.official.released_settings import configuration

__all__ = ["REPLAYS", "Settings", "configuration", "load_checkpoint", "replay", "settings"]

Replay = Callable[[dict[str, Any], dict[str, Tensor], dict[str, Tensor]], dict[str, Tensor]]

REPLAYS: dict[tuple[str, str], Replay] = {
    **nonstationary.REPLAYS, **engram.REPLAYS, **kite.REPLAYS, **kite_kgc.REPLAYS, **kite_prior.REPLAYS,
    **informer.REPLAYS, **autoformer.REPLAYS, **fedformer.REPLAYS, **itransformer.REPLAYS, **timexer.REPLAYS,
    **duet.REPLAYS}


def replay(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Recompute the `mid/…` and `out/…` arrays of one golden file from its `config`, `w/…` and `in/…` arrays.

    Raises:
        ValueError: when `arrays` is no mapping, there is no `config`, no module here answers to the released class it
            names, an input or a parameter is missing, or a weight is missing or has another shape.
    """
    if not isinstance(arrays, Mapping):
        raise ValueError(f"arrays: expected the arrays of one golden file by name, got {type(arrays).__name__}")
    if "config" not in arrays:
        raise ValueError(f"arrays: expected a 'config' entry, got {', '.join(sorted(arrays)) or 'nothing'}")
    config = _config(arrays["config"])
    file, cls = (Given("config, official: ", config["official"])[part] for part in ("file", "cls"))
    if (str(file), str(cls)) not in REPLAYS:
        known = "; ".join(f"{c} of {f}" for f, c in REPLAYS)
        raise ValueError(f"arrays: no module here replays {cls} of {file}; known: {known}")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the released code warned about nothing
        more = {"vocab": config["vocab"]} if "vocab" in config else {}
        params = Given("config, params: ", {**config["params"], **more, "training": config.get("mode") == "train"})
        answer = REPLAYS[file, cls](params, _tensors(arrays, "w/"), _tensors(arrays, "in/"))
    return {name: t.numpy() for name, t in answer.items()}


class Given(dict):
    """What one part of a golden file holds; what it lacks is named, `where` it was looked for in front.

    Raises:
        ValueError: something else than settings by name, or one that it lacks.
    """

    def __init__(self, where: str, found: Mapping[str, Any]) -> None:
        if not isinstance(found, Mapping):
            raise ValueError(f"{where}expected settings by name, got {found!r}")
        super().__init__(found)
        self.where = where

    def __missing__(self, name: str) -> None:
        raise ValueError(f"{self.where}expected {name!r}, got {', '.join(sorted(self)) or 'nothing'}")


def _config(written: Any) -> Given:
    try:
        return Given("config: ", json.loads(str(written)))
    except json.JSONDecodeError as error:
        raise ValueError(f"config: expected JSON, got {short(str(written))}: {error}") from None


def _tensors(arrays: Mapping[str, np.ndarray], prefix: str) -> Given:
    return Given(f"arrays of {prefix}: ", {name.removeprefix(prefix): torch.from_numpy(np.asarray(a))
                                           for name, a in arrays.items() if name.startswith(prefix)})
