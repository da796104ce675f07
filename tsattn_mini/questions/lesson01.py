"""Check questions of lesson 01, attention by hand."""

import torch
from torch import Tensor, softmax

from tsattn_mini import step
from tsattn_mini.attention import AttentionLayer, causal, scaled_dot_product
from tsattn_mini.explore.question import Draw, Option, Show, Slip, choice, number, several
from tsattn_mini.lesson import counting, weights

LESSON = "01_attention_by_hand"
Q, K = counting(2, 3), counting(5, 3)
FOUR, FIVE = "attention-four-by-four", "five-scores-compete"  # explorers of the lesson
LOGITS = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0], dtype=torch.float64)


def _share() -> str:
    raw = (Q @ K.mT)[0]
    tenths = weights(scaled_dot_product, Q, K / 10)[0, 4]
    beliefs = {"share": raw[4] / raw.sum(), "tenths": tenths, "all": 1.0}
    truth = weights(scaled_dot_product, Q, K)[0, 4]
    return min(beliefs, key=lambda name: abs(float(beliefs[name] - truth)))


def _rivals() -> str:
    before, after = softmax(LOGITS, -1), softmax(LOGITS + torch.eye(5, dtype=torch.float64)[0] * 2, -1)
    factor, loss = (after / before)[1:], (before - after)[1:]
    if torch.allclose(factor, factor[:1]):
        return "factor"
    return "amount" if torch.allclose(loss, loss[:1]) else "strongest"


def _score(Q: Tensor, K: Tensor) -> Tensor:
    scores = Q @ K.mT
    step("products", Q[1] * K[2], axes="E")
    step("rows from 1", scores[0, 1], axes="")
    step("divided", scores[1, 2] / 3**0.5, axes="")
    return scores[1, 2]


def _odds(gap: Tensor) -> Tensor:
    a, b = softmax(torch.stack([gap, gap.new_zeros(())]), -1)
    step("base ten", 10**gap, axes="")
    step("base two", 2**gap, axes="")
    return a / b


def _spread(E: Tensor) -> Tensor:
    """Each of the E products has variance E[q²] E[k²] = 1, and the variances of independent terms add."""
    return step("variance", E * 1.0, axes="").sqrt()


def _heads() -> str:
    layers = (AttentionLayer(scaled_dot_product, M=8, H=H) for H in (1, 4))
    one, four = (sum(p.numel() for p in layer.parameters()) for layer in layers)
    return "same" if four == one else "more" if four > one else "fewer"


def _hides() -> set[str]:
    """The ways that leave key 4 exactly nothing and the others exactly everything."""
    def moved(to: float) -> torch.Tensor:
        return softmax(LOGITS.index_fill(0, torch.tensor(4), to), -1)

    ways = {"zero": moved(0.0), "ten": moved(-10.0), "infinity": moved(-torch.inf),
            "after": (after := softmax(LOGITS, -1).index_fill(0, torch.tensor(4), 0.0)), "again": after / after.sum()}
    return {name for name, A in ways.items() if A[4] == 0 and torch.isclose(A.sum(), A.new_ones(()))}


def _first_row() -> float:
    x = counting(4, 2)
    return weights(scaled_dot_product, x, x, mask=causal(4))[0, 0].item()


QUESTIONS = [
    choice(
        id="01-share", lesson=LESSON, answer=_share, difficulty=1, show=Show(FIVE, s=[-10, -10, -10, -0.4, 10]),
        text="A query scores five keys 14, 32, 50, 68 and 86. The scores are divided by √3 and go through "
             "a softmax. What share of the attention does the last key get?",
        options={
            "share": Option("About a third: 86 of 250.",
                "86 of 250 is its share of the sum. A softmax takes no notice of shares: it sees that this "
                "key leads the next one by 18 points."),
            "tenths": Option("About two thirds.",
                "That is the answer for 1.4, 3.2, 5.0, 6.8 and 8.6: the same ratios, but differences ten "
                "times smaller. Only differences count."),
            "all": Option("Practically all of it.",
                "A lead of 18 points is 10.4 after the division, and e to the 10.4 is about 33,000."),
        }),
    number(
        id="01-dot", lesson=LESSON, answer=_score, tolerance=0.5, difficulty=1,
        draws={"Q": Draw((2, 3), 1, 9, whole=True), "K": Draw((3, 3), 1, 9, whole=True)},
        first={"Q": Q.tolist(), "K": K[:3].tolist()},
        text="The queries are {Q}, the keys are {K}. What do query 1 and key 2 score, before any division?",
        right="{Q[1,0]}·{K[2,0]} + {Q[1,1]}·{K[2,1]} + {Q[1,2]}·{K[2,2]} = {products[0]} + {products[1]} + "
              "{products[2]}.",
        wrong="Multiply {Q[1]} and {K[2]} entry by entry, then add the three products.",
        slips={
            "rows from 1": Slip("rows from 1",
                "That is query 0 with key 1: rows are counted from 0 here."),
            "divided": Slip("divided",
                "That is the logit: the score divided by √3."),
        }),
    choice(
        id="01-raise", lesson=LESSON, answer=_rivals, difficulty=3, show=Show(FIVE, s=[4, 1, 0.5, 0, -1]),
        text="The score of one key rises by 2, the other four scores stay. What happens to the other four "
             "weights?",
        options={
            "amount": Option("Each loses the same amount.",
                "Small weights could not pay it. What is equal is the factor, not the amount."),
            "factor": Option("Each shrinks by the same factor.",
                "The sum below the fraction grew, and it is the same for all of them. Their ratios to one "
                "another do not change."),
            "strongest": Option("The strongest rival pays for the gain.",
                "It pays most in absolute terms, because it has most. But everyone pays in proportion."),
        }),
    number(
        id="01-odds", lesson=LESSON, answer=_odds, tolerance=0.05, show=Show(FIVE, s=[2, 0, -10, -10, -10]),
        draws={"gap": Draw(low=0.5, high=3, step=0.5)}, first={"gap": 2},
        text="Two logits differ by {gap}. The larger weight is how many times the smaller one?",
        right="e to the {gap} = {answer:2}. The two logits themselves do not matter, only their difference.",
        wrong="The weights are exp(logit) divided by a common sum, so their ratio is exp of the "
              "difference.",
        slips={
            "no exponential": Slip("gap",
                "The logits differ by {gap}; the weights go through an exponential first."),
            "base ten": Slip("base ten", "That is 10 to the {gap}. A softmax raises e = 2.718 to the logits, not 10."),
            "base two": Slip("base two", "That is 2 to the {gap}. A softmax raises e = 2.718 to the logits, not 2."),
        }),
    number(
        id="01-sqrt", lesson=LESSON, answer=_spread, tolerance=0.05,
        difficulty=3, show=Show("one-query-eight-keys-wider-and-wider", preset="d = 64"),
        draws={"E": Draw(values=(4, 9, 16, 25, 36, 49, 64, 81, 100, 144, 256))}, first={"E": 64},
        text="q and k have {E} entries each, all independent, with mean 0 and variance 1. What is the "
             "standard deviation of q·k?",
        right="Each of the {E} products has variance 1, and variances of independent terms add: √{E} = {answer}.",
        wrong="Add up the variances of the {E} products, then take the root.",
        slips={
            "variance": Slip("variance", "That is the variance. The standard deviation is its root."),
            "after": Slip(1, "That is the standard deviation after the division by √{E}."),
        }),
    choice(
        id="01-heads", lesson=LESSON, answer=_heads, difficulty=2,
        text="A layer of width 8 is cut into 4 heads instead of 1. What happens to its number of "
             "parameters?",
        options={
            "more": Option("It becomes four times as large.",
                "Four heads of width 8 would cost that. Here the width is shared: 8 / 4 = 2 for each."),
            "same": Option("It stays the same.",
                "The four matrices are 8 × 8 either way; only the cut differs."),
            "fewer": Option("It becomes four times as small.",
                "Each head is smaller, but there are four of them, and the last matrix does not shrink."),
        }),
    several(
        id="01-mask", lesson=LESSON, answer=_hides, difficulty=2, claims=(74,), show=Show(FOUR, causal_mask=True),
        text="Key 4 must get exactly no attention, and the weights of the others must sum to 1. Which changes do that?",
        options={
            "zero": Option("Set its logit to 0.",
                "exp(0) = 1: a logit of 0 is an ordinary logit, and a better one than any below zero."),
            "ten": Option("Set its logit to −10.",
                "A price, not a ban: its factor is e^−10 = 0.000045, and a lead of 10 points buys it back. KITE's "
                "log(s + 10⁻⁶) and the mask of DUET's released code are such prices.", slip="claim 74"),
            "infinity": Option("Set its logit to −∞.",
                "exp(−∞) is exactly 0, and the softmax shares the whole unit among the others."),
            "after": Option("Set its weight to 0 after the softmax.",
                "Then it is hidden, but the row no longer sums to 1: the others were never given its share."),
            "again": Option("Set its weight to 0 after the softmax, and divide the row by its new sum.",
                "The others keep their ratios and now sum to 1: the very row that −∞ gives. It costs a second "
                "division."),
        }),
    number(
        id="01-causal", lesson=LESSON, answer=_first_row, tolerance=0.001,
        difficulty=1, show=Show(FOUR, preset="Causal"),
        text="Four positions attend to themselves under a causal mask. What weight does query 0 give to "
             "key 0?",
        right="It sees nothing but itself, so the whole unit goes there, whatever the score.",
        wrong="Count the keys that query 0 may see.",
        slips={
            "uniform": Slip(0.25,
                "That would be an even share among four keys, but query 0 sees only one."),
            "none": Slip(0, "The mask hides what lies after a position. A position may see itself."),
        }),
]
