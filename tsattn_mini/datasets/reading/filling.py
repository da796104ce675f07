"""Missing values: refused, or filled by a rule that is named; never otherwise."""

import numpy as np
import pandas as pd

from tsattn_mini.datasets.reading.faults import count, fault
from tsattn_mini.datasets.reading.grid import gaps

RULES = {
    "refuse": "Nothing is missing in the source.",
    "interpolate": "interpolated linearly in time",
    "last": "filled with the last value before them",
    "zero": "filled with 0",
}


def fill(frame: pd.DataFrame, whole: pd.DatetimeIndex, rows: np.ndarray, words: list[str], rule: str,
         file: str) -> tuple[pd.DataFrame, pd.DatetimeIndex, str]:
    """The frame on the whole axis: (frame, stamps where something was filled, how).

    words   the columns that hold codes; a code is never interpolated, the last one is repeated

    Raises:
        ValueError: something is missing and the rule refuses it, or cannot fill it (nothing before or after it).
    """
    empty = frame.isna().to_numpy()
    if (void := empty.all(axis=0)).any():
        raise fault(file, "it holds no value at all: leave it out with columns=[…]", None,
                    frame.columns[int(void.argmax())])
    gap = gaps(frame.index, whole, rows)
    if not empty.any() and gap is None:
        frame.index = whole
        return frame, whole[:0], RULES["refuse"]
    if rule == "refuse":
        raise _refused(frame.columns, empty, rows, gap, file)
    incomplete = frame.index[empty.any(axis=1)]
    full = frame.reindex(whole)
    missing = whole.difference(frame.index).union(incomplete)
    for name in frame.columns:
        column = full[name]
        if rule == "last" or name in words:
            filled = column.ffill()
        else:
            filled = column.fillna(0.0) if rule == "zero" else column.interpolate("time", limit_area="inside")
        if filled.isna().any():
            raise _one_sided(name, filled, frame.index, rows, file)
        full[name] = filled
    cells = int(full.size - frame.size + empty.sum())
    codes = " Categories repeat the last one seen." if words and rule != "last" else ""
    return full, missing, (f"Missing in the source: {count(cells, 'value')} at {count(len(missing), 'time')}, "
                           f"{RULES[rule]}.{codes}")


def _refused(names: pd.Index, empty: np.ndarray, rows: np.ndarray, gap: tuple[str, int] | None,
             file: str) -> ValueError:
    say = "say missing='interpolate', 'last' or 'zero', or mend the file"
    at = int(empty.any(axis=1).argmax()) if empty.any() else None
    if at is None or (gap and gap[1] <= rows[at]):
        return fault(file, f"{gap[0]}: {say}", gap[1])
    more = f" ({int(empty.sum())} values are missing in the whole file)" if empty.sum() > 1 else ""
    return fault(file, f"the value is missing{more}: {say}", int(rows[at]), names[int(empty[at].argmax())])


def _one_sided(name: str, filled: pd.Series, index: pd.DatetimeIndex, rows: np.ndarray, file: str) -> ValueError:
    at = filled.index[int(filled.isna().to_numpy().argmax())]
    row = int(rows[min(int(index.searchsorted(at)), len(rows) - 1)])
    side, others = ("before", "'zero'") if filled.isna().iloc[0] else ("after", "'last' or 'zero'")
    return fault(file, f"the value at {at} is missing and there is none {side} it to fill it from: "
                       f"delete these rows, or for numbers say missing={others}", row, name)
