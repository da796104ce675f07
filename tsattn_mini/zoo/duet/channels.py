"""The channel half of DUET: how far apart two variables' spectra are, which links that leaves, attention along them.

Source: X. Qiu et al., "DUET" (KDD 2025), channel clustering. `keep` is 1 where variable i may look at variable j:
the opposite of the `mask` elsewhere in this package, and a number, so that it can be learned through.
"""

import math

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.attention import by_head, mix
from tsattn_mini.trace import meaning, step

PRICE = -math.log(1e10)  # what the released code puts in the place of a hidden pair's score, before the division by √E
NEAREST = 1e-10  # the smallest distance: equal spectra are very close, not infinitely
MOST = 0.99  # the largest probability; log(p / (1 - p)) is infinite at 1
STEEPEST = 20.0  # how far a hidden score may lie above the shown ones before its gradient is cut


class ChannelMask(nn.Module):
    """D_ij = ‖A(|rfft x_i| - |rfft x_j|)‖², p_ij = 0.99 · (1 / D_ij) / max_j (1 / D_ij), keep_ij ~ Bernoulli(p_ij).

    Args:
        T: steps of a window.
        sharpened: the released draw, which keeps a link with probability p² / (p² + (1 - p)²).
        keep_self: a variable always sees itself. In the released code that link is drawn like the others.
    Raises:
        ValueError: no step to transform.
    """

    def __init__(self, T: int, *, sharpened: bool = False, keep_self: bool = True) -> None:
        super().__init__()
        checks.counts(T=T)
        self.T, self.sharpened, self.keep_self = T, sharpened, keep_self
        self.A = nn.Parameter(torch.randn(T // 2 + 1, T // 2 + 1))

    @meaning("link variables")
    def forward(self, x: Float[Tensor, "B V T"], u: Float[Tensor, "B V V"] | None = None) -> Float[Tensor, "B V V"]:
        """1 where variable i may look at variable j, else 0; every window has links of its own.

        Args:
            x: raw windows.
            u: draws from the uniform distribution on 0 … 1: a link stays where u ≤ p. None keeps the links that
                are likelier than not, p ≥ ½.
        Raises:
            ValueError: shapes that do not fit, entries that are not finite or, in `u`, outside 0 … 1.
        """
        checks.required(x=x)
        checks.shapes(x=(x, f"B V {self.T}"), u=(u, "B V V"))
        checks.floating(x=x)
        checks.floating(u=u)
        checks.finite(x=x)
        dtype = torch.promote_types(x.dtype, torch.float32)
        spectrum = torch.linalg.vector_norm(torch.view_as_real(torch.fft.rfft(x.to(dtype))), dim=-1)
        spectrum = step("spectrum", spectrum, axes="B V f", eq="|rfft x|",
                        note="How strong each frequency is; when it happens is forgotten. Frequency 0 is the level.")
        gap = spectrum[:, :, None] - spectrum[:, None]
        distance = einsum("gf,bijf->bijg", self.A.to(dtype), gap).square().sum(-1)
        checks.overflow("x", distance)
        distance = step("distance", distance, axes="B V V", eq="‖A(|rfft x_i| - |rfft x_j|)‖²",
                        note="A learned matrix decides which differences count.")
        return self.links(self.probabilities(distance), None if u is None else u.to(dtype))

    def probabilities(self, distance: Float[Tensor, "B V V"]) -> Float[Tensor, "B V V"]:
        """From distances to the probability of every link."""
        itself = torch.eye(distance.shape[-1], dtype=torch.bool, device=distance.device)
        near = (1 / distance.clamp(min=NEAREST)).masked_fill(itself, 0)
        share = near / near.amax(-1, keepdim=True)
        return step("p", MOST * share.masked_fill(itself, 1), axes="B V V",
                    eq="0.99 · (1 / D) / max_j (1 / D)",
                    note="Relative to the nearest other variable, which therefore always gets 0.99.")

    def links(self, p: Float[Tensor, "B V V"], u: Float[Tensor, "B V V"] | None = None) -> Float[Tensor, "B V V"]:
        """From probabilities to links; the gradient flows as if a link were the smooth value behind it.

        Raises:
            ValueError: draws `u` that are not finite or not between 0 and 1.
        """
        chance = p.square() / (p.square() + (1 - p).square()) if self.sharpened else p
        chance = step("chance", chance, axes="B V V", eq="p² / (p² + (1 - p)²)" if self.sharpened else "p",
                      note="How often the link is kept.")
        if u is None:
            hard, smooth = chance >= 0.5, chance
        else:
            checks.finite(u=u)
            if not torch.compiler.is_compiling() and not bool(((u >= 0) & (u <= 1)).all()):
                raise ValueError(f"u: expected numbers from 0 to 1, got {u.min().item()} to {u.max().item()}")
            inside = u.clamp(1e-6, 1 - 1e-6)
            hard, smooth = u <= chance, torch.sigmoid(torch.logit(chance, 1e-6) + torch.log((1 - inside) / inside))
        if self.keep_self:
            hard = hard | torch.eye(p.shape[-1], dtype=torch.bool, device=p.device)
        keep = hard.to(p.dtype) + (smooth - smooth.detach())
        return step("keep", keep, axes="B V V", eq="p ≥ ½" if u is None else "u ≤ chance",
                    note="Row i: whom variable i may look at.")


def channel_attention(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
                      keep: Shaped[Tensor, "B L S"], *, soft: bool = False) -> Float[Tensor, "B L H W"]:
    """softmax(Q Kᵀ / √E) V over the pairs that `keep` holds at 1; at 0 a pair has weight 0, exactly.

    Args:
        keep: numbers from 0 to 1, or True and False; a factor on the weights before they are made to sum to 1.
        soft: the released form. A pair at 0 gets -ln(10¹⁰) for its score, and that is divided by √E like the
            others: at E = 64 its odds against a pair with score 0 are 0.056, not 10⁻¹⁰.
    Raises:
        ValueError: shapes that do not fit, entries that are not finite or leave the number range, `keep` outside 0 … 1.
    Warns:
        RuntimeWarning: when `keep` leaves a query without any key (not if soft); its weights are 0.
    """
    checks.required(q=q, k=k, v=v, keep=keep)
    checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H W"), keep=(keep, "B L S"))
    checks.floating(q=q, k=k, v=v)
    checks.finite(q=q, k=k, v=v, keep=keep)
    dtype = torch.promote_types(q.dtype, torch.float32)
    if not torch.compiler.is_compiling() and not bool(((keep >= 0) & (keep <= 1)).all()):
        raise ValueError(f"keep: expected numbers from 0 to 1, got {keep.min().item()} to {keep.max().item()}")
    keep, root = keep[:, None].to(dtype), q.shape[-1] ** 0.5
    QK = step("QK", einsum("blhe,bshe->bhls", q.to(dtype), by_head(k.to(dtype))), axes="B H L S", eq="Q Kᵀ",
              note="Every variable meets every variable.")
    checks.overflow("q, k", QK)
    if soft:
        scores = step("scores", QK * keep + PRICE * (1 - keep), axes="B H L S", eq="Q Kᵀ ⊙ keep - ln(10¹⁰) (1 - keep)",
                      note="A hidden pair costs 23, whatever it would have scored.")
        return mix(scores / root, v.to(dtype), eq="scores / √E").to(v.dtype)
    logits = step("logits", QK / root, axes="B H L S", eq="Q Kᵀ / √E", note="All pairs, the hidden ones too.")
    peak = logits.detach().masked_fill(keep == 0, -torch.inf).amax(-1, keepdim=True)
    empty = peak == -torch.inf
    checks.warn_empty_rows(empty[:, 0, :, 0])
    share = keep * torch.exp((logits - peak.masked_fill(empty, 0)).clamp(max=STEEPEST))
    A = step("A", share / share.sum(-1, keepdim=True).masked_fill(empty, 1), axes="B H L S",
             eq="keep ⊙ exp(logits), each row divided by its sum", note="A hidden pair has weight 0.")
    out = einsum("bhls,bshw->blhw", A, v.to(dtype))
    checks.overflow("v", out)
    return step("out", out, axes="B L H W", eq="A V",
                note="Each variable takes home the mean of those it may look at.").to(v.dtype)
