"""Tables that take minutes to compute, stored with the package. `make results` computes them anew."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite, sqrt
from statistics import mean, stdev

from scipy.stats import t as student

from tsattn_mini.figures import Table


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and half the width of its 95 % confidence interval; a baseline has width 0.

    >>> Interval(1.0, 0.5).overlaps(Interval(2.0, 0.5)), Interval(1.0, 0.4).overlaps(Interval(2.0, 0.5))
    (True, False)
    """

    mean: float
    half: float

    @property
    def low(self) -> float:
        """Its lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.mean + self.half

    def overlaps(self, other: "Interval") -> bool:
        """Does it share a number with another interval? An end counts."""
        return self.low <= other.high and other.low <= self.high

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.half:.3f}" if self.half else f"{self.mean:.3f}"


def interval(values: Sequence[float]) -> Interval:
    """Mean ± t · s / √n, with Student's t for n - 1 degrees of freedom. One value alone gets width 0.

    Raises:
        ValueError: no value, or one that is not finite.

    >>> one = interval([1.0, 2.0, 3.0])
    >>> one.mean, round(one.half, 2)  # three seeds say little: t = 4.30
    (2.0, 2.48)
    """
    n = len(values)
    if not n:
        raise ValueError("values: expected at least one number, got none")
    if not all(map(isfinite, values)):
        raise ValueError(f"values: expected finite numbers, got {list(values)}")
    return Interval(mean(values), float(student.ppf(0.975, n - 1)) * stdev(values) / sqrt(n) if n > 1 else 0.0)


@dataclass(frozen=True)
class Results:
    """A stored table: one row per series, model and seed; `about` says how it was computed."""

    rows: tuple[dict, ...]
    about: dict

    def values(self, series: str, model: str, column: str) -> list[float]:
        """One number per seed.

        Raises:
            KeyError: a series, model or column without numbers.
        """
        found = [r[column] for r in self.rows
                 if (r["series"], r["model"]) == (series, model) and r.get(column) is not None]
        if not found:
            raise KeyError(f"no {column!r} of {model!r} on {series!r}; the table holds "
                           + ", ".join(f"{m} on {s}" for s, m in self.pairs()))
        return found

    def __getitem__(self, key: tuple[str, str, str]) -> Interval:
        """The interval of `results[series, model, column]`."""
        return interval(self.values(*key))

    def pairs(self) -> list[tuple[str, str]]:
        """(series, model) in the order of the table."""
        return list(dict.fromkeys((r["series"], r["model"]) for r in self.rows))

    def table(self, *columns: str) -> Table:
        """Mean and 95 % confidence interval over the seeds; a dash where a baseline has no such number."""
        def cell(series: str, model: str, column: str) -> str:
            known = [r for r in self.rows if (r["series"], r["model"]) == (series, model) and r[column] is not None]
            return str(self[series, model, column]) if known else "–"

        return Table(("series", "model", *columns),
                     [(s, m, *(cell(s, m, c) for c in columns)) for s, m in self.pairs()])


def load(name: str) -> Results:
    """The stored table `name`."""
    folder = files(__package__)
    with folder.joinpath(f"{name}.csv").open(encoding="utf8", newline="") as lines:
        rows = tuple(_read(row) for row in csv.DictReader(lines))
    return Results(rows, json.loads(folder.joinpath(f"{name}.json").read_text(encoding="utf8")))


WHOLE = {"seed", "epoch", "epochs", "parameters", "size"}  # columns of whole numbers


def _read(row: dict[str, str]) -> dict:
    def value(column: str, text: str):
        if column in ("series", "model"):
            return text
        return None if text == "" else int(text) if column in WHOLE else float(text)

    return {column: value(column, text) for column, text in row.items()}
