"""The router of DUET: a raw window asks for k of N experts, with noise while it trains, and a price on favourites.

Sources: X. Qiu et al., "DUET" (KDD 2025), temporal clustering; N. Shazeer et al., "Outrageously Large Neural
Networks" (ICLR 2017), section 4 and appendix A, for the noisy top-k gate and the load it expects.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.trace import meaning, step

LEAST_NOISE = 1e-2  # added to the noise's standard deviation, which therefore never dies


class Scores(nn.Module):
    """W₂ relu(W₁ x): one score per expert from a window, without biases."""

    def __init__(self, T: int, hidden: int, N: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(T, hidden, bias=False), nn.Linear(hidden, N, bias=False)

    def forward(self, x: Float[Tensor, "B V T"]) -> Float[Tensor, "B V N"]:
        """W₂ relu(W₁ x): a score for each of N experts."""
        hidden = F.relu(F.linear(x, self.up.weight.to(x.dtype)))
        return F.linear(hidden, self.down.weight.to(x.dtype))


def first(scores: Float[Tensor, "*rows N"], k: int) -> Bool[Tensor, "*rows N"]:
    """True for the `k` largest of every row. Of equal scores the one further left comes first.

    >>> first(torch.tensor([3.0, 1.0, 3.0, 2.0]), k=2).int().tolist()
    [1, 0, 1, 0]
    """
    N = scores.shape[-1]
    ahead = scores[..., None, :] > scores[..., :, None]
    level = scores[..., None, :] == scores[..., :, None]
    left = torch.ones(N, N, dtype=torch.bool, device=scores.device).tril(-1)
    return (ahead | (level & left)).sum(-1) < k


def squared_variation(x: Shaped[Tensor, " N"]) -> Float[Tensor, ""]:
    """Variance over squared mean: 0 if all experts get the same. The variance is the unbiased one; one expert has 0.

    >>> squared_variation(torch.ones(4)).item(), squared_variation(torch.tensor([4.0, 0.0, 0.0, 0.0])).item()
    (0.0, 4.0)
    """
    x = x if x.is_floating_point() else x.to(torch.float32)
    return x.var() / (x.mean().square() + 1e-10) if len(x) > 1 else x.sum() * 0


class Router(nn.Module):
    """gates = the k largest of softmax((W₂ relu(W₁ x) + noise) W_h), divided by their sum.

    Args:
        T: steps of a window; N: experts; k: experts that a window gets, 1 to N; hidden: width in between.
        mix_in_eval: W_h acts with and without noise. The released code leaves it out without noise, so what it
            learned in training is missing later.
        one_scale: the load compares scores with scores. The released code compares them with probabilities.
        eps: added to the sum of the kept probabilities; 1e-6 in the released code.
    Raises:
        ValueError: sizes that are no whole numbers of at least 1, k outside 1 … N, or eps outside 0 … 1.
    """

    def __init__(self, T: int, N: int, k: int, hidden: int = 256, *, mix_in_eval: bool = True,
                 one_scale: bool = True, eps: float = 0.0) -> None:
        super().__init__()
        checks.counts(T=T, N=N, hidden=hidden)
        checks.number(eps=eps)
        if not checks.whole(k) or not 1 <= k <= N:
            raise ValueError(f"k: expected 1 to N={N} experts, got {k!r}")
        if not 0 <= eps < 1:
            raise ValueError(f"eps: expected a small number, 0 or more, got {eps}")
        self.T, self.N, self.k = T, N, k
        self.mix_in_eval, self.one_scale, self.eps = mix_in_eval, one_scale, eps
        self.scores, self.spread = Scores(T, hidden, N), Scores(T, hidden, N)
        self.W_h = nn.Parameter(torch.eye(N))

    @meaning("route")
    def forward(self, x: Float[Tensor, "B V T"],
                noise: Float[Tensor, "B V N"] | None = None) -> tuple[Float[Tensor, "B V N"], Float[Tensor, ""]]:
        """The gates of every window, and the price of an uneven load.

        Args:
            x: raw windows: level and scale are what the router may go by.
            noise: draws from a standard normal; None for none.
        Raises:
            ValueError: shapes that do not fit, entries that are not finite, or scores beyond the number range.
        """
        checks.required(x=x)
        checks.shapes(x=(x, f"B V {self.T}"), noise=(noise, f"B V {self.N}"))
        checks.floating(x=x)
        checks.floating(noise=noise)
        checks.finite(x=x, noise=noise)
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        W_h, spread = self.W_h.to(x.dtype), None
        clean = step("scores", self.scores(x), axes="B V N", eq="W₂ relu(W₁ x)",
                     note="How well each expert suits the window, from its raw values.")
        noisy = clean
        if noise is not None:
            spread = step("spread", F.softplus(self.spread(x)) + LEAST_NOISE, axes="B V N",
                          eq="softplus(W₄ relu(W₃ x)) + 0.01", note="How much noise the window asks for.")
            noisy = step("noisy", clean + noise.to(x.dtype) * spread, axes="B V N", eq="scores + ε ⊙ spread",
                         note="In training a near miss is tried now and then.")
        mixed = noisy
        if noise is not None or self.mix_in_eval:
            mixed = step("mixed", noisy @ W_h, axes="B V N", eq="scores W_h",
                         note="A learned matrix between the experts; it starts as the identity.")
        checks.overflow("x", mixed)
        probs = step("probs", torch.softmax(mixed, dim=-1), axes="B V N", eq="softmax(scores)",
                     note="All experts still share the window.")
        kept = step("kept", first(mixed, self.k), axes="B V N", eq="the k largest",
                    note="The others will not be heard.")
        top = probs * kept
        gates = step("gates", top / (top.sum(-1, keepdim=True) + self.eps), axes="B V N", eq="kept probs / their sum",
                     note="What each expert's answer will be multiplied by.")
        return gates, self._balance(gates, self._load(clean, noisy, mixed, probs, spread, gates))

    def _load(self, clean: Tensor, noisy: Tensor, mixed: Tensor, probs: Tensor, spread: Tensor | None,
              gates: Tensor) -> Shaped[Tensor, " N"]:
        """Windows per expert; with noise the number to expect if each score were drawn once more."""
        if spread is None or self.k == self.N:
            return step("load", (gates > 0).sum((0, 1)), axes="N", eq="windows per expert",
                        note="A count: nothing to learn from.")
        ladder = probs
        if self.one_scale:
            W_h = self.W_h.to(clean.dtype)
            clean, noisy, ladder = clean @ W_h, mixed, mixed
            unit = spread.detach().amax(-1, keepdim=True)  # a square of very wide noise would leave the number range
            spread = unit * ((spread / unit).square() @ W_h.square()).sqrt()
        top = ladder.topk(self.k + 1).values
        rival, last = top[..., self.k:], top[..., self.k - 1:self.k]
        chance = torch.special.ndtr((clean - torch.where(noisy > rival, rival, last)) / spread)
        return step("load", chance.sum((0, 1)), axes="N", eq="Σ Φ((scores - rival) / spread)",
                    note="A smooth count, so that it can be learned from.")

    def _balance(self, gates: Tensor, load: Tensor) -> Float[Tensor, ""]:
        importance = step("importance", gates.sum((0, 1)), axes="N", eq="Σ gates",
                          note="How much of the batch each expert decides.")
        return step("balance", squared_variation(importance) + squared_variation(load), axes="",
                    eq="cv²(importance) + cv²(load)", note="Added to the loss, so that no expert is forgotten.")
