"""Check questions of lesson 09, knowledge-guided conditioning."""

from math import e

import torch
from torch import Tensor

from tsattn_mini import record, scope, step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number
from tsattn_mini.kite.conditioning import (
    InputConcatenation,
    KnowledgeGuidedConditioning,
    bilinear_scores,
    knowledge_guided,
)
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import normalise
from tsattn_mini.lesson import counting

LESSON = "09_knowledge_guided_conditioning"
W2 = torch.tensor([[10.0, 0, -10], [0, 10, 0]], dtype=torch.float64)


def _draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _pair(s: float, q: Tensor, k: Tensor) -> float:
    """The score of one pair in Eq. 10, with W1 = counting numbers and W2 of both signs."""
    return bilinear_scores(q[None], k[None], counting(2, 3), W2, torch.full((1, 1), s, dtype=torch.float64)).item()


def _where() -> str:
    """What s = 1 does to nine scores: nothing, the same push to each, W2 in place of W1, or another push to each?"""
    pairs = [(_draw(2, seed=i), _draw(3, seed=i + 9)) for i in range(9)]
    added = [_pair(1.0, q, k) - _pair(0.0, q, k) for q, k in pairs]
    if max(added) - min(added) < 1e-9:
        return "bias" if abs(added[0]) > 1e-9 else "projection"
    replaced = all(abs(_pair(1.0, q, k) - (q @ W2 @ k).item()) < 1e-9 for q, k in pairs)
    return "between" if replaced else "content"


def _branches() -> str:
    """Can products of rank 2 stand for any W1 of size 4 × 6? Its best one, and with as many as it needs."""
    W = _draw(4, 6)
    U, s, V = torch.linalg.svd(W, full_matrices=False)
    left = [float((W - (U[:, :d] * s[:d]) @ V[:d]).norm()) for d in (2, 4)]
    return "rank" if left[0] > 0.1 and left[1] < 1e-12 else "always"


def _lead(rival: Tensor, delta: Tensor) -> Tensor:
    """By how much a key of prior 0 has to lead in A_b to tie with one of prior `rival`."""
    def odds(name: str, delta: Tensor) -> Tensor:
        scores, prior = delta.new_zeros(1, 2), torch.stack([delta * 0, rival])[None]
        with scope(name):
            a, b = knowledge_guided(scores, scores, prior, delta)[0]
        return b / a

    asked = step("odds", odds("asked", delta), axes="")
    step("powers of ten", asked.log10(), axes="")
    step("default", odds("at the default", delta.new_tensor(1e-6)).log(), axes="")
    return asked.log()


def _all_zero() -> str:
    A_b = torch.tensor([[3.0, 1.0, 0.0]], dtype=torch.float64)
    zero = torch.zeros_like(A_b)
    A = knowledge_guided(A_b, zero, zero)
    beliefs = {"closed": zero, "uniform": torch.full_like(zero, 1 / 3), "plain": torch.softmax(A_b, -1)}
    return min(beliefs, key=lambda name: float((A - beliefs[name]).abs().max()))


def _released(first: Tensor, others: Tensor) -> Tensor:
    """How many times the weight of each of the nine others the first of ten covariates gets, at equal scores."""
    r = torch.stack([first, *[others] * 9])[None]
    factor = {}
    for norm in ("softmax", "none"):
        with scope(norm):
            A = knowledge_guided(0 * r, 0 * r, normalise(r, norm))[0]
        factor[norm] = A[0] / A[1]
    step("gap", first - others, axes="")
    step("ratio", factor["none"], axes="")
    return factor["softmax"]


def _kinds() -> dict[str, str]:
    """What s = 1 beside s = 0 adds to the scores of 2 states and 3 covariates, each way with random weights."""
    Y, X, added = _draw(1, 2, 4), _draw(1, 3, 6, seed=1), {}
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(9)
        joined, guided = (net(T=6, F=4, d=2).double() for net in (InputConcatenation, KnowledgeGuidedConditioning))
        for way, net, name in (("key", joined, "logits"), ("gate", guided, "gate"), ("branch", guided, "S_A_g")):
            scores = []
            for s in (0.0, 1.0):
                with record() as trace:
                    net(Y, X, torch.full((1, 2, 3), s, dtype=torch.float64))
                scores.append(trace[name].tensor[0])
            added[way] = scores[1] - scores[0]
    by = {way: (bool((x.std(0) > 1e-9).any()), bool((x.std(1) > 1e-9).any())) for way, x in added.items()}
    return {way: {(False, False): "same", (True, False): "state", (False, True): "covariate", (True, True): "pair"}[k]
            for way, k in by.items()}


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
        id="09-where", lesson=LESSON, answer=_where, difficulty=3, claims=(66, 68, 69, 87),
        text="The notes' first check: score_ij = q_i (W1 + s_ij W2) k_jᵀ, Eq. 10. What does s_ij do?",
        hint="Multiply out the bracket.",
        options={
            "projection": Option("It changes the projection of the query; nothing is added to the score.",
                "So the notes print it, and with one key for both branches the first half holds: the query is turned. "
                "But multiply out: q W1 kᵀ + s · q W2 kᵀ. Something *is* added, s times a second score.",
                slip="claim 87"),
            "bias": Option("It adds a bias: the larger s_ij, the larger the score.",
                "A bias would know nothing of q_i and k_j. Here s · q W2 kᵀ is added: the same s_ij lifts one pair and "
                "lowers another."),
            "content": Option("It adds s_ij times a second score of q_i and k_j, of either sign.",
                "Additive, but content: it needs both q_i and k_j, and vanishes at s_ij = 0. Eq. 13 will add a "
                "plain bias as well."),
            "between": Option("It moves the matrix from W1, at s = 0, to W2, at s = 1.",
                "The notes call it an interpolation, and (1 − s) W1 + s W2 would be one. But W1 never leaves: at s = 1 "
                "the matrix is W1 + W2.", slip="claim 68"),
        },
        show=Show("kgc", prior=[[0.5] * 3] * 2, data_branch=False, log_gate=False)),
    choice(
        id="09-branches", lesson=LESSON, answer=_branches, claims=(70, 72, 89),
        text="The notes' third check: A_b + S̃ ⊙ A_g, with W1 = W1q W1kᵀ/√d and W2 = W2q W2kᵀ/√d. Is it Eq. 10, "
             "q (W1 + s W2) kᵀ?",
        options={
            "always": Option("Yes, for all W1 and W2: another way to compute the same.",
                "The expansion is right, as the notes print it. But a product of F × d and d × T has rank d at most: "
                "a W1 of higher rank is only approximated.", slip="claim 70"),
            "rank": Option("Term by term and exactly, if W1 and W2 have rank d at most.",
                "The expansion is an identity; the factors limit which matrices can occur."),
            "never": Option("No, the two branches have different keys.",
                "They may: W1 and W2 are two matrices, each the product of its own query and key part. Multiplied out, "
                "the terms agree, if both have rank d at most."),
        }),
    choice(
        id="09-zero", lesson=LESSON, answer=_zero, claims=(67, 74, 88),
        text="The notes' second check: log(S̃ + δ), with δ = 10⁻⁶. The prior of one pair goes to 0, while another pair "
             "of its row has prior 1. What happens to the first?",
        options={
            "wall": Option("Its score goes to −∞ and its weight to 0, whatever the data say.",
                "So the notes print it, and for δ → 0 it would. With δ in place the score loses ln 10⁶ = 13.8: a "
                "number, and data that lead by more buy it back.", slip="claim 88"),
            "price": Option("Its score loses 13.8: about a millionth of the weight, unless the data lead by more.",
                "A price, not a wall: at a lead of 15 in the data score it takes .77 of the row."),
            "back": Option("It falls back to W1, the data alone.",
                "That is Eq. 10 at s = 0. In Eq. 13 the same zero also pays at the gate, 13.8 here.", slip="claim 67"),
        },
        show=Show("price", preset="Bought back")),
    choice(
        id="09-all-zero", lesson=LESSON, answer=_all_zero, difficulty=3, claims=(67, 77),
        text="A row of scores (3, 1, 0) enters softmax(scores + log(S̃ + δ)), and the prior of all three keys is 0. The "
             "weights become …",
        options={
            "closed": Option("0, 0, 0: nothing is relevant, so nothing is attended to.",
                "A softmax row adds up to 1. It cannot say \"none of them\": log δ is added to all three and cancels.",
                slip="claim 77"),
            "uniform": Option("equal: without a prior all keys look alike.",
                "The scores are still there: the gate gives the same log δ to each of them, and that cancels."),
            "plain": Option("(.844, .114, .042), as if there were no prior.",
                "log δ is added to all three and cancels. The row in which the prior objects to everything is "
                "the one it leaves alone."),
        },
        show=Show("kgc", preset="All zero")),
    number(
        id="09-lead", lesson=LESSON, answer=_lead, tolerance=0.02, claims=(74,),
        draws={"rival": Draw(values=(0.1, 0.2, 0.5, 1)), "delta": Draw(values=(0.01, 0.001, 0.0001, 0.00001))},
        first={"rival": 1, "delta": 0.001},
        text="The gate is log(S̃ + δ), δ = {delta}. By how much must a key of prior 0 lead in its data score to draw "
             "level with one of prior {rival}?",
        hint="The weights are proportional to (s + δ) · exp(A_b).",
        right="ln(({rival} + {delta})/{delta}) = {answer:3}. Odds of {odds:0} to one, and the data can pay them.",
        wrong="They tie when {delta} · exp(lead) = {rival} + {delta}.",
        slips={
            "log10": Slip("powers of ten", "That is the power of ten, log₁₀ of the odds. The softmax counts in powers "
                                           "of e: take ln."),
            "default": Slip("default", "That is the price at the default δ = 10⁻⁶. Here δ is {delta}: "
                                       "ln(({rival} + {delta})/{delta})."),
            "delta": Slip("delta", "δ gives the odds, {odds:0} to one; the lead is a difference of scores, their "
                                   "natural logarithm."),
        },
        show=Show("price", delta=1e-3, lead=6.91)),
    match(
        id="09-terms", lesson=LESSON, answer=_kinds, difficulty=3, claims=(58, 69, 73),
        text="A covariate's prior s rises from 0 to 1. What does each place for s then add to the score of a state's "
             "query q and the covariate's key k?",
        left={
            "key": Option("s is appended to the key",
                "One more row w of W_k adds s (q·w): s meets the query and never the covariate."),
            "gate": Option("the log-gate, log(s + δ)",
                "Neither q nor k stands in it: a plain bias, 13.8 for everyone at δ = 10⁻⁶."),
            "branch": Option("the guided branch, s · q W2 kᵀ",
                "Both q and k stand in it, so each pair gets a number of its own, of either sign."),
        },
        right={
            "pair": "one number per pair",
            "covariate": "one number per covariate",
            "state": "one number per state",
            "same": "the same for all",
        },
        pairs=(
            Pair("branch", "same", "That would be a bias. q and k both stand in s · q W2 kᵀ: content."),
            Pair("gate", "pair", "The notes see no bias in KGC. Here is one: neither q nor k stands in log(s + δ).",
                 slip="claim 69"),
        )),
    number(
        id="09-released", lesson=LESSON, answer=_released, tolerance=0.03, claims=(65, 69, 77),
        draws={"first": Draw(low=0.5, high=0.99, step=0.01), "others": Draw(low=0.01, high=0.4, step=0.01)},
        first={"first": 0.99, "others": 0.01},
        text="KITE's released code uses S̃ = softmax(|r|) in the gate log(S̃ + δ). Ten covariates, one with |r| = "
             "{first}, nine with {others}, all data scores equal. How many times the weight of another does the first "
             "one get?",
        right="e to the {gap} = {answer:2}. No correlation can ever buy more than a factor e.",
        wrong="log softmax(|r|) is |r| minus a number that is the same for all. What is left is "
              "exp({first} − {others}).",
        slips={
            "ratio": Slip("ratio", "So it is with S̃ = |r|: the gate sees ratios. Softmax makes differences of them "
                                   "first: exp({first} − {others}).", slip="claim 65"),
            "e": Slip(e, "That is the ceiling, for |r| = 1 against 0. Here the difference is {gap}: e to the {gap}."),
            "gate": Slip(1e6, "That is 1/δ, for a prior of 1 against 0. Softmax never gives 0: here the ratio of the "
                              "priors is exp({first} − {others}).", slip="released KITE"),
        },
        show=Show("kgc", preset="Released: .99 against .01")),
    choice(
        id="09-door", lesson=LESSON, answer=_door, claims=(55, 77),
        text="In the released KITE every knowledge-guided attention is made to answer 0. On which covariates "
             "does the forecast still depend?",
        options={
            "neither": Option("On none: they enter through the attention.",
                "The pasts do. The embedded futures also go straight into the head, a second door without a prior.",
                slip="claim 77"),
            "future": Option("On their futures.",
                "State and embedded futures are mixed in the head, where no prior asks who is relevant."),
            "both": Option("On pasts and futures.",
                "For the pasts attention is the only way in. Only the embedded futures also reach the head."),
        }),
]
