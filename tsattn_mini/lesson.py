"""What the lessons share: numbers a reader can retype, one head without its batch, one map of weights."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor


def counting(*shape: int) -> Tensor:
    """1, 2, 3, … in rows of the given shape, float64: `counting(2, 3)` is [[1, 2, 3], [4, 5, 6]]."""
    return torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)


def one_head(x: Float[Tensor, "L E"]) -> Float[Tensor, "1 L 1 E"]:
    """The same numbers with a batch and a head axis of size 1, as `scaled_dot_product` takes them."""
    return x[None, :, None, :]


def weights(attend: Callable[..., Tensor], q: Float[Tensor, "L E"], k: Float[Tensor, "S E"],
            **handles: Tensor) -> Float[Tensor, "L S"]:
    """The map A of one head in one window, such as `weights(scaled_dot_product, q, k, mask=causal(5))`.

    The values are the identity, so every query takes home its own row of A. `handles` go to `attend`.
    """
    return attend(one_head(q), one_head(k), one_head(torch.eye(len(k), dtype=k.dtype)), **handles)[0, :, 0]
