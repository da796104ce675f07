"""Arguments are checked before anything is computed: a wrong shape never becomes a wrong number.

While a graph is being exported the values are symbols, so nothing is checked there; every graph is made
from a function that has just run, checked, on real numbers.
"""

import warnings
from math import isfinite
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any

import torch
from torch import Tensor

MOST = 10**9  # no size of a model, a series or a run is larger


def shapes(**arguments: tuple[Tensor | None, str]) -> None:
    """Check ranks and sizes: `shapes(q=(q, "B L H E"), k=(k, "B S H E"))` binds `B` from `q`, then tests `k`.

    A number as an axis must be that size. `None` stands for an argument that was left out. The argument `mask`
    must hold True and False, and no argument complex numbers.

    Raises:
        ValueError: naming the argument, the axes that were expected with the sizes known so far, and what came.

    >>> shapes(q=(torch.ones(2, 3), "L E"), k=(torch.ones(5, 4), "S E"))
    Traceback (most recent call last):
        ...
    ValueError: k: expected axes 'S E' with E=3, got shape (5, 4)
    """
    if torch.compiler.is_compiling():
        return
    sizes: dict[str, int] = {}
    for name, (x, axes) in arguments.items():
        if x is None:
            continue
        if not isinstance(x, Tensor):
            raise ValueError(f"{name}: expected a tensor with axes {axes!r}, got {type(x).__name__} {short(x)}")
        _numbers(name, x)
        if x.is_complex():
            raise ValueError(f"{name}: expected real numbers, got {dtype_name(x.dtype)}")
        if name == "mask" and x.dtype != torch.bool:
            raise ValueError(f"mask: expected True/False, got dtype {dtype_name(x.dtype)}")
        words = axes.split()
        wanted = [int(a) if a.isdigit() else sizes.get(a, n) for a, n in zip(words, x.shape, strict=False)]
        if len(words) != x.ndim or wanted != list(x.shape):
            known = ", ".join(f"{a}={sizes[a]}" for a in words if a in sizes and not a.isdigit())
            known = f" with {known}" if known else ""
            raise ValueError(f"{name}: expected axes {axes!r}{known}, got shape {tuple(x.shape)}")
        if 0 in x.shape:
            raise ValueError(f"{name}: expected at least one entry along every axis of {axes!r}, "
                             f"got shape {tuple(x.shape)}")
        sizes.update(zip(words, x.shape, strict=True))


def _numbers(name: str, x: Tensor) -> None:
    if x.is_meta:
        raise ValueError(f"{name}: expected numbers, got a tensor on the device 'meta', which holds none")


def all_finite(x: Tensor) -> bool:
    """Is every entry finite? One NaN or infinity makes the sum one too, and a sum is the quickest way to find it.

    Only where finite numbers add up to more than the dtype holds is every entry looked at.

    >>> all_finite(torch.tensor([1.0])), all_finite(torch.tensor([float("inf")]))
    (True, False)
    """
    x = x.detach()
    return bool(torch.isfinite(x.sum())) or bool(torch.isfinite(x).all())


def finite(**arguments: Tensor | None) -> None:
    """Check that every number is finite.

    Raises:
        ValueError: naming the argument, how many entries are NaN or infinite, and the index of the first.

    >>> finite(x=torch.tensor([1.0, float("nan")]))
    Traceback (most recent call last):
        ...
    ValueError: x: expected finite numbers, got nan at index (1,) (1 of 2 entries are not finite)
    """
    if torch.compiler.is_compiling():
        return
    for name, x in arguments.items():
        if x is not None and not all_finite(x):
            bad = (~torch.isfinite(x)).nonzero()
            at = tuple(bad[0].tolist())
            raise ValueError(f"{name}: expected finite numbers, got {x[at].item()} at index {at} "
                             f"({len(bad)} of {x.numel()} entries are not finite)")


def required(**arguments: Tensor) -> None:
    """Check that no argument was left out, where `shapes` alone would pass over it.

    Raises:
        ValueError: naming the argument that is no tensor, or has no entry.

    >>> required(x=None)
    Traceback (most recent call last):
        ...
    ValueError: x: expected a tensor, got NoneType
    """
    for name, x in arguments.items():
        if not isinstance(x, Tensor):
            raise ValueError(f"{name}: expected a tensor, got {type(x).__name__}")
        _numbers(name, x)
        if 0 in x.shape:
            raise ValueError(f"{name}: expected at least one entry along every axis, got shape {tuple(x.shape)}")


def whole(x: Any) -> bool:
    """Is `x` a whole number, of Python's or NumPy's kind, and not True or False?

    >>> whole(3), whole(3.0), whole(True)
    (True, False, False)
    """
    return isinstance(x, Integral) and not isinstance(x, bool)


def counts(least: int = 1, most: int = MOST, **sizes: Any) -> None:
    """Check that every size is a whole number from `least` to `most`; True and False are none.

    Raises:
        ValueError: naming the size, what was expected, and what came.
    """
    if torch.compiler.is_compiling():
        return
    for name, size in sizes.items():
        if not whole(size):
            raise ValueError(f"{name}: expected a whole number, got {short(size)}")
        if size < least:
            raise ValueError(f"{name}: expected at least {least}, got {short(size)}")
        if size > most:
            raise ValueError(f"{name}: expected at most {most}, got {short(size)}")


def seeded(seed: Any) -> int:
    """A seed as torch's generators take it: a whole number from -2⁶³ to 2⁶⁴ - 1, of Python's or NumPy's kind.

    Raises:
        ValueError: something else.

    >>> seeded(-1)
    -1
    """
    if not whole(seed):
        raise ValueError(f"seed: expected a whole number, got {short(seed)}")
    if not -2**63 <= seed < 2**64:
        raise ValueError(f"seed: expected a whole number from -2**63 to 2**64 - 1, got {short(seed)}")
    return int(seed)


def real(like: torch.dtype | None = None, **arguments: tuple[Tensor, str]) -> None:
    """Check all of it: tensors with these axes that hold finite floating-point numbers of one dtype; none left out.

    Raises:
        ValueError: as `shapes`, `required`, `floating` and `finite`.
    """
    given = {name: x for name, (x, _) in arguments.items()}
    shapes(**arguments)
    required(**given)
    floating(like, **given)
    finite(**given)


def number(**arguments: int | float | Tensor) -> None:
    """Check that each is one finite number; a tensor of no axes is one, True and False are none.

    Raises:
        ValueError: naming the argument, and what came.
    """
    if torch.compiler.is_compiling():
        return
    for name, x in arguments.items():
        if isinstance(x, Tensor):
            shapes(**{name: (x, "")})
        elif isinstance(x, bool) or not isinstance(x, Real):
            raise ValueError(f"{name}: expected one number, got {short(x)}")
        if isinstance(x, Integral) and not -2**63 <= x < 2**63:
            raise ValueError(f"{name}: expected a float, or a whole number within int64, got {short(x)}")
        if not isfinite(scalar(x)):
            raise ValueError(f"{name}: expected a finite number, got {scalar(x)}")


def scalar(x: int | float | Tensor) -> float:
    """A number as Python's own, also where it is a tensor that takes part in a gradient."""
    return x.item() if isinstance(x, Tensor) else float(x)


def floating(like: torch.dtype | None = None, **arguments: Tensor | None) -> None:
    """Check that every argument holds floating-point numbers of one dtype: `like`, the weights', or the first's.

    Raises:
        ValueError: naming the argument, the dtype that was expected, and what came.

    >>> floating(x=torch.tensor([1]))
    Traceback (most recent call last):
        ...
    ValueError: x: expected floating-point numbers, got int64
    """
    if torch.compiler.is_compiling():
        return
    owner = "the weights"
    for name, x in arguments.items():
        if x is None:
            continue
        required(**{name: x})
        if not x.is_floating_point():
            raise ValueError(f"{name}: expected floating-point numbers, got {dtype_name(x.dtype)}")
        if like is not None and x.dtype != like:
            raise ValueError(f"{name}: expected {dtype_name(like)} like {owner}, got {dtype_name(x.dtype)}")
        if like is None:
            like, owner = x.dtype, name


def overflow(names: str, *computed: Tensor) -> None:
    """Check what was computed from the finite arguments `names`: beyond the range of its dtype it is infinite or NaN.

    Raises:
        ValueError: naming the arguments, one of which is too large.
    """
    if torch.compiler.is_compiling():
        return
    for x in computed:
        if not all_finite(x):
            raise ValueError(f"{names}: expected numbers that stay within the range of {dtype_name(x.dtype)}, "
                             "got an overflow")


def squares(names: str, x: Tensor, room: float = 1.0) -> None:
    """Check that a norm can be taken of what was computed from `names`: its squares, in float32 at least, add up.

    `room` says how many times as large what the next layers make of `x` may become.

    Raises:
        ValueError: as `overflow`.
    """
    if not torch.compiler.is_compiling():
        overflow(names, (room * x.detach().to(torch.promote_types(x.dtype, torch.float32))).square().sum(-1))


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`.

    >>> dtype_name(torch.float64)
    'float64'
    """
    return str(dtype).removeprefix("torch.")


def warn_empty_rows(empty: Tensor) -> None:
    """Warn which rows have no key left; `empty` is True there."""
    if not torch.compiler.is_compiling() and bool(empty.any()):
        at = tuple(empty.nonzero()[0].tolist())
        warnings.warn(f"mask hides every key of {int(empty.sum())} row(s), the first at index {at}: "
                      "its weights are 0 and its output is 0", RuntimeWarning, stacklevel=3)
