"""The handles of an explorer: what a reader can move, and which tensor `fn` gets for it.

Every kind checks its value when it is made and on every `set`, turns it into the tensor that enters the
graph, and describes itself as JSON for the front end. Numbers may come from NumPy, torch or `fractions`; they
are kept as Python's own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, ClassVar

import torch
from torch import Tensor

from tsattn_mini.explore.tokens import Tokens
from tsattn_mini.explore.window import Window
from tsattn_mini.visible import visible


@dataclass(frozen=True)
class Slider:
    """A number between `min` and `max`; `fn` gets a scalar tensor (float32, or int64 with `integer=True`).

    With `log=True` equal distances on the slider are equal factors; both ends must be above 0. With
    `integer=True` both ends must be whole. With `step` the handle stops at min, min + step, …; a typed number and
    `set` may lie between.

    >>> Slider(1.0, 0.01, 16.0, log=True).check(20)
    Traceback (most recent call last):
        ...
    ValueError: value: expected a number between 0.01 and 16.0, got 20
    """

    value: float
    min: float
    max: float
    log: bool = False
    integer: bool = False
    step: float | None = None
    kind: ClassVar[str] = "slider"

    def __post_init__(self) -> None:
        for field in ("min", "max"):
            object.__setattr__(self, field, _end(field, getattr(self, field), whole=self.integer))
        if not self.min < self.max:
            raise ValueError(f"min, max: expected min < max, got {self.min} and {self.max}")
        if self.log and self.min <= 0:
            raise ValueError(f"min: a log slider needs min > 0, got {self.min}")
        if self.log and self.integer:
            raise ValueError("log, integer: a slider is one or the other, got both")
        if self.step is not None:
            object.__setattr__(self, "step", _end("step", self.step))
            if self.log or self.integer:
                raise ValueError("step: expected None for a log or an integer slider, which have steps of their own, "
                                 f"got {self.step}")
            if not 0 < self.step <= self.max - self.min:
                raise ValueError(f"step: expected a number above 0 and up to {self.max - self.min}, got {self.step}")
        checked = self.check(self.value)
        object.__setattr__(self, "value", checked if self.integer else _number(self.value))

    def check(self, value: Any, name: str = "value") -> float:
        """The value as a plain number. Raises ValueError unless it is finite, in range and of the right kind."""
        number = _number(value)
        if number is None:
            raise ValueError(f"{name}: expected a finite number between {self.min} and {self.max}, got {short(value)}")
        if not self.min <= number <= self.max:
            raise ValueError(f"{name}: expected a number between {self.min} and {self.max}, got {number}")
        if self.integer and number != int(number):
            raise ValueError(f"{name}: expected a whole number, got {number}")
        return int(number) if self.integer else float(number)

    def tensor(self, value: float) -> Tensor:
        """The value as `fn` gets it."""
        return torch.tensor(value, dtype=torch.int64 if self.integer else torch.float32)

    def probes(self) -> list[float]:
        """The values at which graph and module are compared when the explorer is made."""
        return [self.min, self.max]

    def describe(self) -> dict:
        """What the page must know besides the value."""
        return {"min": self.min, "max": self.max, "log": self.log, "integer": self.integer}


@dataclass(frozen=True, eq=False)
class Cells:
    """A tensor of one or two axes whose every entry can be edited between `min` and `max`; float32 in the graph.

    >>> Cells(torch.eye(2), -3, 3, axes="L S").describe()["dims"]
    [2, 2]
    """

    value: Tensor
    min: float
    max: float
    axes: str
    kind: ClassVar[str] = "cells"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _array("value", self.value).to(torch.float32))
        for field in ("min", "max"):
            object.__setattr__(self, field, _end(field, getattr(self, field)))
        if not self.min < self.max:
            raise ValueError(f"min, max: expected min < max, got {self.min} and {self.max}")
        shape = tuple(self.value.shape)
        if self.value.ndim not in (1, 2) or self.value.numel() == 0:
            raise ValueError(f"value: expected one or two axes with at least one entry, got shape {shape}")
        if not isinstance(self.axes, str):
            raise ValueError(f"axes: expected one string, a word per axis, got {short(self.axes)}")
        if len(self.axes.split()) != self.value.ndim:
            raise ValueError(f"axes: expected {self.value.ndim} words for shape {shape}, got {self.axes!r}")
        self.check(self.value)

    def check(self, value: Any, name: str = "value") -> list:
        """The entries as nested lists. Raises ValueError naming the first entry that is not finite or out of range."""
        x = _array(name, value)
        if tuple(x.shape) != tuple(self.value.shape):
            raise ValueError(f"{name}: expected shape {tuple(self.value.shape)} with axes {self.axes!r}, "
                             f"got {tuple(x.shape)}")
        slack = 1e-6 * max(abs(self.min), abs(self.max))  # a float32 bound, seen in float64
        bad = ~((x >= self.min - slack) & (x <= self.max + slack))
        if bool(bad.any()):
            at = tuple(bad.nonzero()[0].tolist())
            raise ValueError(f"{name}: expected numbers between {self.min} and {self.max}, "
                             f"got {x[at].item()} at index {at}")
        return x.clamp(self.min, self.max).tolist()

    def tensor(self, value: list) -> Tensor:
        """The value as `fn` gets it."""
        return torch.tensor(value, dtype=torch.float32)

    def probes(self) -> list[list]:
        """Values at which graph and `fn` are compared."""
        shape = self.value.shape
        ramp = torch.linspace(self.min, self.max, self.value.numel(), dtype=torch.float64)
        return [torch.full(shape, float(self.min), dtype=torch.float64).tolist(), ramp.flip(0).reshape(shape).tolist()]

    def describe(self) -> dict:
        """What the page must know besides the value."""
        return {"min": self.min, "max": self.max, "axes": self.axes, "dims": list(self.value.shape)}


@dataclass(frozen=True)
class Choice:
    """One of a few words; `fn` gets the Python string, and every option becomes a graph of its own.

    >>> Choice("8", ["2", "8"]).check("4")
    Traceback (most recent call last):
        ...
    ValueError: value: expected one of '2', '8', got '4'
    """

    value: str
    options: Sequence[str]
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        if not all(isinstance(o, str) for o in self.options):
            raise ValueError(f"options: expected strings, got {list(self.options)}")
        if len(self.options) < 2 or len(set(self.options)) != len(self.options):
            raise ValueError(f"options: expected at least two different words, got {list(self.options)}")
        for option in self.options:  # the page trims a menu's spaces, and joins words with "|" to name a graph
            if re.search(r"^\s|\s\s|\s$|[|]", option, re.ASCII) or visible(option) != option:
                raise ValueError("options: expected words parted by single spaces, none at the ends, and no '|', "
                                 f"got {option!r}")
        self.check(self.value)

    def check(self, value: Any, name: str = "value") -> str:
        """The option itself. Raises ValueError for another word."""
        if value not in self.options:
            raise ValueError(f"{name}: expected one of {', '.join(map(repr, self.options))}, got {value!r}")
        return value

    def probes(self) -> list[str]:
        """Values at which graph and `fn` are compared."""
        return []  # every option has its own graph, and each is compared

    def describe(self) -> dict:
        """What the page must know besides the value."""
        return {"options": list(self.options)}


@dataclass(frozen=True)
class Toggle:
    """On or off; `fn` gets a scalar bool tensor: write `torch.where(masked, …, …)`, not `if masked`.

    >>> Toggle(False).tensor(True).item()
    True
    """

    value: bool
    kind: ClassVar[str] = "toggle"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", self.check(self.value))

    def check(self, value: Any, name: str = "value") -> bool:
        """The value as True or False. Raises ValueError for anything else."""
        flag = _item(value)
        if not isinstance(flag, bool):
            raise ValueError(f"{name}: expected True or False, got {short(value)}")
        return flag

    def tensor(self, value: bool) -> Tensor:
        """The value as `fn` gets it."""
        return torch.tensor(value)

    def probes(self) -> list[bool]:
        """Values at which graph and `fn` are compared."""
        return [True, False]

    def describe(self) -> dict:
        """What the page must know besides the value."""
        return {}


Input = Slider | Cells | Choice | Toggle | Tokens | Window


def plain(value: Any) -> Any:
    """A value as JSON takes it: tensors become nested lists."""
    return value.tolist() if isinstance(value, Tensor) else value


def _item(value: Any) -> Any:
    """A NumPy or torch scalar as what it holds; everything else as it is."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _number(value: Any) -> int | float | None:
    """A finite number as Python's int or float; None for anything else."""
    value = _item(value)
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        return (int(value) if isinstance(value, Integral) else float(value)) if isfinite(value) else None
    except OverflowError:  # 10**400 has no float
        return None


def _end(name: str, value: Any, whole: bool = False) -> int | float:
    number = _number(value)
    if number is None:
        raise ValueError(f"{name}: expected a finite number, got {short(value)}")
    if whole and number != int(number):
        raise ValueError(f"{name}: expected a whole number, got {number}")
    return int(number) if whole else number


def _array(name: str, value: Any) -> Tensor:
    try:
        return torch.as_tensor(value, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{name}: expected numbers in rows of one length, got {short(value)}") from error
