"""TimeXer: what the target's global token takes from the exogenous variables, and from its own patches."""

from functools import partial

from torch import Tensor

from tsattn_mini.attention import scaled_dot_product
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
from tsattn_mini.explain.rows import Rows, distinct, fitting, mark_names, read
from tsattn_mini.trace import Trace
from tsattn_mini.zoo.timexer import FEATURES, TimeXer

LEAD = ("TimeXer (Wang et al., 2024). Each target is cut into patches and gets one global token. They attend to each "
        "other; the global token alone asks the exogenous variables.")


def rows(model: TimeXer, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read(series, fitting(series, model.V), past=model.seq_len, ahead=model.pred_len, start=start, scaled=scaled,
                marks=model.marks)


def blocks(model: TimeXer, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    answer, layers, H = partial(forward, model, rows), len(model.layers), model.layers[0].self_attention.H
    targets = list(range(model.V)) if model.features == "M" else [model.V - 1]
    asked = exogenous(model, rows)
    found = {"past steps": model.seq_len, "future steps": model.pred_len, "variables": model.V,
             "features": f"{model.features}: {FEATURES[model.features]}", "marks": model.marks,
             "patch": f"{model.patch_embedding.p} steps", "width M": model.norm.normalized_shape[0], "heads H": H,
             "layers": layers}
    if weights_of(model) <= WHOLE:
        live = [whole(rows, answer, targets, partial(draw, layers, bool(asked)),
                      ["own/A", *["exogenous/A"] * bool(asked)],
                      counts={"layer": layers, "head": H, "target": len(targets)}, labels=labels(rows, targets, asked))]
    else:
        live = stored.explorers(rows, answer, attentions(layers, rows, targets, asked), targets)
    return [LEAD, about_rows(rows, targets), settings(model, found), *live, *over(model, rows, layers, asked),
            *transforms(run(lambda: answer(rows.first_window())))]


def exogenous(model: TimeXer, rows: Rows) -> list[str]:
    """The names of the tokens that a global token may ask."""
    columns = rows.columns if model.features == "M" else rows.columns[:-1]
    return distinct([*columns, *mark_names(model.marks)])


def labels(rows: Rows, targets: list[int], asked: list[str]) -> dict[str, list[str]]:
    """The names of the places along the axes of targets and of exogenous variables."""
    named = {"exogenous": asked} if len(asked) > 1 else {}
    return {**named, "target": [rows.columns[i] for i in targets]} if asked else {}


def forward(model: TimeXer, rows: Rows, window: Tensor) -> Tensor:
    """The forecast for one `window` of the rows, past and future marks together."""
    past, marks, _, _ = rows.split(window)
    return model(past, marks)


def draw(layers: int, asks: bool, trace: Trace, layer: Tensor | None, head: Tensor | None,
         target: Tensor | None) -> None:
    """The patches' map of one target; and the global tokens' rows of all."""
    scopes = [f"enc{i}" for i in range(layers)]
    own = [trace[f"{s}/self/A"].tensor for s in scopes]
    own = [x[0] if target is None else x.index_select(0, target.reshape(1))[0] for x in own]
    again(trace, "own/A", one_of(own, layer, head), "L L", "enc0/self/A")
    if asks:
        cross = one_of([trace[f"{s}/cross/A"].tensor[0] for s in scopes], layer, head)
        again(trace, "exogenous/A", cross, "target exogenous", "enc0/cross/A")


def attentions(layers: int, rows: Rows, targets: list[int], asked: list[str]) -> list[stored.Attention]:
    """The attentions that a page of a large model holds, and what it calls them."""
    found = []
    if asked:
        found.append(stored.Attention("Global tokens ask the exogenous variables", f"enc{layers - 1}/cross",
                                      scaled_dot_product, {"A": "target exogenous", "out": "L E"},
                                      labels=labels(rows, targets, asked)))
    if len(targets) == 1:  # of several targets the patches of all would lie on one axis
        found.append(stored.Attention("Patches and global token", f"enc{layers - 1}/self", scaled_dot_product,
                                      {"QK": "L L", "A": "L L", "out": "L E"}))
    return found


def over(model: TimeXer, rows: Rows, layers: int, asked: list[str]) -> list[Block]:
    """Whom the last target's global token asks, for many windows."""
    if not asked:
        return []
    A, starts = over_windows(model, rows, forward,
                             lambda trace: trace[f"enc{layers - 1}/cross/A"].tensor[:, :, -1].mean(1))
    return [f"From whom the global token of {rows.columns[-1]} takes in the last layer, in {len(starts)} windows by "
            "the date at which they begin: the mean over heads.",
            over_time(rows, A.mT, "token window", "attention", starts, {"token": asked})]
