"""Non-stationary Transformer: τ and δ over time, what they do to every map of attention, and the forecast."""

import copy
from functools import partial

import torch
from torch import Tensor

from tsattn_mini.datasets import Series
from tsattn_mini.explain import stored
from tsattn_mini.explain.parts import (
    WHOLE,
    WINDOWS,
    Block,
    about_rows,
    maps,
    over_time,
    run,
    settings,
    transforms,
    weights_of,
    whole,
)
from tsattn_mini.explain.rows import Rows, read_encoder_decoder
from tsattn_mini.explore import Slider
from tsattn_mini.nonstationary import NonstationaryTransformer, destationary_attention, stationarize
from tsattn_mini.trace import Trace, step

LEAD = ("Non-stationary Transformer (Liu et al., 2022). Every window is normalised; two small networks read the window "
        "as it was and give attention back what that took away: one factor τ for all scores, one shift δ for each key. "
        "Scores become (τ Q Kᵀ + 1 δᵀ) / √E.")
HANDLES = {"tau_power": Slider(1, 0, 2), "delta_times": Slider(1, 0, 2)}
PRESETS = {"τ alone": {"delta_times": 0}, "δ alone": {"tau_power": 0},
           "plain attention": {"tau_power": 0, "delta_times": 0}}
ASK = {"QK": "L S", "logits": "L S", "A": "L S"}


def rows(model: NonstationaryTransformer, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read_encoder_decoder(model.transformer, series, start, scaled)


def blocks(model: NonstationaryTransformer, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    net, answer, targets = model.transformer, partial(forward, model, rows), list(range(model.transformer.V))
    if weights_of(model) <= WHOLE:
        counts = {"layer": len(net.encoder.layers), "head": net.encoder.layers[0].attention.H}
        live = [whole(rows, lambda window, **powers: forward(moved(model, **powers), rows, window), targets,
                      partial(draw, model), steps(model), counts=counts, handles=HANDLES, presets=PRESETS,
                      labels={"2V": [f"{part} {name}" for part in "cs" for name in rows.columns]})]
    else:
        live = stored.explorers(rows, answer, attentions(model), targets, also=("tau", "delta"))
    return [LEAD, about_rows(rows), settings(model, sizes(model)), *live, *handles_over_time(model, rows),
            *transforms(run(lambda: answer(rows.first_window())))]


def sizes(model: NonstationaryTransformer) -> dict[str, object]:
    """The sizes of the model, by the words of the page."""
    net = model.transformer
    layer = net.encoder.layers[0]
    return {"past steps": net.seq_len, "future steps": net.pred_len, "label steps": net.label_len, "variables": net.V,
            "width M": net.projection.in_features, "heads H": layer.attention.H,
            "inner width": layer.ffn.up.out_features, "encoder layers": len(net.encoder.layers),
            "decoder layers": len(net.decoder.layers),
            "projector widths": ", ".join(str(part.out_features) for part in model.tau_projector.mlp[:-1])}


def forward(model: NonstationaryTransformer, rows: Rows, window: Tensor) -> Tensor:
    """The forecast for one `window` of the rows, past and future marks together."""
    past, marks, ahead, _ = rows.split(window, model.transformer.label_len)
    return model(past, marks, None, ahead)


def moved(model: NonstationaryTransformer, tau_power: Tensor, delta_times: Tensor) -> NonstationaryTransformer:
    """The same model, with τ and δ changed on their way to the attention; weights are shared."""
    twin = copy.copy(model)
    twin.handles = lambda *given: changed(*model.handles(*given), tau_power, delta_times)
    return twin


def changed(tau: Tensor, delta: Tensor, tau_power: Tensor, delta_times: Tensor) -> tuple[Tensor, Tensor]:
    """τ to a power, named `τ`, and so many times δ, named `δ`."""
    tau = tau.pow(tau_power).clamp(max=torch.finfo(tau.dtype).max)
    delta = delta * delta_times
    step("τ", tau[0, 0], axes="", eq="τ^power", note="The factor that attention gets; power 0 makes it 1.")
    step("δ", delta[0], axes="S", eq="times · δ", note="The shifts that attention gets, one for each step of the past.")
    return tau, delta


def steps(model: NonstationaryTransformer) -> list[str]:
    """What the explorer of the whole model shows."""
    last = f"h{len(model.tau_projector.mlp) - 1}"
    hidden = [f"{side}_projector/{name}" for side in ("tau", "delta") for name in ("z", last)]
    return [*hidden, "τ", "δ", *(f"encoder/{name}" for name in ASK), "self/A", "cross/A"]


def draw(model: NonstationaryTransformer, trace: Trace, layer: Tensor | None, head: Tensor | None) -> None:
    """Name again, for one `layer` and `head`, the steps that the page shows."""
    net = model.transformer
    maps(trace, "encoder", (f"enc{i}" for i in range(len(net.encoder.layers))), ASK, layer, head)
    for part in ("self", "cross"):
        maps(trace, part, [f"dec{len(net.decoder.layers) - 1}/{part}"], {"A": "L S"}, None, head)


def attentions(model: NonstationaryTransformer) -> list[stored.Attention]:
    """The encoder's last attention and the cross-attention, by themselves."""
    net = model.transformer

    def given(here: dict[str, Tensor], tau_power: Tensor, delta_times: Tensor) -> dict[str, Tensor]:
        return dict(zip(("tau", "delta"), changed(here["tau"], here["delta"], tau_power, delta_times), strict=True))

    return [stored.Attention(title, place, destationary_attention, {**ASK, "out": "L E"}, given, ("τ", "δ"), HANDLES,
                             PRESETS)
            for title, place in (("The encoder's last attention", f"enc{len(net.encoder.layers) - 1}"),
                                 ("The future asks the past", f"dec{len(net.decoder.layers) - 1}/cross"))]


def handles_over_time(model: NonstationaryTransformer, rows: Rows) -> list[Block]:
    """τ and δ of many windows."""
    windows, starts = rows.many(WINDOWS)
    past = rows.split(windows)[0]

    def look() -> None:
        _, mu, sigma = stationarize(past)
        model.handles(past, mu, sigma)

    trace = run(look)
    back = {"S": [str(i - rows.past) for i in range(rows.past)]}
    return [f"τ and δ of {len(starts)} windows, by the date at which the window begins. δ has one number for each step "
            "of the past; the last stands next to the forecast.",
            over_time(rows, trace["tau"].tensor[:, 0], "window", "τ", starts),
            over_time(rows, trace["delta"].tensor.mT, "S window", "δ", starts, back)]
