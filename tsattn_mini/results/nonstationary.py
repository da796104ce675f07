"""What stationarization and τ, δ are worth: three models on two series, several seeds, two baselines."""

from collections.abc import Iterator
from functools import cache, partial

from torch import nn

from tsattn_mini.blocks import Transformer
from tsattn_mini.datasets import load_bikes, load_macro
from tsattn_mini.nonstationary import NonstationaryTransformer, StationarizedTransformer
from tsattn_mini.results.maps import affine, between, distance, encoder_maps, spaced
from tsattn_mini.training import Run, Task, make_task, naive, predict, score, train

SEEDS = range(8)
SIZES = {"M": 32, "H": 4, "d_ff": 64, "e_layers": 2, "d_layers": 1}
P_HIDDEN = (32, 32)
CUTS = {
    "macro": {"columns": ["realgdp", "realcons", "realinv", "cpi", "m1"],
              "seq_len": 24, "label_len": 12, "pred_len": 8, "period": 4},
    "bikes": {"columns": ["rentals", "temperature_c", "humidity_pct", "windspeed_kmh"],
              "seq_len": 48, "label_len": 24, "pred_len": 24, "period": 24, "stride": 5},
}
BUDGETS = {"macro": {"epochs": 40, "patience": 8}, "bikes": {"epochs": 20, "patience": 4}}
MODELS = {"raw": Transformer, "stationarized": StationarizedTransformer,
          "with τ, δ": partial(NonstationaryTransformer, p_hidden=P_HIDDEN)}


@cache
def task(name: str) -> Task:
    """The cut of one series, "macro" or "bikes"."""
    series = {"macro": load_macro, "bikes": load_bikes}[name]()
    return make_task(series, **CUTS[name])


def fit(name: str, model: str, seed: int) -> Run:
    """Train one of the `MODELS` on one series, exactly as for the table."""
    def build() -> nn.Module:
        return MODELS[model](**task(name).sizes, **SIZES)

    return train(build, task(name), seed, **BUDGETS[name])


def baselines(name: str) -> Iterator[dict]:
    """Rows of the table that need no training."""
    t = task(name)
    for model, period in (("last value", 1), ("seasonal naive", t.period)):
        yield {"series": name, "model": model, **score(naive(t.test, period), t.test.future)}


def measure(name: str, model: str, seed: int) -> dict:
    """One row of the table: test errors, and how far attention maps are apart.

    between    mean distance of the maps of eight windows spread over the whole series
    copies     distance of the maps of a window x and of 2 x + 1, mean over the same eight
    """
    run, t = fit(name, model, seed), task(name)
    cut = spaced(t)
    A, B = encoder_maps(run.model, cut), encoder_maps(run.model, affine(cut))
    return {"series": name, "model": model, "seed": seed, **score(predict(run.model, t.test), t.test.future),
            "epoch": run.epoch, "between": between(A), "copies": distance(A, B).mean().item()}


def about() -> dict:
    """What the numbers depend on, apart from the processor."""
    windows = {name: dict(zip(("train", "validation", "test"),
                              (len(c.past) for c in (task(name).train, task(name).validation, task(name).test)),
                              strict=True)) for name in CUTS}
    return {"seeds": list(SEEDS), "sizes": SIZES, "p_hidden": P_HIDDEN, "cuts": CUTS, "budgets": BUDGETS,
            "windows": windows, "loss": "squared error", "optimiser": "Adam, learning rate 1e-3, batch 32",
            "errors": "mean over windows, steps and variables of the test part, in scaled units"}


def rows() -> Iterator[dict]:
    """Every row of the table, in order."""
    for name in CUTS:
        yield from baselines(name)
        for model in MODELS:
            for seed in SEEDS:
                yield measure(name, model, seed)
