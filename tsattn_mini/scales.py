"""Numbers as short texts, and as places on the colour scale of their meaning."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import inf, isfinite, isnan, sqrt
from reprlib import repr as short

import torch
from torch import Tensor

from tsattn_mini import checks


def number(v: float) -> str:
    """A number for a cell: three significant places or so, never more than seven characters.

    The front end's `number.js` writes the same text, for `brief` too; a test compares them.

    >>> number(0.123456), number(1234.5), number(0.0)
    ('0.123', '1235', '0')
    """
    if isnan(v):
        return "NaN"
    if v in (inf, -inf):
        return "∞" if v > 0 else "-∞"
    size = abs(v)
    if size == 0:
        return "0"
    if size >= 1e5 or size < 1e-3:
        return _exponential(v, 1)
    if v == int(v):
        return str(int(v))
    return _round(Decimal(v), 3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0)


def brief(v: float) -> str:
    """A number for a narrow cell, four characters or so: .24, -1.3, 12, and .00 for what is small but not 0.

    >>> brief(0.24), brief(0.0001)
    ('.24', '.00')
    """
    if not isfinite(v):
        return number(v)
    size = abs(v)
    if v == 0 or (v == int(v) and size < 1000):
        return str(int(v))
    if size >= 999.5:
        return _exponential(v, 0)
    text = _round(Decimal(v), 0 if size >= 9.95 else 1 if size >= 0.995 else 2)
    return ".00" if text in ("0.00", "-0.00") else text.replace("0.", ".", 1) if size < 0.995 else text


def _exponential(v: float, places: int) -> str:
    exponent = Decimal(abs(v)).adjusted()
    digits = _round(Decimal(v).scaleb(-exponent), places)
    if digits.lstrip("-").startswith("10"):
        digits, exponent = digits.replace("10", "1", 1), exponent + 1
    return f"{digits}e{exponent}"


def _round(v: Decimal, places: int) -> str:
    return str(v.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def spread(x: Tensor) -> float:
    """The largest finite magnitude: what the ends of a signed colour scale and of a bar stand for.

    >>> spread(torch.tensor([-3.0, 2.0]))
    3.0
    """
    finite = x[torch.isfinite(x)].abs().double()
    return float(finite.max()) if finite.numel() and float(finite.max()) > 0 else 1.0


def scale_of(x: Tensor) -> str:
    """`"unit"` when every value lies in 0 … 1, else `"signed"`.

    >>> scale_of(torch.tensor([0.0, 1.0])), scale_of(torch.tensor([-1.0, 1.0]))
    ('unit', 'signed')
    """
    x = x.double()
    return "unit" if bool(((x >= 0) & (x <= 1)).all()) else "signed"


def drawable(x: Tensor, axes: str) -> Tensor:
    """`x` as it is, or as 0 and 1 where it holds True and False.

    Raises:
        ValueError: no tensor, no entry, complex numbers, or axes that are no string.

    >>> drawable(torch.tensor([True, False]), "S")
    tensor([1, 0])
    """
    checks.required(x=x)
    if x.is_complex():
        raise ValueError(f"x: expected real numbers, got {checks.dtype_name(x.dtype)}")
    if not isinstance(axes, str):
        raise ValueError(f"axes: expected a string such as 'L S', got {short(axes)}")
    return x.long() if x.dtype == torch.bool else x


def meaning_of(states: Sequence[Tensor]) -> str:
    """The colour scale of a tensor that takes these values: `"unit"` for weights that share a sum of at most 1,
    `"gate"` for other values in 0 … 1, `"signed"` for all else, `"none"` for one such number alone."""
    if any(scale_of(x) == "signed" for x in states):
        return "signed" if states[0].numel() > 1 else "none"
    sums = [[x.double().sum(axis) for x in states] for axis in range(states[0].ndim) if states[0].shape[axis] > 1]
    wide = len(sums) > 1
    shared = any(all(bool((s <= 1 + 1e-4).all()) and (wide or bool((s >= 1 - 1e-4).all())) for s in along)
                 for along in sums)
    return "unit" if shared else "gate"


def shade(v: float, scale: str, top: float) -> float:
    """Where `v` lies on the colour scale of its meaning; 0 if it is not finite.

    `"signed"` scores go from -1 to 1 for ±`top`, `"unit"` weights that share a sum from 0 to 1 by their root (of
    twelve keys none has much more than a tenth), `"gate"` values from 0 to 1 as they are, and `"none"` stays at 0.
    """
    if not isfinite(v) or scale == "none":
        return 0.0
    on = min(1.0, max(0.0, v))
    return min(1.0, max(-1.0, v / top)) if scale == "signed" else on if scale == "gate" else sqrt(on)


def inward(text: str) -> float:
    """How far a long word at the end of an axis moves inside, so that it is not cut."""
    return max(0, 2.8 * len(text) - 12)
