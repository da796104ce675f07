"""A model too large for a page: what enters an attention is stored for a few windows, and lives on from there."""

from collections.abc import Callable, Mapping, Sequence
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
    show: steps of `attend` → axes without window and head; labels: of these axes.
    by_head: whether a head can be asked by itself; if not, `show` and q, k, v have all heads.
    """

    title: str
    place: str
    attend: Callable[..., Tensor]
    show: Mapping[str, str]
    given: Callable[..., dict] = lambda trace: {}
    changed: Sequence[str] = ()
    handles: Mapping[str, Input] | None = None
    presets: Mapping[str, Mapping] | None = None
    labels: Mapping[str, Sequence[str]] | None = None
    by_head: bool = True


def explorers(rows: Rows, forward: Callable[[Tensor], object], attentions: Sequence[Attention],
              targets: Sequence[int], also: Sequence[str] = ()) -> list[str | Explorer]:
    """An explorer for each attention, with q, k, v of up to 8 windows in it, and a sentence that says what is fixed.

    Args:
        forward: one window (1 × L × VK) through the whole model; targets: the columns that it forecasts.
        also: further steps that `given` reads.
    """
    trace = run(lambda: forward(rows.first_window()))
    size = sum(4 * trace[f"{a.place}/{name}"].tensor.numel() for a in attentions for name in "qkv")
    windows, starts, traces = kept_windows(rows, forward, max(2, min(MOST_WINDOWS, MOST_BYTES // size)))
    names = {f"{a.place}/{name}" for a in attentions for name in "qkv"} | {*also, "forecast"}
    kept = {name: torch.cat([trace[name].tensor for trace in traces]) for name in sorted(names)}
    found = [_explorer(a, rows, {**kept, "window": windows}, picker(rows, starts), targets) for a in attentions]
    return [said(len(starts), "Q, K and V"), *found]


def kept_windows(rows: Rows, forward: Callable[[Tensor], object], count: int) -> tuple[Tensor, list[int], list[Trace]]:
    """Up to `count` windows, where they start, and the steps of the model on each."""
    windows, starts = rows.many(count)
    return windows, starts, [run(lambda w=w: forward(w[None])) for w in windows]


def said(count: int, entering: str) -> str:
    """What is fixed in the page of a large model, and what is live."""
    return (f"This model has more than {WHOLE:,} weights, too many for a page. So what lies upstream of an attention "
            f"is fixed: it was computed for {count} windows, among which the handle “window” chooses by the date at "
            f"which they begin. From {entering} on, everything below is live. The forecast is the model's own and does "
            "not follow the handles.")


def picker(rows: Rows, starts: Sequence[int]) -> Window:
    """Which of the stored windows: the series gives its place, and the drawn curve the target's level in it."""
    level = torch.stack([rows.x[i:i + rows.past, -1].mean() for i in starts])
    places = torch.stack([level, torch.arange(len(starts))], dim=-1)
    first = min(range(len(starts)), key=lambda n: abs(starts[n] - rows.start))
    return Window(places, 1, first, drawn=1, stamps=[rows.stamps[i] for i in starts],
                  names=[f"{rows.columns[-1]}, mean of the past"])


def _explorer(a: Attention, rows: Rows, kept: Mapping[str, Tensor], picker: Window, targets: Sequence[int]) -> Explorer:
    H = kept[f"{a.place}/q"].shape[2] if a.by_head else 1

    def fn(window: Tensor, head: Tensor | None = None, **moved: Tensor) -> None:
        here = {name: x.index_select(0, window[:, 1].long()) for name, x in kept.items()}
        q, k, v = (x if head is None else x.index_select(2, head.reshape(1))
                   for x in (here[f"{a.place}/{name}"] for name in "qkv"))
        for name, x, axes in (("q", q, "L E"), ("k", k, "S E"), ("v", v, "S E")):
            step(name, x[0, :, 0], axes=axes, note=f"Stored{'' if a.by_head else ', the first head shown'}.")
        more = a.given(here, **moved)
        with scope("all"), record(follow=False) as trace:
            a.attend(q, k, v, **more)
        for name, axes in a.show.items():
            found = trace[f"all/{name}"]
            x = found.tensor[0] if "H" not in found.axes.split() else found.tensor[0].select(
                found.axes.split().index("H") - 1, 0)
            again(trace, name, x, axes, f"all/{name}")
        past, _, _, truth = rows.split(here["window"][0])
        rows.name(past, truth, here["forecast"][0], targets)

    return Explorer(fn, {"window": picker, **sliders(head=H), **(a.handles or {})},
                    show=["q", "k", "v", *a.changed, *a.show,
                          Joined("yours/past", "yours/forecast", "yours/truth", name="past and forecast")],
                    presets=a.presets, labels={**rows.labels(targets), **(a.labels or {})}, title=a.title,
                    id=unused(a.place.replace("/", "-")))
