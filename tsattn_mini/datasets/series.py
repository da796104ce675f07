"""A data set with its meaning attached: target, drivers, units, gaps, source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Series:
    """One multivariate time series on a complete time axis.

    frame     one row per time stamp; the DatetimeIndex has a frequency, so no stamp is skipped
    target    the column to forecast
    drivers   the columns that may explain it
    units     column -> unit
    codes     column -> {number: meaning}, for columns that hold categories
    missing   time stamps that the source lacks, or of which it lacks a value; `frame` is filled there
    filled    how they were filled, in one sentence
    report    what was found on reading a file, a line each

    Raises:
        ValueError: an index without a frequency or running backwards, an empty frame, a target or driver
            that is no column, a column without a unit or with words in it, `missing` outside the index, or a
            value that is not finite (named by row and column).
    """

    name: str
    frame: pd.DataFrame
    target: str
    drivers: tuple[str, ...]
    units: Mapping[str, str]
    source: str
    licence: str
    filled: str = "Nothing is missing in the source."
    missing: pd.DatetimeIndex = field(default_factory=lambda: pd.DatetimeIndex([]))
    codes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    report: tuple[str, ...] = ()

    def __post_init__(self):
        index, columns = self.frame.index, list(self.frame.columns)
        if not isinstance(index, pd.DatetimeIndex) or index.freq is None or index.freq.n < 1:
            raise ValueError("frame: expected an increasing DatetimeIndex with a freq, "
                             f"got {type(index).__name__} with freq {getattr(index, 'freqstr', None)}")
        if self.frame.empty:
            raise ValueError(f"frame: expected at least one row and column, got shape {self.frame.shape}")
        if absent := [c for c in (self.target, *self.drivers) if c not in columns]:
            raise ValueError(f"target, drivers: expected columns out of {columns}, got {absent}")
        if without := [c for c in columns if c not in self.units]:
            raise ValueError(f"units: expected one for every column of frame, got none for {without}")
        if words := [c for c in columns if not pd.api.types.is_numeric_dtype(self.frame[c])]:
            raise ValueError(f"frame: expected numbers (codes for categories), got other values in {words}")
        if len(outside := self.missing.difference(index)):
            raise ValueError(f"missing: expected stamps from the index of frame, got {outside[0]}")
        bad = (~self._values(columns).isfinite()).nonzero()
        if len(bad):
            row, column = bad[0].tolist()
            raise ValueError(f"frame: expected finite numbers, got {self.frame.iat[row, column]} "
                             f"at row {row} ({index[row]}), column {columns[column]!r}")

    @property
    def observed(self) -> Bool[Tensor, " T"]:
        """True where the source has the whole row, False where something was filled."""
        return torch.from_numpy(~self.frame.index.isin(self.missing))

    def tensor(self, columns: Sequence[str] | None = None,
               dtype: torch.dtype = torch.float32) -> Float[Tensor, "T V"]:
        """A copy of the columns as a tensor; left out, the target and then the drivers.

        Raises:
            ValueError: no column, an unknown column, or a dtype that is not a floating point type.
        """
        if isinstance(columns, str):
            raise ValueError(f"columns: expected a list of names, got the string {columns!r}")
        chosen = [self.target, *self.drivers] if columns is None else list(columns)
        unknown = [c for c in chosen if c not in self.frame.columns]
        if unknown or not chosen:
            raise ValueError(f"columns: expected names out of {list(self.frame.columns)}, "
                             f"got {unknown or 'none'}")
        if not dtype.is_floating_point:
            raise ValueError(f"dtype: expected a floating point type, got {dtype}")
        return self._values(chosen).to(dtype)

    def _values(self, columns: list[str]) -> Float[Tensor, "T V"]:
        return torch.from_numpy(self.frame[columns].to_numpy("float64", copy=True))

    def __repr__(self) -> str:
        index = self.frame.index
        rows, columns = self.frame.shape
        return (f"Series {self.name}: {rows} rows x {columns} columns, {index[0]:%Y-%m-%d} to "
                f"{index[-1]:%Y-%m-%d} (freq {index.freqstr}), {len(self.missing)} missing in the source")
