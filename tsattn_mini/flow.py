"""The flow diagram of a trace: boxes for the steps, arrows for what was computed from what."""

from html import escape

from tsattn_mini.figures import Figure, drawn


def flow_chart(nodes: dict[str, tuple[str, tuple[int, ...], tuple[str, ...]]]) -> Figure:
    """Boxes and arrows, top to bottom. `nodes`: name → (axes, shape, names it was computed from), in order.

    The computation runs down the first column. What comes from nowhere stands beside the row that first uses
    it, and an arrow that skips rows goes round the boxes.
    """
    w, h, gap, left, gutter = 150, 42, 28, 46, 28
    row = _rows({name: sources for name, (_, _, sources) in nodes.items()})
    spot, filled = {}, dict.fromkeys(row.values(), 0)
    for name in sorted(nodes, key=lambda n: not nodes[n][2]):  # the computed ones first
        spot[name] = (left + w / 2 + filled[row[name]] * (w + gutter), row[name] * (h + gap))
        filled[row[name]] += 1
    out = [_arrow(*spot[s], *spot[n], w, h, bend=row[n] - row[s] > 1)
           for n, (_, _, sources) in nodes.items() for s in sources]
    for name, (axes, shape, _) in nodes.items():
        x, y = spot[name]
        size = " × ".join(f"{a} {k}" for a, k in zip(axes.split(), shape, strict=True))
        out.append(f"<rect class='ts-box' x='{x - w / 2:g}' y='{y:g}' width='{w}' height='{h}' rx='6'/>"
                   f"<text class='ts-step' x='{x:g}' y='{y + 17:g}'>{escape(name)}</text>"
                   f"<text class='ts-size' x='{x:g}' y='{y + 33:g}'>{escape(size)}</text>")
    text = "\n".join(f"{n} ← {', '.join(s)}" if s else n for n, (_, _, s) in nodes.items())
    width, height = left + max(filled.values(), default=1) * (w + gutter), (max(filled, default=0) + 1) * (h + gap)
    svg = drawn("flow", width, height, "Flow: " + text.replace("\n", "; "), "".join(out))
    return Figure(f"<figure class='ts-figure'><div class='ts-plot'>{svg}</div></figure>", text)


def _rows(sources: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Every step one row below the lowest it was computed from; a step from nowhere one above its first use."""
    row: dict[str, int] = {}
    for name, froms in sources.items():
        row[name] = 1 + max((row[s] for s in froms), default=-1)
    for name, froms in sources.items():
        uses = [row[n] for n, others in sources.items() if name in others]
        if not froms and uses:
            row[name] = min(uses) - 1
    return row


def _arrow(x0: float, y0: float, x1: float, y1: float, w: int, h: int, bend: bool) -> str:
    """From the box at (x0, y0) to the box at (x1, y1), both given by the middle of their upper side."""
    middle = y1 + h / 2
    if bend and x0 == x1:
        edge, side, start = x1 - w / 2, x1 - w / 2 - 60, y0 + h / 2
        return (f"<path class='ts-edge' d='M{edge:g} {start:g}C{side:g} {start + 20:g} {side:g} {middle - 20:g} "
                f"{edge - 6:g} {middle:g}'/><path class='ts-arrow' d='M{edge - 7:g} {middle - 4:g}v8l7 -4z'/>")
    if bend:
        edge = x1 + w / 2
        return (f"<path class='ts-edge' d='M{x0:g} {y0 + h:g}v9H{edge + 14:g}V{middle:g}H{edge + 6:g}'/>"
                f"<path class='ts-arrow' d='M{edge + 7:g} {middle - 4:g}v8l-7 -4z'/>")
    return (f"<path class='ts-edge' d='M{x0:g} {y0 + h:g}L{x1:g} {y1 - 6:g}'/>"
            f"<path class='ts-arrow' d='M{x1 - 4:g} {y1 - 7:g}h8l-4 7z'/>")
