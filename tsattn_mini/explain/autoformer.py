"""Autoformer: at which delays the series repeats, and how the weights are shared among them."""

from functools import partial

from torch import Tensor

from tsattn_mini.datasets import Series
from tsattn_mini.explain import stored
from tsattn_mini.explain.parts import (
    WHOLE,
    Block,
    about_rows,
    maps,
    over_time,
    over_windows,
    run,
    settings,
    transforms,
    weights_of,
    whole,
)
from tsattn_mini.explain.rows import Rows, read_encoder_decoder
from tsattn_mini.trace import Trace
from tsattn_mini.zoo.autoformer import Autoformer

LEAD = ("Autoformer (Wu et al., 2021). Attention asks at which delays the series repeats: R(τ) is the correlation of "
        "queries and keys at every delay, the strongest few share one unit of weight and move the values.")
DELAYS = {"R": "J", "delays": "D", "A": "D"}


def rows(model: Autoformer, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read_encoder_decoder(model.forecaster, series, start, scaled)


def blocks(model: Autoformer, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    net, answer, targets = model.forecaster, partial(forward, model, rows), list(range(model.forecaster.V))
    layers, attention = len(net.encoder.layers), net.encoder.layers[0].attention
    sizes = {"past steps": net.seq_len, "future steps": net.pred_len, "label steps": net.label_len, "variables": net.V,
             "width M": net.projection.in_features, "heads H": attention.H, "encoder layers": layers,
             "decoder layers": len(net.decoder), "moving average": f"{net.kernel} steps",
             "factor of ln L": attention.attend.factor}
    if weights_of(model) <= WHOLE:
        live = [whole(rows, answer, targets, partial(draw, layers, len(net.decoder)),
                      [f"{place}/{name}" for place in ("encoder", "cross") for name in DELAYS],
                      counts={"layer": layers})]
    else:
        last = stored.Attention("The encoder's last attention", f"enc{layers - 1}", attention.attend, DELAYS,
                                by_head=False)
        live = stored.explorers(rows, answer, [last], targets)
    return [LEAD, about_rows(rows), settings(model, sizes), *live, *over(model, rows, layers),
            *transforms(run(lambda: answer(rows.first_window())))]


def forward(model: Autoformer, rows: Rows, window: Tensor) -> Tensor:
    """The forecast for one `window` of the rows, past and future marks together."""
    past, marks, ahead, _ = rows.split(window, model.forecaster.label_len)
    return model(past, marks, None, ahead)


def draw(layers: int, decoders: int, trace: Trace, layer: Tensor | None) -> None:
    """Delays of the chosen encoder layer, and of the last cross-attention. All heads share them."""
    for place, scopes in (("encoder", [f"enc{i}" for i in range(layers)]), ("cross", [f"dec{decoders - 1}/cross"])):
        maps(trace, place, scopes, DELAYS, layer if place == "encoder" else None, None, heads=False)


def over(model: Autoformer, rows: Rows, layers: int) -> list[Block]:
    """R of many windows."""
    R, starts = over_windows(model, rows, forward, lambda trace: trace[f"enc{layers - 1}/R"].tensor)
    return [f"R at every delay in {len(starts)} windows, by the date at which they begin, in the encoder's last layer.",
            over_time(rows, R.mT, "J window", "R", starts, {"J": [f"τ = {i}" for i in range(R.shape[1])]})]
