"""Which columns of a file hold the times, and which are read."""

import difflib
import re
from collections.abc import Sequence

import numpy as np

from tsattn_mini.datasets.reading.faults import fault, listed, shown
from tsattn_mini.datasets.reading.layout import Layout
from tsattn_mini.datasets.reading.times import TIMELY, formats, looks_like_a_time, parse

DATES = frozenset({"date", "datetime", "timestamp", "ds", "日期", "时间", "datum", "fecha"})
PROBE = 50  # cells of a column that are looked at to tell whether it holds times
_CLOCK_ALONE = re.compile(r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?")
_PARTS = ("year", "month", "day", "hour")


def time_places(layout: Layout, date: str | Sequence[str] | None, date_format: str | None,
                counted: bool) -> tuple[list[int], list[str]]:
    """The columns whose cells, put side by side, are the times: (places, what is to be told).

    counted   whether the rows may be counted instead (a `freq` was asked for): then no column is fine

    Raises:
        ValueError: no such column, no column of times, or more than one.
    """
    if date is not None:
        return [place_of(name, layout, "date") for name in ([date] if isinstance(date, str) else date)], []
    found = [place for place in range(len(layout.names)) if _holds_times(layout, place, date_format)]
    timely = [place for place in found if _plain(layout.names[place]) in TIMELY]
    chosen = timely if len(timely) == 1 else found
    if not chosen:  # a column that says what it is, with cells that do not: reading it tells which
        chosen = [place for place, name in enumerate(layout.names) if _plain(name) in DATES][:1]
    if not chosen and counted:
        return [], ["no column holds times: rows are counted from 2000-01-01 on, so marks of the calendar mean nothing"]
    if not chosen:
        raise fault(layout.path.name, f"no column holds times ({listed([*layout.names])}): say date='…' for the column "
                                      "that does, or freq='h' to count the rows from 2000-01-01 on", layout.row)
    if len(chosen) > 1:
        raise fault(layout.path.name, f"the columns {listed([layout.names[p] for p in chosen])} all hold times: "
                                      f"say date={shown(layout.names[chosen[0]])} or another", layout.row)
    places = _with_its_clock(layout, chosen[0])
    notes = [f"the times are put together from the columns {listed([layout.names[p] for p in places])}"]
    return places, notes if len(places) > 1 else []


def value_places(layout: Layout, columns: Sequence[str] | None, target: str | None, taken: list[int],
                 ) -> tuple[list[int], list[str]]:
    """The columns that are read as values, in the order asked for: (places, what is to be told).

    Raises:
        ValueError: an unknown or repeated name, the column of times, or no column at all.
    """
    if isinstance(columns, str):
        raise ValueError(f"columns: expected a list of names, got the string {shown(columns)}")
    notes = []
    if columns is None:
        places = [place for place in range(len(layout.names)) if place not in taken]
        if 0 in places and layout.header and layout.names[0] == "column 1" and _counts(layout):
            places.remove(0)
            notes.append("'column 1' counts the rows and was left out")
    else:
        places = [place_of(name, layout, "columns") for name in columns]
        if len(set(places)) < len(places):
            raise ValueError(f"columns: expected every name once, got {listed([*columns])}")
    if target is not None and (place := place_of(target, layout, "target")) not in places:
        places.append(place)
    if both := [layout.names[place] for place in places if place in taken]:
        raise ValueError(f"columns, target: expected values, but {listed(both)} holds the times")
    if not places:
        raise fault(layout.path.name, f"there is no column beside the times ({listed([*layout.names])}): "
                                      "expected at least one of numbers; is sep= right?", layout.row)
    return places, notes


def place_of(name: str, layout: Layout, argument: str) -> int:
    """Where the column `name` stands.

    Raises:
        ValueError: no column of this name; names that are close are told.
    """
    if name in layout.names:
        return layout.names.index(name)
    near = difflib.get_close_matches(str(name), layout.names, n=3) or [*layout.names]
    raise ValueError(f"{argument}: there is no column {shown(str(name))} in {shown(layout.path.name)[1:-1]}; "
                     f"expected one like {listed(near)}")


def _plain(name: str) -> str:
    return name.strip().casefold()


def _cells(layout: Layout, place: int) -> list[str]:
    cells = [row[place].strip() for row in layout.sample if place < len(row)]
    return [cell for cell in cells if cell][:PROBE]


def _holds_times(layout: Layout, place: int, date_format: str | None) -> bool:
    cells = _cells(layout, place)
    if not cells:
        return False
    texts = np.array(cells, dtype=object)
    if date_format:
        beside = [" ".join(row[p].strip() for p in _with_its_clock(layout, place)) for row in layout.sample[:1]]
        return not all(parse(np.array([text], dtype=object), date_format).isna().any() for text in (cells[0], *beside))
    named = _plain(layout.names[place]) in TIMELY
    if not (named or looks_like_a_time(cells[0])):
        return False
    return any(parse(texts, form).isna().mean() < 0.5 for form in formats(cells[0]))


def _with_its_clock(layout: Layout, place: int) -> list[int]:
    """The date with the clock in a column of its own, or a year with month, day and hour."""
    names = [_plain(name) for name in layout.names]
    if names[place] == "year" and "month" in names:
        return [names.index(part) for part in _PARTS if part in names]
    for name in ("time", "hour"):
        if name in names and names.index(name) != place:
            cells = _cells(layout, names.index(name))
            if cells and all(_CLOCK_ALONE.fullmatch(cell) for cell in cells):
                return [place, names.index(name)]
    return [place]


def _counts(layout: Layout) -> bool:
    """Whether the first column counts the rows, from 0 or 1 on."""
    cells = [row[0].strip() for row in layout.sample if row]
    begin = int(cells[0]) if cells[0] in {"0", "1"} else -1
    return begin >= 0 and cells == [str(begin + i) for i in range(len(cells))]
