"""The one line of KITE that weighs data against a prior, used by the paper's form and by the released one.

Source: KITE, Eq. 13, as the lecture note has it: A = softmax(A_b + S̃ ⊙ A_g + log(S̃ + δ)). Written as a product,
every row is proportional to (S̃ + δ) · e^A_b · (e^A_g)^S̃: a prior times what the data say.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.trace import step

DELTA = 1e-6
WORDS = {2: "N D", 3: "B N D", 4: "B H L D"}  # the axes of a table of scores by its rank


def knowledge_guided(A_b: Float[Tensor, "*B N D"], A_g: Float[Tensor, "*B N D"], S: Float[Tensor, "*#B #N D"],
                     delta: float | Float[Tensor, ""] = DELTA, mask: Bool[Tensor, "*#B #N D"] | None = None, *,
                     gate_weight: float | Float[Tensor, ""] = 1.0, bounded: bool = True) -> Float[Tensor, "*B N D"]:
    """softmax(A_b + S ⊙ A_g + g · log(S + δ)), Eq. 13: the weights, every row adding up to 1.

    The gate log(S + δ) is a price of at most log 1/δ, and a row in which S is constant pays nothing at all.
    Any of the three terms is left out by a zero: A_b = 0, A_g = 0 or g = 0.

    Args:
        S: the prior, in [0, 1]; an axis of size 1 is shared.
        delta: δ, what a prior of 0 is worth.
        mask: True for a pair that must get weight 0 whatever its score; what the gate never is.
        gate_weight: g; the paper has 1. The gate is the base measure (S + δ)^g.
        bounded: False lets entries of S exceed 1, as the released code does.
    Raises:
        ValueError: shapes that do not fit, scores that are no floating-point numbers, a prior outside [0, 1], δ below
            the smallest number of the dtype, entries that are not finite, or scores that leave the number range.
    Warns:
        RuntimeWarning: when `mask` leaves a row without any key: its weights are 0.

    >>> zero = torch.zeros(1, 2)
    >>> knowledge_guided(zero, zero, torch.tensor([[1.0, 0.5]]))  # the prior's own shares, 2 : 1
    tensor([[0.6667, 0.3333]])
    >>> knowledge_guided(zero, zero, torch.tensor([[0.3, 0.3]]))  # the same for all: it changes nothing
    tensor([[0.5000, 0.5000]])
    """
    checks.required(A_b=A_b, A_g=A_g)
    words = WORDS.get(A_b.ndim, "N D")
    checks.shapes(A_b=(A_b, words), A_g=(A_g, words))
    checks.floating(A_b=A_b, A_g=A_g)
    check_prior(S, A_b, bounded)
    check_delta(delta, A_b.dtype)
    checks.number(gate_weight=gate_weight)
    checks.finite(A_b=A_b, A_g=A_g)
    A_b = step("A_b", A_b, axes=words, eq="Eq. 11: q₁ · k / √d", note="What the data say, for every pair.")
    A_g = step("A_g", A_g, axes=words, eq="Eq. 12: q₂ · k / √d", note="A second opinion, also from the data.")
    S = step("S", S.to(A_b.dtype), axes=_shared(words, S, A_b), eq="S̃ = Norm(|S|)",
             note="The prior: one number a pair, computed before and not learned.")
    S_A_g = step("S_A_g", S * A_g, axes=words, eq="S̃ ⊙ A_g", note="Content: the second opinion, as loud as the prior.")
    gate = step("gate", (S + delta).log() * gate_weight, axes=_shared(words, S, A_b), eq="log(S̃ + δ)",
                note="A bias: it knows the prior and nothing of the data.")
    logits = A_b + S_A_g + gate
    if not torch.compiler.is_compiling() and not bool(logits.isfinite().all()):
        raise ValueError(f"A_b, A_g: expected scores within the range of {checks.dtype_name(A_b.dtype)}, "
                         "got an overflow")
    return _weights(logits, mask, words)


def _weights(logits: Tensor, mask: Tensor | None, words: str) -> Tensor:
    if mask is None:
        logits = step("logits", logits, axes=words, eq="A_b + S̃ ⊙ A_g + log(S̃ + δ)", note="The three terms added up.")
        return step("A", torch.softmax(logits, dim=-1), axes=words, eq="Eq. 13: softmax(logits)",
                    note="Each row spends exactly one unit of attention.")
    _check_shared("mask", mask, logits)
    empty = mask.all(-1, keepdim=True)
    checks.warn_empty_rows(empty[..., 0])
    logits = step("logits", logits.masked_fill(mask, -torch.inf), axes=words,
                  eq="A_b + S̃ ⊙ A_g + log(S̃ + δ), or -∞", note="A masked pair stands at -∞: no lead buys it back.")
    return step("A", torch.softmax(logits, dim=-1).masked_fill(empty, 0.0), axes=words, eq="Eq. 13: softmax(logits)",
                note="Each row spends one unit of attention, or none if all its keys are masked.")


def check_prior(S: Tensor, A: Tensor, bounded: bool = True) -> None:
    """Check that a prior fits the scores `A` and lies in [0, 1], or is at least not negative.

    Raises:
        ValueError: naming the first entry that is outside.

    >>> check_prior(torch.tensor([[1.5]]), torch.tensor([[0.0]]))
    Traceback (most recent call last):
        ...
    ValueError: S: expected a prior between 0 and 1, got 1.5 at index (0, 0); normalise it first
    """
    if torch.compiler.is_compiling():
        return
    _check_shared("S", S, A)
    checks.finite(S=S)
    bad = (S < 0) | ((S > 1) & bounded)
    if bool(bad.any()):
        at = tuple(bad.nonzero()[0].tolist())
        wanted = "between 0 and 1" if bounded else "of 0 or more"
        raise ValueError(f"S: expected a prior {wanted}, got {S[at].item()} at index {at}; normalise it first")


def check_delta(delta: float | Tensor, dtype: torch.dtype) -> None:
    """Check that δ is a number of `dtype` above 0, so that log δ is finite.

    Raises:
        ValueError: naming the smallest number of the dtype.
    """
    if torch.compiler.is_compiling():
        return
    checks.number(delta=delta)
    limits = torch.finfo(dtype)
    floor = limits.smallest_normal * limits.eps
    if not floor <= checks.scalar(delta) <= limits.max:
        raise ValueError(f"delta: expected at least {floor:.1e}, the smallest number of {checks.dtype_name(dtype)} "
                         f"above 0, and at most {limits.max:.1e}, got {checks.scalar(delta)}")


def _check_shared(name: str, x: Tensor, A: Tensor) -> None:
    """`x` has the axes of `A`, each as long or of size 1; the last is never shared."""
    fits = isinstance(x, Tensor) and x.ndim == A.ndim and x.shape[-1] == A.shape[-1] and all(
        a in (1, b) for a, b in zip(x.shape, A.shape, strict=True))
    if not fits:
        got = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"{name}: expected the scores' shape {tuple(A.shape)}, or 1 where an axis is shared, "
                         f"got {got}")
    checks.shapes(**{name: (x, WORDS[x.ndim])})
    if name == "mask" and x.dtype != torch.bool:
        raise ValueError(f"mask: expected True/False, got dtype {checks.dtype_name(x.dtype)}")


def _shared(words: str, x: Tensor, A: Tensor) -> str:
    return " ".join("1" if a < b else word for word, a, b in zip(words.split(), x.shape, A.shape, strict=True))
