"""Every handle of the book on one small matrix of scores, in the order in which they act.

    scores = τ z + δ                                    Non-stationary Transformer: one factor, one number per key
    A      = softmax(scores + S̃ ⊙ A_g + log(S̃ + δ₀))    KITE, Eq. 13: content and price of a prior
    out    = α ⊙ A v,   α = sigmoid(g)                  Engram, Eq. 4: a door behind the softmax, one per query
    v̂      = plain + ω (out - plain)                    guidance, outside the network

No model uses them all at once; here they meet so that each can be moved while the others rest. Rows ask and columns
answer, on KITE's axes N and D. KITE's δ is `floor` here, because δ is a vector of the Non-stationary Transformer.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.kite.flow import guide
from tsattn_mini.kite.gate import DELTA, knowledge_guided
from tsattn_mini.trace import step


def modulate(z: Float[Tensor, "N D"], v: Float[Tensor, "D W"], *, tau: float | Float[Tensor, ""] = 1.0,
             delta: Float[Tensor, " D"] | None = None, A_g: Float[Tensor, "N D"] | None = None,
             S: Float[Tensor, "N D"] | None = None, floor: float | Float[Tensor, ""] = DELTA,
             g: Float[Tensor, " N"] | None = None, omega: float | Float[Tensor, ""] = 1.0) -> Float[Tensor, "N W"]:
    """What the queries take home once every handle has acted; each left out rests, and all at rest is plain attention.

    Args:
        z: scores, already divided by √E; v: one value per key.
        tau: τ, one factor for all scores; delta: δ, one shift per key.
        S: the prior of every pair, in [0, 1], all ones at rest; A_g: what it lets through, scores of a second query.
        floor: KITE's δ, what a prior of 0 is worth.
        g: the score of every query's gate, α = sigmoid(g); left out, α is 1.
        omega: ω, how far to go from the plain answer to the modulated one; 1 arrives.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite, and what `knowledge_guided` and `guide` refuse.

    >>> import torch
    >>> z, v = torch.zeros(1, 2), torch.tensor([[0.0], [1.0]])
    >>> modulate(z, v).item()  # all handles at rest: the mean
    0.5
    >>> round(modulate(z, v, delta=torch.tensor([0.0, 3.0])).item(), 3)  # e³ : 1 for the second key
    0.953
    """
    checks.shapes(z=(z, "N D"), v=(v, "D W"), delta=(delta, "D"), A_g=(A_g, "N D"), S=(S, "N D"), g=(g, "N"))
    checks.required(z=z, v=v)
    checks.floating(z=z, v=v, delta=delta, A_g=A_g, g=g)
    checks.finite(z=z, v=v, delta=delta, A_g=A_g, g=g)
    checks.number(tau=tau, floor=floor, omega=omega)
    z = step("z", z, axes="N D", eq="q · k / √E", note="Plain scores: nobody has touched them.")
    plain = step("plain", torch.softmax(z, dim=-1) @ v, axes="N W", eq="softmax(z) v",
                 note="The answer without any handle.")
    scores = tau * z + (torch.zeros_like(z[0]) if delta is None else delta)
    scores = step("scores", scores, axes="N D", eq="τ z + δ", note="One factor for everything, one shift per column.")
    A_g, S = torch.zeros_like(z) if A_g is None else A_g, torch.ones_like(z) if S is None else S
    A = knowledge_guided(scores, A_g, S, floor)
    alpha = torch.ones_like(z[:, 0]) if g is None else torch.sigmoid(g)
    alpha = step("alpha", alpha, axes="N", eq="α = sigmoid(g)", note="A door for each query. It may stay shut.")
    spent = step("spent", alpha[:, None] * A, axes="N D", eq="α ⊙ A", note="What is left of each row's unit.")
    out = step("out", spent @ v, axes="N W", eq="(α ⊙ A) v", note="The answer with all handles inside the network.")
    return step("answer", guide(plain, out, omega), axes="N W", eq="plain + ω (out - plain)",
                note="Along the line through both answers, past the second if ω is above 1.")
