"""From one long series to what a model trains on: parts in time order, one scale, windows."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tsattn_mini import checks


def windows(x: Float[Tensor, "T V"], length: int, horizon: int = 0,
            stride: int = 1) -> tuple[Float[Tensor, "B L V"], Float[Tensor, "B F V"]]:
    """Every stretch of `length` rows, and the `horizon` rows that follow it: (past, future).

    Window b begins at row b · stride, and there are (T - length - horizon) // stride + 1 of them.
    Both results are views: they share the memory of `x`, and neighbours overlap, so clone before writing.

    Raises:
        ValueError: length < 1, horizon < 0, stride < 1, length + horizon > T, or data that is not finite.

    >>> past, future = windows(torch.arange(6.0)[:, None], length=3, horizon=1)
    >>> past[..., 0].tolist(), future.flatten().tolist()
    ([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]], [3.0, 4.0, 5.0])
    """
    checks.counts(length=length, stride=stride)
    checks.counts(0, horizon=horizon)
    _check(x)
    if length + horizon > len(x):
        raise ValueError(f"length, horizon: expected a sum of at most the {len(x)} rows of x, "
                         f"got {length} + {horizon}")
    both = x.unfold(0, length + horizon, stride).mT
    return both[:, :length], both[:, length:]


class Split(NamedTuple):
    """Three stretches of one series, in time order."""

    train: Float[Tensor, "T1 V"]
    validation: Float[Tensor, "T2 V"]
    test: Float[Tensor, "T3 V"]


def split_by_time(x: Float[Tensor, "T V"], train: float = 0.7, validation: float = 0.1) -> Split:
    """The first `train` share of the rows, the next `validation` share, and the rest for the test.

    Cuts are rounded to whole rows; the parts are views of `x`.

    Raises:
        ValueError: a share outside (0, 1), a part without a row, or data that is not finite.

    >>> [len(part) for part in split_by_time(torch.zeros(10, 1))]
    [7, 1, 2]
    """
    for name, share in (("train", train), ("validation", validation)):
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share < 1:
            raise ValueError(f"{name}: expected a share between 0 and 1, got {share!r}")
    _check(x)
    cuts = [0, round(train * len(x)), round((train + validation) * len(x)), len(x)]
    for name, (begin, end) in zip(Split._fields, pairwise(cuts), strict=True):
        if begin >= end:
            raise ValueError("train, validation: expected shares that leave a row for every part, "
                             f"got {train} and {validation}, which leave none of {len(x)} rows for {name}")
    return Split(*(x[begin:end] for begin, end in pairwise(cuts)))


@dataclass(frozen=True, eq=False)
class Scaler:
    """One mean and one standard deviation (biased) per variable, learnt from the training part alone.

    A variable that never changes gets std 1: it becomes exactly 0, and comes back.

    >>> scaler = Scaler.fit(torch.tensor([[1.0], [3.0]]))
    >>> scaler.transform(torch.tensor([[5.0]])).item(), scaler.inverse(torch.tensor([[3.0]])).item()
    (3.0, 5.0)
    """

    mean: Float[Tensor, " V"]
    std: Float[Tensor, " V"]

    @classmethod
    def fit(cls, train: Float[Tensor, "T V"]) -> "Scaler":
        """The statistics of `train`.

        Raises:
            ValueError: data without a row or a variable, integers, or data that is not finite or whose squares are not.
        """
        _check(train, "train")
        checks.floating(train=train)
        wide = train.to(torch.promote_types(train.dtype, torch.float32))
        std, mean = (statistic.to(train.dtype) for statistic in torch.std_mean(wide, dim=0, correction=0))
        checks.overflow("train", std, mean)
        return cls(mean=mean, std=std.masked_fill(std == 0, 1))

    def transform(self, x: Float[Tensor, "*batch V"]) -> Float[Tensor, "*batch V"]:
        """(x - mean) / std.

        Raises:
            ValueError: a last axis that is not the fitted variables, integers, or entries that are not finite.
        """
        self._fits(x=x)
        return self._bounded("x", ((x - self.mean) / self.std).to(x.dtype))

    def inverse(self, z: Float[Tensor, "*batch V"]) -> Float[Tensor, "*batch V"]:
        """z · std + mean.

        Raises:
            ValueError: a last axis that is not the fitted variables, integers, or entries that are not finite.
        """
        self._fits(z=z)
        return self._bounded("z", (z * self.std + self.mean).to(z.dtype))

    def _bounded(self, name: str, computed: Tensor) -> Tensor:
        checks.overflow(name, computed)
        return computed

    def _fits(self, **argument: Tensor) -> None:
        checks.required(**argument)
        checks.floating(**argument)
        for name, x in argument.items():
            if x.shape[-1:] != self.mean.shape:
                raise ValueError(f"{name}: expected the {len(self.mean)} fitted variables along the last "
                                 f"axis, got shape {tuple(x.shape)}")
        checks.finite(**argument)


def _check(x: Tensor, name: str = "x") -> None:
    checks.shapes(**{name: (x, "T V")})
    checks.required(**{name: x})
    bad = (~x.isfinite()).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        raise ValueError(f"{name}: expected finite numbers, got {x[row, column].item()} at row {row}, "
                         f"column {column}")
