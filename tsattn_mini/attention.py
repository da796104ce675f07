"""Scaled dot-product attention and the layer around it.

Source: A. Vaswani et al., "Attention Is All You Need" (2017), section 3.2: softmax(Q Kᵀ / √d_k) V.

The paper's d_k is `E` here. Queries, keys and values keep their heads on axis 2, `(B, L, H, E)`, as in the
time-series libraries. Left out: dropout, and fused kernels, whose scores nobody can look at.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.trace import step

LONGEST = 100_000  # steps: their mask is 10 GB


def scaled_dot_product(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
                       mask: Bool[Tensor, "L S"] | None = None) -> Float[Tensor, "B L H W"]:
    """softmax(Q Kᵀ / √E) V, every head by itself.

    `mask` is True where a query must not see a key (the opposite of torch's own convention).

    Raises:
        ValueError: shapes that do not fit, integers, mixed dtypes, entries that are not finite, or products that leave
            the number range; in half precision they are taken in float32.
    Warns:
        RuntimeWarning: when `mask` leaves a query without any key.

    >>> q = k = v = torch.eye(3)[None, :, None]
    >>> scaled_dot_product(q, k, v)[0, 0, 0]  # a key like the query gets more than its share
    tensor([0.4711, 0.2645, 0.2645])
    >>> scaled_dot_product(0 * q, k, v)[0, 0, 0]  # a query that asks nothing gets the mean
    tensor([0.3333, 0.3333, 0.3333])
    """
    checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H W"), mask=(mask, "L S"))
    checks.required(q=q, k=k, v=v)
    checks.floating(q=q, k=k, v=v)
    checks.finite(q=q, k=k, v=v)
    dtype = torch.promote_types(q.dtype, torch.float32)
    QK = step("QK", einsum("blhe,bshe->bhls", q.to(dtype), by_head(k.to(dtype))), axes="B H L S", eq="Q Kᵀ",
              note="Every query meets every key: one dot product per pair.")
    checks.overflow("q, k", QK)
    return mix(QK / q.shape[-1] ** 0.5, v.to(dtype), mask, eq="Q Kᵀ / √E").to(v.dtype)


def by_head(k: Float[Tensor, "B S H E"]) -> Float[Tensor, "B S H E"]:
    """The same numbers, every head's rows side by side in memory: from there `einsum` need not turn single numbers."""
    return k.transpose(1, 2).contiguous().transpose(1, 2)


def mix(logits: Float[Tensor, "B H L S"], v: Float[Tensor, "B S H W"], mask: Bool[Tensor, "L S"] | None = None,
        *, eq: str) -> Float[Tensor, "B L H W"]:
    """Softmax over the keys, then the weighted mean of the values. `eq` says how the logits were made.

    A row whose keys are all hidden gets weight 0 everywhere; a bare softmax would make it NaN.

    Raises:
        ValueError: shapes that do not fit, or values so near to the end of the number range that their mean rounds
            beyond it.

    >>> v = torch.tensor([1.0, 5.0])[None, :, None, None]
    >>> mix(torch.zeros(1, 1, 1, 2), v, eq="0").item()  # equal logits: the mean
    3.0
    >>> mix(torch.tensor([[[[0.0, 100.0]]]]), v, eq="100").item()  # one far ahead: its value
    5.0
    """
    checks.shapes(logits=(logits, "B H L S"), v=(v, "B S H W"), mask=(mask, "L S"))
    checks.required(logits=logits, v=v)
    empty = None if mask is None else mask.all(-1, keepdim=True)
    if empty is not None:
        checks.warn_empty_rows(empty[:, 0])
        logits = logits.masked_fill(mask & ~empty, -torch.inf)
    logits = step("logits", logits, axes="B H L S", eq=eq, note="What the softmax sees; a hidden key stands at -∞.")
    A = torch.softmax(logits, dim=-1)
    if empty is not None and (torch.compiler.is_compiling() or bool(empty.any())):
        A = A.masked_fill(empty, 0.0)
    A = step("A", A, axes="B H L S", eq="softmax(logits)", note="Each row shares one unit of attention among the keys.")
    out = einsum("bhls,bshw->blhw", A, v)
    checks.overflow("v", out)
    return step("out", out, axes="B L H W", eq="A V",
                note="Each query takes home the mean of the values, weighted by its row of A.")


def causal(L: int) -> Bool[Tensor, "L L"]:
    """The mask that hides the future: True strictly above the diagonal.

    Raises:
        ValueError: no position at all, or so many that no memory holds their mask.

    >>> causal(3).int().tolist()  # 1: hidden
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    checks.counts(L=L, most=LONGEST)
    return torch.ones(L, L, dtype=torch.bool).triu(1)


class AttentionLayer(nn.Module):
    """Project to H heads, attend, put the heads back together.

    Q = x W_q, K = y W_k, V = y W_v, each cut into H heads of width E = M / H; out = concat(heads) W_o.

    Args:
        attend: what happens per head, such as `scaled_dot_product`; further arguments of `forward` go to it.
        M: model width; H: number of heads, a divisor of M.
    Raises:
        ValueError: when H does not divide M.

    >>> layer = AttentionLayer(scaled_dot_product, M=8, H=2)
    >>> sum(p.numel() for p in layer.parameters())  # four matrices of 8 × 8, and their biases
    288
    """

    def __init__(self, attend: Callable[..., Tensor], M: int, H: int) -> None:
        super().__init__()
        checks.counts(M=M, H=H)
        if M % H:
            raise ValueError(f"H: expected a divisor of the model width M={M}, got {H}")
        self.attend, self.H = attend, H
        self.query, self.key, self.value, self.out = (nn.Linear(M, M) for _ in range(4))

    def forward(self, x: Float[Tensor, "B L M"], y: Float[Tensor, "B S M"],
                **handles: Tensor | int | None) -> Float[Tensor, "B L M"]:
        """Positions `x` ask, positions `y` answer; for self-attention pass the same tensor twice.

        Raises:
            ValueError: shapes that do not fit, another dtype than the weights', entries that are not finite, and what
                `attend` refuses.
        """
        M = self.query.in_features
        checks.shapes(x=(x, f"B L {M}"), y=(y, f"B S {M}"))
        checks.real(self.query.weight.dtype, x=(x, "B L M"), y=(y, "B S M"))
        q = step("q", self.query(x).unflatten(-1, (self.H, -1)), axes="B L H E", eq="x W_q",
                 note="What each position asks.")
        k = step("k", self.key(y).unflatten(-1, (self.H, -1)), axes="B S H E", eq="y W_k",
                 note="What each position answers to.")
        v = step("v", self.value(y).unflatten(-1, (self.H, -1)), axes="B S H E", eq="y W_v",
                 note="What each position gives.")
        heads = self.attend(q, k, v, **handles)
        return step("y", self.out(heads.flatten(-2)), axes="B L M", eq="concat(heads) W_o",
                    note="The heads side by side, mixed by one last matrix.")
