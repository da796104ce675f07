"""Step 6: how much of a looked-up memory passes, decided by the hidden state and the memory together.

    s = RMSNorm(h) · RMSNorm(k) / √M        one number per token and branch
    α = sigmoid(s)                          the paper's gate
    α = sigmoid(sign(s) √max(|s|, 10⁻⁶))    the released gate: a signed root in front of the sigmoid

Source: arXiv 2601.07372, section 2.4, equation 4; the signed root stands in the released demonstration only. The
paper's d is `M` here. Without gains s = √M cos θ: the gate sees nothing of h and k but the angle between them.

The other gates of this file are what a gate that asks the memory is compared with.
"""

from math import log, sqrt

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.trace import meaning, step

SMALLEST = 1e-6  # the released root takes no smaller |s|: the gate has no slope there
ROOTS = (None, "sign", "copysign")


def rms_norm(x: Float[Tensor, "*batch M"], gain: Float[Tensor, "*gains M"] | None = None,
             eps: float | None = None) -> Float[Tensor, "*batch M"]:
    """x / sqrt(mean(x²) + ε), times `gain`; ε is the machine epsilon of the dtype when left out.

    Half precision is squared, and takes its ε, in float32.

    Raises:
        ValueError: integers, numbers whose squares leave the range of the dtype, an ε below 0, or zeros without an ε.
    """
    checks.floating(x=x)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    eps = torch.finfo(wide.dtype).eps if eps is None else eps
    mean = wide.square().mean(-1, keepdim=True)
    if not torch.compiler.is_compiling() and not bool(torch.isfinite(mean).all()):
        raise ValueError(f"x: expected numbers with squares in {wide.dtype}, got {float(x.detach().abs().max()):.1e}")
    _check_eps(eps, mean)
    normed = (wide / (mean + eps).sqrt()).to(x.dtype)
    return normed if gain is None else normed * gain


def _check_eps(eps: float, mean: Tensor) -> None:
    if not torch.compiler.is_compiling() and not (eps > 0 or (eps == 0 and bool((mean > 0).all()))):
        raise ValueError(f"eps: expected a number above 0, or 0 where no vector is zero, got {eps}")


def signed_root(score: Float[Tensor, "*batch"], root: str | None) -> Float[Tensor, "*batch"]:
    """What the sigmoid sees of the score.

    Args:
        root: None leaves the score as it is, as in the paper; "sign" is the released root, where a score of 0 stays
            0; "copysign" is the root of later ports, where a score of 0 (of either sign) counts as 10⁻⁶.

    Raises:
        ValueError: another `root`.
    """
    if root not in ROOTS:
        raise ValueError(f"root: expected one of {ROOTS}, got {root!r}")
    if root is None:
        return score
    size = score.abs().clamp(min=SMALLEST).sqrt()
    return score.sign() * size if root == "sign" else torch.where(score < 0, -size, size)


@meaning("6 gate")
def context_gate(h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"],
                 h_gain: Float[Tensor, "C M"] | None = None, k_gain: Float[Tensor, "C M"] | None = None,
                 root: str | None = None) -> Float[Tensor, "B L C"]:
    """α for every token and branch: one query, one key, no softmax over anything.

    Args:
        h: the hidden state; k: the key of the memory that this token looked up.
        h_gain, k_gain: weights of the two norms, 1 when left out.
        root: see `signed_root`; by default the paper's gate.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite or too large to square, gains whose product
            leaves the range of the dtype, another `root`.
    """
    checks.required(h=h, k=k)
    checks.shapes(h=(h, "B L C M"), k=(k, "B L C M"), h_gain=(h_gain, "C M"), k_gain=(k_gain, "C M"))
    checks.finite(h=h, k=k, h_gain=h_gain, k_gain=k_gain)
    h_norm = step("h_norm", rms_norm(h, h_gain), axes="B L C M", eq="RMSNorm(h)", note="Only its direction is left.")
    k_norm = step("k_norm", rms_norm(k, k_gain), axes="B L C M", eq="RMSNorm(k)", note="Only its direction is left.")
    score = step("score", (h_norm * k_norm).sum(-1) / sqrt(h.shape[-1]), axes="B L C", eq="s = h_norm · k_norm / √M",
                 note="√M cos θ where the gains are 1.")
    checks.overflow("h_gain, k_gain", score)
    logit = signed_root(score, root)
    if root is not None:
        logit = step("rooted", logit, axes="B L C", eq="sign(s) sqrt(max(|s|, 1e-6))",
                     note="Large scores shrink, small ones grow.")
    return _alpha(torch.sigmoid(logit), eq="α = σ(s)" if root is None else "α = σ(rooted)")


def _alpha(alpha: Float[Tensor, "B L C"], eq: str) -> Float[Tensor, "B L C"]:
    return step("alpha", alpha, axes="B L C", eq=eq, note="The share of the memory that passes, per branch.")


def angle_gate(cosine: Float[Tensor, "*batch"], M: int | Tensor, root: str | None = None,
               gain: float | Tensor = 1.0) -> Float[Tensor, "*batch"]:
    """α of two vectors of width `M` with cos θ = `cosine`: `context_gate` in closed form, where ε does not matter.

    `gain` is the product of the two norms' weights, the same in every dimension.

    Raises:
        ValueError: a width below 1, another `root`.
    """
    if not torch.compiler.is_compiling() and not bool(torch.as_tensor(M >= 1).all()):
        raise ValueError(f"M: expected a width of at least 1, got {M}")
    return torch.sigmoid(signed_root(gain * cosine * M**0.5, root))


def cosine_for(alpha: float, M: int, root: str | None = None, gain: float = 1.0) -> float:
    """The cosine at which the gate stands at `alpha`; beyond ±1 no angle is enough.

    Raises:
        ValueError: an `alpha` that no sigmoid reaches, another `root`, a width or gain that is not above 0.
    """
    if not (M > 0 and gain > 0):
        raise ValueError(f"M, gain: expected numbers above 0, got {M}, {gain}")
    if not 0 < alpha < 1 or root not in ROOTS:
        raise ValueError(f"alpha, root: expected a share between 0 and 1 and one of {ROOTS}, got {alpha}, {root!r}")
    logit = log(alpha / (1 - alpha))
    return (logit if root is None else logit * abs(logit)) / (gain * sqrt(M))


class ContextGate(nn.Module):
    """`context_gate` with its learned gains, one per branch and dimension."""

    def __init__(self, C: int, M: int, root: str | None = None) -> None:
        super().__init__()
        if root not in ROOTS:
            raise ValueError(f"root: expected one of {ROOTS}, got {root!r}")
        self.h_gain, self.k_gain = nn.Parameter(torch.ones(C, M)), nn.Parameter(torch.ones(C, M))
        self.root = root

    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """See `context_gate`."""
        return context_gate(h, k, self.h_gain, self.k_gain, self.root)


class HiddenGate(nn.Module):
    """A gate that does not ask the memory: the formula of `context_gate` with one learned key per branch."""

    def __init__(self, C: int, M: int) -> None:
        super().__init__()
        self.key = nn.Parameter(torch.randn(C, M))

    @meaning("6 gate")
    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """α from `h` alone; `k` is not looked at."""
        C, M = self.key.shape
        checks.shapes(h=(h, f"B L {C} {M}"))
        score = (rms_norm(h) * self.key).sum(-1) / sqrt(h.shape[-1])
        checks.overflow("key", score)
        return _alpha(torch.sigmoid(score), eq="α = σ(RMSNorm(h) · w / √M)")


class ConstantGate(nn.Module):
    """One learned number per branch, whatever the token: what LayerScale would be, for a whole branch."""

    def __init__(self, C: int) -> None:
        super().__init__()
        self.logit = nn.Parameter(torch.zeros(C))

    @meaning("6 gate")
    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """α from nothing; of `h` only the shape matters."""
        checks.shapes(h=(h, f"B L {len(self.logit)} M"))
        return _alpha(torch.sigmoid(self.logit).expand(h.shape[:3]), eq="α = σ(b)")


class OpenGate(nn.Module):
    """No gate: α = 1."""

    @meaning("6 gate")
    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """Ones; of `h` only the shape matters."""
        return _alpha(torch.ones_like(h[..., 0]), eq="α = 1")
