"""The flow diagram of a trace: boxes for the steps, arrows for what was computed from what."""


from tsattn_mini.figures import Figure, drawn
from tsattn_mini.visible import escape

LANES = 5  # that fit between two columns
Node = tuple[str, tuple[int, ...], tuple[str, ...]]  # axes, shape, names of the steps it was computed from


def flow_chart(nodes: dict[str, Node]) -> Figure:
    """Boxes and arrows, top to bottom, for steps in the order in which they were made.

    The computation runs down the first column. What comes from nowhere stands beside the row that first uses
    it, and an arrow that skips rows goes round the boxes.
    """
    w, h, gap, left, gutter = 150, 42, 28, 46, 40
    row = _rows({name: sources for name, (_, _, sources) in nodes.items()})
    spot, filled = {}, dict.fromkeys(row.values(), 0)
    for name in sorted(nodes, key=lambda n: not nodes[n][2]):  # the computed ones first
        spot[name] = (left + w / 2 + filled[row[name]] * (w + gutter), row[name] * (h + gap))
        filled[row[name]] += 1
    lanes: dict[float, dict[str, int]] = {}  # beside each column, one for every step whose arrow comes round it
    out = []
    for name, (_, _, sources) in nodes.items():
        for source in sources:
            bend, taken = row[name] - row[source] > 1, lanes.setdefault(spot[name][0], {})
            lane = taken.setdefault(source, len(taken)) if bend and spot[source][0] != spot[name][0] else 0
            out.append(_arrow(*spot[source], *spot[name], w, h, bend, lane % LANES))
    for name, (axes, shape, _) in nodes.items():
        x, y = spot[name]
        out.append(f"<rect class='ts-box' x='{x - w / 2:g}' y='{y:g}' width='{w}' height='{h}' rx='6'/>"
                   f"<text class='ts-step' x='{x:g}' y='{y + 17:g}'>{escape(name)}</text>"
                   f"<text class='ts-size' x='{x:g}' y='{y + 33:g}'>{escape(_size(axes, shape))}</text>")
    text = "\n".join(f"{n} ← {', '.join(s)}" if s else n for n, (_, _, s) in nodes.items())
    width, height = left + max(filled.values(), default=1) * (w + gutter), (max(filled, default=0) + 1) * (h + gap)
    svg = drawn("flow", width, height, "Flow: " + text.replace("\n", "; "), "".join(out))
    return Figure(f"<figure class='ts-figure'><div class='ts-plot'>{svg}</div></figure>", text)


def _size(axes: str, shape: tuple[int, ...]) -> str:
    return " × ".join(f"{a} {k}" if a != str(k) else a for a, k in zip(axes.split(), shape, strict=True))


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


def _arrow(x0: float, y0: float, x1: float, y1: float, w: int, h: int, bend: bool,
           lane: int = 0) -> str:
    """From the box at (x0, y0) to the box at (x1, y1), both given by the middle of their upper side."""
    middle = y1 + h / 2
    if bend and x0 == x1:
        edge, side, start = x1 - w / 2, x1 - w / 2 - 60, y0 + h / 2
        return (f"<path class='ts-edge' d='M{edge:g} {start:g}C{side:g} {start + 20:g} {side:g} {middle - 20:g} "
                f"{edge - 6:g} {middle:g}'/><path class='ts-arrow' d='M{edge - 7:g} {middle - 4:g}v8l7 -4z'/>")
    if bend:
        edge = x1 + w / 2
        return (f"<path class='ts-edge' d='M{x0:g} {y0 + h:g}v{7 + 4 * lane}H{edge + 13 + 5 * lane:g}V{middle:g}"
                f"H{edge + 6:g}'/>"
                f"<path class='ts-arrow' d='M{edge + 7:g} {middle - 4:g}v8l-7 -4z'/>")
    return (f"<path class='ts-edge' d='M{x0:g} {y0 + h:g}L{x1:g} {y1 - 6:g}'/>"
            f"<path class='ts-arrow' d='M{x1 - 4:g} {y1 - 7:g}h8l-4 7z'/>")


def group_chart(nodes: dict[str, Node], group: dict[str, str]) -> Figure:
    """One box per group, in the order of their first steps; `group` maps the name of every step to its group.

    A box lists what comes in from other groups, and what leaves it: to other groups, or to nobody. An arrow to
    the next box is straight, all others run in lanes beside the boxes.
    """
    members: dict[str, list[str]] = {}
    for name in nodes:
        members.setdefault(group[name], []).append(name)
    used = {s for _, _, sources in nodes.values() for s in sources}
    across = {s for n, (_, _, sources) in nodes.items() for s in sources if group[s] != group[n]}
    texts, edges, lines = {}, {}, []
    for title, names in members.items():
        comes = dict.fromkeys(s for n in names for s in nodes[n][2] if group[s] != title)
        leaves = [n for n in names if n in across or n not in used]
        count = f"{len(names)} step" + "s" * (len(names) > 1)
        texts[title] = [count, *([f"in: {', '.join(comes)}"] if comes else []),
                        *(f"out: {n} · {_size(*nodes[n][:2])}".rstrip("· ") for n in leaves)]
        edges.update({(group[s], title): None for s in comes})
        lines.append(f"{title} ({'; '.join(texts[title])})")
    svg = _column(texts, list(edges), "Flow by meaning: " + "; ".join(lines))
    return Figure(f"<figure class='ts-figure'><div class='ts-plot'>{svg}</div></figure>", "\n".join(lines))


def _column(texts: dict[str, list[str]], edges: list[tuple[str, str]], label: str) -> str:
    w, line, gap, order = 262, 15, 24, list(texts)
    top, y = {}, 1
    for title, rows in texts.items():
        top[title] = y
        y += 28 + line * len(rows) + gap
    middle = {title: top[title] + 14 + line * len(texts[title]) / 2 for title in order}
    out, lane = [], 0
    for a, b in edges:
        if order.index(b) == order.index(a) + 1:
            out.append(_arrow(w / 2, top[b] - gap, w / 2, top[b], w, 0, bend=False))
        else:
            x, lane = w + 12 + 9 * lane, lane + 1
            start, end = middle[a] + 6, middle[b] - 12 + 5 * lane
            out.append(f"<path class='ts-edge' d='M{w} {start:g}H{x}V{end:g}H{w + 7}'/>"
                       f"<path class='ts-arrow' d='M{w + 7} {end - 4:g}v8l-7 -4z'/>")
    for title, rows in texts.items():
        out.append(f"<rect class='ts-box' x='1' y='{top[title]}' width='{w - 1}' height='{28 + line * len(rows)}' "
                   f"rx='6'/><text class='ts-step' x='{w / 2:g}' y='{top[title] + 17}'>{escape(title)}</text>")
        out += [f"<text class='ts-size' x='{w / 2:g}' y='{top[title] + 34 + line * i}'>{escape(row)}</text>"
                for i, row in enumerate(rows)]
    return drawn("flow", w + 12 + 9 * lane + 4, y, label, "".join(out))
