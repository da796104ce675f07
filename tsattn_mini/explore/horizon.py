"""The picture of a `Joined` step: a plot per variable, the past solid, the forecast dashed behind the line of now.

Each curve is drawn in unit coordinates: `data-from` and `data-by` say where in the flat tensor it lies,
`data-points` how many numbers it has, and `data-start` the place of its first one. The edges of a band are one
polygon, which goes along the lower curve and comes back along the upper one, `data-back`.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

from torch import Tensor

from tsattn_mini.explore.element import words
from tsattn_mini.figures import drawn, span
from tsattn_mini.scales import number
from tsattn_mini.visible import escape

LEFT, TOP = 44, 22  # pixels beside and above a plot
KINDS = {"future": "ts-future", "truth": "ts-truth", "particle": "ts-particle"}


def horizon(x: Tensor, joined: Mapping, label: str, labels: Mapping[str, Sequence[str]]) -> str:
    """The drawing: one `<svg>` for each variable. `joined` is `Joined.describe` of the step."""
    word = joined["variables"]
    values = x.detach().reshape(len(joined["curves"]), joined["length"], -1).double()
    count = values.shape[2]
    names = labels.get(word, [f"{word} {v}" for v in range(count)]) if word else [""]
    size = (300, 110) if count == 1 else (212, 84)
    return "".join(_plot(values[..., v], v, count, joined, f"{label} {names[v]}".strip(), names[v], size)
                   for v in range(count))


def spoken(values: Tensor, kinds: Sequence[str], past: int) -> str:
    """One variable (curves × time) in words: where the past runs, and where the forecast goes on to."""
    say, length = words("joined"), values.shape[1]
    at = lambda curve, place: number(float(values[curve, place]))  # noqa: E731
    said = [say["goes"].format(first=at(0, 0), now=at(0, past - 1), end=at(0, -1), past=past, future=length - past)]
    if "truth" in kinds:
        said.append(say["came"].format(end=at(kinds.index("truth"), -1)))
    around = [i for i, kind in enumerate(kinds) if kind in ("low", "high", "particle")]
    if around:
        ends = values[around, -1]
        said.append(say["around"].format(low=number(float(ends.min())), high=number(float(ends.max()))))
    return " ".join(said)


def _plot(x: Tensor, v: int, count: int, joined: Mapping, label: str, name: str, size: tuple[int, int]) -> str:
    """The plot of variable `v` of `count`; `x` (curves × time) holds its numbers."""
    kinds, past, length, (width, height) = joined["curves"], joined["past"], joined["length"], size
    low, high = span(x)
    now = (past - 1) / max(1, length - 1)

    def curve(kind: str, i: int, start: int, end: int) -> str:
        points = " ".join(_points(x[i, start:end], start, length, low, high))
        return (f"<polyline class='{kind}' data-from='{(i * length + start) * count + v}' data-by='{count}' "
                f"data-points='{end - start}' data-start='{start}' points='{points}'/>")

    ahead = [curve(KINDS[kind], i, past - 1, length) for i, kind in enumerate(kinds) if kind in KINDS]
    curves = "".join([*reversed(ahead), curve("ts-past", 0, 0, past)])
    if "low" in kinds:
        edges = [kinds.index("low"), kinds.index("high")]
        there, back = (_points(x[i, past - 1:], past - 1, length, low, high) for i in edges)
        come, go = ((i * length + past - 1) * count + v for i in edges)
        curves = (f"<polygon class='ts-band' data-from='{come}' data-back='{go}' data-by='{count}' "
                  f"data-points='{length - past + 1}' data-start='{past - 1}' "
                  f"points='{' '.join(there + back[::-1])}'/>") + curves
    keys, bottom = _legend(kinds, joined["each"], width, TOP + height + 32)
    inside = (
        f"<rect class='ts-horizon' x='{LEFT + now * width:g}' y='{TOP}' width='{(1 - now) * width:g}' "
        f"height='{height}'/>"
        f"<g transform='translate({LEFT} {TOP + height}) scale({width} {-height})'>{curves}</g>"
        f"<path class='ts-frame' d='M{LEFT} {TOP}V{TOP + height}H{LEFT + width}'/>"
        f"<path class='ts-divider' d='M{LEFT + now * width:g} {TOP - 4}V{TOP + height}'/>"
        f"<text class='ts-name' x='{LEFT}' y='13'>{escape(name)}</text>"
        f"<text class='ts-high' x='{LEFT - 5}' y='{TOP + 6}'>{number(high)}</text>"
        f"<text class='ts-low' x='{LEFT - 5}' y='{TOP + height}'>{number(low)}</text>"
        + _ticks(past, length, now, width, TOP + height + 15) + keys)
    return drawn("lines ts-joined", LEFT + width + 12, bottom, f"{label}: {spoken(x, kinds, past)}", inside)


def _points(part: Tensor, start: int, length: int, low: float, high: float) -> list[str]:
    """A piece of a curve that begins at `start` as SVG points; a value that is not finite leaves no point."""
    return [f"{(start + i) / max(1, length - 1):.4g},{(value - low) / (high - low):.4g}"
            for i, value in enumerate(part.tolist()) if isfinite(value)]


def _ticks(past: int, length: int, now: float, width: int, y: int) -> str:
    """Steps before and after now, where there is room for them."""
    ticks = [(0.0, f"-{past - 1}")] * (now * width > 40) + [(now, words("joined")["now"])]
    ticks += [(1.0, f"+{length - past}")] * ((1 - now) * width > 40)
    return "".join(f"<text class='ts-tick' x='{LEFT + at * width:g}' y='{y}'>{escape(text)}</text>"
                   for at, text in ticks)


def _legend(kinds: Sequence[str], each: str, width: int, y: int) -> tuple[str, int]:
    """A short piece of each kind of curve and its word, in as many rows as they need; and where the last row ends."""
    say, x, out = words("joined") | {"particle": each}, LEFT, []
    keys = [("ts-past", "past"), ("ts-future", "future")] + [("ts-truth", "truth")] * ("truth" in kinds)
    keys += [("ts-band", "band")] * ("low" in kinds) + [("ts-particle", "particle")] * ("particle" in kinds)
    for kind, key in keys:
        room = 36 + 7 * len(say[key])
        if x + room > LEFT + width + 24:
            x, y = LEFT, y + 16
        shape = f"M{x} {y - 8}h18v8h-18z" if kind == "ts-band" else f"M{x} {y - 4}h18"
        out.append(f"<path class='{kind}' d='{shape}'/><text class='ts-key' x='{x + 22}' y='{y}'>"
                   f"{escape(say[key])}</text>")
        x += room
    return "".join(out), y + 8
