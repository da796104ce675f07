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
        ValueError: integers, numbers whose squares leave the range of the dtype, a gain that takes them out of it, an
            ε below 0, or zeros without an ε.

    >>> rms_norm(torch.tensor([3.0, 4.0]))  # divided by √12.5
    tensor([0.8485, 1.1314])
    """
    checks.required(x=x)
    checks.floating(x=x, gain=gain)
    _check_gain(x, gain)
    checks.finite(gain=gain)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    eps = torch.finfo(wide.dtype).eps if eps is None else eps
    checks.number(eps=eps)
    mean = wide.square().mean(-1, keepdim=True)
    if not torch.compiler.is_compiling() and not bool(torch.isfinite(mean).all()):
        raise ValueError(f"x: expected numbers with squares in {wide.dtype}, got {float(x.detach().abs().max()):.1e}")
    _check_eps(eps, mean)
    normed = (wide / (mean + eps).sqrt()).to(x.dtype)
    if gain is None:
        return normed
    scaled = normed * gain
    checks.overflow("gain", scaled)
    return scaled


def _check_gain(x: Tensor, gain: Tensor | None) -> None:
    if gain is not None and (gain.ndim > x.ndim or gain.shape != x.shape[x.ndim - gain.ndim:]):
        raise ValueError(f"gain: expected the last axes of x, {tuple(x.shape)}, got shape {tuple(gain.shape)}")


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

    >>> signed_root(torch.tensor([-4.0, 0.0, 9.0]), "sign").round(decimals=2).tolist()
    [-2.0, 0.0, 3.0]
    """
    if root not in ROOTS:
        raise ValueError(f"root: expected one of {ROOTS}, got {root!r}")
    checks.floating(score=score)
    checks.finite(score=score)
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

    >>> h = torch.ones(1, 1, 1, 4)
    >>> [round(context_gate(h, k).item(), 3) for k in (h, -h)]  # sigmoid(±√4)
    [0.881, 0.119]
    """
    checks.required(h=h, k=k)
    checks.shapes(h=(h, "B L C M"), k=(k, "B L C M"), h_gain=(h_gain, "C M"), k_gain=(k_gain, "C M"))
    checks.floating(h=h, k=k, h_gain=h_gain, k_gain=k_gain)
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

    >>> angle_gate(torch.tensor([-1.0, 0.0, 1.0]), M=4)  # against, unrelated, along
    tensor([0.1192, 0.5000, 0.8808])
    """
    checks.required(cosine=cosine)
    checks.floating(cosine=cosine)
    checks.finite(cosine=cosine)
    checks.number(**{name: x for name, x in (("M", M), ("gain", gain)) if not isinstance(x, Tensor)})
    if not torch.compiler.is_compiling() and not bool(torch.as_tensor(M >= 1).all()):
        raise ValueError(f"M: expected a width of at least 1, got {M}")
    return torch.sigmoid(signed_root(gain * cosine * M**0.5, root))


def cosine_for(alpha: float, M: int, root: str | None = None, gain: float = 1.0) -> float:
    """The cosine at which the gate stands at `alpha`; beyond ±1 no angle is enough.

    Raises:
        ValueError: an `alpha` that no sigmoid reaches, another `root`, a width or gain that is not above 0.

    >>> round(cosine_for(0.9, M=1024), 3)  # in a wide model a small angle opens the gate
    0.069
    """
    checks.number(alpha=alpha, M=M, gain=gain)
    if not (M > 0 and gain > 0):
        raise ValueError(f"M, gain: expected numbers above 0, got {M}, {gain}")
    if not 0 < alpha < 1 or root not in ROOTS:
        raise ValueError(f"alpha, root: expected a share between 0 and 1 and one of {ROOTS}, got {alpha}, {root!r}")
    logit = log(alpha / (1 - alpha))
    return (logit if root is None else logit * abs(logit)) / (gain * sqrt(M))


class ContextGate(nn.Module):
    """`context_gate` with its learned gains, one per branch and dimension.

    Raises:
        ValueError: a `root` that is not known.
    """

    def __init__(self, C: int, M: int, root: str | None = None) -> None:
        super().__init__()
        if root not in ROOTS:
            raise ValueError(f"root: expected one of {ROOTS}, got {root!r}")
        checks.counts(C=C, M=M)
        self.h_gain, self.k_gain = nn.Parameter(torch.ones(C, M)), nn.Parameter(torch.ones(C, M))
        self.root = root

    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """See `context_gate`."""
        return context_gate(h, k, self.h_gain, self.k_gain, self.root)


class HiddenGate(nn.Module):
    """A gate that does not ask the memory: the formula of `context_gate` with one learned key per branch."""

    def __init__(self, C: int, M: int) -> None:
        super().__init__()
        checks.counts(C=C, M=M)
        self.key = nn.Parameter(torch.randn(C, M))

    @meaning("6 gate")
    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """α from `h` alone; `k` is not looked at.

        Raises:
            ValueError: a shape that does not fit, or entries so large that the score overflows.
        """
        C, M = self.key.shape
        checks.shapes(h=(h, f"B L {C} {M}"))
        checks.required(h=h)
        checks.floating(self.key.dtype, h=h)
        checks.finite(h=h)
        score = (rms_norm(h) * self.key).sum(-1) / sqrt(h.shape[-1])
        checks.overflow("key", score)
        return _alpha(torch.sigmoid(score), eq="α = σ(RMSNorm(h) · w / √M)")


class ConstantGate(nn.Module):
    """One learned number per branch, whatever the token: what LayerScale would be, for a whole branch."""

    def __init__(self, C: int) -> None:
        super().__init__()
        checks.counts(C=C)
        self.logit = nn.Parameter(torch.zeros(C))

    @meaning("6 gate")
    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """α from nothing; of `h` only the shape matters.

        Raises:
            ValueError: a shape that does not fit.
        """
        checks.shapes(h=(h, f"B L {len(self.logit)} M"))
        return _alpha(torch.sigmoid(self.logit).expand(h.shape[:3]), eq="α = σ(b)")


class OpenGate(nn.Module):
    """No gate: α = 1.

    >>> h = torch.zeros(1, 2, 1, 4)
    >>> OpenGate()(h, h).flatten().tolist()
    [1.0, 1.0]
    """

    @meaning("6 gate")
    def forward(self, h: Float[Tensor, "B L C M"], k: Float[Tensor, "B L C M"]) -> Float[Tensor, "B L C"]:
        """Ones; of `h` only the shape matters."""
        return _alpha(torch.ones_like(h[..., 0]), eq="α = 1")
