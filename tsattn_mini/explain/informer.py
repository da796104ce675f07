"""Informer: how far each query stands out, which few are asked, and what the others take home."""

from functools import partial

import torch
from torch import Tensor

from tsattn_mini.datasets import Series
from tsattn_mini.explain import stored
from tsattn_mini.explain.parts import (
    WHOLE,
    Block,
    about_rows,
    again,
    one_of,
    over_time,
    over_windows,
    run,
    settings,
    transforms,
    weights_of,
    whole,
)
from tsattn_mini.explain.rows import Rows, read_encoder_decoder
from tsattn_mini.trace import Trace, scope, step
from tsattn_mini.zoo.informer import Informer

LEAD = ("Informer (Zhou et al., 2021). Every query samples a few keys. Those for which one sampled key stands out, by "
        "M = max - mean of their scores, are asked; the others are lazy and take home the mean of the values.")
SHOW = ["first/M", "first/asked", "first/M_top", "first/A_top"]


def rows(model: Informer, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read_encoder_decoder(model.transformer, series, start, scaled)


def blocks(model: Informer, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    net, answer, targets = model.transformer, partial(forward, model, rows), list(range(model.transformer.V))
    attention = net.encoder.layers[0].attention
    sizes = {"past steps": net.seq_len, "future steps": net.pred_len, "label steps": net.label_len, "variables": net.V,
             "width M": net.projection.in_features, "heads H": attention.H, "encoder layers": len(net.encoder.layers),
             "decoder layers": len(net.decoder.layers), "keys sampled": attention.attend.index_sample.shape[1],
             "queries asked": attention.attend.u}
    if weights_of(model) <= WHOLE:
        live = [whole(rows, answer, targets, draw, SHOW, counts={"head": attention.H})]
    else:
        first = stored.Attention("The encoder's first attention", "enc0", attention.attend,
                                 {"M": "L", "M_top": "u", "A_top": "u S"})
        live = stored.explorers(rows, answer, [first], targets)
    return [LEAD, about_rows(rows), settings(model, sizes), *live, *over(model, rows),
            *transforms(run(lambda: answer(rows.first_window())))]


def forward(model: Informer, rows: Rows, window: Tensor) -> Tensor:
    """The forecast for one `window` of the rows, past and future marks together."""
    past, marks, ahead, _ = rows.split(window, model.transformer.label_len)
    return model(past, marks, None, ahead)


def draw(trace: Trace, head: Tensor | None) -> None:
    """The first attention of the encoder, where every step of the past is still there."""
    one = {name: one_of([trace[f"enc0/{name}"].tensor[0]], None, head) for name in ("M", "M_top", "A_top")}
    with scope("first"):
        again(trace, "M", one["M"], "L", "enc0/M")
        step("asked", torch.zeros_like(one["M"]).scatter(0, one["M_top"], 1.0), axes="L", eq="1 where chosen",
             note="The others are lazy: they take home the mean of the values.")
        again(trace, "M_top", one["M_top"], "u", "enc0/M_top")
        again(trace, "A_top", one["A_top"], "u S", "enc0/A_top")


def over(model: Informer, rows: Rows) -> list[Block]:
    """M of every query, for many windows."""
    M, starts = over_windows(model, rows, forward, lambda trace: trace["enc0/M"].tensor.mean(1))
    back = {"L": [str(i - rows.past) for i in range(rows.past)]}
    return [f"M of every query of the first attention in {len(starts)} windows, by the date at which they begin: the "
            "mean over heads. Bright rows are steps worth asking.",
            over_time(rows, M.mT, "L window", "M", starts, back)]
