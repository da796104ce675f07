"""What the lessons share: numbers a reader can retype, one head without its batch, one map of weights."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from tsattn_mini import checks


def counting(*shape: int) -> Tensor:
    """1, 2, 3, … in rows of the given shape, float64: `counting(2, 3)` is [[1, 2, 3], [4, 5, 6]].

    >>> counting(2, 3).tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    return torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)


def one_head(x: Float[Tensor, "L E"]) -> Float[Tensor, "1 L 1 E"]:
    """The same numbers with a batch and a head axis of size 1, as `scaled_dot_product` takes them."""
    checks.real(x=(x, "L E"))
    return x[None, :, None, :]


def weights(attend: Callable[..., Tensor], q: Float[Tensor, "L E"], k: Float[Tensor, "S E"],
            **handles: Tensor) -> Float[Tensor, "L S"]:
    """The map A of one head in one window, such as `weights(scaled_dot_product, q, k, mask=causal(5))`.

    The values are the identity, so every query takes home its own row of A. `handles` go to `attend`.

    Raises:
        ValueError: shapes that do not fit, and what `attend` refuses.

    >>> from tsattn_mini.attention import causal, scaled_dot_product
    >>> weights(scaled_dot_product, counting(2, 1), counting(2, 1), mask=causal(2)).float()
    tensor([[1.0000, 0.0000],
            [0.1192, 0.8808]])
    """
    checks.shapes(q=(q, "L E"), k=(k, "S E"))
    return attend(one_head(q), one_head(k), one_head(torch.eye(len(k), dtype=k.dtype)), **handles)[0, :, 0]
