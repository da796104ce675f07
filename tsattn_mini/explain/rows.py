"""A reader's series as a model takes it: the columns in the order of its weights, scaled, with its time marks."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini.datasets import Scaler, Series, time_features
from tsattn_mini.datasets.marks import MARKS
from tsattn_mini.embedding import CalendarEmbedding
from tsattn_mini.explore import Window
from tsattn_mini.trace import scope, step

MOST_ROWS, MOST_NUMBERS = 4000, 60_000  # of the stretch that a page carries
DRAWN = 6  # variables that a picture of the forecast shows
TRAIN = 0.7  # the share of rows from which the scale is learnt
FAMILIES = {len(columns): freq for freq, columns in reversed(MARKS.items())}
CALENDAR = (lambda t: t.month, lambda t: t.day, lambda t: t.day_of_week, lambda t: t.hour, lambda t: t.minute // 15)


@dataclass(frozen=True, eq=False)
class Rows:
    """A stretch of a series: `x` is scaled, `marks` say when, and a window of `past + ahead` rows fits at `start`.

    Rows of the stretch are counted from 0; its first is row `first` of the series.
    """

    x: Float[Tensor, "T V"]
    marks: Float[Tensor, "T K"] | None
    columns: Sequence[str]
    scaler: Scaler | None
    stamps: Sequence[str]
    past: int
    ahead: int
    start: int
    first: int
    total: int

    def window(self) -> Window:
        """The picker: one window of past and ahead, marks behind the variables."""
        return Window(self._table(), self.past + self.ahead, self.start, drawn=min(DRAWN, len(self.columns)),
                      stamps=self.stamps, names=self.columns[:DRAWN])

    def split(self, window: Float[Tensor, "... L VK"], label: int = 0
              ) -> tuple[Float[Tensor, "... T V"], Tensor | None, Tensor | None, Float[Tensor, "... F V"]]:
        """A window as a model takes it: the past, its marks, the marks of `label` + ahead decoder rows, the truth."""
        V = len(self.columns)
        x, marks = window[..., :V], (None if self.marks is None else window[..., V:])
        if marks is None:
            return x[..., :self.past, :], None, None, x[..., self.past:, :]
        return (x[..., :self.past, :], marks[..., :self.past, :], marks[..., self.past - label:, :],
                x[..., self.past:, :])

    def first_window(self) -> Float[Tensor, "1 L VK"]:
        """The window at `start`, as a batch of one."""
        return self._table()[None, self.start:self.start + self.past + self.ahead]

    def many(self, count: int) -> tuple[Float[Tensor, "W L VK"], list[int]]:
        """Up to `count` windows, evenly spaced over the stretch, and where they start."""
        last = len(self.x) - self.past - self.ahead
        starts = torch.linspace(0, last, min(count, last + 1)).round().long()
        at = starts[:, None] + torch.arange(self.past + self.ahead)
        return self._table()[at], starts.tolist()

    def drawn(self, targets: Sequence[int]) -> list[int]:
        """Which of the forecast columns are drawn: the target, which stands last, then the others in order."""
        return [targets[-1], *targets[:-1]][:DRAWN]

    def name(self, past: Float[Tensor, "T V"], truth: Float[Tensor, "F V"], forecast: Float[Tensor, "*P F N"],
             targets: Sequence[int]) -> None:
        """Name past, truth and forecast in the units of the series, as `yours/past`, …; `targets` are the N columns.

        Of several forecasts their mean is `yours/forecast`, and they are `yours/samples`.
        """
        drawn = self.drawn(targets)
        place = [targets.index(column) for column in drawn]
        with scope("yours"):
            step("past", self._units(past[:, drawn], drawn), axes="T yours", eq="z · std + mean" * bool(self.scaler))
            step("truth", self._units(truth[:, drawn], drawn), axes="F yours", note="What came.")
            ahead = self._units(forecast[..., place], drawn)
            if ahead.ndim == 3:
                ahead = step("samples", ahead, axes="P F yours", note="Each draw, followed to its end.").mean(0)
            step("forecast", ahead, axes="F yours", note="What the model says.")

    def labels(self, targets: Sequence[int]) -> dict[str, list[str]]:
        """The names of the drawn columns; one alone has no axis."""
        names = [self.columns[i] for i in self.drawn(targets)]
        return {"yours": names} if len(names) > 1 else {}

    def _units(self, z: Float[Tensor, "L N"], columns: list[int]) -> Float[Tensor, "L N"]:
        return z if self.scaler is None else z * self.scaler.std[columns] + self.scaler.mean[columns]

    def _table(self) -> Float[Tensor, "T VK"]:
        return self.x if self.marks is None else torch.cat([self.x, self.marks], dim=-1)


def read(series: Series, columns: Sequence[str], *, past: int, ahead: int, marks: int = 0, calendar: bool = False,
         start: int | str | pd.Timestamp | None = None, scaled: bool = True) -> Rows:
    """The stretch of `series` that a page carries; without `start` its end, whose last window comes first.

    Raises:
        ValueError: too few rows, a `start` that leaves no room or is no row, or marks that no frequency gives.
    """
    index, length = series.frame.index, past + ahead
    if len(index) <= length:
        raise ValueError(f"series: expected at least {length + 1} rows for windows of {past} past and {ahead} future "
                         f"steps, got {len(index)}")
    at = _row(index, start, len(index) - length)
    values = series.tensor(columns, dtype=torch.float64)
    scaler = Scaler.fit(values[:round(TRAIN * len(values))] if len(values) > 1 else values) if scaled else None
    rows = max(length + 1, min(MOST_ROWS, MOST_NUMBERS // (len(columns) + marks)))
    first = max(0, len(index) - rows if start is None else min(at - (rows - length) // 2, len(index) - rows))
    part = slice(first, first + rows)
    x = (scaler.transform(values[part]) if scaler else values[part]).float()
    scaler = scaler and Scaler(scaler.mean.float(), scaler.std.float())
    return Rows(x, _marks(index[part], marks, calendar), distinct(columns), scaler, _stamps(index[part]),
                past, ahead, at - first, first, len(index))


def fitting(series: Series, V: int) -> list[str]:
    """The columns that a model of `V` variables reads: the drivers, then the target, as the released loaders have them.

    Raises:
        ValueError: another number of columns; says how many to choose.
    """
    columns = [*(c for c in series.drivers if c != series.target), series.target]
    if V == 1:
        return [series.target]
    if len(columns) != V:
        others = len(columns) - 1
        raise ValueError(f"series: the weights take {V} variables, got {len(columns)} columns: the target "
                         f"{series.target!r} and {others} other{'s' * (others != 1)}; choose {V - 1} beside the target "
                         "with columns=[…] of read_csv, on the command line --columns"
                         + " (the file may lack some)" * (len(columns) < V))
    return columns


def distinct(names: Sequence[object]) -> list[str]:
    """Names as words that differ and are not empty, as the labels of a picture have to be."""
    found: list[str] = []
    for name in map(str, names):
        name = name if name.strip() else "·"
        while name in found:
            name += "′"
        found.append(name)
    return found


def mark_names(count: int) -> list[str]:
    """What each of so many time marks tells."""
    return [f"mark {name}" for name in MARKS[FAMILIES[count]]] if count else []


def read_encoder_decoder(net: nn.Module, series: Series, start: int | str | None, scaled: bool) -> Rows:
    """`read` for what `blocks.Transformer` and `zoo.decomposition.DecompositionForecaster` read."""
    embedding = net.enc_embedding
    return read(series, fitting(series, net.V), past=net.seq_len, ahead=net.pred_len, start=start, scaled=scaled,
                marks=embedding.marks, calendar=isinstance(embedding.time, CalendarEmbedding))


def _row(index: pd.DatetimeIndex, start: int | str | pd.Timestamp | None, last: int) -> int:
    if start is None:
        return last
    at = start
    if not isinstance(start, int):
        try:
            at = int(index.get_indexer([pd.Timestamp(start)])[0])
        except (TypeError, ValueError) as error:
            raise ValueError(f"start: expected a row or a date such as {index[0]}, got {start!r}") from error
        if at < 0:
            raise ValueError(f"start: expected a date of the series, {index[0]} to {index[last]}, got {start}")
    if isinstance(start, bool) or not 0 <= at <= last:
        raise ValueError(f"start: expected a row from 0 to {last} ({index[0]} to {index[last]}), so that the window "
                         f"fits, got {start}")
    return at


def _marks(index: pd.DatetimeIndex, count: int, calendar: bool) -> Float[Tensor, "T K"] | None:
    """As many columns of time marks as the weights read; how many tells their frequency, whatever the data's is."""
    if not count:
        return None
    if calendar:
        return torch.stack([torch.tensor(part(index).to_numpy(), dtype=torch.float32) for part in CALENDAR[:count]], -1)
    if count not in FAMILIES:
        raise ValueError(f"model: its weights read {count} time marks, but dates give {sorted(FAMILIES)} "
                         "(hourly data has 4); load the checkpoint of a model with such marks")
    return time_features(index, FAMILIES[count])


def _stamps(index: pd.DatetimeIndex) -> list[str]:
    """Dates as short as they can be."""
    days = bool((index == index.normalize()).all())
    return index.strftime("%Y-%m-%d" if days else "%Y-%m-%d %H:%M").tolist()
