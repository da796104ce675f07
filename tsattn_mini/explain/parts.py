"""What the pages of all models share: settings, steps under other names, maps by layer and head, curves over time."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from html import escape

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini.explain.rows import TRAIN, Rows
from tsattn_mini.explore import Explorer, Joined, Slider
from tsattn_mini.explore.ids import unused
from tsattn_mini.explore.inputs import Input
from tsattn_mini.figures import Figure, Table, picture
from tsattn_mini.scales import meaning_of, number
from tsattn_mini.trace import Trace, record, scope, step

Block = Explorer | Figure | str
WHOLE = 1_000_000  # weights up to which a page carries the whole graph
WINDOWS, LEAST_WINDOWS = 200, 24  # of a curve over time
WORK, AT_ONCE = 400_000_000, 8  # windows × weights of all runs; windows in one run
CURVES = 6  # in one picture; more make a map
HANDLES = {
    "window": "“window” chooses which stretch of your series the model reads",
    "layer": "“layer” chooses the layer whose maps are shown, counted from 0",
    "head": "“head” chooses one of the attention heads, counted from 0",
    "round": "“round” chooses the step of the flow, counted from 0",
    "target": "“target” chooses the forecast variable that asks, counted from 0",
    "tau_power": "“τ power” is the exponent of τ: 1 is the model's own, 0 takes τ away, 2 squares it",
    "delta_times": "“δ times” multiplies δ: 1 is the model's own, 0 takes δ away, 2 doubles it",
    "omega": "“ω” is the guidance: 0 forecasts without the drivers, 1 with them, above 1 overdoes what they change",
    "prior_times": "“prior times” multiplies the prior S, of each driver up to 1: 1 is the model's own, 0 takes S away",
    "gate_weight": "“gate weight” multiplies what the gate adds to the scores: 1 is the model's own, 0 shuts it off",
    "u": "“u” is the draw that decides whether a link is kept: 0.5 keeps what is likelier than not",
    "text": "“text” is what the memory reads",
    "agreement": "“agreement” is the cosine between hidden state and memory key: 1 the same direction, -1 the opposite",
}


def weights_of(model: nn.Module) -> int:
    """How many numbers the model learnt, or might have."""
    return sum(p.numel() for p in model.parameters())


def settings(model: nn.Module, found: Mapping[str, object]) -> Table:
    """What the model is, one setting a row, and the number of its weights."""
    return Table(("setting", "value"), [*((name, str(value)) for name, value in found.items()),
                                        ("weights", f"{weights_of(model):,}")])


def about_rows(rows: Rows, targets: Sequence[int] | None = None) -> str:
    """How the reader's numbers became the model's, in sentences; `targets` are the columns that are forecast."""
    targets = range(len(rows.columns)) if targets is None else targets
    said = [f"The page carries rows {rows.first} to {rows.first + len(rows.x) - 1} of {rows.total} "
            f"({rows.stamps[0]} to {rows.stamps[-1]})."]
    said.append("Every column was z-scored with mean and deviation of the first "
                f"{TRAIN:.0%} of all rows, as the released loaders do; the forecast is drawn in your units."
                if rows.scaler else "Columns go in as they are, without scaling.")
    if rows.marks is not None:
        said.append(f"{rows.marks.shape[-1]} time marks for each row come from its date.")
    drawn = [rows.columns[i] for i in rows.drawn(list(targets))]
    said.append(f"The pictures of the forecast show {', '.join(drawn)}"
                f"{f' ({len(drawn)} of {len(targets)} variables)' if len(drawn) < len(targets) else ''}.")
    return " ".join(said)


def about_handles(explorers: Iterable[Explorer]) -> str:
    """What the handles of all these explorers do, a sentence each."""
    names = dict.fromkeys(name for explorer in explorers for name in explorer.state["inputs"])
    return "The handles: " + "; ".join(HANDLES[name] for name in names) + "."


def again(trace: Trace, name: str, tensor: Tensor, axes: str, source: str, told: str = "") -> Tensor:
    """Name `tensor`, a part of the step `source`, with that step's formula and note; the table calls it `told`."""
    note = " ".join(filter(None, (trace[source].note, told and f"Part of {told} in the table below.")))
    return step(name, tensor, axes=axes, eq=trace[source].eq, note=note or None)


def one_of(layers: Sequence[Float[Tensor, "H ..."]], layer: Tensor | None, head: Tensor | None) -> Float[Tensor, "..."]:
    """The head of the layer that two sliders point at; a slider that would have one place is left out."""
    x = layers[0] if layer is None else torch.stack(list(layers)).index_select(0, layer.reshape(1))[0]
    return x[0] if head is None else x.index_select(0, head.reshape(1))[0]


def sliders(**counts: int) -> dict[str, Slider]:
    """An integer slider for everything of which there is more than one."""
    return {name: Slider(0, 0, count - 1, integer=True) for name, count in counts.items() if count > 1}


def maps(trace: Trace, place: str, scopes: Iterable[str], names: Mapping[str, str], layer: Tensor | None,
         head: Tensor | None, heads: bool = True) -> None:
    """Name `place/A`, … (without a place `A`): one head of one layer of the attention steps that several scopes share.

    Args:
        names: step of the attention → axes without window and head; heads: False where it has no axis of heads.
    """
    scopes = list(scopes)
    for name, axes in names.items():
        found = [trace[f"{s}/{name}"].tensor[0] for s in scopes]
        x = one_of(found if heads else [one[None] for one in found], layer, head)
        with scope(place) if place else nullcontext():
            again(trace, name, x, axes, f"{scopes[0]}/{name}",
                  told=" or ".join(dict.fromkeys(f"{s}/{name}" for s in (scopes[0], scopes[-1]))))


def whole(rows: Rows, answer: Callable[..., Tensor], targets: Sequence[int], draw: Callable[..., None],
          show: Sequence[str], *, counts: Mapping[str, int] | None = None, handles: Mapping[str, Input] | None = None,
          presets: Mapping[str, Mapping] | None = None, labels: Mapping[str, Sequence[str]] | None = None,
          many: bool = False) -> Explorer:
    """The explorer of a whole model: any window, its steps, and past and forecast in the reader's units.

    Args:
        answer: (a window 1 × L × VK, handles) → the forecast 1 × F × N, or 1 × P × F × N where `many`.
        targets: the columns that are forecast.
        draw: (trace of the run, indices of `counts`) names the steps `show`.
        counts: things of which the reader looks at one, such as layers and heads, each with a slider.
    """
    places = sliders(**counts or {})

    def fn(window: Tensor, **moved: Tensor) -> None:
        past, _, _, truth = rows.split(window[None])
        at = {name: moved.pop(name, None) for name in counts or {}}
        with record(follow=False) as trace:
            y = answer(window[None], **moved)
        rows.name(past[0], truth[0], y[0], targets)
        draw(trace, **at)

    joined = Joined("yours/past", "yours/forecast", "yours/truth", particles="yours/samples" if many else None,
                    name="past and forecast")
    return Explorer(fn, {"window": rows.window(), **places, **(handles or {})}, show=[*show, joined], presets=presets,
                    labels={**rows.labels(targets), **(labels or {})}, title="One window through the whole model",
                    id=unused("whole"))


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Normal draws, the same at every call; NumPy makes them, so that a graph holds them as they are."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def run(forward: Callable[[], object], follow: bool = False) -> Trace:
    """The steps of one quiet run; `follow` as for `record`."""
    with torch.no_grad(), warnings.catch_warnings(), record(follow=follow) as trace:
        warnings.simplefilter("ignore")
        forward()
    return trace


def over_windows(model: nn.Module, rows: Rows, forward: Callable[..., object],
                 look: Callable[[Trace], Float[Tensor, "B ..."]]) -> tuple[Float[Tensor, "W ..."], list[int]]:
    """What `look` reads off the steps of many windows, a few at a time, and where the windows start.

    The more weights, the fewer windows: the whole model runs on each.
    """
    windows, starts = rows.many(max(LEAST_WINDOWS, min(WINDOWS, WORK // weights_of(model))))
    return torch.cat([look(run(lambda w=w: forward(model, rows, w))) for w in windows.split(AT_ONCE)]), starts


def captioned(title: str, svg: str, said: str) -> Figure:
    """A still picture under its title; `said` stands in for it where only text is shown."""
    return Figure(f"<figure class='ts-figure'><figcaption>{escape(title)}</figcaption><div class='ts-plot'>{svg}</div>"
                  "</figure>", said)


def over_time(rows: Rows, x: Tensor, axes: str, title: str, starts: Sequence[int],
              labels: Mapping[str, Sequence[str]] | None = None) -> Figure:
    """A still picture of what windows that begin at `starts` have: a curve, a few of them, or a map.

    Args:
        axes: `window` last; an axis before it has `labels`.
    """
    view = "lines" if x.ndim == 1 or len(x) <= CURVES else "map"
    labels = {**(labels or {}), "window": [rows.stamps[i] for i in starts]}
    svg = picture(x, axes, label=title, view=view, scale=meaning_of([x]), labels=labels)
    low, high = (number(float(v)) for v in (x.min(), x.max()))
    return captioned(title, svg, f"{title}: {low} to {high} over {len(starts)} windows")


def over_tokens(x: Float[Tensor, "R L"], tokens: Sequence[str], rows: Sequence[str]) -> Figure:
    """A still picture of numbers along a text: a row for each of `rows`."""
    svg = picture(x, "agreement token", label="α", view="heat", scale=meaning_of([x]),
                  labels={"token": tokens, "agreement": rows})
    return captioned("α", svg, f"α of {len(tokens)} tokens: {number(float(x.min()))} to {number(float(x.max()))}")


def transforms(trace: Trace, leave: str = r"(?!)") -> list[Block]:
    """The tensor-transform table of one window, but for the steps whose names begin as the pattern `leave` says."""
    kept = trace.pick(*(name for name in trace if not re.match(leave, name)))
    return ["Every step of this window, from the numbers that went in to the forecast.", kept.table()]
