"""The time axis: order, repeats, the step between rows, and the stamps that are missing."""

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

from tsattn_mini.datasets.reading.faults import count, fault, shown

DAY = 86_400_000_000  # microseconds
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def ordered(frame: pd.DataFrame, rows: np.ndarray, file: str) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """The rows in the order of time, each time once: (frame, row numbers, what was done).

    A row that repeats another in full is dropped.

    Raises:
        ValueError: two rows with one time and different values.
    """
    notes, index = [], frame.index
    late = index[1:] < index[:-1]
    if late.all() and len(late):
        notes.append("the rows run backwards in time and were turned round")
    elif late.any():
        at = int(late.argmax()) + 1
        notes.append(f"row {rows[at]} ({index[at]}) is earlier than the row before it, in "
                     f"{count(int(late.sum()), 'place')} altogether: all rows were sorted by time")
    if late.any():
        order = np.argsort(index.asi8, kind="stable")
        frame, rows = frame.iloc[order], rows[order]
    twice = np.flatnonzero(frame.index[1:] == frame.index[:-1]) + 1
    if not len(twice):
        return frame, rows, notes
    for at in twice:
        if not frame.iloc[at].equals(frame.iloc[at - 1]):
            raise fault(file, f"the time {frame.index[at]} is that of row {rows[at - 1]} too, with other values: "
                              f"{_why_twice(frame.index, twice)}", int(rows[at]))
    notes.append(f"{count(len(twice), 'row')} repeating another in full left out (first: row {rows[twice[0]]})")
    return frame.iloc[np.setdiff1d(np.arange(len(frame)), twice)], np.delete(rows, twice), notes


def _why_twice(index: pd.DatetimeIndex, twice: np.ndarray) -> str:
    stamps = index[twice]
    autumn = (stamps.day_of_week == 6) & stamps.month.isin([4, 9, 10, 11]) & (stamps.hour <= 3)
    if autumn.all() and len(stamps.normalize().unique()) == len(stamps.year.unique()):
        return "the clocks may have gone back here; write times in UTC or with their offset (2024-10-27T02:00+01:00)"
    return "keep one row for each time; if there is one row per time and group, keep one group"


def frequency(index: pd.DatetimeIndex) -> pd.DateOffset | None:
    """The step of increasing stamps, some of which may be missing; None when there is none."""
    if len(index) < 2:
        return None
    steps = np.diff(index.asi8)
    values, counts = np.unique(steps, return_counts=True)
    usual = int(values[counts.argmax()])
    if usual >= 28 * DAY and (offset := _calendar(index)) is not None:
        return offset
    if usual == DAY and steps.max() > 2 * DAY and (index.day_of_week < 5).all():
        return to_offset("B")
    if (steps % usual).any():
        return None
    if usual == 7 * DAY:
        return to_offset(f"W-{index[0]:%a}".upper())
    return pd.offsets.Day(usual // DAY) if usual % DAY == 0 else to_offset(pd.Timedelta(usual, unit="us"))


def _calendar(index: pd.DatetimeIndex) -> pd.DateOffset | None:
    """Months, quarters or years that are dated by their first or last (working) day."""
    months = np.asarray(index.year * 12 + index.month)
    values, counts = np.unique(np.diff(months), return_counts=True)
    every = int(values[counts.argmax()])
    if every < 1 or (np.diff(months) % every).any() or len(np.unique(index.asi8 % DAY)) > 1:
        return None
    for end, day in (("MS", index.is_month_start), ("ME", index.is_month_end)):
        if day.all():
            kind, month = end[1], index[0].month
            if every == 12:
                return to_offset(f"Y{kind}-{MONTHS[month - 1]}")
            first = (month - 1) % 3 + (0 if kind == "S" else 9)
            return to_offset(f"Q{kind}-{MONTHS[first]}") if every == 3 else to_offset(f"{every}{end}")
    for end in ("BMS", "BME") if every == 1 else ():
        if all(to_offset(end).is_on_offset(stamp) for stamp in index):
            return to_offset(end)
    return None


def asked(freq: str) -> pd.DateOffset:
    """The offset that pandas calls `freq`.

    Raises:
        ValueError: no frequency, or one that does not move forward.
    """
    try:
        offset = to_offset(freq)
        _ = pd.Timestamp("2000-01-01").as_unit("us") + 100 * offset  # or no axis can be counted off
    except (ValueError, OverflowError):
        offset = None
    if offset is None or offset.n < 1:
        raise ValueError("freq: expected a step that pandas knows, like '15min', 'h', 'D', 'B', 'W-MON', 'MS' or "
                         f"'QS', got {freq!r}")
    return offset


def grid(index: pd.DatetimeIndex, rows: np.ndarray, freq: str | None, file: str) -> pd.DatetimeIndex:
    """Every stamp from the first to the last, none skipped.

    Raises:
        ValueError: one row without a `freq`, stamps that keep no step or not this one, more stamps missing than there.
    """
    found = frequency(index)
    offset = asked(freq) if freq else found
    if offset is None and len(index) == 1:
        raise fault(file, "one row alone has no step: say freq=, for instance freq='D'", int(rows[0]))
    if offset is None:
        raise _irregular(index, rows, file)
    if len(index) > 1:
        _sparse(index, rows, offset, file)
    whole = pd.date_range(index[0], index[-1], freq=offset, unit="us")
    off = ~index.isin(whole)
    if off.any():
        at, hint = int(off.argmax()), f"; the file's own step is {found.freqstr!r}" if found is not None else ""
        raise fault(file, f"the time {index[at]} is no step of freq={offset.freqstr!r} from {index[0]}{hint}: "
                          "say another freq=, or resample first (pandas: df.resample)", int(rows[at]))
    return whole


def _irregular(index: pd.DatetimeIndex, rows: np.ndarray, file: str) -> ValueError:
    steps = np.diff(index.asi8)
    values, counts = np.unique(steps, return_counts=True)
    usual = int(values[counts.argmax()])
    at = int((steps % usual != 0).argmax()) + 1
    return fault(file, f"the times keep no regular step: {index[at]} is {_span(steps[at - 1])} after the row before "
                       f"it, where {_span(usual)} is usual: bring them on one step first (pandas: "
                       "df.resample('h').mean()), or say freq=", int(rows[at]))


def _span(microseconds: int) -> str:
    return str(pd.Timedelta(int(microseconds), unit="us")).replace(" 00:00:00", "").replace("0 days ", "")


def _sparse(index: pd.DatetimeIndex, rows: np.ndarray, offset: pd.DateOffset, file: str) -> None:
    """Refuse an axis that would be mostly filled, before it is built: a mistyped year looks like this."""
    steps = np.diff(index.asi8)
    typical = (index[0] + 100 * offset - index[0]) / pd.Timedelta(100, unit="us")
    if (index[-1] - index[0]) / pd.Timedelta(typical, unit="us") > 2 * len(index) + 2:
        at = int(steps.argmax()) + 1
        raise fault(file, f"more times of freq={offset.freqstr!r} are missing than there; the longest gap, "
                          f"{_span(steps.max())}, ends here at {index[at]}: mend the date, cut the file there, or say "
                          "another freq=", int(rows[at]))


def gaps(index: pd.DatetimeIndex, whole: pd.DatetimeIndex, rows: np.ndarray) -> tuple[str, int] | None:
    """(what is missing between two rows, number of the row after the first gap), or None."""
    missing = whole.difference(index)
    if not len(missing):
        return None
    after = int(index.searchsorted(missing[0]))
    here = int(((missing > index[after - 1]) & (missing < index[after])).sum())
    many = f"the time {missing[0]} is missing" if here == 1 else f"{here} times from {missing[0]} on are missing"
    other = f"; {len(missing)} in the whole file" if here < len(missing) else ""
    return f"{many} before it (freq {shown(whole.freqstr)}){other}", int(rows[after])
