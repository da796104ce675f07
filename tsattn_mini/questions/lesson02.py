"""Check questions of lesson 02, the handles."""

from math import log

import torch
from torch import softmax

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.handles import modulate

LESSON = "02_handles"
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


def _past() -> float:
    """One key carries everything: 1 without the condition, 2 with it."""
    scores, value = torch.zeros(1, 2, dtype=torch.float64), torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    far = torch.tensor([500.0, -500.0], dtype=torch.float64)
    plain = modulate(scores + far, value)
    condition = modulate(scores - far, value)
    assert (plain.item(), condition.item()) == (1.0, 2.0)
    return modulate(scores + far, value, delta=-2 * far, omega=2.4).item()


def _same_factor() -> str:
    """The handle whose factor on the odds of keys 3 and 0 is the same for all scores, and is not 1."""
    ways = {"tau": {"tau": 3.0}, "price": {"S": PRIOR}, "gate": {"g": torch.zeros(2, dtype=torch.float64)}}

    def factor(z: torch.Tensor, handle: dict) -> torch.Tensor:
        W, A = _effective(z, **handle), softmax(z, dim=-1)
        return (W[:, 3] / W[:, 0]) / (A[:, 3] / A[:, 0])

    return next(name for name, handle in ways.items()
                if (f := factor(Z, handle)).isclose(f[0]).all() and not f.isclose(torch.ones_like(f)).any())


QUESTIONS = [
    choice(
        id="02-ranking", lesson=LESSON, answer=_never_turns,
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
        id="02-price", lesson=LESSON, answer=lambda: log(1 + 1e-6) - log(1e-6), tolerance=0.1,
        text="KITE's δ is 10⁻⁶. By how much must a key with prior 0 lead in its score to get as much attention as a "
             "key with prior 1?",
        hint="The two keys have log(0 + δ) and log(1 + δ) added to their scores.",
        right="log(1 + 10⁻⁶) − log(10⁻⁶) = 13.8. A price, not a wall.",
        wrong="Set the two logits equal: lead + log(δ) = log(1 + δ).",
        slips={
            "decades": Slip(6.0, "That is the logarithm to base 10. The softmax works with e: 6 · 2.303 = 13.8."),
            "odds": Slip(1e6, "That is the factor on the odds. A lead in the score enters through an exponential."),
        }),
    choice(
        id="02-empty", lesson=LESSON, answer=_empty,
        text="A row has prior 0 for every key. What does the price log(s + δ) make of its attention?",
        options={
            "zero": Option("It falls to about nothing.",
                "Each key pays 13.8, and the softmax divides by a sum that is smaller by the same factor."),
            "uniform": Option("It becomes equal for all keys.",
                "The scores are still there. Only a number that is the same for all was added."),
            "plain": Option("Nothing: it stays as it was.",
                "All keys pay the same, and only differences count. The protection is absent just where no driver is "
                "trusted."),
        }),
    choice(
        id="02-refuse", lesson=LESSON, answer=_refuses,
        text="You want a query to take almost nothing from any key. Which handle does it?",
        options={
            "delta": Option("δ = −100 for every key.", "A constant cancels in the softmax: the row still sums to 1."),
            "price": Option("Prior 0 for every key.", "The same constant, log δ, for all of them: it cancels as well."),
            "gate": Option("g = −8 in a sigmoid behind the weights.",
                "α = 0.0003 scales the whole row, after the softmax has spent its unit."),
        }),
    number(
        id="02-past", lesson=LESSON, answer=_past, tolerance=0.01,
        text="Without the condition a model answers 1, with it 2. What is the guided answer at ω = 2.4?",
        right="1 + 2.4 · (2 − 1) = 3.4, well past the conditional answer.",
        wrong="Start at the answer without the condition and go ω times the way to the other.",
        slips={
            "from the condition": Slip(4.4, "That starts at the conditional answer: c + ω (c − u). In that convention "
                                            "ω is one less, 1.4 here."),
            "mean": Slip(2.4, "That is 2.4 times the distance, without the start."),
        }),
    choice(
        id="02-same-odds", lesson=LESSON, answer=_same_factor,
        text="Which handle multiplies the odds of two keys by one factor other than 1, whatever the scores are?",
        options={
            "tau": Option("τ = 3", "It raises the odds to a power, so its factor depends on what they were."),
            "price": Option("log(s + δ)", "By (s_a + δ) / (s_b + δ), fixed before any query was asked."),
            "gate": Option("α", "It scales a whole row: the odds inside it keep the factor 1."),
        }),
]
