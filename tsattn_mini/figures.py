"""Still pictures of tensors: heat maps, bars, lines and tables, as inline SVG and HTML.

The same drawing is the still figure of a lesson and the first picture of an explorer. Two attributes carry
a value into the drawing, so that a page can update it without knowing how it was laid out:

* `--v` on a heat cell: the value on the colour scale, -1 … 1 (`"signed"`) or 0 … 1 (`"unit"`);
* bars and lines are drawn in unit coordinates, and a transform puts them in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite, prod

import torch
from torch import Tensor

from tsattn_mini.pixels import image, rgb
from tsattn_mini.scales import brief, drawable, inward, number, scale_of, shade, spread
from tsattn_mini.visible import escape, visible

CURVE_AXES = {"T", "F", "s", "y"}  # past, horizon, flow time, and the value a density is drawn over
LONGEST = 14  # letters of a row's name
WHOLE = 16  # a cell of a table with no more characters stays in one line
MOST_CELLS = 1024  # a grid of more cells is one image, a pixel for each number


@dataclass(frozen=True, repr=False)
class Figure:
    """A display object: `html` for pages and notebooks, `text` for terminals, tests and screen readers."""

    html: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


class Table(Figure):
    """Rows of text under a header; numbers are shown as they are given, and short cells never break over two lines.

    `header` and `rows` are its texts. Raises ValueError unless each row has as many entries as the header.
    """

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            if len(row) != len(header):
                raise ValueError(f"rows: each needs {len(header)} entries like the header, got {len(row)}: {row}")
        header, *cells = [[visible(str(c)) for c in row] for row in [header, *rows]]
        object.__setattr__(self, "header", tuple(header))  # frozen, as a Figure is
        object.__setattr__(self, "rows", tuple(map(tuple, cells)))
        widths = [max(len(line[i]) for line in [header, *cells]) for i in range(len(header))]
        line = lambda row: "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()  # noqa: E731
        head = "".join(f"<th scope='col'>{escape(c)}</th>" for c in header)
        cell = lambda c: escape(c).replace(" ", "\N{NO-BREAK SPACE}") if len(c) <= WHOLE else escape(c)  # noqa: E731
        body = "".join("<tr>" + "".join(f"<td>{cell(c)}</td>" for c in row) + "</tr>" for row in cells)
        super().__init__(
            f"<table class='ts-table'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
            "\n".join([line(header), line(["─" * w for w in widths]), *map(line, cells)]))


def heat(x: Tensor, axes: str, *, title: str = "", scale: str | None = None) -> Figure:
    """A coloured grid with its numbers. Leading axes beyond two become one grid each."""
    return _figure(x, axes, title, scale, "heat")


def bars(x: Tensor, axes: str, *, title: str = "") -> Figure:
    """One bar per entry of a one-dimensional tensor."""
    return _figure(x, axes, title, None, "bars")


def lines(x: Tensor, axes: str, *, title: str = "") -> Figure:
    """One curve per row along the one of the axes `T`, `F`, `s`, `y` it has; without one, along the last axis."""
    return _figure(x, axes, title, None, "lines")


def view_of(axes: str, shape: Sequence[int]) -> str:
    """The picture that fits: `"lines"` along one of `CURVE_AXES`, `"bars"` for one other axis, else `"heat"`, or
    `"map"` where a grid has more than `MOST_CELLS` cells."""
    kept = [(a, n) for a, n in zip(axes.split(), shape, strict=True) if n > 1]
    words, sizes = [a for a, _ in kept], [n for _, n in kept]
    if len(words) in (1, 2) and sum(w in CURVE_AXES for w in words) == 1:
        return "lines"
    return "bars" if len(words) == 1 else "map" if prod(sizes[-2:]) > MOST_CELLS else "heat"


def needs_digits(x: Tensor) -> bool:
    """Whether `x` holds whole numbers that an ordinary cell would round: the view `"digits"` writes them out."""
    return x.dtype == torch.int64 and bool(((x >= 100_000) | (x <= -100_000)).any())


def picture(x: Tensor, axes: str, *, label: str, view: str, scale: str,
            labels: Mapping[str, Sequence[str]] | None = None) -> str:
    """The drawing itself: one or more `<svg>`; `label` is what a screen reader says before the numbers.

    Axes of size 1 are left out. `labels` gives the places along an axis names instead of 0, 1, 2. On the scale
    `"fit"` bars fill their whole height, from the lowest number to the highest with 0 among them, and a lone number
    has no colour of its own, since there is nothing to compare it with.

    Raises:
        ValueError: when `axes` and `x` differ in rank, or a bar chart is asked of more than one axis.
    """
    if len(axes.split()) != x.ndim:
        raise ValueError(f"axes: expected {x.ndim} words for shape {tuple(x.shape)}, got {axes!r}")
    kept = [(a, n) for a, n in zip(axes.split(), x.shape, strict=True) if n > 1]
    words, shape = [a for a, _ in kept], [n for _, n in kept]
    names = [list((labels or {}).get(a, map(str, range(n)))) for a, n in kept]
    values = x.detach().reshape(shape)
    if view == "bars":
        if len(shape) > 1:
            raise ValueError(f"bars: expected one axis, got {axes!r} of shape {tuple(x.shape)}")
        draw = _fitted if scale == "fit" else _bars
        return draw(values.reshape(-1), words[0] if words else "", label, names[0] if names else ["0"])
    if view == "lines":
        return _lines(values, words, label, names)
    top = spread(values)
    grids = product(*(range(n) for n in values.shape[:-2]))
    named = ((at, ", ".join(f"{w} {n[i]}" for w, n, i in zip(words[:-2], names, at, strict=False))) for at in grids)
    if view == "map":
        return "".join(_map(values[at], words[-2:], label, name, scale, top, names[-2:]) for at, name in named)
    return "".join(_grid(values[at], words[-2:], label, name, scale, top, view == "digits", names[-2:])
                   for at, name in named)


def _figure(x: Tensor, axes: str, title: str, scale: str | None, view: str) -> Figure:
    x = drawable(x, axes)
    svg = picture(x, axes, label=title or axes, view=view, scale=scale or scale_of(x))
    caption = f"<figcaption>{escape(title)}</figcaption>" if title else ""
    rows = x.detach().reshape(-1, x.shape[-1] if x.ndim else 1).tolist()
    text = "\n".join(" ".join(number(v).rjust(7) for v in row) for row in rows)
    head = f"{title}  [{axes}] {tuple(x.shape)}".strip()
    return Figure(f"<figure class='ts-figure'>{caption}<div class='ts-plot'>{svg}</div></figure>", f"{head}\n{text}")


def drawn(kind: str, width: float, height: float, label: str, inside: str) -> str:
    """An `<svg>` of class `ts-<kind>`; `label` is what a screen reader says for it."""
    return (f"<svg class='ts-{kind}' viewBox='0 0 {width:g} {height:g}' width='{width:g}' height='{height:g}' "
            f"role='img' aria-label='{escape(label, quote=True)}'>{inside}</svg>")


def _spoken(label: str, values: Tensor) -> str:
    flat = values.reshape(-1).tolist()
    more = f" … ({len(flat)} numbers)" if len(flat) > 24 else ""
    return f"{label}: " + " ".join(map(number, flat[:24])) + more


def cell_size(columns: int) -> tuple[int, int]:
    """Width and height of a heat cell in pixels; below 24 there is no room for its number, below 40 for a brief one."""
    return (52, 34) if columns <= 6 else (46, 28) if columns <= 8 else (24, 20) if columns <= 12 else \
        (12, 12) if columns <= 24 else (7, 7)


def _grid(x: Tensor, words: Sequence[str], label: str, name: str, scale: str, top: float, digits: bool,
          names: Sequence[Sequence[str]]) -> str:
    x = x.reshape((1,) * (2 - x.ndim) + tuple(x.shape))
    w, h = (158, 28) if digits else cell_size(x.shape[1])
    write, size = (str, " ts-digits") if digits else (brief, " ts-brief") if w < 40 else (number, "")
    widest = max(len(n) for n in names[0]) if len(words) == 2 else 0
    left, up = (max(26, 8 + 6 * min(widest, LONGEST)) if len(words) == 2 else 4), (34 if name else 18)
    out = [f"<text class='ts-name' x='{left}' y='12'>{escape(name)}</text>"] if name else []
    if w >= 24 and words:
        out += [_tick(left + (j + .5) * w, up - 5, _cut(n, w // 6)) for j, n in enumerate(names[-1])]
    if w >= 24 and len(words) == 2:
        out += [_tick(left - 10, up - 5, f"{words[0]}\\{words[1]}")]
        out += [_tick(left - 9 if left == 26 else left / 2, up + (i + .65) * h, _cut(n, LONGEST))
                for i, n in enumerate(names[0])]
    for i, row in enumerate(x.tolist()):
        for j, v in enumerate(row):
            on = shade(v, scale, top)
            text = (f"<text x='{left + (j + .5) * w:g}' y='{up + (i + .5) * h + 4:g}'>{write(v)}</text>"
                    if w >= 24 else "")
            out.append(f"<g class='ts-cell'><rect style='--v:{on:.3g}' x='{left + j * w}' y='{up + i * h}' "
                       f"width='{w - 1}' height='{h - 1}' fill='{rgb(on)}'/>{text}</g>")
    meaning = " ts-gate" if scale == "gate" else ""
    return drawn(f"heat{size}{meaning}", left + x.shape[1] * w + 4, up + x.shape[0] * h + 2,
                _spoken(f"{label} {name}".strip(), x), "".join(out))


def _map(x: Tensor, words: Sequence[str], label: str, name: str, scale: str, top: float,
         names: Sequence[Sequence[str]]) -> str:
    """Many cells as one image: no numbers, and names at the ends of both axes alone."""
    (rows, columns), (down, across) = x.shape, names
    w = max(2, min(7, 384 // max(rows, columns)))
    h = max(w, min(14, 112 // rows))  # a few rows stand further apart
    wide, high, up = columns * w, rows * h, 34 if name else 18
    named = [(i + .5, text) for i, text in enumerate(down) if h >= 10 or i in (0, rows - 1)]
    first, last = (_cut(text, LONGEST + 4) for text in (across[0], across[-1]))
    left = 14 + 6 * min(LONGEST, max(len(text) for _, text in named))
    inside = (f"<text class='ts-name' x='{left}' y='12'>{escape(name)}</text>" * bool(name)
              + "".join(_tick(left / 2, up + i * h + 4, _cut(text, LONGEST)) for i, text in named)
              + f"<g transform='translate({left} {up}) scale({w} {h})'><image width='{columns}' height='{rows}' "
              f"preserveAspectRatio='none' image-rendering='pixelated' href='{image(x, scale, top)}'/></g>"
              + _tick(left + 12 + inward(first), up - 5, first) + _tick(left + wide / 2, up - 5, "\\".join(words))
              + _tick(left + wide - 12 - inward(last), up - 5, last))
    kind, spoken = "heat ts-map" + " ts-gate" * (scale == "gate"), _spoken(f"{label} {name}".strip(), x)
    return drawn(kind, left + wide + 4, up + high + 2, spoken, inside)


def _cut(name: str, room: int) -> str:
    return name if len(name) <= room else name[:max(1, room - 1)] + "…"


def _tick(x: float, y: float, text: str) -> str:
    return f"<text class='ts-tick' x='{x:g}' y='{y:g}'>{escape(text)}</text>"


def _bars(x: Tensor, word: str, label: str, names: Sequence[str]) -> str:
    """Bars up and down from a line in the middle."""
    n, top, half = x.numel(), spread(x), 44
    w, out = _bar_width(n), []
    for i, v in enumerate(x.tolist()):
        on = shade(v, "signed", top)
        out.append(f"<rect class='ts-bar' x='{i + .12:g}' y='{min(on, 0):.3g}' width='.76' height='{abs(on):.3g}' "
                   f"fill='{rgb(1)}'/>")
    inside = (f"<g transform='translate(4 {half + 18}) scale({w} {-half})'>{''.join(out)}</g>"
              f"<line class='ts-zero' x1='4' x2='{4 + n * w}' y1='{half + 18}' y2='{half + 18}'/>")
    return _barred(x, f"{label} along {word}", names, 2 * half, inside)


def _fitted(x: Tensor, word: str, label: str, names: Sequence[str]) -> str:
    """Bars from the line of 0, which stands where the lowest and the highest number just fit."""
    n, height = x.numel(), 88
    ends = [0.0, *(v for v in x.double().tolist() if isfinite(v))]
    low, size = min(ends), max(ends) - min(ends) or 1.0
    out = []
    for i, v in enumerate(x.double().tolist()):
        on = v / size if isfinite(v) else 0.0
        out.append(f"<rect class='ts-bar' x='{i + .12:g}' y='{min(on, 0) - low / size:.3g}' width='.76' "
                   f"height='{abs(on):.3g}' fill='{rgb(1)}'/>")
    inside = (f"<g transform='translate(4 {height + 18}) scale({_bar_width(n)} {-height})'>{''.join(out)}"
              f"<line class='ts-zero' x1='0' x2='{n}' y1='{-low / size:.3g}' y2='{-low / size:.3g}' "
              "vector-effect='non-scaling-stroke'/></g>")
    return _barred(x, f"{label} along {word}", names, height, inside)


def _bar_width(n: int) -> int:
    """In pixels; up to twelve bars, which have their numbers, are no wider together than a phone."""
    return 52 if n <= 6 else 300 // n if n <= 12 else max(5, 480 // n)


def _barred(x: Tensor, label: str, names: Sequence[str], height: int, inside: str) -> str:
    """Bars with a number above and a name below each, where there is room."""
    n, w = x.numel(), _bar_width(x.numel())
    write, kind = (number, "bars") if n <= 8 else (brief, "bars ts-brief")
    marks = [_tick(4 + (i + .5) * w, height + 32, _cut(name, w // 6)) for i, name in enumerate(names)]
    texts = [f"<text class='ts-value' x='{4 + (i + .5) * w:g}' y='12'>{write(v)}</text>"
             for i, v in enumerate(x.tolist())]
    more, room = ("".join(texts + marks), 38) if n <= 12 else ("", 20)
    return drawn(kind, 8 + n * w, height + room, _spoken(label, x), inside + more)


def _keys(word: str, names: Sequence[str], left: int, width: int) -> list[tuple[int, str]]:
    """Where each curve's key stands and what it says; the word is left out where it would not fit everywhere."""
    rows, longest = len(names), max(map(len, names))
    apart, said = 38 + 7 * (len(word) + longest), [f"{word} {n}" for n in names]
    if rows * apart > width + 12:
        apart, said = min(38 + 7 * longest, (width + 12) // rows), names
    return [(left + apart * i, _cut(name, max(1, (apart - 26) // 6))) for i, name in enumerate(said)]


def _lines(values: Tensor, words: Sequence[str], label: str, names: Sequence[Sequence[str]]) -> str:
    """`data-from`, `data-by` and `data-points` say where in the flat tensor a curve lies."""
    width, height, left = 300, 110, 52
    down = len(words) == 2 and words[0] in CURVE_AXES and words[1] not in CURVE_AXES  # time runs down the columns
    x = values.T if down else values.reshape(-1, values.shape[-1] if values.ndim else 1)
    word, (rows, n), (low, high) = words[0 if down else -1] if words else "", x.shape, span(x)
    curves = [f"<polyline class='ts-line ts-line{i % 6}' data-from='{i if down else i * n}' "
              f"data-by='{rows if down else 1}' data-points='{n}' points='{unit_points(row, low, high)}'/>"
              for i, row in enumerate(x)]
    keys = _keys(words[1 if down else 0], names[1 if down else 0], left, width) if 1 < rows <= 6 else []
    times = names[0 if down else -1] if names else ["0"]
    legend = "".join(f"<path class='ts-line ts-line{i}' d='M{x} {height + 38}h18'/>"
                     f"<text class='ts-key' x='{x + 22}' y='{height + 42}'>{escape(key)}</text>"
                     for i, (x, key) in enumerate(keys))
    inside = (f"<g transform='translate({left} {height + 10}) scale({width} {-height})'>{''.join(curves)}</g>"
              f"<path class='ts-frame' d='M{left} 10V{height + 10}H{left + width}'/>"
              f"<text class='ts-high' x='{left - 5}' y='16'>{number(high)}</text>"
              f"<text class='ts-low' x='{left - 5}' y='{height + 10}'>{number(low)}</text>"
              + _tick(left + inward(times[0]), height + 25, times[0])
              + _tick(left + width - inward(times[-1]), height + 25, times[-1])
              + _tick(left + width / 2, height + 25, word) + legend)
    spoken = _spoken(f"{label} along {word}", x)
    return drawn("lines", left + width + 12, height + (46 if legend else 30), spoken, inside)


def span(x: Tensor) -> tuple[float, float]:
    """Lowest and highest finite value, pulled apart when they coincide: the ends of a line plot's axis."""
    finite = x[torch.isfinite(x)].double()
    low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 1.0)
    room = max(0.5, abs(low) * 1e-6)
    return (low, high) if high > low else (low - room, low + room)


def unit_points(row: Tensor, low: float, high: float) -> str:
    """A curve as SVG points in the unit square; a value that is not finite leaves no point."""
    last = max(1, row.numel() - 1)
    return " ".join(f"{i / last:.4g},{(v - low) / (high - low):.4g}"
                    for i, v in enumerate(row.tolist()) if isfinite(v))
