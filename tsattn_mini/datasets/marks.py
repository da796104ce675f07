"""Time marks: what the clock and the calendar say, as numbers a linear layer can read."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from pandas.tseries.frequencies import to_offset
from torch import Tensor

CYCLES = {
    "second": lambda t: t.second / 59,
    "minute": lambda t: t.minute / 59,
    "hour": lambda t: t.hour / 23,
    "weekday": lambda t: t.day_of_week / 6,
    "day": lambda t: (t.day - 1) / 30,
    "yearday": lambda t: (t.day_of_year - 1) / 365,
    "week": lambda t: (t.isocalendar().week.to_numpy("float64") - 1) / 52,
    "month": lambda t: (t.month - 1) / 11,
    "quarter": lambda t: (t.quarter - 1) / 3,
}

MARKS = {
    "s": ("second", "minute", "hour", "weekday", "day", "yearday"),
    "min": ("minute", "hour", "weekday", "day", "yearday"),
    "h": ("hour", "weekday", "day", "yearday"),
    "D": ("weekday", "day", "yearday"),
    "B": ("weekday", "day", "yearday"),
    "W": ("day", "week"),
    "MS": ("month",),
    "ME": ("month",),
    "QS": ("quarter",),
    "QE": ("month",),
}


def time_features(index: pd.DatetimeIndex, freq: str,
                  dtype: torch.dtype = torch.float32) -> Float[Tensor, "T K"]:
    """The marks of each time stamp, every column running over its cycle from -0.5 to 0.5.

    "s"    second of minute, and the marks of "min"
    "min"  minute of hour, and the marks of "h"
    "h"    hour of day, day of week (Monday first), day of month, day of year
    "D"    day of week, day of month, day of year; "B" the same
    "W"    day of month, ISO week of year
    "MS"   month of year; "ME" the same
    "QS"   quarter of year
    "QE"   month of year

    Those of s, min, h, D, B, W, ME and QE are the columns of the released forecasters, in their order; month and
    quarter beginnings are ours. Steps without a convention, such as years or business months, are refused. An
    anchored or multiple step counts as its family: "QS-JAN" is "QS", "15min" is "min". Any finer family may be asked
    for on purpose: a model trained with "h" reads four marks, on 15-minute stamps too. The stamps may have gaps.

    Raises:
        ValueError: another frequency, a step that is not above 0 or that pandas cannot count, no stamps, stamps that
            are absent, repeated or out of order (the first such row is named), or a dtype that is not a floating
            point type.

    >>> hours = pd.date_range("2011-01-01", periods=2, freq="h")
    >>> time_features(hours, "h")[:, 0]  # hour 0, and hour 1 of 23
    tensor([-0.5000, -0.4565])
    """
    family = _family(freq)
    if family not in MARKS:
        raise ValueError(f"freq: expected one of {list(MARKS)} or a multiple above 0 of one, got {freq!r}")
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"dtype: expected a floating point type, got {dtype}")
    if not isinstance(index, pd.DatetimeIndex) or len(index) == 0:
        raise ValueError("index: expected a DatetimeIndex with at least one stamp, "
                         f"got {type(index).__name__} of length {len(index) if hasattr(index, '__len__') else 0}")
    if index.hasnans:
        raise ValueError(f"index: expected a time in every row, got NaT at row {int(index.isna().argmax())}")
    rises = index[1:] > index[:-1]
    if not rises.all():
        row = int(rises.argmin()) + 1
        raise ValueError(f"index: expected strictly increasing stamps, got {index[row]} at row {row} "
                         f"right after {index[row - 1]}")
    columns = [torch.tensor(np.asarray(CYCLES[name](index)) - 0.5, dtype=dtype) for name in MARKS[family]]
    return torch.stack(columns, dim=-1)


def _family(freq: str) -> str | None:
    """The family of a step, or None where it has none, is not above 0, or leads beyond the times that pandas knows."""
    try:
        offset = to_offset(freq)
        later = pd.Timestamp(2000, 1, 1) + offset > pd.Timestamp(2000, 1, 1)
    except (ValueError, TypeError, OverflowError):
        return None
    return offset.base.rule_code.split("-")[0] if later else None
