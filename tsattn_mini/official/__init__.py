"""The released implementations: replay what they computed, and load what they trained.

A golden file (`tests/golden/README.md`) holds one run of one released module: its settings, weights, inputs,
intermediates and outputs. `replay` builds the module of this package, gives it the same weights and inputs,
and returns the arrays it gets, under the file's own names. `load_checkpoint` does the same for a state dict
saved by the released code.
"""

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

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

Replay = Callable[[dict[str, Any], dict[str, Tensor], dict[str, Tensor]], dict[str, Tensor]]

REPLAYS: dict[tuple[str, str], Replay] = {
    **nonstationary.REPLAYS, **engram.REPLAYS, **kite.REPLAYS, **kite_kgc.REPLAYS, **kite_prior.REPLAYS,
    **informer.REPLAYS, **autoformer.REPLAYS, **fedformer.REPLAYS, **itransformer.REPLAYS, **timexer.REPLAYS,
    **duet.REPLAYS}
CHECKPOINTS: dict[str, Callable[..., nn.Module]] = {
    "nonstationary": nonstationary.load, "engram": engram.load, "kite": kite.load,
    "autoformer": autoformer.load, "itransformer": itransformer.load, "timexer": timexer.load, "duet": duet.load,
    "informer": informer.load, "fedformer": fedformer.load}


def replay(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Recompute the `mid/…` and `out/…` arrays of one golden file from its `config`, `w/…` and `in/…` arrays.

    Raises:
        ValueError: when there is no `config`, no module here answers to the released class it names, an input or
            a parameter is missing, or a weight is missing or has another shape.
    """
    if "config" not in arrays:
        raise ValueError(f"arrays: expected a 'config' entry, got {', '.join(sorted(arrays)) or 'nothing'}")
    config = Given("config: ", json.loads(str(arrays["config"])))
    file, cls = (Given("config, official: ", config["official"])[part] for part in ("file", "cls"))
    if (file, cls) not in REPLAYS:
        known = "; ".join(f"{c} of {f}" for f, c in REPLAYS)
        raise ValueError(f"arrays: no module here replays {cls} of {file}; known: {known}")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the released code warned about nothing
        more = {"vocab": config["vocab"]} if "vocab" in config else {}
        params = Given("config, params: ", {**config["params"], **more, "training": config.get("mode") == "train"})
        answer = REPLAYS[file, cls](params, _tensors(arrays, "w/"), _tensors(arrays, "in/"))
    return {name: t.numpy() for name, t in answer.items()}


class Given(dict):
    """What one part of a golden file holds; what it lacks is named, `where` it was looked for in front."""

    def __init__(self, where: str, found: Mapping[str, Any]) -> None:
        super().__init__(found)
        self.where = where

    def __missing__(self, name: str) -> None:
        raise ValueError(f"{self.where}expected {name!r}, got {', '.join(sorted(self)) or 'nothing'}")


def _tensors(arrays: Mapping[str, np.ndarray], prefix: str) -> Given:
    return Given(f"arrays of {prefix}: ", {name.removeprefix(prefix): torch.from_numpy(np.asarray(a))
                                           for name, a in arrays.items() if name.startswith(prefix)})


def load_checkpoint(path_or_dict: str | Path | Mapping[str, Tensor], model: str = "nonstationary",
                    **config: Any) -> nn.Module:
    """The module of this package with the weights of a released state dict, in evaluation mode.

    The weights move as they are, bit by bit; only their names change. Sizes are read from the weights;
    `config` adds what no weight tells and is compared with what they do tell. The names of the released
    settings are understood as well as ours (`d_model` is `M`, `n_heads` is `H`), and a whole released
    configuration may be passed.

    Args:
        path_or_dict: a file written by `torch.save(model.state_dict(), path)`, or the state dict itself.
            Names may carry the prefix "module." of `DataParallel`.
        model: "nonstationary" needs `label_len`, `pred_len` and `n_heads` in `config`, and `activation="relu"` if it
            was trained with that; "kite" needs `n_heads` (`min_sigma` and `structure_max` if they were changed),
            and its parameters that no forward pass reads, `res_blocks` and `prior_bias`, are left out; "engram", one
            layer of it, needs what the state dict does not hold: `vocab`, `layers`, `layer`, `sizes`, `H` and `pad`;
            "itransformer" needs `enc_in` and `n_heads`, "timexer" also `features`, and both take `marks`, the number of
            mark columns, if it is not 4; "duet" needs `n_heads`, `k` and `moving_avg`, and `CI=False` if it was trained
            so; "autoformer" needs `seq_len`, `label_len`, `pred_len`, `n_heads`, `moving_avg` and `factor`; "informer"
            the same without `moving_avg`, and `task_name="short_term_forecast"` if it was trained so; it computes as
            released, and each of its `released_…` switches can be set to False; "fedformer" as well, and needs
            `seq_len`, `label_len`, `pred_len`, `moving_avg`, and the kept bins (`modes_enc`, `modes_dec_self`,
            `modes_cross_q`, `modes_cross_kv`) where the released draw had a choice, or `mode_select="low"`.

    Raises:
        ValueError: an unknown model, a setting that is missing, misspelled or contradicts the weights, a key
            that is missing or unknown, or a tensor of the wrong shape (each is named).
    """
    if model not in CHECKPOINTS:
        raise ValueError(f"model: expected one of {list(CHECKPOINTS)}, got {model!r}")
    state = path_or_dict
    if isinstance(path_or_dict, (str, Path)):
        state = torch.load(path_or_dict, map_location="cpu", weights_only=True)
    return CHECKPOINTS[model](state, **config).eval()
