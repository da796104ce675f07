"""What the pages of all models share: settings, steps under other names, maps by layer and head, curves over time."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini.explain.rows import TRAIN, Rows
from tsattn_mini.explore import Explorer, Slider
from tsattn_mini.figures import Figure, Table, picture
from tsattn_mini.scales import meaning_of, number
from tsattn_mini.trace import Trace, record, scope, step

Block = Explorer | Figure | str
WHOLE = 1_000_000  # weights up to which a page carries the whole graph
WINDOWS = 200  # of a curve over time


def weights_of(model: nn.Module) -> int:
    """How many numbers the model learnt, or might have."""
    return sum(p.numel() for p in model.parameters())


def settings(model: nn.Module, found: Mapping[str, object]) -> Table:
    """What the model is, one setting a row, and the number of its weights."""
    return Table(("setting", "value"), [*((name, str(value)) for name, value in found.items()),
                                        ("weights", f"{weights_of(model):,}")])


def about_rows(rows: Rows) -> str:
    """How the reader's numbers became the model's, in sentences."""
    said = [f"The page carries rows {rows.first} to {rows.first + len(rows.x) - 1} of {rows.total} "
            f"({rows.stamps[0]} to {rows.stamps[-1]})."]
    said.append("Every column was z-scored with mean and deviation of the first "
                f"{TRAIN:.0%} of all rows, as the released loaders do; the forecast is drawn in your units."
                if rows.scaler else "Columns go in as they are, without scaling.")
    if rows.marks is not None:
        said.append(f"{rows.marks.shape[-1]} time marks for each row come from its date.")
    return " ".join(said)


def again(trace: Trace, name: str, tensor: Tensor, axes: str, source: str) -> Tensor:
    """Name `tensor`, a part of the step `source`, with that step's formula and note."""
    return step(name, tensor, axes=axes, eq=trace[source].eq, note=trace[source].note)


def one_of(layers: Sequence[Float[Tensor, "H ..."]], layer: Tensor | None, head: Tensor | None) -> Float[Tensor, "..."]:
    """The head of the layer that two sliders point at; a slider that would have one place is left out."""
    x = layers[0] if layer is None else torch.stack(list(layers)).index_select(0, layer.reshape(1))[0]
    return x[0] if head is None else x.index_select(0, head.reshape(1))[0]


def sliders(**counts: int) -> dict[str, Slider]:
    """An integer slider for everything of which there is more than one."""
    return {name: Slider(0, 0, count - 1, integer=True) for name, count in counts.items() if count > 1}


def maps(trace: Trace, place: str, scopes: Iterable[str], names: Mapping[str, str], layer: Tensor | None,
         head: Tensor | None) -> None:
    """Name `place/A`, … : one head of one layer of the attention steps that several scopes share.

    Args:
        names: step of the attention → axes without window and head.
    """
    scopes = list(scopes)
    for name, axes in names.items():
        with scope(place):
            again(trace, name, one_of([trace[f"{s}/{name}"].tensor[0] for s in scopes], layer, head), axes,
                  f"{scopes[0]}/{name}")


def run(forward: Callable[[], object], follow: bool = False) -> Trace:
    """The steps of one quiet run; `follow` as for `record`."""
    with torch.no_grad(), warnings.catch_warnings(), record(follow=follow) as trace:
        warnings.simplefilter("ignore")
        forward()
    return trace


def over_time(x: Tensor, axes: str, title: str, labels: Mapping[str, Sequence[str]]) -> Figure:
    """A still picture: curves along the axis `window` when `axes` starts with it alone, else a map."""
    view = "lines" if x.ndim == 1 else "map"
    svg = picture(x, axes, label=title, view=view, scale=meaning_of([x]), labels=labels)
    count, (low, high) = x.shape[axes.split().index("window")], (number(float(v)) for v in (x.min(), x.max()))
    return Figure(f"<figure class='ts-figure'><figcaption>{escape(title)}</figcaption><div class='ts-plot'>{svg}</div>"
                  "</figure>", f"{title}: {low} to {high} over {count} windows")


def transforms(trace: Trace) -> list[Block]:
    """The tensor-transform table of one window."""
    return ["Every step of this window, from the numbers that went in to the forecast.", trace.table()]
