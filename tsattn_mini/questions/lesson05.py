"""Check questions of lesson 05, de-stationary attention."""

from math import sqrt

import torch
from torch import Tensor

from tsattn_mini.explore.question import Draw, Option, Slip, choice, number
from tsattn_mini.lesson import counting, one_head, weights
from tsattn_mini.nonstationary import destationary_attention
from tsattn_mini.trace import scope, step

LESSON = "05_destationary_attention"


def _row(logits: list[float], tau: float = 1.0, delta: list[float] | None = None) -> torch.Tensor:
    """The weights of one query whose dot products with the keys are `logits`, in a head of width 1."""
    k = torch.tensor(logits, dtype=torch.float64)[:, None]
    return weights(destationary_attention, torch.ones_like(k[:1]), k, tau=k.new_full((1, 1), tau),
                   delta=k.new_tensor([delta or [0.0] * len(logits)]))[0]


def _odds(delta: Tensor) -> Tensor:
    """Weight ratio of two keys with equal scores whose δ differ by `delta`, in a head of width 8."""
    def at_width(E: int) -> Tensor:
        q, k = delta.new_zeros(1, E), delta.new_zeros(2, E)
        with scope(f"E = {E}"):
            a, b = weights(destationary_attention, q, k, delta=torch.stack([delta, delta.new_zeros(())])[None])[0]
        return a / b

    step("no root", delta.exp(), axes="")
    step("width 2", at_width(2), axes="")
    step("width 64", at_width(64), axes="")
    return at_width(8)


def _variance(x: Tensor) -> Tensor:
    """The variance of a window whose mean is a whole number; other windows are drawn again."""
    mean = step("mean", x.mean(), axes="")
    squares = step("squares", (x - mean) ** 2, axes="T")
    step("sigma", x.std(correction=0), axes="")
    step("unbiased", x.var(), axes="")
    return torch.where(x.sum() % 5 == 0, squares.mean(), torch.nan)


def _twins() -> str:
    x = counting(4)
    one, ten = ((y - y.mean()) / y.std(correction=0) for y in (x, 10 * x))
    if torch.allclose(one, ten):
        return "same"
    return "ten" if torch.allclose(10 * one, ten) else "hundred"


def _negative() -> str:
    """Is softmax(−s) the old row in reverse order, or one over it, brought to sum one?"""
    plain, turned = _row([3, 1, 0]), _row([3, 1, 0], tau=-1)
    inverse = 1 / plain
    beliefs = {"negative": -plain, "reversed": plain.flip(0), "uniform": torch.full_like(plain, 1 / 3),
               "inverse": inverse / inverse.sum()}
    return next(name for name, belief in beliefs.items() if torch.allclose(turned, belief))


def _minus_three() -> str:
    before, after = _row([0, 0, 0])[0], _row([0, 0, 0], delta=[-3.0, -5.0, -5.0])[0]
    return "more" if after > before else "less" if after < before else "same"


def _cold_delta() -> str:
    q, k = torch.ones(1, 2, dtype=torch.float64), counting(3, 2)
    tau, delta = q.new_full((1, 1), 1e-9), q.new_tensor([[4.0, 0.0, 0.0]])
    truth = weights(destationary_attention, q, k, tau=tau, delta=delta)[0]
    beliefs = {"uniform": [1 / 3] * 3, "onehot": [1.0, 0.0, 0.0],
               "delta": torch.softmax(torch.tensor([4.0, 0.0, 0.0]) / sqrt(2), -1).tolist()}
    return min(beliefs, key=lambda name: float((truth - truth.new_tensor(beliefs[name])).abs().max()))


def _decoder() -> str:
    """With label_len 6 and pred_len 6 the decoder has 12 positions, as many as δ has entries: does it run?"""
    x = one_head(counting(12, 2) / 10)
    try:
        destationary_attention(x, x, x, delta=x.new_zeros(1, 12))
    except ValueError:
        return "shape"
    return "meaning"


def _direction() -> str:
    x = counting(5)[:, None]
    peaks = {int((sign * x @ x.mean(0)).argmax()) for sign in (1.0, -1.0)}
    return "weights" if len(peaks) == 2 else "late" if peaks == {4} else "early"


QUESTIONS = [
    choice(
        id="05-same", lesson=LESSON, answer=_twins,
        text="One window holds 1, 2, 3, 4, another 10, 20, 30, 40. Each has its own mean taken off and is "
             "divided by its own standard deviation. What can attention still tell apart?",
        options={
            "hundred": Option("The second window's scores are 100 times as large.",
                "That was true before: q·k grows with the square of the scale. The division removed it."),
            "ten": Option("The second window is still 10 times as large.",
                "The standard deviation is 10 times as large too, and the division cancels both."),
            "same": Option("Nothing: the two windows are now the same numbers.",
                "Both became −1.342, −0.447, 0.447, 1.342. That is over-stationarization in four numbers."),
        }),
    choice(
        id="05-negative-tau", lesson=LESSON, answer=_negative,
        text="softmax(3, 1, 0) = (0.844, 0.114, 0.042). What does τ = −1 make of it?",
        options={
            "reversed": Option("The same three weights in reverse order.",
                "The ranking is reversed, but (0.042, 0.114, 0.844) is not what comes out. That happens only with "
                "equally spaced scores, such as 2, 1, 0."),
            "inverse": Option("The ranking reverses: each weight becomes proportional to 1 / A.",
                "exp(−s) = 1 / exp(s), so the row is (0.035, 0.259, 0.705): the key that fitted best now gets "
                "least. This is why the model learns log τ and takes its exponential: τ stays above 0."),
            "negative": Option("Negative weights.",
                "An exponential is never negative, whatever it is given."),
            "uniform": Option("Equal weights.",
                "That is τ = 0. At −1 the scores are −3, −1, 0: still different."),
        }),
    choice(
        id="05-minus-three", lesson=LESSON, answer=_minus_three,
        text="Three keys with equal scores get δ = (−3, −5, −5). Compared with δ = 0, key 0 now gets …",
        options={
            "less": Option("less: its δ is negative.",
                "The sign of one δ says nothing. Add 5 to all three, which changes nothing: (2, 0, 0)."),
            "more": Option("more: its δ is the largest.",
                "Only differences count, and −3 is 2 above the others."),
            "same": Option("the same: the δ of the others changed as well.",
                "Had all three changed by the same amount, yes. Here they differ by 2."),
        }),
    number(
        id="05-odds", lesson=LESSON, answer=_odds, tolerance=0.05,
        draws={"delta": Draw(low=1, high=6, step=0.5)}, first={"delta": 4},
        text="Two keys have equal scores and δ = ({delta}, 0). The head has width E = 8. How many times as much "
             "attention does key 0 get?",
        hint="Where does δ stand in softmax((τ Q Kᵀ + 1 δᵀ) / √E)?",
        right="e to the {delta}/√8 = {answer:2}: δ is divided by √E, like the scores.",
        wrong="δ stands inside the bracket that is divided by √E. The odds are exp of what is left of it.",
        slips={
            "no root": Slip("no root",
                "That is e to the {delta}: it leaves out the division by √E, which stands outside the bracket."),
            "width 2": Slip("width 2",
                "That is the answer at E = 2. A wider head weakens the same δ."),
            "divided by E": Slip("width 64",
                "That divides by 8, as a head of width 64 would. Here it is √8."),
        }),
    choice(
        id="05-tau-delta", lesson=LESSON, answer=_cold_delta,
        text="τ goes to 0 while δ = (4, 0, 0), in a head of width 2. What becomes of the three weights?",
        options={
            "uniform": Option("They become equal.",
                "With δ = 0 they would. But τ multiplies the scores alone; δ is added after it."),
            "onehot": Option("Key 0 takes everything.",
                "It leads by 4/√2 = 2.83 and no more, so the others keep about 5 % each."),
            "delta": Option("They become softmax(δ/√2) = (0.894, 0.053, 0.053).",
                "The scores are gone, and δ is untouched: τ does not scale δ."),
        }),
    choice(
        id="05-decoder", lesson=LESSON, answer=_decoder,
        text="Why does self-attention inside the decoder get τ but no δ?",
        hint="What if the decoder happens to be as long as the encoder: 6 known steps and 6 to come, "
             "against 12?",
        options={
            "shape": Option("Because 10 decoder positions do not fit 12 entries of δ.",
                "At these lengths they do not. Forecast 6 steps instead of 4 and they do: it runs, and "
                "still means nothing."),
            "meaning": Option("Because an entry of δ belongs to a position of the encoder.",
                "δ stands for K μ_Q, one number per encoder key. Decoder positions are other objects, part "
                "of them placeholders."),
            "causal": Option("Because the causal mask already decides which keys count.",
                "The mask hides the future; δ could still lift or lower what is left."),
        }),
    number(
        id="05-recipe", lesson=LESSON, answer=_variance, tolerance=0.01,
        draws={"x": Draw((5,), 1, 9, whole=True)}, first={"x": (1, 2, 3, 4, 5)},
        text="A window holds {x}, and queries and keys are the series itself. Which τ restores the raw attention?",
        right="τ = σ² = {answer}: the squared distances from {mean} are {squares}, and their mean is {answer}.",
        wrong="τ = σ², the mean of the squared distances from the mean.",
        slips={
            "sigma": Slip("sigma",
                "That is σ. Queries and keys are each σ times smaller, so their product is σ² times "
                "smaller."),
            "unbiased": Slip("unbiased",
                "That divides by 4. The window is divided by the deviation over all 5 points."),
        }),
    choice(
        id="05-direction", lesson=LESSON, answer=_direction,
        text="A window rises, and its mean is large and positive. Which keys does Δ = K μ_Q favour?",
        options={
            "late": Option("The late, high ones.",
                "If the matrices agree in sign. Turn the sign of W_k around, and the early ones are "
                "favoured."),
            "weights": Option("It depends on W_q and W_k.",
                "Δ_j is the dot product of key j with the mean query, and both come from learned matrices."),
            "early": Option("The early, low ones.",
                "With the sign of W_k turned around, yes; otherwise the late ones."),
        }),
]
