"""New numbers for a question: by a seed, the same in Python and in `web/draw.js`, bit for bit.

Everything is done in whole numbers: a `Draw` is a list of them, which of them is taken is a hash of seed, try and place
in 32 bits, and the decimal point comes last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from math import prod

import torch
from torch import Tensor

MOST = 400  # different values of a draw: the page carries them all
MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Draw:
    """What the numbers of one tensor are drawn from: whole numbers, steps of `step`, or some `values`.

    Args:
        shape: of the tensor; () is a single number, (3,) a vector, (2, 3) two rows.
        low, high: the ends, both possible.
        step: from `low` on, the distance of possible values, such as 0.5. `whole=True` is short for `step=1`.
        values: the possible values themselves, instead of all that.

    Raises:
        ValueError: when they describe no values, fewer than two, more than 400, or more than six decimals.
    """

    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    whole: bool = False
    values: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if len(self.shape) > 2 or any(not isinstance(size, int) or size < 1 for size in self.shape):
            raise ValueError(f"shape: expected at most two sizes of 1 or more, got {self.shape}")
        ends = [self.low, self.high]
        grid = None not in ends and self.whole == (self.step is None)
        alone = ends == [None, None] and self.step is None and not self.whole
        if not (grid if self.values is None else alone):
            raise ValueError("Draw: expected low and high with either whole=True or step, or values alone, "
                             f"got {self}")
        if not all(x.is_finite() for x in self._decimals()):
            raise ValueError(f"Draw: expected finite numbers, got {self}")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"step: expected a number above 0, got {self.step}")
        if not 2 <= len(self.choices) <= MOST:
            raise ValueError(f"Draw: expected 2 to {MOST} different values, got {len(self.choices)}")
        if self.places > 6:
            raise ValueError(f"Draw: expected at most 6 decimals, got {self.places}")

    @property
    def places(self) -> int:
        """How many decimals the values have."""
        return max(0, *(-x.normalize().as_tuple().exponent for x in self._decimals()))

    @property
    def choices(self) -> list[int]:
        """The possible values, as whole numbers of the last decimal."""
        numbers = [int(x.scaleb(self.places)) for x in self._decimals()]
        if self.values is not None:
            return numbers
        low, high, step = numbers
        return list(range(low, high + 1, step))

    def _decimals(self) -> list[Decimal]:
        """`values`, or `low`, `high` and the step."""
        numbers = self.values if self.values is not None else (self.low, self.high, 1 if self.whole else self.step)
        return [Decimal(str(x)) for x in numbers]

    def tensor(self, units: Sequence[int]) -> Tensor:
        """Whole numbers of the last decimal as a float64 tensor of this shape."""
        return torch.tensor([u / 10**self.places for u in units], dtype=torch.float64).reshape(self.shape)

    def fits(self, x: Tensor) -> bool:
        """Can `x` be written with this draw's shape and decimals?"""
        units = x.double() * 10**self.places
        return tuple(x.shape) == self.shape and bool((units - units.round()).abs().max() < 1e-6)


def draw(draws: dict[str, Draw], seed: int, attempt: int) -> dict[str, Tensor]:
    """The tensors of a seed, float64; `attempt` counts how often what was drawn before did not do."""
    places = count()
    return {name: one.tensor([one.choices[word(seed, attempt, next(places)) % len(one.choices)]
                              for _ in range(prod(one.shape))]) for name, one in draws.items()}


def word(seed: int, attempt: int, place: int) -> int:
    """32 bits that look like chance, and are the same for the same three numbers."""
    return _mixed(place + _mixed(attempt + _mixed(seed)))


def _mixed(x: int) -> int:
    x &= MASK
    for factor in (0x2C1B3C6D, 0x297A2D39):
        x = (x ^ (x >> 15)) * factor & MASK
    return x ^ (x >> 16)
