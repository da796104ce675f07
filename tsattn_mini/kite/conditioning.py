"""Knowledge-guided conditioning: a table of correlations leans on cross-attention.

Source: KITE, Eq. 10-14, in the form of the lecture note and, as `KnowledgeGuidedAttention`, in the form of the
released code (decisionintelligence/KITE). The paper's text was not at hand; the numbers of the equations are
the note's.

    score_ij = q_i (W1 + s_ij W2) k_jᵀ                                       Eq. 10
    A_b = (Y_s W1q)(X W1k)ᵀ / √d,    A_g = (Y_s W2q)(X W2k)ᵀ / √d            Eq. 11, 12
    A   = softmax(A_b + S̃ ⊙ A_g + log(S̃ + δ)),    each row proportional to (S̃ + δ) e^A_b (e^A_g)^S̃    Eq. 13
    Ỹ_s = A X W_v + Y_s                                                      Eq. 14

N endogenous variables ask, D exogenous ones answer. A state Y_s has the F steps of the horizon, X the T steps
of the past, and for the future covariates T = F. S̃, here `S`, is the prior after its normalisation.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.kite.gate import DELTA, check_delta, check_prior, knowledge_guided
from tsattn_mini.trace import meaning, scope, step


def bilinear_scores(q: Float[Tensor, "*B N F"], k: Float[Tensor, "*B D T"], W1: Float[Tensor, "F T"],
                    W2: Float[Tensor, "F T"], S: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N D"]:
    """q_i (W1 + s_ij W2) k_jᵀ with one matrix formed for every pair, Eq. 10: N·D·F·T numbers.

    Nothing is divided by √d: where the matrices are products, W1 = W1q W1kᵀ / √d holds it.

    Raises:
        ValueError: shapes or dtypes that do not fit, entries that are not finite, a bad prior, an overflow.
    """
    checks.required(q=q, k=k, W1=W1, W2=W2, S=S)
    lead = "B " if q.ndim == 3 else ""
    checks.shapes(q=(q, f"{lead}N F"), k=(k, f"{lead}D T"), W1=(W1, "F T"), W2=(W2, "F T"), S=(S, f"{lead}N D"))
    checks.floating(q=q, k=k, W1=W1, W2=W2)
    checks.finite(q=q, k=k, W1=W1, W2=W2)
    check_prior(S, S)
    W = step("W", W1 + S.to(W2.dtype)[..., None, None] * W2, axes=f"{lead}N D F T", eq="W1 + s_ij W2",
             note="A matrix of its own for every pair.")
    scores = step("scores", einsum("...if,...ijft,...jt->...ij", q, W, k), axes=f"{lead}N D",
                  eq="Eq. 10: q_i (W1 + s_ij W2) k_jᵀ", note="Every pair meets in its own matrix.")
    checks.overflow("q, k, W1, W2", scores)
    return scores


def inject(A: Float[Tensor, "B N D"], X_exo: Float[Tensor, "B D T"], Y_s: Float[Tensor, "B N F"],
           W_v: nn.Linear) -> Float[Tensor, "B N F"]:
    """A X_exo W_v + Y_s, Eq. 14.

    Raises:
        ValueError: shapes that do not fit, another dtype than that of `W_v`, entries that are not finite, or a sum that
            leaves the range of its dtype.
    """
    checks.shapes(A=(A, "B N D"), X_exo=(X_exo, f"B D {W_v.in_features}"), Y_s=(Y_s, f"B N {W_v.out_features}"))
    checks.required(A=A, X_exo=X_exo, Y_s=Y_s)
    _check_numbers(W_v, A=A, X_exo=X_exo, Y_s=Y_s)
    AX = step("AX", A @ X_exo, axes="B N T", eq="A X_exo", note="A mixture of the covariates' histories.")
    AXW = step("AXW", W_v(AX), axes="B N F", eq="A X_exo W_v", note="From the past's T steps to the horizon's F.")
    Y_tilde = step("Y_tilde", AXW + Y_s, axes="B N F", eq="Eq. 14: A X_exo W_v + Y_s",
                   note="The state, having listened; it is added to, never replaced.")
    checks.overflow("X_exo, Y_s", Y_tilde)
    return Y_tilde


class KnowledgeGuidedConditioning(nn.Module):
    """Eq. 11 to 14: the state asks, the covariates answer, the prior leans on it.

    With `shared_key` both branches use the key W1k, as the released code does. Then, and only then, the prior
    acts like another query projection: q₁·k + s q₂·k = (q₁ + s q₂)·k.

    Args:
        T: steps of a covariate; for the future side give T = F. F: steps of the state. d: width of both branches.
    """

    def __init__(self, T: int, F: int, d: int, shared_key: bool = False, delta: float = DELTA) -> None:
        super().__init__()
        checks.counts(T=T, F=F, d=d)
        check_delta(delta, torch.float64)
        self.T, self.F, self.d, self.delta = T, F, d, delta
        self.W1q, self.W2q = (nn.Linear(F, d, bias=False) for _ in range(2))
        self.W1k = nn.Linear(T, d, bias=False)
        self.W2k = None if shared_key else nn.Linear(T, d, bias=False)
        self.W_v = nn.Linear(T, F, bias=False)

    def forward(self, Y_s: Float[Tensor, "B N F"], X_exo: Float[Tensor, "B D T"], S: Float[Tensor, "B N D"],
                mask: Bool[Tensor, "B N D"] | None = None) -> Float[Tensor, "B N F"]:
        """Ỹ_s. `S` is already normalised; `mask` as in `knowledge_guided`.

        Raises:
            ValueError: what `branches` and `knowledge_guided` refuse.
        """
        checks.shapes(Y_s=(Y_s, f"B N {self.F}"), X_exo=(X_exo, f"B D {self.T}"), S=(S, "B N D"), mask=(mask, "B N D"))
        checks.required(S=S)
        A_b, A_g = self.branches(Y_s, X_exo)
        with meaning("guide"):
            A = knowledge_guided(A_b, A_g, S, self.delta, mask)
        return self.inject(A, X_exo, Y_s)

    @meaning("compare")
    def branches(self, Y_s: Float[Tensor, "B N F"], X_exo: Float[Tensor, "B D T"]
                 ) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
        """A_b and A_g, two attentions' scores over the same pairs.

        Raises:
            ValueError: shapes or dtypes that do not fit, or entries that are not finite.
        """
        checks.required(Y_s=Y_s, X_exo=X_exo)
        checks.shapes(Y_s=(Y_s, f"B N {self.F}"), X_exo=(X_exo, f"B D {self.T}"))
        _check_numbers(self.W1q, Y_s=Y_s, X_exo=X_exo)
        q1 = step("q1", self.W1q(Y_s), axes="B N d", eq="Y_s W1q", note="What each endogenous variable asks.")
        k1 = step("k1", self.W1k(X_exo), axes="B D d", eq="X_exo W1k", note="What each covariate answers to.")
        q2 = step("q2", self.W2q(Y_s), axes="B N d", eq="Y_s W2q", note="The question of the guided branch.")
        k2 = k1 if self.W2k is None else step("k2", self.W2k(X_exo), axes="B D d", eq="X_exo W2k",
                                              note="The key of the guided branch.")
        A_b, A_g = q1 @ k1.mT / self.d ** 0.5, q2 @ k2.mT / self.d ** 0.5
        checks.overflow("Y_s, X_exo", A_b, A_g)
        return A_b, A_g

    @meaning("inject")
    def inject(self, A: Float[Tensor, "B N D"], X_exo: Float[Tensor, "B D T"],
               Y_s: Float[Tensor, "B N F"]) -> Float[Tensor, "B N F"]:
        """Ỹ_s from weights that were made elsewhere."""
        return inject(A, X_exo, Y_s, self.W_v)

    def matrices(self) -> tuple[Float[Tensor, "F T"], Float[Tensor, "F T"]]:
        """W1 = W1q W1kᵀ / √d and W2 = W2q W2kᵀ / √d: the matrices of Eq. 10, of rank d at most."""
        k2 = self.W1k if self.W2k is None else self.W2k
        pairs = ((self.W1q, self.W1k), (self.W2q, k2))
        W1, W2 = (q.weight.mT @ k.weight / self.d ** 0.5 for q, k in pairs)
        return W1, W2


class HistoryThenFuture(nn.Module):
    """The past of the covariates is injected first, then their future, each side with its own weights.

    With `future=False` there is no second side. These are two models, not one with an optional input: each
    refuses what the other needs.
    """

    def __init__(self, T: int, F: int, d: int, future: bool = True, shared_key: bool = False,
                 delta: float = DELTA) -> None:
        super().__init__()
        self.history = KnowledgeGuidedConditioning(T, F, d, shared_key, delta)
        self.future = KnowledgeGuidedConditioning(F, F, d, shared_key, delta) if future else None

    def forward(self, Y_s: Float[Tensor, "B N F"], X_exo: Float[Tensor, "B D T"],
                Y_exo: Float[Tensor, "B D F"] | None, S: Float[Tensor, "B N D"],
                S_future: Float[Tensor, "B N D"] | None = None) -> Float[Tensor, "B N F"]:
        """Ỹ_s after both sides. Without `S_future` both lean on the same prior, as in the released code.

        Raises:
            ValueError: a model built with a future gets none, or one built without gets one.
        """
        check_future(Y_exo, self.future is not None)
        with scope("history"):
            Y_tilde = self.history(Y_s, X_exo, S)
        if self.future is None:
            return Y_tilde
        with scope("future"):
            return self.future(Y_tilde, Y_exo, S if S_future is None else S_future)


class KnowledgeGuidedAttention(nn.Module):
    """The released form: model width, heads, one shared key, a learned vector per covariate.

    k and v come from exo + variable, q₁ and q₂ from x, all without a bias; what the heads took home passes
    Linear, SiLU, Linear. The prior comes already normalised; the released vector field takes a softmax over D.

    Args:
        M: model width; H: heads, a divisor of M; D: how many covariates, each with its own vector.
        bounded: see `knowledge_guided`.
    Raises:
        ValueError: when H does not divide M, or a size is below 1.
    """

    def __init__(self, M: int, H: int, D: int, delta: float = DELTA, bounded: bool = True) -> None:
        super().__init__()
        checks.counts(M=M, H=H, D=D)
        check_delta(delta, torch.float64)
        if M % H:
            raise ValueError(f"H: expected a divisor of the model width M={M}, got {H}")
        self.M, self.H, self.D, self.delta, self.bounded = M, H, D, delta, bounded
        self.variable = nn.Parameter(0.02 * torch.randn(1, D, M))
        self.q1, self.q2, self.k, self.v = (nn.Linear(M, M, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(M, M), nn.Linear(M, M)

    def forward(self, x: Float[Tensor, "B L M"], exo: Float[Tensor, "B D M"],
                w: Float[Tensor, "B 1 D"] | Float[Tensor, "B L D"]) -> Float[Tensor, "B L M"]:
        """States `x` ask, covariates `exo` answer, `w` is the prior, one row for all states or one row each.

        Raises:
            ValueError: shapes or dtypes that do not fit, or entries that are not finite.
        """
        checks.required(x=x, exo=exo, w=w)
        checks.shapes(x=(x, f"B L {self.M}"), exo=(exo, f"B {self.D} {self.M}"))
        rows = "1" if w.ndim == 3 and w.shape[1] == 1 else "L"
        checks.shapes(x=(x, "B L M"), w=(w, f"B {rows} {self.D}"))
        _check_numbers(self.q1, x=x, exo=exo)
        named = step("exo_named", exo + self.variable, axes="B D M", eq="exo + variable",
                     note="Each covariate with its learned vector: the values of an absent one are not zero.")
        heads = [layer(y).unflatten(-1, (self.H, -1)) for layer, y in
                 ((self.q1, x), (self.q2, x), (self.k, named), (self.v, named))]
        q1 = step("q1", heads[0], axes="B L H E", eq="x W1q", note="What each state asks.")
        q2 = step("q2", heads[1], axes="B L H E", eq="x W2q", note="What it asks in the guided branch.")
        k = step("k", heads[2], axes="B D H E", eq="(exo + variable) W_k", note="One key for both branches.")
        v = step("v", heads[3], axes="B D H E", eq="(exo + variable) W_v", note="What each covariate gives.")
        A_b, A_g = (einsum("blhe,bdhe->bhld", q, k) / q.shape[-1] ** 0.5 for q in (q1, q2))
        checks.overflow("x, exo", A_b, A_g)
        A = knowledge_guided(A_b, A_g, w[:, None], self.delta, bounded=self.bounded)
        out = step("out", einsum("bhld,bdhe->blhe", A, v), axes="B L H E", eq="A V",
                   note="The covariates' values, mixed head by head.")
        hidden = nn.functional.silu(self.up(out.flatten(-2)))
        y = step("y", self.down(hidden), axes="B L M", eq="W_o silu(W_u concat(heads) + b_u) + b_o",
                 note="What the state takes home.")
        checks.overflow("exo", y)
        return y


class ExogenousCrossAttention(nn.Module):
    """Cross-attention from the state to the covariates without any prior, in the manner of TimeXer.

    `KnowledgeGuidedConditioning` without A_g and without the gate. Left out: TimeXer's patches, heads and
    embeddings.
    """

    def __init__(self, T: int, F: int, d: int) -> None:
        super().__init__()
        checks.counts(T=T, F=F, d=d)
        self.T, self.F, self.d = T, F, d
        self.W_q, self.W_k, self.W_v = (nn.Linear(a, b, bias=False) for a, b in ((F, d), (T, d), (T, F)))

    def forward(self, Y_s: Float[Tensor, "B N F"], X_exo: Float[Tensor, "B D T"]) -> Float[Tensor, "B N F"]:
        """Ỹ_s from the data alone.

        Raises:
            ValueError: shapes or dtypes that do not fit, or entries that are not finite.
        """
        checks.shapes(Y_s=(Y_s, f"B N {self.F}"), X_exo=(X_exo, f"B D {self.T}"))
        _check_numbers(self.W_q, Y_s=Y_s, X_exo=X_exo)
        logits = step("logits", self.W_q(Y_s) @ self.W_k(X_exo).mT / self.d ** 0.5, axes="B N D", eq="q kᵀ / √d",
                      note="One score a pair, from the data alone.")
        checks.overflow("Y_s, X_exo", logits)
        A = step("A", torch.softmax(logits, dim=-1), axes="B N D", eq="softmax(logits)", note="The weights.")
        return inject(A, X_exo, Y_s, self.W_v)


class InputConcatenation(nn.Module):
    """The prior as one more input of the key: k_ij = [x_j ; s_ij] W_k.

    By the rows of W_k this adds s_ij (q_i · w) / √d to the score, w the last one: linear in the prior, and
    blind to what the covariate holds.
    """

    def __init__(self, T: int, F: int, d: int) -> None:
        super().__init__()
        checks.counts(T=T, F=F, d=d)
        self.T, self.F, self.d = T, F, d
        self.W_q, self.W_k, self.W_v = (nn.Linear(a, b, bias=False) for a, b in ((F, d), (T + 1, d), (T, F)))

    def forward(self, Y_s: Float[Tensor, "B N F"], X_exo: Float[Tensor, "B D T"],
                S: Float[Tensor, "B N D"]) -> Float[Tensor, "B N F"]:
        """Ỹ_s, with one key for every pair.

        Raises:
            ValueError: shapes or dtypes that do not fit, or entries that are not finite.
        """
        checks.shapes(Y_s=(Y_s, f"B N {self.F}"), X_exo=(X_exo, f"B D {self.T}"), S=(S, "B N D"))
        _check_numbers(self.W_q, Y_s=Y_s, X_exo=X_exo, S=S)
        check_prior(S, S)
        every_pair = X_exo[:, None].expand(-1, S.shape[1], -1, -1)
        pairs = step("pairs", torch.cat([every_pair, S[..., None]], dim=-1), axes="B N D T+1", eq="[x_j ; s_ij]",
                     note="The covariate with its prior as one more number.")
        scores = einsum("bnd,bnmd->bnm", self.W_q(Y_s), self.W_k(pairs)) / self.d ** 0.5
        logits = step("logits", scores, axes="B N D", eq="q_i [x_j ; s_ij] W_k / √d",
                      note="Equal to q_i·k_j plus s_ij times a number that only q_i decides.")
        checks.overflow("Y_s, X_exo", logits)
        A = step("A", torch.softmax(logits, dim=-1), axes="B N D", eq="softmax(logits)", note="The weights.")
        return inject(A, X_exo, Y_s, self.W_v)


def check_future(Y_exo: Tensor | None, built: bool) -> None:
    """Check that future covariates come exactly when the model was built for them.

    Raises:
        ValueError: they are missing, or nobody reads them.
    """
    if built and Y_exo is None:
        raise ValueError("Y_exo: expected future covariates, as the model was built with future=True, got None")
    if not built and Y_exo is not None:
        raise ValueError("Y_exo: expected None, as the model was built with future=False, "
                         f"got shape {tuple(Y_exo.shape)}")


def _check_numbers(weights: nn.Linear, **series: Tensor) -> None:
    checks.required(**series)
    checks.floating(weights.weight.dtype, **series)
    checks.finite(**series)
