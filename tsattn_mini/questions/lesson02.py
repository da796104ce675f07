"""Check questions of lesson 02, the handles."""

import torch
from torch import Tensor, softmax

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number
from tsattn_mini.handles import modulate
from tsattn_mini.kite.flow import guide
from tsattn_mini.kite.gate import knowledge_guided

LESSON, SIX = "02_handles", "six-handles-twelve-scores"
Z = torch.tensor([[2.0, 1.0, 0.0, -1.0], [0.0, 1.0, 2.0, 1.0]], dtype=torch.float64)
PLAIN = softmax(Z, dim=-1)
FAR = torch.tensor([0.0, 0.0, 0.0, 4.0], dtype=torch.float64)
PRIOR = torch.tensor([[1.0, 1.0, 0.0, 0.0]] * 2, dtype=torch.float64)


def _effective(z: torch.Tensor = Z, **handle) -> torch.Tensor:
    """With the identity as values the answer is what each query takes of each key."""
    return modulate(z, torch.eye(4, dtype=torch.float64), **handle)


def _never_turns() -> str:
    ways = {"tau": {"tau": 3.0}, "delta": {"delta": FAR}, "price": {"S": PRIOR}}
    winners = {name: _effective(**handle).argmax(-1) for name, handle in ways.items()}
    return next(name for name, won in winners.items() if torch.equal(won, PLAIN.argmax(-1)))


def _empty() -> str:
    A = _effective(S=torch.zeros(2, 4, dtype=torch.float64))
    if torch.allclose(A, PLAIN):
        return "plain"
    return "zero" if torch.allclose(A, torch.zeros_like(A)) else "uniform"


def _refuses() -> str:
    shut = {"delta": {"delta": torch.full((4,), -100.0, dtype=torch.float64)},
            "price": {"S": torch.zeros(2, 4, dtype=torch.float64)},
            "gate": {"g": torch.full((2,), -8.0, dtype=torch.float64)}}
    return min(shut, key=lambda name: _effective(**shut[name]).sum())


def _lead(n: Tensor) -> Tensor:
    """What a score must lead by to make up for prior 0 against prior 1, at δ = 10^−n: the log of the odds."""
    level = n.new_zeros(1, 2)
    A = knowledge_guided(level, level, torch.stack([n.new_zeros(()), n.new_ones(())])[None], 10**-n)[0]
    step("odds", A[1] / A[0], axes="")
    return (A[1] / A[0]).log()


def _past(u: Tensor, c: Tensor, omega: Tensor) -> Tensor:
    step("from c", c + omega * (c - u), axes="")
    step("distance", omega * (c - u), axes="")
    step("less", omega - 1, axes="")
    return guide(u.reshape(1), c.reshape(1), omega)[0]


def _grammar() -> dict[str, str]:
    """What every handle does to the odds of keys 3 and 0 in two rows, and to the weights themselves."""
    opinion = torch.tensor([[0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0]], dtype=torch.float64)
    handles = {"tau": {"tau": 3.0}, "delta": {"delta": FAR}, "content": {"A_g": opinion}, "price": {"S": PRIOR},
               "gate": {"g": torch.zeros(2, dtype=torch.float64)}, "guidance": {"delta": FAR, "omega": 3.0}}
    before = (PLAIN[:, 3] / PLAIN[:, 0]).log()

    def effect(W: Tensor) -> str:
        if W.min() < 0:
            return "negative"
        if W.sum(-1).max() < 0.999:
            return "row"
        after = (W[:, 3] / W[:, 0]).log()
        if torch.allclose(after / before, (after / before)[:1]):
            return "power"
        return "constant" if torch.allclose(after - before, (after - before)[:1]) else "content"

    return {name: effect(_effective(**handle)) for name, handle in handles.items()}


QUESTIONS = [
    choice(
        id="02-ranking", lesson=LESSON, answer=_never_turns, difficulty=1, show=Show(SIX, preset="τ = 3"),
        text="One of these handles can never put a key in front that was behind. Which?",
        options={
            "tau": Option("τ > 0, which multiplies all scores.",
                "The order of scores times a positive number is the order of the scores: odds grow or fade together."),
            "delta": Option("δ, which adds a number to each key.",
                "Add 4 to the last key only, and it overtakes a key that led it by 3."),
            "price": Option("log(s + δ), the price of a small prior.",
                "A favourite with prior 0 pays 13.8 and falls behind everyone who has a prior."),
        }),
    number(
        id="02-price", lesson=LESSON, answer=_lead, tolerance=0.1, claims=(74,),
        show=Show(SIX, z=[[0] * 4] * 3, S=[[0, 1, 1, 1]] * 3, delta=[13.8, 0, 0, 0]),
        draws={"n": Draw(values=(3, 4, 5, 6, 7, 8, 9))}, first={"n": 6},
        text="A prior s adds log(s + δ) to a score, with δ = 10^−{n} (KITE's is 10^−6). By how much must a key with "
             "prior 0 lead in its score to get as much attention as a key with prior 1?",
        hint="The two keys have log(0 + δ) and log(1 + δ) added to their scores.",
        right="log(1 + δ) − log(δ) = {n} · ln 10 = {answer:2}. A price, not a wall: whoever leads by more gets "
              "through.",
        wrong="Set the two logits equal: lead + log(δ) = log(1 + δ).",
        slips={
            "decades": Slip("n", "That is the logarithm to base 10. The softmax works with e: {n} · 2.303 = "
                                 "{answer:2}."),
            "odds": Slip("odds", "That is the factor on the odds. A lead in the score enters through an exponential."),
        }),
    choice(
        id="02-empty", lesson=LESSON, answer=_empty,
        difficulty=3, claims=(74, 77),
        show=Show(SIX, preset="No prior at all in row 2"),
        text="A row has prior 0 for every key. What does the price log(s + δ) make of its attention?",
        options={
            "zero": Option("It falls to about nothing.",
                "Each key pays 13.8, and the softmax divides by a sum that is smaller by the same factor. The gate "
                "cuts nobody off where it cuts everybody off.", slip="claim 74"),
            "uniform": Option("It becomes equal for all keys.",
                "The scores are still there. Only a number that is the same for all was added."),
            "plain": Option("Nothing: it stays as it was.",
                "All keys pay the same 13.8, and only differences count. The protection is absent just where no "
                "driver is trusted."),
        }),
    choice(
        id="02-refuse", lesson=LESSON, answer=_refuses, claims=(77,),
        show=Show(SIX, preset="The door shuts"),
        text="You want a query to take almost nothing from any key. Which handle does it?",
        options={
            "delta": Option("δ = −100 for every key.", "A constant cancels in the softmax: the row still sums to 1."),
            "price": Option("Prior 0 for every key.", "The same constant, log δ, for all of them: it cancels as well. "
                            "The prior can never say \"none of them\".", slip="claim 77"),
            "gate": Option("g = −8 in a sigmoid behind the weights.",
                "α = 0.0003 scales the whole row, after the softmax has spent its unit."),
        }),
    number(
        id="02-past", lesson=LESSON, answer=_past, tolerance=0.01, difficulty=1, claims=(84, 85),
        show=Show(SIX, preset="ω = 3"),
        draws={"u": Draw(low=1, high=9, whole=True), "c": Draw(low=1, high=9, whole=True),
               "omega": Draw(values=(1.2, 1.4, 1.6, 2.2, 2.4, 2.6))},
        first={"u": 1, "c": 2, "omega": 2.4},
        text="Without the condition a model answers {u}, with it {c}. What is the guided answer at ω = {omega}, "
             "if ω = 0 gives the first and ω = 1 the second?",
        right="{u} + {omega} · ({c} − {u}) = {answer:2}: further from {u} than the conditional answer, {c}.",
        wrong="Start at the answer without the condition and go ω times the way to the other.",
        slips={
            "from the condition": Slip("from c", "That starts at the conditional answer: c + ω (c − u). In that "
                                                 "convention ω is one less, {less:1} here."),
            "distance": Slip("distance", "That is {omega} times the distance, without the start, {u}."),
        }),
    match(
        id="02-grammar", lesson=LESSON, answer=_grammar, difficulty=3, claims=(69, 84),
        text="Six handles are turned, each alone. What happens to the odds between two keys of a row?",
        left={
            "tau": Option("τ = 3, times all scores",
                "e^(z_a − z_b) becomes e^(3 (z_a − z_b)): the old odds, cubed."),
            "delta": Option("δ, one number added for every key",
                "The odds are multiplied by e^(δ_a − δ_b), and no query has a say in it."),
            "content": Option("s ⊙ A_g, the prior times a second score",
                "The factor e^(s_a A_g,a − s_b A_g,b) holds scores of queries with keys: another pair, another "
                "factor."),
            "price": Option("log(s + δ), the price of a small prior",
                "A factor (s_a + δ) / (s_b + δ), fixed before any query was asked."),
            "gate": Option("α, a sigmoid behind the weights",
                "Every weight of the row is multiplied by the same α, so no ratio moves, and the sum is α."),
            "guidance": Option("ω = 3, on a condition that moves much attention",
                "plain + 3 (conditioned − plain): a key that loses more than a third of its weight lands below 0."),
        },
        right={
            "negative": "They can become negative, because a weight can.",
            "row": "They stay, and the whole row spends less than 1.",
            "constant": "They are multiplied by one factor, whatever queries and keys say.",
            "content": "They are multiplied by a factor that queries and keys decide.",
            "power": "They become a power of what they were.",
        },
        pairs=[
            Pair("content", "constant",
                "It is an additive term of the score, and still no constant bias: A_g holds the products of a second "
                "query with the keys, so the factor differs from row to row.", slip="claim 69"),
            Pair("tau", "constant",
                "Odds of 2 become 8 at τ = 3, times 4; odds of 3 become 27, times 9. The factor depends on the odds."),
            Pair("price", "row",
                "The price stands inside the softmax, which spends its unit whatever happens: what one key pays, the "
                "others get.", slip="claim 77"),
            Pair("gate", "constant",
                "The factor on the odds would be α/α = 1. What shrinks is the sum of the row."),
        ]),
]
