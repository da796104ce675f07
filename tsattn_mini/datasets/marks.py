"""Time marks: what the clock and the calendar say, as numbers a linear layer can read."""

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

CYCLES = {
    "hour": lambda t: t.hour / 23,
    "weekday": lambda t: t.day_of_week / 6,
    "day": lambda t: (t.day - 1) / 30,
    "yearday": lambda t: (t.day_of_year - 1) / 365,
    "month": lambda t: (t.month - 1) / 11,
    "quarter": lambda t: (t.quarter - 1) / 3,
}

MARKS = {
    "h": ("hour", "weekday", "day", "yearday"),
    "D": ("weekday", "day", "yearday"),
    "MS": ("month",),
    "QS": ("quarter",),
}


def time_features(index: pd.DatetimeIndex, freq: str,
                  dtype: torch.dtype = torch.float32) -> Float[Tensor, "T K"]:
    """The marks of each time stamp, every column running over its cycle from -0.5 to 0.5.

    "h"   hour of day, day of week (Monday first), day of month, day of year
    "D"   day of week, day of month, day of year
    "MS"  month of year
    "QS"  quarter of year

    An anchored frequency counts as its family: "QS-JAN" is "QS". The stamps may have gaps.

    Raises:
        ValueError: another frequency, no stamps, or stamps that are absent, repeated or out of order (the
            first such row is named).
    """
    family = freq.split("-")[0]
    if family not in MARKS:
        raise ValueError(f"freq: expected one of {list(MARKS)}, got {freq!r}")
    if not isinstance(index, pd.DatetimeIndex) or len(index) == 0:
        raise ValueError("index: expected a DatetimeIndex with at least one stamp, "
                         f"got {type(index).__name__} of length {len(index)}")
    if index.hasnans:
        raise ValueError(f"index: expected a time in every row, got NaT at row {int(index.isna().argmax())}")
    rises = index[1:] > index[:-1]
    if not rises.all():
        row = int(rises.argmin()) + 1
        raise ValueError(f"index: expected strictly increasing stamps, got {index[row]} at row {row} "
                         f"right after {index[row - 1]}")
    columns = [torch.tensor(CYCLES[name](index).to_numpy() - 0.5, dtype=dtype) for name in MARKS[family]]
    return torch.stack(columns, dim=-1)
