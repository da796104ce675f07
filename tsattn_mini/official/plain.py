"""Stand-ins for what NumPy and Python call when a number, an array or a path is unpickled.

A file names the function that makes a value. Where it names one of NumPy's, one of these runs in its place: it takes
bytes of plain numbers and nothing else, so no file can reach NumPy's own, which trust what they are given.
"""

import re
from argparse import Namespace
from pathlib import PurePosixPath
from pickle import UnpicklingError

import numpy as np
import torch
from torch import Tensor

PLAIN = re.compile(r"[<>|=]?(b1|i[1248]|u[1248]|f[248]|c(8|16)|[SU]\d+)")


class Dtype:
    """In place of `numpy.dtype`: the kind, width and byte order of plain numbers or text.

    Raises:
        UnpicklingError: entries of a kind that holds no numbers.
    """

    def __init__(self, code: str, align: bool = False, copy: bool = True) -> None:
        if not isinstance(code, str) or not PLAIN.fullmatch(code):
            raise UnpicklingError(f"Unsupported dtype {code!r}")
        self.code = code

    def __setstate__(self, state: tuple) -> None:
        order = state[1] if len(state) > 1 else "|"
        if order not in ("<", ">", "|", "="):
            raise UnpicklingError(f"Unsupported byte order {order!r}")
        self.code = order + self.code.lstrip("<>|=")

    def read(self, raw: bytes, count: int) -> np.ndarray:
        """`count` entries out of bytes that hold exactly these.

        Raises:
            UnpicklingError: entries that are no numbers.
        """
        dtype = np.dtype(self.code)
        if not isinstance(raw, (bytes, bytearray)) or len(raw) != count * dtype.itemsize:
            raise UnpicklingError("Unsupported entries of an array")
        return np.frombuffer(bytes(raw), dtype, count)


class Array:
    """In place of `numpy.ndarray`; `tensor()` is what it holds."""

    def __setstate__(self, state: tuple) -> None:
        _, shape, dtype, columns_first, raw = state
        if not isinstance(dtype, Dtype) or not all(isinstance(n, int) and n >= 0 for n in shape):
            raise UnpicklingError("Unsupported array")
        entries = dtype.read(raw, int(np.prod(shape, dtype=object)))
        self.array = entries.reshape(shape, order="F" if columns_first else "C")

    def tensor(self) -> Tensor:
        """The numbers as a tensor of this machine's byte order.

        Raises:
            ValueError: an array of texts.
        """
        if self.array.dtype.kind in "SU":
            raise ValueError("state dict: expected numbers in every array, got text")
        return torch.from_numpy(self.array.astype(self.array.dtype.newbyteorder("="), copy=True))


def array(kind: type, shape: tuple, code: bytes) -> Array:
    """In place of `numpy._core.multiarray._reconstruct`: an array that is still empty."""
    return Array()


def scalar(dtype: Dtype, raw: bytes) -> bool | int | float | complex | str | bytes:
    """In place of `numpy._core.multiarray.scalar`: one number, as Python's.

    Raises:
        UnpicklingError: anything but one number.
    """
    if not isinstance(dtype, Dtype):
        raise UnpicklingError("Unsupported scalar")
    return dtype.read(raw, 1)[0].item()


def path(*parts: str) -> str:
    """In place of the classes of `pathlib`: the path as text."""
    return str(PurePosixPath(*map(str, parts)))


STAND_INS = [
    *((made, f"numpy.{core}.multiarray.{name}") for core in ("core", "_core")
      for made, name in ((array, "_reconstruct"), (scalar, "scalar"))),
    (Dtype, "numpy.dtype"), (Array, "numpy.ndarray"), Namespace,
    *((path, f"pathlib.{kind}") for kind in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")),
]
