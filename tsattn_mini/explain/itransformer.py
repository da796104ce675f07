"""iTransformer: which variable asks which, for any window and over time."""

from functools import partial

from torch import Tensor

from tsattn_mini.attention import scaled_dot_product
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
from tsattn_mini.explain.rows import Rows, distinct, fitting, mark_names, read
from tsattn_mini.trace import Trace
from tsattn_mini.zoo.itransformer import ITransformer

LEAD = ("iTransformer (Liu et al., 2024). A token is the whole past of one variable, and so are the time marks. "
        "Attention runs between the variables: row i of a map says from whom variable i takes.")


def rows(model: ITransformer, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """The stretch of `series` that the page carries, cut and, if `scaled`, standardised by `rows.read`."""
    return read(series, fitting(series, model.V), past=model.seq_len, ahead=model.pred_len, start=start, scaled=scaled,
                marks=model.marks)


def blocks(model: ITransformer, rows: Rows) -> list[Block]:
    """What the page shows of `model` on `rows`: explorers, tables and words, in order."""
    answer, targets, layers = partial(forward, model, rows), list(range(model.V)), len(model.encoder.layers)
    H, tokens, word = model.encoder.layers[0].attention.H, names(model, rows), "V+K" if model.marks else "V"
    ask = {"QK": f"{word} {word}", "A": f"{word} {word}"}
    if weights_of(model) <= WHOLE:
        def draw(trace: Trace, layer: Tensor | None, head: Tensor | None) -> None:
            maps(trace, "between", (f"enc{i}" for i in range(layers)), ask, layer, head)

        live = [whole(rows, answer, targets, draw, ["x_norm", "between/QK", "between/A"],
                      counts={"layer": layers, "head": H}, labels={word: tokens})]
    else:
        last = stored.Attention("The last attention between the variables", f"enc{layers - 1}", scaled_dot_product, ask,
                                labels={word: tokens})
        live = stored.explorers(rows, answer, [last], targets)
    found = {"past steps": model.seq_len, "future steps": model.pred_len, "variables": model.V, "marks": model.marks,
             "width M": model.projection.in_features, "heads H": H, "layers": layers}
    return [LEAD, about_rows(rows), settings(model, found), *live, *over(model, rows, layers, tokens),
            *transforms(run(lambda: answer(rows.first_window())))]


def names(model: ITransformer, rows: Rows) -> list[str]:
    """Of the tokens: the columns, then the marks."""
    return distinct([*rows.columns, *mark_names(model.marks)])


def forward(model: ITransformer, rows: Rows, window: Tensor) -> Tensor:
    """The forecast for one `window` of the rows, past and future marks together."""
    past, marks, _, _ = rows.split(window)
    return model(past, marks)


def over(model: ITransformer, rows: Rows, layers: int, tokens: list[str]) -> list[Block]:
    """How much of all attention each token gets, for many windows."""
    A, starts = over_windows(model, rows, forward, lambda trace: trace[f"enc{layers - 1}/A"].tensor.mean((1, 2)))
    return [f"How much attention each token gets in the last layer, of {len(starts)} windows by the date at which they "
            "begin: the mean over heads and askers.",
            over_time(rows, A.mT, "token window", "attention received", starts, {"token": tokens})]
