"""Check questions of lesson 09, knowledge-guided conditioning."""

from math import e, log, log10

import torch

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.kite.conditioning import bilinear_scores, knowledge_guided
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import normalise
from tsattn_mini.lesson import counting

LESSON = "09_knowledge_guided_conditioning"


def _draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _pair(s: float, q: torch.Tensor, k: torch.Tensor) -> float:
    """The score of one pair in Eq. 10, with W1 = counting numbers and W2 of both signs."""
    W1, W2 = counting(2, 3), torch.tensor([[10.0, 0, -10], [0, 10, 0]], dtype=torch.float64)
    return bilinear_scores(q[None], k[None], W1, W2, torch.full((1, 1), s, dtype=torch.float64)).item()


def _where() -> str:
    """What s = 1 adds to the score: the same for all pairs, or another number of another sign for each?"""
    pairs = [(_draw(2, seed=i), _draw(3, seed=i + 9)) for i in range(9)]
    added = [_pair(1.0, q, k) - _pair(0.0, q, k) for q, k in pairs]
    if max(added) - min(added) < 1e-9:
        return "bias"
    return "content" if min(added) < 0 < max(added) else "weight"


def _at_one() -> str:
    q, k = counting(2), counting(3)
    W1, W2 = _pair(0.0, q, k), _pair(1.0, q, k) - _pair(0.0, q, k)
    beliefs = {"second": W2, "mean": (W1 + W2) / 2, "sum": W1 + W2}
    return min(beliefs, key=lambda name: abs(beliefs[name] - _pair(1.0, q, k)))


def _branches() -> str:
    """Can products of rank 2 stand for any W1 of size 4 × 6? Its best one, and with as many as it needs."""
    W = _draw(4, 6)
    U, s, V = torch.linalg.svd(W, full_matrices=False)
    left = [float((W - (U[:, :d] * s[:d]) @ V[:d]).norm()) for d in (2, 4)]
    return "rank" if left[0] > 0.1 and left[1] < 1e-12 else "always"


def _lead(delta: float) -> float:
    """By how much a key of prior 0 has to lead in A_b to tie with one of prior 1."""
    zero = torch.zeros(1, 2, dtype=torch.float64)
    a, b = knowledge_guided(zero, zero, torch.tensor([[0.0, 1.0]], dtype=torch.float64), delta)[0].tolist()
    return log(b / a)


def _all_zero() -> str:
    A_b = torch.tensor([[3.0, 1.0, 0.0]], dtype=torch.float64)
    zero = torch.zeros_like(A_b)
    A = knowledge_guided(A_b, zero, zero)
    beliefs = {"closed": zero, "uniform": torch.full_like(zero, 1 / 3), "plain": torch.softmax(A_b, -1)}
    return min(beliefs, key=lambda name: float((A - beliefs[name]).abs().max()))


def _released(norm: str) -> float:
    """How many times the weight of |r| = .01 the one of |r| = .99 gets, among ten keys with equal scores."""
    r = torch.full((1, 10), 0.01, dtype=torch.float64)
    r[0, 0] = 0.99
    zero = torch.zeros_like(r)
    A = knowledge_guided(zero, zero, normalise(r, norm))[0]
    return (A[0] / A[1]).item()


def _zero() -> str:
    """A key of prior 0 beside one of prior 1: has it any weight at equal scores, and has a lead of 20 any effect?"""
    zero, prior = torch.zeros(1, 2, dtype=torch.float64), torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    behind, ahead = (knowledge_guided(zero + zero.new_tensor([lead, 0]), zero, prior)[0, 0] for lead in (0, 20))
    if behind > 0.4:
        return "back"
    return "price" if ahead > 0.9 else "wall"


def closed_doors(second_door: bool) -> tuple[float, float]:
    """How strongly the velocity reacts to past and future covariates when every attention answers nothing."""
    with torch.random.fork_rng():
        torch.manual_seed(9)
        net = VectorField(T=6, F=4, D=3, M=16, second_door=second_door).double()
        with torch.no_grad():
            for name, p in net.named_parameters():
                if ".attention.down." in name:
                    p.zero_()
                elif "modulation" in name or name.startswith("head.out"):
                    p.normal_(0, 0.3)
    X, Y_exo = _draw(1, 3, 6, seed=1).requires_grad_(), _draw(1, 3, 4, seed=2).requires_grad_()
    w = torch.full((1, 1, 3), 1 / 3, dtype=torch.float64)
    net(_draw(1, 4), torch.tensor([500.0], dtype=torch.float64), X, w, Y_exo).square().sum().backward()
    return X.grad.norm().item(), Y_exo.grad.norm().item()


def _door() -> str:
    past, future = closed_doors(second_door=True)
    return {(False, False): "neither", (False, True): "future", (True, True): "both"}[past > 1e-12, future > 1e-12]


QUESTIONS = [
    choice(
        id="09-where", lesson=LESSON, answer=_where,
        text="score_ij = q_i (W1 + s_ij W2) k_jᵀ, Eq. 10. What does s_ij do to the score of its pair?",
        options={
            "bias": Option("It adds a bias: the larger s_ij, the larger the score.",
                "A bias would know nothing of q_i and k_j. Here the same s_ij lifts one pair and lowers another."),
            "content": Option("It adds s_ij times a second score of q_i and k_j, of either sign.",
                "Additive, but content: it needs both q_i and k_j, and vanishes at s_ij = 0. Eq. 13 will add a "
                "plain bias as well."),
            "weight": Option("It multiplies the weight of the pair.",
                "That is what the gate of Eq. 13 does, after the exponential. Eq. 10 has no gate."),
        }),
    choice(
        id="09-at-one", lesson=LESSON, answer=_at_one,
        text="The notes call W1 + s W2 an interpolation between two projections. Which matrix is it at s = 1?",
        options={
            "second": Option("W2.", "So it would be in (1 − s) W1 + s W2. But W1 never leaves."),
            "mean": Option("The mean of both.", "No factor shrinks W1, whatever s is."),
            "sum": Option("W1 + W2.", "W2 is added to W1, never put in its place: affine, not an interpolation."),
        }),
    choice(
        id="09-branches", lesson=LESSON, answer=_branches,
        text="A_b + S̃ ⊙ A_g, with W1 = W1q W1kᵀ/√d and W2 = W2q W2kᵀ/√d: is it Eq. 10?",
        options={
            "always": Option("Yes, for all W1 and W2.",
                "A product of F × d and d × T has rank d at most. A W1 of higher rank is only approximated."),
            "rank": Option("Term by term and exactly, if W1 and W2 have rank d at most.",
                "The expansion is an identity; the factors limit which matrices can occur."),
            "never": Option("No, the two branches have different keys.",
                "They may differ: W1 and W2 are two matrices, each the product of its own query and key part."),
        }),
    choice(
        id="09-zero", lesson=LESSON, answer=_zero,
        text="log(S̃ + δ), with δ = 10⁻⁶: the prior of one pair goes to 0, while another pair of its row has prior 1. "
             "What happens to the first?",
        options={
            "wall": Option("Its score goes to −∞ and its weight to 0, whatever the data say.",
                "Only for δ → 0. With δ in place the score loses log δ, and that is a number."),
            "price": Option("Its score loses 13.8: about a millionth of the weight, unless the data lead by more.",
                "A price, not a wall: at a lead of 15 in the data score it takes .77 of the row."),
            "back": Option("It falls back to W1, the data alone.",
                "That is Eq. 10 at s = 0. In Eq. 13 the same zero also pays at the gate."),
        }),
    choice(
        id="09-all-zero", lesson=LESSON, answer=_all_zero,
        text="A row of scores (3, 1, 0), and the prior of all three keys is 0. The weights become …",
        options={
            "closed": Option("0, 0, 0: nothing is relevant, so nothing is attended to.",
                "A softmax row adds up to 1. It cannot say \"none of them\"."),
            "uniform": Option("equal: without a prior all keys look alike.",
                "The scores are still there; the gate gives the same log δ to each of them."),
            "plain": Option("(.844, .114, .042), as if there were no prior.",
                "log δ is added to all three and cancels. The row in which the prior objects to everything is "
                "the one it leaves alone."),
        }),
    number(
        id="09-lead", lesson=LESSON, answer=lambda: _lead(1e-3), tolerance=0.02,
        text="δ = 10⁻³. By how much must a key of prior 0 lead in its data score to draw level with one of prior 1?",
        hint="The weights are proportional to (s + δ) · exp(A_b).",
        right="ln(1.001 / 0.001) = 6.909. A thousand to one, and the data can pay it.",
        wrong="They tie when δ · exp(lead) = 1 + δ.",
        slips={
            "log10": Slip(-log10(1e-3), "That is the power of ten. The softmax counts in powers of e."),
            "default": Slip(lambda: _lead(1e-6), "That is the price at the default δ = 10⁻⁶."),
            "delta": Slip(1e-3, "δ is the odds; the lead is a difference of scores, its logarithm."),
        }),
    number(
        id="09-released", lesson=LESSON, answer=lambda: _released("softmax"), tolerance=0.03,
        text="The released code uses S̃ = softmax(|r|). Ten covariates, one with |r| = .99, nine with .01, all data "
             "scores equal. How many times the weight of another does the first one get?",
        right="e to the .98 = 2.66. No correlation can ever buy more than a factor e.",
        wrong="log softmax(|r|) is |r| minus a number that is the same for all: what is left is exp(.99 − .01).",
        slips={
            "ratio": Slip(lambda: _released("none"), "So it is with S̃ = |r|: the gate sees ratios. Softmax makes "
                          "differences of them first."),
            "e": Slip(e, "Close: that is the ceiling, for |r| = 1 against 0."),
            "gate": Slip(1e6, "That is 1/δ, the most a gate with a prior of 0 could do. Softmax never gives 0."),
        }),
    choice(
        id="09-door", lesson=LESSON, answer=_door,
        text="In the released forecaster every knowledge-guided attention is made to answer 0. On which covariates "
             "does the forecast still depend?",
        options={
            "neither": Option("On none: they enter through the attention.",
                "The pasts do. The embedded futures also go straight into the head."),
            "future": Option("On their futures.",
                "State and embedded futures are mixed in the head, where no prior asks who is relevant."),
            "both": Option("On pasts and futures.", "For the pasts attention is the only way in."),
        }),
]
