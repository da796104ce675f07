"""Seven models, the plain Transformer and two naive rivals on two series, all with one budget; several seeds."""

import time
from collections.abc import Iterator
from typing import Any

from torch import nn

from tsattn_mini.blocks import Transformer
from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.results.nonstationary import BUDGETS, CUTS, P_HIDDEN, baselines, task
from tsattn_mini.training import Run, predict, score, squared_error, train
from tsattn_mini.zoo.autoformer import Autoformer
from tsattn_mini.zoo.duet import DUET, balanced_error
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.informer import Informer
from tsattn_mini.zoo.itransformer import ITransformer
from tsattn_mini.zoo.timexer import TimeXer

SEEDS = range(5)
SIZES = {"M": 32, "H": 4, "d_ff": 64, "e_layers": 2}
MODELS: dict[str, type[nn.Module]] = {
    "Transformer": Transformer, "Informer": Informer, "Autoformer": Autoformer, "FEDformer": FEDformer,
    "Non-stationary": NonstationaryTransformer, "iTransformer": ITransformer, "TimeXer": TimeXer, "DUET": DUET}
ENCODER_ONLY = {"iTransformer", "TimeXer", "DUET"}  # they take neither label_len nor d_layers
OWN: dict[str, dict[str, dict[str, Any]]] = {  # what only this model is asked for, by series
    "Non-stationary": {series: {"p_hidden": P_HIDDEN} for series in CUTS},
    "TimeXer": {"macro": {"patch_len": 4}, "bikes": {"patch_len": 12}},  # a year, half a day
    "DUET": {series: {"hidden": 32} for series in CUTS},
}
LOSS = {"DUET": balanced_error}  # the others train on the squared error alone


def build(series: str, model: str) -> nn.Module:
    """One of the `MODELS` in the size for one series, with fresh weights."""
    sizes = {**task(series).sizes, **SIZES, **OWN.get(model, {}).get(series, {})}
    if model in ENCODER_ONLY:
        del sizes["label_len"]
    else:
        sizes["d_layers"] = 1
    return MODELS[model](**sizes)


def fit(series: str, model: str, seed: int) -> Run:
    """Train one of the `MODELS` on one series, exactly as for the table."""
    return train(lambda: build(series, model), task(series), seed, **BUDGETS[series],
                 loss=LOSS.get(model, squared_error))


def measure(series: str, model: str, seed: int) -> dict:
    """One row of the table: test errors, the epoch that was kept, parameters, and seconds of training."""
    began = time.process_time()
    run, t = fit(series, model, seed), task(series)
    seconds = time.process_time() - began
    return {"series": series, "model": model, "seed": seed, **score(predict(run.model, t.test), t.test.future),
            "epoch": run.epoch, "epochs": run.epochs, "seconds": seconds,
            "parameters": sum(p.numel() for p in run.model.parameters())}


def about() -> dict:
    """What the numbers depend on, apart from the processor."""
    return {"seeds": list(SEEDS), "sizes": {**SIZES, "d_layers": 1}, "own": OWN, "cuts": CUTS, "budgets": BUDGETS,
            "loss": "squared error; DUET adds the balance of its router",
            "optimiser": "Adam, learning rate 1e-3, batch 32",
            "errors": "mean over windows, steps and variables of the test part, in scaled units",
            "seconds": "processor time of training, one thread"}


def rows() -> Iterator[dict]:
    """Every row of the table, in order."""
    for series in CUTS:
        yield from baselines(series)
        for model in MODELS:
            for seed in SEEDS:
                yield measure(series, model, seed)
