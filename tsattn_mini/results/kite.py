"""Does a prior protect a forecast of bike rentals from a driver that lies? KITE, its ablations, three naive rivals.

The planted driver, the decoy, is the number of rentals itself with some noise, past and future. Models meet it "true"
all through training and validation, or "patchy": true and worthless by turns, two weeks each. In the test part it is
kept, or follows one of the other `TESTS`. The other drivers are real, and their futures are the weather as it came: a
weather forecast without error.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import scoringrules
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini.datasets import Series, load_bikes
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.prior import pearson
from tsattn_mini.trace import record
from tsattn_mini.training import Cut, Run, Task, make_task, naive, train

SEEDS = range(5)
DRIVERS = ["temperature_c", "humidity_pct", "windspeed_kmh", "workingday"]
CUT = {"seq_len": 168, "label_len": 0, "pred_len": 24, "period": 168, "stride": 5}
SIZES = {"M": 32, "H": 4, "depth": 1, "mlp_ratio": 2.0, "source": {"rank": 8}}
BUDGET = {"epochs": 40, "patience": 8, "batch": 64, "lr": 2e-3}
SAMPLING = {"n_samples": 20, "steps": 10}
EVERY = 11  # of the test windows, one in so many is forecast
TESTS = ("kept", "noise", "rhythm")
OMEGAS = (0.0, 0.5, 1.5, 2.4)
RIVALS = {"last value": 1, "last day": 24, "last week": 168}
MODELS = {  # how the exogenous series come in
    "KGC": {},
    "no gate": {"gate": False},
    "softmax prior": {"norm": "softmax"},
    "prior in the input": {"conditioning": "concat"},
    "no prior": {"conditioning": "plain"},
    "second door": {"second_door": True},
    "no drivers": {"conditioning": "none"},
}
RUNS = {  # decoy in training → models
    "none": ("no drivers", "no prior", "KGC"),
    "true": ("no prior", "prior in the input", "no gate", "KGC", "second door"),
    "patchy": ("no prior", "prior in the input", "no gate", "softmax prior", "KGC"),
}


def planted(bikes: Series, training: str, test: str, spread: float = 0.2) -> Series:
    """The series with a column "decoy": rentals plus noise of `spread` standard deviations. From the test part on

    kept      it goes on like that
    noise     it is independent numbers of the same mean and spread: its correlation in the window falls as well
    rhythm    it is the mean day of the training part over and over: correlated still, and without any news

    Raises:
        ValueError: another way to meet the decoy.
    """
    if training not in RUNS or test not in TESTS:
        raise ValueError(f"training, test: expected one of {list(RUNS)} and of {TESTS}, got {training!r}, {test!r}")
    x = bikes.tensor(["rentals"], torch.float64)[:, 0]
    fit, cut, hours = round(0.7 * len(x)), round(0.8 * len(x)), torch.arange(len(x))
    g = torch.Generator().manual_seed(0)
    noise, other = (torch.randn(len(x), generator=g, dtype=torch.float64) for _ in range(2))
    scale = x[:fit].std()
    worthless = x[:fit].mean() + scale * other
    day = x[: fit // 24 * 24].reshape(-1, 24).mean(0)[hours % 24]
    before = torch.where(hours // 336 % 2 == 1, worthless, x) if training == "patchy" else x
    after = {"kept": x, "noise": worthless, "rhythm": day}[test]
    decoy = torch.where(hours < cut, before, after) + spread * scale * noise
    return replace(bikes, frame=bikes.frame.assign(decoy=decoy.numpy()), drivers=(*bikes.drivers, "decoy"),
                   units={**bikes.units, "decoy": "rentals/h"})


@cache
def task(training: str = "true", test: str = "kept") -> Task:
    """The cut for models that meet the decoy in this way; with "none" there is no decoy."""
    bikes, columns = load_bikes(), ["rentals", *DRIVERS]
    if training != "none":
        bikes, columns = planted(bikes, training, test), [*columns, "decoy"]
    return make_task(bikes, columns, **CUT)


def parts(cut: Cut) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x_endo, x_exo, y_exo and the truth: rentals come first, everything else is exogenous."""
    return cut.past[..., :1], cut.past[..., 1:], cut.future[..., 1:], cut.future[..., :1]


def loss(model: nn.Module, cut: Cut) -> Float[Tensor, ""]:
    """KITE's own, with fresh draws."""
    return model.loss(*parts(cut))


def error(model: nn.Module, cut: Cut) -> float:
    """The same with draws that never change, so that epochs compare."""
    g = torch.Generator().manual_seed(0)
    z, eps = model.source.draw(len(cut.past), g)
    with torch.no_grad():
        return model.loss(*parts(cut), s=torch.rand(len(cut.past), generator=g), z=z, eps=eps).item()


def fit(training: str, model: str, seed: int, **sizes: Any) -> Run:
    """Train one of the `MODELS`, exactly as for the table; `sizes` replace some of `SIZES`."""
    t = task(training)

    def build() -> nn.Module:
        return KITE(t.seq_len, t.pred_len, len(t.columns) - 1, **{**SIZES, **sizes}, **MODELS[model])

    return train(build, t, seed, loss=loss, error=error, **BUDGET)


def windows(training: str, test: str = "kept") -> Cut:
    """The windows that the table is about."""
    return task(training, test).test[slice(None, None, EVERY)]


def draw(model: KITE, cut: Cut, omega: float = 1.0, **given: Tensor) -> Float[Tensor, "B P F"]:
    """Trajectories of every window, always from the same draws; `given` may hold a prior `S` of your own."""
    x_endo, x_exo, y_exo, _ = parts(cut)
    z, eps = model.source.draw(len(x_endo) * SAMPLING["n_samples"], torch.Generator().manual_seed(0))
    with torch.no_grad():
        return model.sample(x_endo, x_exo, y_exo, omega=omega, z=z, eps=eps, **given, **SAMPLING)[..., 0]


def judge(samples: Float[Tensor, "B P F"], cut: Cut) -> dict[str, float]:
    """CRPS and absolute error of the mean in rentals/h, and how many percent of the hours two intervals cover.

    The CRPS is the "fair" estimate, mean |X - y| - ½ mean |X - X'| over pairs of different trajectories: on average
    it does not depend on how many there are. The intervals lie between quantiles of the trajectories.
    """
    truth, unit = cut.future[..., 0], float(task("none").scaler.std[0])
    crps = scoringrules.crps_ensemble(truth, samples, m_axis=1, estimator="fair", backend="torch")
    answer = {"crps": float(crps.mean()) * unit, "mae": float((samples.mean(1) - truth).abs().mean()) * unit}
    for share in (0.5, 0.9):
        low, high = samples.quantile(torch.tensor([(1 - share) / 2, (1 + share) / 2]), dim=1)
        answer[f"in {share:.0%}"] = 100 * float(((low <= truth) & (truth <= high)).double().mean())
    return answer


def distrusted(cut: Cut) -> Float[Tensor, "B 1 D"]:
    """The prior of the windows, with 0 for the last exogenous series."""
    x_endo, x_exo, *_ = parts(cut)
    S = pearson(x_endo, x_exo)
    return torch.cat([S[..., :-1], torch.zeros_like(S[..., -1:])], dim=-1)


def decoy_weight(model: KITE, cut: Cut) -> float:
    """The share of attention on the last exogenous series, mean over windows, heads and blocks, in percent."""
    x_endo, x_exo, y_exo, _ = parts(cut)
    z, eps = model.source.draw(len(x_endo), torch.Generator().manual_seed(0))
    with torch.no_grad(), record() as trace:
        model.sample(x_endo, x_exo, y_exo, n_samples=1, steps=2, z=z, eps=eps)
    return 100 * float(torch.stack([s.tensor[..., -1].mean() for n, s in trace.items() if n.endswith("kgc/A")]).mean())


def rivals() -> Iterator[dict]:
    """Repeat the last hour, day or week, spread by what that was wrong by on the validation part, step by step."""
    t, cut = task("none"), windows("none")
    shares = (torch.arange(SAMPLING["n_samples"]) + 0.5) / SAMPLING["n_samples"]
    for model, period in RIVALS.items():
        wrong = (t.validation.future - naive(t.validation, period))[..., 0].quantile(shares, dim=0)
        scores = judge(naive(cut, period)[..., 0][:, None] + wrong, cut)
        yield {"series": "none", "model": model, "seed": None, **scores}


def measure(training: str, model: str, seed: int) -> Iterator[dict]:
    """Rows of one trained model: itself, and under other guidance if it is KGC.

    crps, mae, in 50%, in 90%    on the test part as it is, the decoy kept
    noise, rhythm                CRPS where the decoy breaks
    cut off                      CRPS in noise with a prior of 0 for the decoy, set by hand
    weight, weight in noise      attention on the decoy, in percent
    """
    run = fit(training, model, seed)
    for omega in (1.0, *(OMEGAS if model == "KGC" else ())):
        name = model if omega == 1 else f"{model}, ω = {omega:g}"
        row = {"series": training, "model": name, "seed": seed, "epoch": run.epoch}
        for test in TESTS if training != "none" else TESTS[:1]:
            cut = windows(training, test)
            scores = judge(draw(run.model, cut, omega), cut)
            row |= scores if test == "kept" else {test: scores["crps"]}
            if omega == 1 and training != "none" and test != "rhythm":
                row["weight" if test == "kept" else f"weight in {test}"] = decoy_weight(run.model, cut)
            if name == "KGC" and test == "noise":
                row["cut off"] = judge(draw(run.model, cut, S=distrusted(cut)), cut)["crps"]
        yield row


def about() -> dict:
    """What the numbers depend on, apart from the processor."""
    t = task("none")
    count = {"train": len(t.train.past), "validation": len(t.validation.past), "test": len(windows("none").past)}
    return {"seeds": list(SEEDS), "sizes": SIZES, "cut": CUT, "budget": BUDGET, "sampling": SAMPLING, "every": EVERY,
            "drivers": DRIVERS, "models": MODELS, "runs": {k: list(v) for k, v in RUNS.items()}, "windows": count,
            "crps": "fair estimate of scoringrules.crps_ensemble, in rentals/h", "series": "the decoy in training"}


def rows() -> Iterator[dict]:
    """Every row of the table, in order."""
    yield from rivals()
    for training, models in RUNS.items():
        for model in models:
            for seed in SEEDS:
                yield from measure(training, model, seed)
