"""What DUET's links between variables are worth: four kinds of links on three series, several seeds."""

from collections.abc import Iterator
from functools import cache
from math import cos, pi

import pandas as pd
import torch
from torch import Tensor, nn

from tsattn_mini import record
from tsattn_mini.datasets import Series
from tsattn_mini.results.nonstationary import BUDGETS as REAL_BUDGETS
from tsattn_mini.results.nonstationary import CUTS as REAL_CUTS
from tsattn_mini.results.nonstationary import task as real_task
from tsattn_mini.training import Cut, Run, Task, make_task, predict, score, train
from tsattn_mini.zoo.duet import DUET, balanced_error

SEEDS = range(8)
SIZES = {"M": 32, "H": 4, "d_ff": 64, "e_layers": 2, "N": 4, "k": 2, "hidden": 32}
RELEASED = {"soft": True, "sample_in_eval": True, "sharpened": True, "keep_self": False, "mix_in_eval": False,
            "one_scale": False, "eps": 1e-6}
PLANTED = {"steps": 500, "periods": [16, 5], "lag": 4, "noise": 0.3, "seed": 0}
CUTS = {"planted": {"seq_len": 24, "label_len": 12, "pred_len": 8, "period": 16}, **REAL_CUTS}
BUDGETS = {"planted": {"epochs": 40, "patience": 8}, **REAL_BUDGETS}
KINDS = ("links", "all", "own", "released")


class Always(nn.Module):
    """The same links for every window: every pair, or each variable with itself alone."""

    def __init__(self, V: int, kind: str) -> None:
        super().__init__()
        self.register_buffer("keep", torch.ones(V, V) if kind == "all" else torch.eye(V))

    def forward(self, x: Tensor, u: Tensor | None = None) -> Tensor:
        """The same links for every window of `x`."""
        return self.keep.expand(len(x), -1, -1)


def planted() -> Series:
    """Two hidden rhythms, three variables each: the second and third follow the first 4 and 8 steps later.

    So a variable's own group knows its future, and the other group knows nothing about it.
    """
    n, lag = PLANTED["steps"], PLANTED["lag"]
    g = torch.Generator().manual_seed(PLANTED["seed"])
    columns = {}
    for group, period in zip("ab", PLANTED["periods"], strict=True):
        shocks, rhythm = torch.randn(n + 100, generator=g, dtype=torch.float64).tolist(), [0.0, 0.0]
        for e in shocks:
            rhythm.append(2 * 0.97 * cos(2 * pi / period) * rhythm[-1] - 0.97**2 * rhythm[-2] + e)
        x = torch.tensor(rhythm[-n - 2 * lag:], dtype=torch.float64)
        for i in range(3):
            late = x[(2 - i) * lag:][:n] / x.std()
            columns[f"{group}{i}"] = late + PLANTED["noise"] * torch.randn(n, generator=g, dtype=torch.float64)
    frame = pd.DataFrame({name: x.numpy() for name, x in columns.items()},
                         index=pd.date_range("2000-01-01", periods=n, freq="D"))
    return Series(name="planted", frame=frame, target="a0", drivers=tuple(columns)[1:],
                  units=dict.fromkeys(columns, "1"), source="drawn", licence="MIT")


@cache
def task(series: str) -> Task:
    """The cut of one series: "planted", "macro" or "bikes"."""
    return make_task(planted(), list(planted().frame), **CUTS[series]) if series == "planted" else real_task(series)


def build(series: str, kind: str) -> DUET:
    """DUET with its own links, with every link, with none to others, or with all departures of the released code."""
    sizes = {name: size for name, size in task(series).sizes.items() if name != "label_len"}
    net = DUET(**sizes, **SIZES, **(RELEASED if kind == "released" else {}))
    if kind in ("all", "own"):
        net.mask = Always(net.V, kind)
    return net


def fit(series: str, kind: str, seed: int) -> Run:
    """Train one kind on one series, exactly as for the table."""
    return train(lambda: build(series, kind), task(series), seed, loss=balanced_error, **BUDGETS[series])


def kept(model: DUET, cut: Cut) -> Tensor:
    """Share of the windows in which each link is kept, variable by variable."""
    with torch.no_grad(), record() as trace:
        model(cut.past)
    return trace["links/keep"].tensor.mean(0) if "links/keep" in trace else model.mask.keep


def measure(series: str, kind: str, seed: int) -> dict:
    """One row of the table: test errors, and the share of the links to others that is kept."""
    run, t = fit(series, kind, seed), task(series)
    share, V = kept(run.model, t.test), run.model.V
    return {"series": series, "model": kind, "seed": seed, **score(predict(run.model, t.test), t.test.future),
            "epoch": run.epoch, "kept": float(share.sum() - share.trace()) / (V * (V - 1))}


def about() -> dict:
    """What the numbers depend on, apart from the processor."""
    return {"seeds": list(SEEDS), "sizes": SIZES, "planted": PLANTED, "cuts": CUTS, "budgets": BUDGETS,
            "loss": "squared error plus the balance of the router", "optimiser": "Adam, learning rate 1e-3, batch 32",
            "errors": "mean over windows, steps and variables of the test part, in scaled units"}


def rows() -> Iterator[dict]:
    """Every row of the table, in order."""
    for series in CUTS:
        for kind in KINDS:
            for seed in SEEDS:
                yield measure(series, kind, seed)
