"""Non-stationary Transformer: attention that gets the removed statistics back.

Source: Y. Liu, H. Wu, J. Wang, M. Long, "Non-stationary Transformers" (NeurIPS 2022), de-stationary attention:
softmax((τ Q Kᵀ + 1 δᵀ) / √d_k) V. The paper's d_k is `E` here.
"""

import torch
from jaxtyping import Float, Bool
from torch import Tensor, einsum

from tsattn_mini import checks
from tsattn_mini.attention import mix
from tsattn_mini.trace import step


def destationary_attention(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
                           tau: Float[Tensor, "B 1"] | None = None, delta: Float[Tensor, "B S"] | None = None,
                           mask: Bool[Tensor, "L S"] | None = None) -> Float[Tensor, "B L H W"]:
    """softmax((τ Q Kᵀ + 1 δᵀ) / √E) V: one τ per window, one δ per key, the same for all heads and queries.

    Both act before the scale, so δ is divided by √E as well. Left out, τ is 1 and δ is 0: plain attention.
    `mask` is True where a query must not see a key. In decoder self-attention leave δ out: its entries belong
    to the encoder's positions, even where the lengths happen to agree.

    Raises:
        ValueError: shapes that do not fit (a δ of length 1 included), or entries that are not finite.
    Warns:
        RuntimeWarning: when `mask` leaves a query without any key.
    """
    checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H W"),
                  tau=(tau, "B 1"), delta=(delta, "B S"), mask=(mask, "L S"))
    checks.finite(q=q, k=k, v=v, tau=tau, delta=delta)
    tau = torch.ones_like(q[:, :1, 0, 0]) if tau is None else tau
    delta = torch.zeros_like(k[:, :, 0, 0]) if delta is None else delta
    QK = step("QK", einsum("blhe,bshe->bhls", q, k), axes="B H L S", eq="Q Kᵀ",
              note="Every query meets every key, in the stationarized series.")
    scores = step("scores", tau[:, :, None, None] * QK + delta[:, None, None, :], axes="B H L S", eq="τ Q Kᵀ + 1 δᵀ",
                  note="τ stretches all scores of the window, δ lifts or lowers whole columns.")
    return mix(scores / q.shape[-1] ** 0.5, v, mask, eq="(τ Q Kᵀ + 1 δᵀ) / √E")
