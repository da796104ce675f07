"""FEDformer: how loud each kept frequency is before and after its matrix, and which frequencies meet."""

from functools import partial

import torch
from torch import Tensor

from tsattn_mini.datasets import Series
from tsattn_mini.explain import stored
from tsattn_mini.explain.parts import (
    WHOLE,
    Block,
    about_rows,
    maps,
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
from tsattn_mini.trace import Trace, step
from tsattn_mini.zoo.fedformer import FEDformer

LEAD = ("FEDformer (Zhou et al., 2022). Each layer keeps a few frequencies of its input and gives each a complex "
        "matrix of its own. In cross-attention the kept frequencies of the future meet those of the past.")
ACROSS = {"QK_re": "asking answering", "A_re": "asking answering"}


def rows(model: FEDformer, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read_encoder_decoder(model.forecaster, series, start, scaled)


def blocks(model: FEDformer, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    net, answer, targets = model.forecaster, partial(forward, model, rows), list(range(model.forecaster.V))
    layers, own, cross = len(net.encoder.layers), net.encoder.layers[0].attention, net.decoder[-1].cross_attention
    bins = [[str(j) for j in kept.tolist()] for kept in (own.attend.modes, cross.attend.modes, cross.attend.modes_kv)]
    named = {word: kept for word, kept in zip(("kept", "asking", "answering"), bins, strict=True) if len(kept) > 1}
    sizes = {"past steps": net.seq_len, "future steps": net.pred_len, "label steps": net.label_len, "variables": net.V,
             "width M": net.projection.in_features, "heads H": own.H, "encoder layers": layers,
             "decoder layers": len(net.decoder), "moving average": f"{net.kernel} steps",
             "bins kept in the encoder": ", ".join(bins[0]), "σ of the cross-attention": cross.attend.activation}
    if weights_of(model) <= WHOLE:
        live = [whole(rows, answer, targets, partial(draw, layers, len(net.decoder)),
                      ["encoder/loudness", "encoder/answer", *(f"cross/{name}" for name in ACROSS)],
                      counts={"layer": layers, "head": own.H}, labels=named)]
    else:
        named.pop("kept", None)
        last = stored.Attention("Frequencies of the future ask those of the past", f"dec{len(net.decoder) - 1}/cross",
                                cross.attend, ACROSS, labels=named, by_head=False)
        live = stored.explorers(rows, answer, [last], targets)
    return [LEAD, about_rows(rows), settings(model, sizes), *live, *over(model, rows, layers),
            *transforms(run(lambda: answer(rows.first_window())))]


def forward(model: FEDformer, rows: Rows, window: Tensor) -> Tensor:
    """The forecast for one `window` of the rows, past and future marks together."""
    past, marks, ahead, _ = rows.split(window, model.forecaster.label_len)
    return model(past, marks, None, ahead)


def loudness(trace: Trace, name: str) -> Tensor:
    """The modulus of `name_re` and `name_im`, its root mean square over a head's channels: B H J."""
    re, im = (trace[f"{name}_{part}"].tensor for part in ("re", "im"))
    return (re.square() + im.square()).mean(-1).sqrt().mT


def draw(layers: int, decoders: int, trace: Trace, layer: Tensor | None, head: Tensor | None) -> None:
    """Name again, for one `layer` and `head`, the steps that the page shows."""
    for name, part, eq, note in (("loudness", "X", "|X_j|", "How strong each kept frequency comes in."),
                                 ("answer", "Y", "|X_j R_j|", "How strong it leaves: its matrix turns it up or down.")):
        found = [loudness(trace, f"enc{i}/{part}")[0] for i in range(layers)]
        step(f"encoder/{name}", one_of(found, layer, head), axes="kept", eq=eq, note=note)
    maps(trace, "cross", [f"dec{decoders - 1}/cross"], ACROSS, None, head)


def over(model: FEDformer, rows: Rows, layers: int) -> list[Block]:
    """How loud every kept frequency is in many windows."""
    loud, starts = over_windows(model, rows, forward, lambda trace: loudness(trace, "enc0/X").mean(1))
    bins = [f"bin {j}" for j in model.forecaster.encoder.layers[0].attention.attend.modes.tolist()]
    return [f"How strong the kept frequencies are in {len(starts)} windows, by the date at which they begin, in the "
            "first layer: the mean over heads.",
            over_time(rows, torch.log10(loud.mT + 1e-6), "kept window", "log10 |X|", starts, {"kept": bins})]
