"""Replay what the released implementations computed, array by array.

A golden file (`tests/golden/README.md`) holds one run of one released module: its settings, weights, inputs,
intermediates and outputs. `replay` builds the module of this package, gives it the same weights and inputs,
and returns the arrays it gets, under the file's own names.
"""

import json
from collections.abc import Callable, Mapping

import numpy as np
import torch

from tsattn_mini.attention import causal
from tsattn_mini.nonstationary import destationary_attention
from tsattn_mini.trace import record

Arrays = Mapping[str, np.ndarray]


def replay(arrays: Arrays) -> dict[str, np.ndarray]:
    """Recompute the `mid/…` and `out/…` arrays of one golden file from its `config`, `w/…` and `in/…` arrays.

    Raises:
        ValueError: when there is no `config`, or no module here answers to the released class it names.
    """
    if "config" not in arrays:
        raise ValueError(f"arrays: expected a 'config' entry, got {', '.join(sorted(arrays)) or 'nothing'}")
    config = json.loads(str(arrays["config"]))
    file, cls = config["official"]["file"], config["official"]["cls"]
    if (file, cls) not in _REPLAYS:
        known = "; ".join(f"{c} of {f}" for f, c in _REPLAYS)
        raise ValueError(f"arrays: no module here replays {cls} of {file}; known: {known}")
    with torch.no_grad():
        answer = _REPLAYS[file, cls](config["params"], _tensors(arrays, "in/"))
    return {name: t.numpy() for name, t in answer.items()}


def _tensors(arrays: Arrays, prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): torch.from_numpy(np.asarray(a)) for name, a in arrays.items()
            if name.startswith(prefix)}


def _destationary_attention(params: dict, x: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    mask = causal(x["queries"].shape[1]) if params["mask_flag"] else None
    with record() as trace:
        out = destationary_attention(x["queries"], x["keys"], x["values"], x.get("tau"), x.get("delta"), mask)
    return {"mid/scores": trace["scores"].tensor, "mid/logits": trace["logits"].tensor,
            "out/A": trace["A"].tensor, "out/V": out}


_REPLAYS: dict[tuple[str, str], Callable[..., dict[str, torch.Tensor]]] = {
    ("layers/SelfAttention_Family.py", "DSAttention"): _destationary_attention,
}
