"""Train a forecaster on one series, and score it on the part it has never seen.

The rules are the same for every model of the book: parts in time order, one scale learnt from the training part,
Adam on the squared error, early stopping on the validation part, errors reported in scaled units on the test part.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from reprlib import repr as short
from typing import NamedTuple

import torch
from IPython import get_ipython
from IPython.display import clear_output, display
from jaxtyping import Float, Integer
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.blocks import check_sizes
from tsattn_mini.datasets import Scaler, Series, split_by_time, time_features, windows


class Cut(NamedTuple):
    """Windows of one part: past and future in scaled units, and the time marks of the past and of the decoder."""

    past: Float[Tensor, "B T V"]
    past_marks: Float[Tensor, "B T K"]
    future: Float[Tensor, "B F V"]
    decoder_marks: Float[Tensor, "B L K"]

    def __getitem__(self, rows) -> "Cut":
        return Cut(*(part[rows] for part in tuple(self)))


@dataclass(frozen=True, eq=False)
class Task:
    """One series, made ready for forecasting.

    x, marks                   the whole series in scaled units, and its time marks
    scaler                     fitted on the training part
    train, validation, test    windows whose *future* lies inside the part; their past may begin before it
    period                     steps after which the series repeats, for the seasonal-naive forecast
    """

    name: str
    columns: tuple[str, ...]
    seq_len: int
    label_len: int
    pred_len: int
    period: int
    x: Float[Tensor, "N V"]
    marks: Float[Tensor, "N K"]
    scaler: Scaler
    train: Cut
    validation: Cut
    test: Cut

    @property
    def sizes(self) -> dict[str, int]:
        """The arguments that every forecaster needs."""
        return {"seq_len": self.seq_len, "label_len": self.label_len, "pred_len": self.pred_len,
                "V": len(self.columns), "marks": self.marks.shape[-1]}

    def at(self, starts: Sequence[int] | Integer[Tensor, " B"]) -> Cut:
        """Windows of the whole series whose past begins at the rows `starts`, a list or a tensor of whole numbers.

        Raises:
            ValueError: a start that is no whole number, or whose window does not lie inside the series.
        """
        last = len(self.x) - self.seq_len - self.pred_len
        given = starts.tolist() if isinstance(starts, Tensor) else starts
        rows = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        fits = isinstance(given, Iterable) and all(checks.whole(i) and 0 <= i <= last for i in rows)
        if not fits:
            raise ValueError(f"starts: expected whole numbers from 0 to {last}, got {short(given)}")
        return _cut(self.x, self.marks, self.seq_len, self.label_len, self.pred_len)[[int(i) for i in rows]]


def make_task(series: Series, columns: Sequence[str], *, seq_len: int, label_len: int, pred_len: int,
              period: int, stride: int = 1) -> Task:
    """Split 70 / 10 / 20 by time, scale by the training part, cut into windows one step apart.

    Of the training windows every `stride`-th is kept. Choose it coprime to the period: with a stride of 4 on
    hourly data the model would never see a window that begins at one o'clock.

    Raises:
        ValueError: columns that are no list of different names, what `split_by_time` and `windows` refuse, a label
            longer than the past, sizes below 1, or a period longer than the past.
    """
    names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else None
    if names is None or len(set(map(str, names))) < len(names):
        raise ValueError(f"columns: expected a list of different names, got {short(columns)}")
    check_sizes(seq_len, label_len, pred_len=pred_len, period=period, stride=stride)
    if period > seq_len:
        raise ValueError(f"period: expected 1 to seq_len={seq_len}, got {period}")
    raw = series.tensor(names)
    parts = split_by_time(raw)
    scaler = Scaler.fit(parts.train)
    x, marks = scaler.transform(raw), time_features(series.frame.index, series.frame.index.freqstr)
    ends = torch.tensor([len(part) for part in parts]).cumsum(0).tolist()
    begins = [0, ends[0] - seq_len, ends[1] - seq_len]
    fit, *others = [_cut(x[a:b], marks[a:b], seq_len, label_len, pred_len)
                    for a, b in zip(begins, ends, strict=True)]
    return Task(series.name, tuple(names), seq_len, label_len, pred_len, period, x, marks, scaler,
                fit[::stride], *others)


def _cut(x: Tensor, marks: Tensor, seq_len: int, label_len: int, pred_len: int) -> Cut:
    past, future = windows(x, seq_len, pred_len)
    past_marks, future_marks = windows(marks, seq_len, pred_len)
    return Cut(past, past_marks, future, torch.cat([past_marks[:, seq_len - label_len:], future_marks], dim=1))


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model: the weights of the epoch with the smallest validation error."""

    model: nn.Module
    seed: int
    epoch: int
    epochs: int
    validation: float


def squared_error(model: nn.Module, cut: Cut) -> Float[Tensor, ""]:
    """The mean squared error of the forecasts of `cut`: what training makes small.

    >>> model = lambda past, *marks: past[:, -1:]  # a model that repeats the last value
    >>> cut = Cut(torch.ones(1, 4, 1), torch.zeros(1, 4, 1), torch.full((1, 1, 1), 3.0), torch.zeros(1, 1, 1))
    >>> squared_error(model, cut).item()
    4.0
    """
    return (_forecast(model, cut) - cut.future).square().mean()


def validation_error(model: nn.Module, cut: Cut) -> float:
    """The same without gradients, window after window: what decides when to stop."""
    return score(predict(model, cut), cut.future)["mse"]


def train(build: Callable[[], nn.Module], task: Task, seed: int, *, epochs: int = 30, patience: int = 5,
          batch: int = 32, lr: float = 1e-3, loss: Callable[[nn.Module, Cut], Tensor] = squared_error,
          error: Callable[[nn.Module, Cut], float] = validation_error) -> Run:
    """Build a model and train it until the validation error has not improved for `patience` epochs.

    A model with a goal of its own, such as the likelihood of what it samples, brings its `loss` for a batch of the
    training part and its `error` for the whole validation part.

    `seed` fixes the first weights and the order of the windows. Sums are rounded differently on other
    processors, so weights after training agree between machines only roughly.

    Raises:
        ValueError: epochs, patience or a batch below 1, a seed that is no whole number from -2⁶³ to 2⁶⁴ - 1, a
            learning rate that is not above 0, or what `build`, `loss` and `error` refuse.
    """
    checks.counts(epochs=epochs, patience=patience, batch=batch)
    seed = checks.seeded(seed)
    checks.number(lr=lr)
    if lr <= 0:
        raise ValueError(f"lr: expected a number above 0, got {lr}")
    with one_thread():
        return _train(build, task, seed, epochs, patience, batch, lr, loss, error)


def _train(build: Callable[[], nn.Module], task: Task, seed: int, epochs: int, patience: int, batch: int,
           lr: float, loss: Callable[[nn.Module, Cut], Tensor], error: Callable[[nn.Module, Cut], float]) -> Run:
    torch.manual_seed(seed)
    model = build()
    order = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    best, kept, best_epoch = float("inf"), deepcopy(model.state_dict()), 0
    for epoch in progress(epochs, f"{type(model).__name__} on {task.name}, seed {seed}"):
        model.train()
        for rows in torch.randperm(len(task.train.past), generator=order).split(batch):
            optimiser.zero_grad()
            loss(model, task.train[rows]).backward()
            optimiser.step()
        model.eval()
        found = error(model, task.validation)
        if found < best:
            best, kept, best_epoch = found, deepcopy(model.state_dict()), epoch
        if epoch - best_epoch >= patience:
            break
    model.load_state_dict(kept)
    model.eval()
    return Run(model, seed, best_epoch, epoch, best)


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrices this small are done before a second thread has woken up; on a busy machine it costs a factor 10."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def predict(model: nn.Module, cut: Cut, batch: int = 256) -> Float[Tensor, "B F V"]:
    """Forecasts for every window, without gradients."""
    model.eval()
    with torch.no_grad():
        parts = [_forecast(model, cut[i:i + batch]) for i in range(0, len(cut.past), batch)]
    return torch.cat(parts)


def _forecast(model: nn.Module, cut: Cut) -> Float[Tensor, "B F V"]:
    return model(cut.past, cut.past_marks, None, cut.decoder_marks)


def naive(cut: Cut, period: int = 1) -> Float[Tensor, "B F V"]:
    """The last `period` steps, repeated: with 1 the last value, with a day or a year the seasonal-naive forecast.

    Raises:
        ValueError: a period outside 1 to the steps of the past.

    >>> past = torch.arange(4.0)[None, :, None]
    >>> cut = Cut(past, past, torch.zeros(1, 3, 1), past)
    >>> naive(cut).flatten().tolist(), naive(cut, period=2).flatten().tolist()
    ([3.0, 3.0, 3.0], [2.0, 3.0, 2.0])
    """
    checks.counts(period=period)
    T, F = cut.past.shape[1], cut.future.shape[1]
    if period > T:
        raise ValueError(f"period: expected 1 to {T}, the steps of the past, got {period}")
    return cut.past[:, -period:].repeat(1, -(-F // period), 1)[:, :F]


def score(forecast: Float[Tensor, "B F V"], future: Float[Tensor, "B F V"]) -> dict[str, float]:
    """Mean squared and mean absolute error over windows, steps and variables, in scaled units.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite, or an error whose square leaves float64.

    >>> score(torch.tensor([[[1.0]]]), torch.tensor([[[3.0]]]))
    {'mse': 4.0, 'mae': 2.0}
    """
    checks.shapes(forecast=(forecast, "B F V"), future=(future, "B F V"))
    checks.required(forecast=forecast, future=future)
    checks.floating(forecast=forecast)
    checks.floating(future=future)
    checks.finite(forecast=forecast, future=future)
    gap = forecast.double() - future.double()
    mse, mae = gap.square().mean(), gap.abs().mean()
    checks.overflow("forecast, future", mse, mae)
    return {"mse": mse.item(), "mae": mae.item()}


def progress(epochs: int, label: str) -> Iterator[int]:
    """Count 1 to `epochs` behind a progress bar that leaves nothing: in a notebook it clears the cell's output."""
    show = _show_in_notebook if hasattr(get_ipython(), "kernel") else _show_in_terminal
    try:
        for epoch in range(1, epochs + 1):
            show(f"{label}: epoch {epoch} of at most {epochs} {'▇' * epoch}{'·' * (epochs - epoch)}")
            yield epoch
    finally:
        show("")


def _show_in_notebook(text: str) -> None:
    clear_output(wait=bool(text))
    if text:
        display({"text/plain": text}, raw=True)


def _show_in_terminal(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
