"""What the tests of explained models share: a series of any width, and the model's own answer on a window of it."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from tsattn_mini.datasets import Series
from tsattn_mini.explore import Explorer
from tsattn_mini.official import load_checkpoint
from tsattn_mini.trace import record

PARITY = 1e-5  # of the largest number of an array


def series(V, rows=60, freq="h", level=1.0):
    """`rows` rows of V columns whose names would harm a page that took them as HTML; the last is the target."""
    index = pd.date_range("2024-02-27", periods=rows, freq=freq)
    t, draw = np.arange(rows)[:, None], np.random.default_rng(5)
    values = level * (np.sin(t / np.arange(2, V + 2)) + 0.1 * draw.normal(size=(rows, V)).cumsum(0) + 3)
    names = [f"<b>'{i}' & \"more\"" for i in range(V)]
    frame = pd.DataFrame(values, index=index, columns=names)
    return Series(name="made up", frame=frame, target=names[-1], drivers=tuple(names[:-1]),
                  units=dict.fromkeys(names, ""), source="drawn at random", licence="none")


def golden(name, model, **more):
    """The model of one released run, with its weights."""
    with np.load(Path(__file__).with_name("golden") / f"{name}.npz") as file:
        weights = {key[2:]: torch.from_numpy(file[key]) for key in file if key.startswith("w/")}
        config = json.loads(str(file["config"]))
        modes = {key[3:]: file[key].tolist() for key in file if key.startswith("in/modes_")}
    vocab = {"vocab": config["vocab"]} if "vocab" in config else {}
    return load_checkpoint(weights, model, **config["params"] | vocab | modes | more)


def variables(net):
    """How many columns the model reads."""
    inner = getattr(net, "transformer", getattr(net, "forecaster", net))
    return getattr(inner, "V", None) or net.D + 1


def explorers_of(blocks):
    return [block for block in blocks if isinstance(block, Explorer)]


def own(model, *given, **named):
    """The steps of the model's own forward."""
    with torch.no_grad(), warnings.catch_warnings(), record(follow=False) as trace:
        warnings.simplefilter("ignore")
        model(*given, **named)
    return {name: s.tensor for name, s in trace.items()}


def agree(got, want):
    """Equal up to rounding, by the largest number of the array."""
    assert got.shape == want.shape
    size = float(want.abs().max())
    assert float((got - want).abs().max()) <= PARITY * size, f"off by {float((got - want).abs().max()) / size:.1e}"
