"""DUET: which experts speak for which variable, who may look at whom, and who does."""

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
    maps,
    over_time,
    over_windows,
    run,
    settings,
    transforms,
    weights_of,
    whole,
)
from tsattn_mini.explain.rows import Rows, fitting, read
from tsattn_mini.explore import Slider
from tsattn_mini.trace import Trace
from tsattn_mini.zoo.duet import DUET

LEAD = ("DUET (Qiu et al., 2025). A router sends the window of each variable to a few linear experts. Spectra decide "
        "which variables are linked, and attention runs along the links.")
LINK = {"u": Slider(0.5, 0, 1)}


def rows(model: DUET, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read(series, fitting(series, model.V), past=model.seq_len, ahead=model.head.out_features, start=start,
                scaled=scaled)


def blocks(model: DUET, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    answer, targets, layers = partial(forward, model, rows), list(range(model.V)), len(model.encoder.layers)
    attention, linked = model.encoder.layers[0].attention, model.V > 1
    sizes = {"past steps": model.seq_len, "future steps": model.head.out_features, "variables": model.V,
             "width M": model.head.in_features, "heads H": attention.H, "layers": layers,
             "experts": model.clusters.router.N, "experts a window gets": model.clusters.router.k}
    links = ["p", "keep", "A"] if linked else []
    per = model.clusters.per_variable and linked
    names = {"V": list(rows.columns)} if linked else {}
    if weights_of(model) <= WHOLE or not linked:
        live = [whole(rows, answer, targets, partial(draw, layers, linked, "V" if per else "1"),
                      ["scores", "gates", *links], counts={"layer": layers, "head": attention.H} if linked else {},
                      handles=LINK if linked else {}, labels=names)]
    else:
        live = stored.explorers(rows, answer, [along_links(model, layers, names)], targets, also=("links/p",))
    rule = ["A link stays where u ≤ p, the chance of the link. The released code draws u anew for every link; here all "
            "share the one that you set."] if linked else []
    return [LEAD, about_rows(rows), settings(model, sizes), *rule, *live, *over(model, rows),
            *transforms(run(lambda: answer(rows.first_window())))]


def forward(model: DUET, rows: Rows, window: Tensor, u: Tensor | None = None) -> Tensor:
    """`u` is one threshold for all links; one half keeps those that are likelier than not."""
    past = rows.split(window)[0]
    if model.V == 1:
        return model(past)
    u = torch.tensor(0.5) if u is None else u
    return model(past, u=u.expand(len(past), model.V, model.V))


def draw(layers: int, linked: bool, row: str, trace: Trace, layer: Tensor | None = None,
         head: Tensor | None = None) -> None:
    """Name again, for one `layer` and `head`, the steps that the page shows."""
    for name in ("scores", "gates"):
        again(trace, name, trace[f"router/{name}"].tensor[0], f"{row} expert", f"router/{name}")
    if linked:
        for name in ("p", "keep"):
            again(trace, name, trace[f"links/{name}"].tensor[0], "V V", f"links/{name}")
        maps(trace, "", [f"enc{i}" for i in range(layers)], {"A": "V V"}, layer, head)


def along_links(model: DUET, layers: int, names: dict[str, list[str]]) -> stored.Attention:
    """The last attention, whose links the reader may draw anew by `u`."""
    def given(here: dict[str, Tensor], u: Tensor) -> dict[str, Tensor]:
        p = here["links/p"]
        return {"keep": model.mask.links(p, u.expand(p.shape))}

    return stored.Attention("The last attention along the links", f"enc{layers - 1}",
                            model.encoder.layers[-1].attention.attend, {"QK": "V V", "A": "V V", "out": "V E"}, given,
                            ("keep",), LINK, labels=names)


def over(model: DUET, rows: Rows) -> list[Block]:
    """The gates of the target's window, for many windows."""
    gates, starts = over_windows(model, rows, forward, lambda trace: trace["router/gates"].tensor[:, -1])
    whose = rows.columns[-1] if model.clusters.per_variable else "the mean of all variables"
    return [f"Which experts speak for {whose} in {len(starts)} windows, by the date at which they begin.",
            over_time(rows, gates.mT, "expert window", "gates", starts)]
