"""A handle that looks at one stretch of a long series: `fn` gets the stretch, the reader moves where it starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Window:
    """A stretch of `length` places of a series; `fn` gets it as a float32 tensor of the axes of the series.

    Its value is `start`, the place of the first entry. The series is part of the graph, so that a page needs only
    the start; it draws the series small, with the window on it.

    Args:
        series: finite numbers, time first: "T" or "T V".
        length: places in the window, at least 1 and fewer than the series has.
        start: where the window first stands.
        drawn: how many variables are drawn small, from the first on; at most 6. Time marks, say, need no curve.
        stamps: a word for each place of the series, such as its date; the page then says where the window begins
            and ends by these.
        names: a word for each curve that is drawn, such as the name of its column; the page then says which is which.

    >>> Window(torch.arange(9.0), length=4).last  # the latest start
    5
    """

    series: Float[Tensor, "T ..."]
    length: int
    start: int = 0
    drawn: int = 6
    stamps: Sequence[str] | None = None
    names: Sequence[str] | None = None
    kind: ClassVar[str] = "window"

    def __post_init__(self) -> None:
        if not isinstance(self.series, Tensor):
            raise ValueError(f"series: expected a torch tensor, got {type(self.series).__name__}")
        if self.series.ndim not in (1, 2) or self.series.numel() == 0:
            raise ValueError("series: expected one or two axes (time, variables) with at least one entry, "
                             f"got shape {tuple(self.series.shape)}")
        object.__setattr__(self, "series", self.series.detach().to(torch.float32))
        bad = (~torch.isfinite(self.series)).nonzero()
        if len(bad):
            at = tuple(bad[0].tolist())
            raise ValueError(f"series: expected finite numbers, got {self.series[at].item()} at index {at}")
        if not _whole(self.length) or not 1 <= self.length < len(self.series):
            raise ValueError(f"length: expected a whole number from 1 to {len(self.series) - 1}, got {self.length!r}")
        if not _whole(self.drawn) or not 1 <= self.drawn <= 6:
            raise ValueError(f"drawn: expected a whole number from 1 to 6, got {self.drawn!r}")
        if self.stamps is not None and (len(self.stamps) != len(self.series)
                                        or not all(isinstance(s, str) for s in self.stamps)):
            raise ValueError(f"stamps: expected {len(self.series)} words, one for each place of the series, "
                             f"got {len(self.stamps)} of {short(self.stamps)}")
        curves = len(self.curves().T)
        if self.names is not None and (len(self.names) != curves or not all(isinstance(s, str) for s in self.names)):
            raise ValueError(f"names: expected {curves} words, one for each curve that is drawn, "
                             f"got {len(self.names)} of {short(self.names)}")
        object.__setattr__(self, "start", self.check(self.start, "start"))

    @property
    def value(self) -> int:
        """Where the window starts at first."""
        return self.start

    @property
    def last(self) -> int:
        """The largest start."""
        return len(self.series) - self.length

    def curves(self) -> Float[Tensor, "T C"]:
        """The variables that are drawn small."""
        return self.series.reshape(len(self.series), -1)[:, :self.drawn]

    def check(self, value: Any, name: str = "value") -> int:
        """The start as an int. Raises ValueError unless it is whole and the window lies in the series."""
        value = value.item() if getattr(value, "ndim", None) == 0 else value
        if not _whole(value) or not 0 <= value <= self.last:
            raise ValueError(f"{name}: expected a whole number from 0 to {self.last}, got {value!r}")
        return int(value)

    def tensor(self, value: int) -> Int64[Tensor, ""]:
        """The value as `fn` gets it."""
        return torch.tensor(value)

    def cut(self, start: Int64[Tensor, ""]) -> Float[Tensor, "L ..."]:
        """The stretch that begins at `start`: what `fn` gets."""
        return self.series[start + torch.arange(self.length)]

    def probes(self) -> list[int]:
        """Values at which graph and `fn` are compared."""
        return [0, self.last]

    def stretch(self, start: int) -> str:
        """Where the window at `start` begins and ends, in words."""
        begin, end = start, start + self.length - 1
        if not self.stamps:
            return f"{begin} … {end}"
        return self.stamps[begin] if self.length == 1 else f"{self.stamps[begin]} … {self.stamps[end]}"

    def describe(self) -> dict:
        """What the page must know besides the value."""
        stamps = {"stamps": list(self.stamps)} if self.stamps else {}
        return {"min": 0, "max": self.last, "log": False, "integer": True, "length": self.length, **stamps}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1
