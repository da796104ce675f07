"""A model too large for a page: what enters an attention is stored for a few windows, and lives on from there."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tsattn_mini.explain.parts import WHOLE, again, run, sliders
from tsattn_mini.explain.rows import Rows
from tsattn_mini.explore import Explorer, Joined, Window
from tsattn_mini.explore.ids import unused
from tsattn_mini.explore.inputs import Input
from tsattn_mini.trace import Trace, record, scope, step

MOST_BYTES = 4_600_000  # of what is stored in a page, all its attentions together
MOST_WINDOWS = 8


@dataclass(frozen=True)
class Attention:
    """One attention of a model, as a page shows it by itself.

    title: above its explorer; place: the scope of its steps.
    attend: called with q, k, v of one head and what `given` returns.
    given: (trace of the stored window, handles moved by the reader) → further arguments of `attend`.
    handles, presets: the inputs beside window and head; changed: the steps that `given` names.
    show: steps of `attend` → axes without window and head.
    """

    title: str
    place: str
    attend: Callable[..., Tensor]
    show: Mapping[str, str]
    given: Callable[..., dict] = lambda trace: {}
    changed: Sequence[str] = ()
    handles: Mapping[str, Input] | None = None
    presets: Mapping[str, Mapping] | None = None


def explorers(rows: Rows, forward: Callable[[Tensor], object], attentions: Sequence[Attention],
              targets: Sequence[int], also: Sequence[str] = ()) -> list[str | Explorer]:
    """An explorer for each attention, with q, k, v of up to 8 windows in it, and a sentence that says what is fixed.

    Args:
        forward: one window (1 × L × VK) through the whole model; targets: the columns that it forecasts.
        also: further steps that `given` reads.
    """
    trace = run(lambda: forward(rows.first_window()))
    size = sum(4 * trace[f"{a.place}/{name}"].tensor.numel() for a in attentions for name in "qkv")
    windows, starts = rows.many(max(2, min(MOST_WINDOWS, MOST_BYTES // size)))
    names = {f"{a.place}/{name}" for a in attentions for name in "qkv"} | {*also, "forecast"}
    kept = _keep([run(lambda w=w: forward(w[None])) for w in windows], names)
    said = (f"This model has more than {WHOLE:,} weights, too many for a page. So what lies upstream of an attention "
            f"is fixed: it was computed for {len(starts)} windows, among which the handle “window” chooses by the date "
            "at which they begin. From Q, K and V on, everything below is live. The forecast is the model's own and "
            "does not follow the handles.")
    picker = _picker(rows, starts)
    return [said, *(_explorer(a, rows, {**kept, "window": windows}, picker, targets) for a in attentions)]


def _keep(traces: Sequence[Trace], names: Iterable[str]) -> dict[str, Tensor]:
    """The steps `names` of all windows, one after the other."""
    return {name: torch.cat([trace[name].tensor for trace in traces]) for name in names}


def _picker(rows: Rows, starts: Sequence[int]) -> Window:
    """Which of the stored windows: the series gives its place, and the drawn curve the target's level in it."""
    level = torch.stack([rows.x[i:i + rows.past, -1].mean() for i in starts])
    places = torch.stack([level, torch.arange(len(starts))], dim=-1)
    first = min(range(len(starts)), key=lambda n: abs(starts[n] - rows.start))
    return Window(places, 1, first, drawn=1, stamps=[rows.stamps[i] for i in starts])


def _explorer(a: Attention, rows: Rows, kept: Mapping[str, Tensor], picker: Window, targets: Sequence[int]) -> Explorer:
    H = kept[f"{a.place}/q"].shape[2]

    def fn(window: Tensor, head: Tensor | None = None, **moved: Tensor) -> None:
        here = {name: x.index_select(0, window[:, 1].long()) for name, x in kept.items()}
        q, k, v = (x if head is None else x.index_select(2, head.reshape(1))
                   for x in (here[f"{a.place}/{name}"] for name in "qkv"))
        for name, x, axes in (("q", q, "L E"), ("k", k, "S E"), ("v", v, "S E")):
            step(name, x[0, :, 0], axes=axes, note="Stored for this window.")
        more = a.given(here, **moved)
        with scope("all"), record(follow=False) as trace:
            a.attend(q, k, v, **more)
        for name, axes in a.show.items():
            found = trace[f"all/{name}"]
            x = found.tensor[0, 0] if found.axes.split()[1] == "H" else found.tensor[0, :, 0]
            again(trace, name, x, axes, f"all/{name}")
        past, _, _, truth = rows.split(here["window"][0])
        rows.name(past, truth, here["forecast"][0], targets)

    return Explorer(fn, {"window": picker, **sliders(head=H), **(a.handles or {})},
                    show=["q", "k", "v", *a.changed, *a.show,
                          Joined("yours/past", "yours/forecast", "yours/truth", name="past and forecast")],
                    presets=a.presets, labels=rows.labels(targets), title=a.title,
                    id=unused(a.place.replace("/", "-")))
