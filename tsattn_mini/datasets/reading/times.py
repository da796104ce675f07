"""From text to times: each format that fits the first cell is tried on all; two that survive are asked about."""

import re
from itertools import product

import numpy as np
import pandas as pd

from tsattn_mini.datasets.reading.faults import fault, shown

_CLOCK = re.compile(r"[T ]\s*(?P<h>\d{1,2})(?:(?P<c>[:.])(?P<m>\d{2})(?:(?P=c)(?P<s>\d{2})(?P<f>\.\d+)?)?)?"
                    r"(?P<ap>\s?[AaPp][Mm])?(?P<z>\s?(?:Z|[+-]\d{2}(?::?\d{2})?))?$")
_OFFSET = re.compile(r"[T:.]\d{2}(?:\.\d+)?\s?(?:Z|([+-])(\d{2}):?(\d{2})?)$", re.MULTILINE)
_ISO = re.compile(r"\d{4}([-/.])\d{1,2}(\1\d{1,2})?|\d{8}|\d{4}")
_QUARTER = re.compile(r"(\d{4})[- ]?[Qq]([1-4])|[Qq]([1-4])[- ](\d{4})")
_DIGITS = {6: ["%Y%m"], 10: ["s", "%Y%m%d%H"], 12: ["%Y%m%d%H%M"], 13: ["ms"], 14: ["%Y%m%d%H%M%S"]}
_UNITS = ("s", "ms")
_SERIAL = re.compile(r"\d{5}(?:\.\d+)?")
_DATES = [date.replace(" ", mark) for date, mark in product(("%d %m %Y", "%m %d %Y", "%d %m %y", "%m %d %y", "%y %m %d",
          "%d %b %Y", "%d %B %Y", "%d %b %y", "%b %d %Y", "%B %d %Y", "%b %Y", "%B %Y", "%b %y", "%m %Y", "%Y %m %d",
          "%Y %m", "%Y %m %d %H"), "/-. ")] + ["%b %d, %Y", "%B %d, %Y", "%d. %B %Y", "%d. %b %Y"]
TIMELY = frozenset({"date", "time", "datetime", "timestamp", "ds", "day", "month", "year", "quarter", "week", "hour",
                    "period", "日期", "时间", "datum", "zeit", "fecha"})


def looks_like_a_time(text: str) -> bool:
    """Whether `text` shows a date by its separators or month names; a bare number does not."""
    return len(text) >= 6 and not re.fullmatch(r"[\d.,+-]{0,1}\d*[.,]?\d*", text) and bool(formats(text))


def formats(text: str) -> list[str]:
    """The formats that read `text`: strptime's, "ISO8601", "quarter", "s" or "ms" since 1970."""
    if _QUARTER.fullmatch(text):
        return ["quarter"]
    if text.isdecimal() and len(text) in _DIGITS:
        dated = text[:2] in {"19", "20"}
        return [form for form in _DIGITS[len(text)] if form in _UNITS or (dated and _fits(text, form))]
    clock = _CLOCK.search(text)
    date = text[:clock.start()] if clock else text
    if _ISO.fullmatch(date) and not (clock and (clock["ap"] or clock["c"] == ".")):
        return ["ISO8601"] if _fits(text, "ISO8601") else []
    both = [(date, _clock_format(clock, text)), (text, "")] if clock else [(text, "")]
    return [form + time for part, time in both for form in _DATES if _alike(form, part) and _fits(text, form + time)]


def parse(texts: np.ndarray, form: str) -> pd.DatetimeIndex:
    """The times by one format; NaT where it does not fit. Times with an offset are in UTC."""
    if form in _UNITS:
        numbers = np.array([float(t) if t.isdecimal() else np.nan for t in texts])
        return pd.DatetimeIndex(pd.to_datetime(numbers, unit=form, errors="coerce")).as_unit("us")
    if form == "quarter":
        texts, form = _quarters(texts), "%Y-%m-%d"
    parsed = pd.to_datetime(pd.Index(texts, dtype=object), format=form, errors="coerce", utc=True)
    return parsed.tz_localize(None).as_unit("us")


class Times:
    """The column of dates, gathered part by part.

    Raises (from `add` and `finish`):
        ValueError: a cell without a time or of another form, offsets in some rows only, two readings left.
    """

    def __init__(self, name: str, file: str, form: str | None) -> None:
        self.name, self.file = name, file
        self.alive: dict[str, list] = {form: []} if form else {}
        self.offsets: list[np.ndarray] = []
        self.first: str | None = None

    def add(self, texts: np.ndarray, rows: np.ndarray) -> None:
        """Read the cells of these rows; a format that does not fit one of them is given up.

        Raises:
            ValueError: cells that no format reads, or an offset from UTC in some rows only; it names file,
                row and column.
        """
        texts = np.array([text.strip() for text in texts], dtype=object)
        if not self.first:
            self.first = texts[0]
            self.alive = self.alive or {form: [] for form in formats(texts[0])}
        if not self.alive:
            raise self._fault(texts[0], rows[0])
        self.offsets.append(_offsets(texts))
        failed = {}
        for form, parts in list(self.alive.items()):
            parsed = parse(texts, form)
            if parsed.isna().any():
                failed[form] = int(parsed.isna().argmax())
                del self.alive[form]
            parts.append(parsed)
        if not self.alive:
            at = max(failed.values())
            raise self._fault(texts[at], rows[at])
        bare = np.isnan(self.offsets[-1])
        if (odd := bare != np.isnan(self.offsets[0][0])).any():
            at = int(odd.argmax())
            raise fault(self.file, f"got {shown(texts[at])}, but the first time is {shown(self.first)}: write the "
                                   "offset from UTC in every row or in none", int(rows[at]), self.name)

    def finish(self) -> tuple[pd.DatetimeIndex, list[str]]:
        """The times without an offset, and what is to be told about them.

        Raises:
            ValueError: dates that can be read in two ways.
        """
        read = {form: parts[0].append(parts[1:]) for form, parts in self.alive.items()}
        (form, index), *others = read.items()
        for other, second in others:
            if not index.equals(second):
                at = int((index != second).argmax())
                raise fault(self.file, f"the dates can be read in two ways, {shown(form)} ({index[at]:%d %b %Y}) and "
                                       f"{shown(other)} ({second[at]:%d %b %Y}): say date_format={form!r} or "
                                       f"date_format={other!r}", None, self.name)
        offsets = np.concatenate(self.offsets)
        if np.isnan(offsets).all():
            return index, [f"the dates of column {shown(self.name)} were read as {form}"]
        return _on_one_clock(index, offsets, self.name)

    def _fault(self, text: str, row: int) -> ValueError:
        if not text:
            what = "there is no time in a row that holds values: write it, or delete the row"
        elif _SERIAL.fullmatch(text):
            what = f"got {shown(text)}, perhaps a spreadsheet's day number: format the column as dates, save again"
        elif self.first in (None, text):
            what = (f"expected a time, got {shown(text)}: say date='…' for the right column, or its "
                    "date_format='%d.%m.%Y %H:%M'")
        else:
            what = f"got {shown(text)}, no time of the form of the first, {shown(self.first)}: write all the same way"
        return fault(self.file, what, int(row), self.name)


def _on_one_clock(utc: pd.DatetimeIndex, offsets: np.ndarray, name: str) -> tuple[pd.DatetimeIndex, list[str]]:
    """The clock on the wall if its offset never changes or only days are counted; else UTC."""
    local = (utc + pd.to_timedelta(offsets, unit="m")).as_unit("us")
    hours = ", ".join(f"{m / 60:+g} h" for m in np.unique(offsets)[:4])
    if len(np.unique(offsets)) == 1:
        return local, [f"the times of column {shown(name)} are {hours} from UTC and were kept as written"]
    if (local == local.normalize()).all():
        return local, [f"the offsets from UTC of column {shown(name)} change ({hours}); the days were kept as written"]
    return utc, [f"the offsets from UTC of column {shown(name)} change ({hours}: daylight saving); the times are UTC"]


def _clock_format(clock: re.Match, text: str) -> str:
    gap, mark = text[clock.start():clock.start("h")], clock["c"] or ""
    hour = "%I" if clock["ap"] else "%H"
    rest = "".join(mark + sign for part, sign in (("m", "%M"), ("s", "%S")) if clock[part])
    noon = clock["ap"] and (" %p" if clock["ap"].startswith(" ") else "%p")
    zone = clock["z"] and (" %z" if clock["z"].startswith(" ") else "%z")
    return gap + hour + rest + (".%f" if clock["f"] else "") + (noon or "") + (zone or "")


def _alike(form: str, text: str) -> bool:
    """Whether the separators are the same; saves asking strptime."""
    return re.sub(r"%[a-zA-Z]", "", form) == re.sub(r"[^\W_]+", "", text)


def _fits(text: str, form: str) -> bool:
    return not parse(np.array([text], dtype=object), form).isna().any()


def _quarters(texts: np.ndarray) -> list[str | None]:
    """The first day of each quarter."""
    found = [_QUARTER.fullmatch(text) for text in texts]
    return [f"{m[1] or m[4]}-{3 * int(m[2] or m[3]) - 2:02}-01" if m else None for m in found]


def _offsets(texts: np.ndarray) -> np.ndarray:
    """Minutes east of UTC; NaN without an offset."""
    if not _OFFSET.search("\n".join(texts)):
        return np.full(len(texts), np.nan)
    found = [_OFFSET.search(text) for text in texts]
    return np.array([np.nan if m is None else float(f"{m[1] or '+'}1") * (60 * int(m[2] or 0) + int(m[3] or 0))
                     for m in found])
