"""KITE: the prior over time, what the gate makes of it, guidance, and the particles that the flow carries."""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from tsattn_mini.datasets import Series
from tsattn_mini.explain.parts import (
    WHOLE,
    WINDOWS,
    Block,
    about_rows,
    again,
    drawn,
    one_of,
    over_time,
    run,
    settings,
    sliders,
    transforms,
    weights_of,
    whole,
)
from tsattn_mini.explain.rows import Rows, fitting, read
from tsattn_mini.explain.stored import kept_windows, picker, said
from tsattn_mini.explore import Explorer, Joined, Slider
from tsattn_mini.explore.ids import unused
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.gate import knowledge_guided
from tsattn_mini.trace import Trace, record, scope

LEAD = ("KITE. A flow carries draws from a source, made of the past, to possible futures. At every moment the state "
        "asks the drivers, and a prior S, the correlation of each driver with the target in the window, leans on the "
        "answer. Guidance ω compares what the flow would do with and without being told of the drivers.")
PARTICLES, ROUNDS = 8, 5
ONE = torch.tensor(1.0)  # both answers are computed, and the one that is told counts
OMEGA = {"omega": Slider(1, 0, 4)}
LISTEN = {"not told": {"omega": 0}, "twice as told": {"omega": 2}}
TERMS = ("A_b", "A_g", "gate", "A")


def rows(model: KITE, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read(series, fitting(series, model.D + 1), past=model.T, ahead=model.F, start=start, scaled=scaled)


def blocks(model: KITE, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    target, drivers, field = [model.D], list(rows.columns[:-1]), model.field
    H, depth = field.history[0].attention.H, len(field.history)
    sizes = {"past steps": model.T, "future steps": model.F, "drivers": model.D, "prior": f"|Pearson|, {model.norm}",
             "reads the drivers' future": "yes" if field.future else "no", "width M": field.state.out_features,
             "heads H": H, "depth": depth}
    named = {"driver": drivers} if model.D > 1 else {}
    if weights_of(model) <= WHOLE:
        live = [whole(rows, partial(forward, model, rows), target, partial(draw, model),
                      ["S", "source", *TERMS, "v_u", "v_c"], counts={"round": ROUNDS, "layer": depth, "head": H},
                      handles=OMEGA, presets=LISTEN, labels=named, many=True)]
    else:
        live = guided(model, rows, named)
    return [LEAD, about_rows(rows, target), settings(model, sizes),
            f"The flow takes {ROUNDS} rounds here, for {PARTICLES} particles whose draws stay the same; the released "
            "code takes more of both.", *live, *over(model, rows),
            "Of the rounds of the flow the first stands for all.",
            *transforms(run(lambda: forward(model, rows, rows.first_window())), leave=r"ode[1-9]")]


def draws(model: KITE, windows: int = 1) -> dict[str, Tensor]:
    """The same normal draws for every window."""
    z, eps = drawn(PARTICLES, model.source.rank), drawn(PARTICLES, model.F, seed=1)
    return {"z": z.repeat(windows, 1), "eps": eps.repeat(windows, 1)}


def forward(model: KITE, rows: Rows, window: Tensor, omega: Tensor = ONE) -> Tensor:
    """Particles, B × P × F × 1."""
    past, _, _, ahead = rows.split(window)
    return model.sample(past[..., -1:], past[..., :-1], ahead[..., :-1] if model.field.future else None,
                        n_samples=PARTICLES, steps=ROUNDS, omega=omega, **draws(model, len(window)))


def draw(model: KITE, trace: Trace, round: Tensor | None, layer: Tensor | None, head: Tensor | None) -> None:
    """The first particle, told of the drivers, at one round of the flow."""
    again(trace, "S", trace["prior/S"].tensor[0, 0], "driver", "prior/S")
    again(trace, "source", trace["source/Y0"].tensor[0], "F", "source/Y0")
    for name in TERMS:
        at = [torch.stack([term(trace, f"ode{i}/net/past{j}/kgc/{name}") for j in range(len(model.field.history))])
              for i in range(ROUNDS)]
        layers = one_of(at, round, torch.tensor(0) if layer is None else layer)
        again(trace, name, one_of([layers], None, None if len(layers) == 1 else head), "driver",
              f"ode0/net/past0/kgc/{name}")
    for name in ("v_u", "v_c"):
        again(trace, name, one_of([trace[f"ode{i}/{name}"].tensor[:1] for i in range(ROUNDS)], round, None), "F",
              f"ode0/{name}")


def term(trace: Trace, name: str) -> Tensor:
    """A term of the scores, of the first particle that is told: H × D, or 1 × D where all heads share it."""
    return trace[name].tensor[PARTICLES][:, 0]


def guided(model: KITE, rows: Rows, named: Mapping[str, list[str]]) -> list[str | Explorer]:
    """The last attention of the flow's first round alone, for stored windows."""
    place = f"ode0/net/past{len(model.field.history) - 1}/kgc"
    windows, starts, traces = kept_windows(rows, partial(forward, model, rows), 8)
    kept = {name: torch.stack([term(t, f"{place}/{name}") for t in traces]) for name in ("A_b", "A_g", "S")}
    kept |= {"samples": torch.stack([t["samples"].tensor[0] for t in traces]), "window": windows}
    attention = model.field.history[-1].attention

    def fn(window: Tensor, prior_times: Tensor, gate_weight: Tensor, head: Tensor | None = None) -> None:
        here = {name: x.index_select(0, window[:, 1].long())[0] for name, x in kept.items()}
        A_b, A_g = (one_of([here[name]], None, head)[None] for name in ("A_b", "A_g"))
        with scope("all"), record(follow=False) as trace:
            knowledge_guided(A_b, A_g, (here["S"] * prior_times).clamp(max=1), attention.delta, gate_weight=gate_weight)
        for name in ("S", *TERMS):
            again(trace, name, trace[f"all/{name}"].tensor[0], "driver", f"all/{name}")
        past, _, _, truth = rows.split(here["window"])
        rows.name(past, truth, here["samples"], [model.D])

    H = attention.H
    inputs = {"window": picker(rows, starts), **sliders(head=H), "prior_times": Slider(1, 0, 2),
              "gate_weight": Slider(1, 0, 2)}
    show = ["S", *TERMS, Joined("yours/past", "yours/forecast", "yours/truth", particles="yours/samples",
                                name="past and forecast")]
    return [said(len(starts), "the two scores A_b and A_g and the prior S"),
            Explorer(fn, inputs, show=show, labels=dict(named), title="The last attention, in the flow's first round",
                     presets={"no prior": {"prior_times": 0}, "no gate": {"gate_weight": 0}}, id=unused("guided"))]


def over(model: KITE, rows: Rows) -> list[Block]:
    """The prior of many windows."""
    windows, starts = rows.many(WINDOWS)
    past = rows.split(windows)[0]
    S = run(lambda: model.prepare(past[..., -1:], past[..., :-1],
                                  rows.split(windows)[3][..., :-1] if model.field.future else None))["prior/S"].tensor
    return [f"The prior S of every driver in {len(starts)} windows, by the date at which they begin.",
            over_time(rows, S[:, 0].mT, "driver window", "S", starts, {"driver": list(rows.columns[:-1])})]
