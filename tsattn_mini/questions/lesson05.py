"""Check questions of lesson 05, de-stationary attention."""

import torch
from torch import Tensor

from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, written
from tsattn_mini.lesson import counting, one_head, weights
from tsattn_mini.nonstationary import destationary_attention
from tsattn_mini.trace import scope, step

LESSON = "05_destationary_attention"
TURN, BACK = "tau-delta-width", "what-comes-back-of-the-raw-map"  # explorers of the lesson


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


def _limits() -> dict[str, str]:
    """Two queries and three keys in a head of width 2, handles turned to their ends: which map comes nearest?"""
    q, k = torch.eye(2, dtype=torch.float64), torch.tensor([[1, 2], [3, 0.5], [0, 3]], dtype=torch.float64)

    def attention(tau: float, *delta: float) -> Tensor:
        return weights(destationary_attention, q, k, tau=q.new_full((1, 1), tau), delta=q.new_tensor([delta]))

    plain, one_hot = attention(1, 0, 0, 0), torch.eye(3, dtype=torch.float64)
    row = torch.softmax(q.new_tensor([4, 0, 0]) / 2**0.5, -1)
    maps = {"best": one_hot[plain.argmax(-1)], "plain": plain, "first": one_hot[[0, 0]], "row": torch.stack([row, row]),
            "mean": torch.full_like(plain, 1 / 3)}
    turned = {"warm": attention(1e-9, 0, 0, 0), "warm-delta": attention(1e-9, 4, 0, 0),
              "cold": attention(1e3, 0, 0, 0), "constant": attention(1, 7, 7, 7)}
    return {name: min(maps, key=lambda other: float((A - maps[other]).abs().max())) for name, A in turned.items()}


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
        id="05-same", lesson=LESSON, answer=_twins, difficulty=1, claims=(5, 6),
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
        difficulty=3, claims=(27,), show=Show(TURN, preset="τ negative"),
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
        claims=(28,),
        show=Show(TURN, delta=[-3, -5, -5, -5, -5], tau=0.01),
        text="Three keys with equal scores get δ = (−3, −5, −5). Compared with δ = 0, key 0 now gets …",
        options={
            "less": Option("less: its δ is negative.",
                "The sign of one δ says nothing. Add 5 to all three, which changes nothing: (2, 0, 0).",
                slip="claim 28"),
            "more": Option("more: its δ is the largest.",
                "Only differences count, and −3 is 2 above the others."),
            "same": Option("the same: the δ of the others changed as well.",
                "Had all three changed by the same amount, yes. Here key 0 ends 2 above the others."),
        }),
    number(
        id="05-odds", lesson=LESSON, answer=_odds, tolerance=0.05,
        claims=(26,),
        show=Show(TURN, tau=0.01, delta=[4, 0, 0, 0, 0], d_k="8"),
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
    match(
        id="05-limits", lesson=LESSON, answer=_limits, claims=(26, 28), show=Show(TURN, preset="τ → 0, one δ"),
        text="In softmax((τ Q Kᵀ + 1 δᵀ) / √E), with three keys and E = 2, the handles go to their ends. What does "
             "every row of attention become?",
        left={
            "warm": Option("τ → 0, δ = (0, 0, 0)",
                "All scores are multiplied by nothing, so nothing tells the keys apart: a third each."),
            "warm-delta": Option("τ → 0, δ = (4, 0, 0)",
                "τ erases what the queries asked, and δ is untouched: (0.894, 0.053, 0.053) for every query."),
            "cold": Option("τ → ∞, δ = (0, 0, 0)",
                "Every lead grows without end, so the best key of each query takes all; which one that is depends on "
                "the query."),
            "constant": Option("τ = 1, δ = (7, 7, 7)",
                "The same number for all keys cancels in the softmax: only differences of δ count."),
        },
        right={
            "best": "Its best key takes everything.",
            "row": "softmax(δ / √2), the same for every query",
            "plain": "What it was without the handles",
            "mean": "The plain mean of all keys",
            "first": "Key 0 takes everything.",
        },
        pairs=[
            Pair("warm-delta", "mean",
                "With δ = 0 the keys would be equal. But τ multiplies the scores alone; δ is added after it."),
            Pair("warm-delta", "first",
                "Key 0 leads by 4/√2 = 2.83 and no more, so the others keep about 5 % each."),
            Pair("constant", "row",
                "That forgets the scores, which τ = 1 leaves as they were. softmax(7, 7, 7) alone would be the plain "
                "mean."),
            Pair("cold", "first",
                "With δ = 0 no key is preferred as such. A query takes the key it scores highest, and that may be "
                "any."),
        ]),
    written(
        id="05-tau-and-delta", lesson=LESSON, difficulty=3, claims=(15, 26, 27, 28), show=Show(TURN, preset="One δ"),
        text="τ multiplies the scores, δ is added to them. Seen from the softmax, what does each of the two change, "
             "and what can it not change?",
        hint="Take two keys and write down the odds between their weights. What can each handle do to their order?",
        model_answer="Alone, τ is a temperature: it multiplies all differences of scores. Towards 0 all keys get the "
                     "same, a large τ gives everything to the best key, and as long as τ > 0 the ranking of the keys "
                     "stays. δ adds one number per key, the same for every query: it can change the ranking, and it "
                     "moves all rows towards the same keys. Only differences of δ count; a constant does nothing. τ "
                     "does not scale δ, and 1/√E scales both. Both are made for a window and serve all its queries, "
                     "heads and layers.",
        rubric=[
            "τ sets how sharp the weights are, from the plain mean to a single key.",
            "Alone, while τ > 0, it does not change the ranking of the keys.",
            "δ adds a number per key for all queries alike, and can change the ranking.",
            "Only differences between the entries of δ count.",
            "τ does not scale δ; the division by √E scales both.",
        ],
        parts=["05-negative-tau", "05-minus-three", "05-odds", "05-limits"]),
    choice(
        id="05-decoder", lesson=LESSON, answer=_decoder, claims=(22, 29),
        text="In the Non-stationary Transformer, why does self-attention inside the decoder get τ but no δ?",
        hint="What if the decoder happens to be as long as the encoder: 6 known steps and 6 to come, "
             "against 12?",
        options={
            "shape": Option("Because 10 decoder positions do not fit 12 entries of δ.",
                "At these lengths they do not. Forecast 6 steps instead of 4 and they do: it runs, and still means "
                "nothing.", slip="claim 29"),
            "meaning": Option("Because an entry of δ belongs to a position of the encoder.",
                "δ stands for K μ_Q, one number per encoder key. Decoder positions are other objects, part "
                "of them placeholders."),
            "causal": Option("Because the causal mask already decides which keys count.",
                "The mask hides the future; δ could still lift or lower what is left."),
        }),
    number(
        id="05-recipe", lesson=LESSON, answer=_variance, tolerance=0.01,
        difficulty=3, claims=(16,),
        show=Show(BACK, start=148, restore_tau=True, restore_delta=True),
        draws={"x": Draw((5,), 1, 9, whole=True)}, first={"x": (1, 2, 3, 4, 5)},
        text="A window holds {x}, and queries and keys are the series itself. Attention sees it with its mean taken "
             "off and divided by its σ. Which τ restores the raw attention?",
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
        id="05-direction", lesson=LESSON, answer=_direction, claims=(7, 16), show=Show(BACK, preset="2006 to 2009"),
        text="A window rises, and its mean is large and positive. Which keys does Δ = K μ_Q favour?",
        options={
            "late": Option("The late, high ones.",
                "Only if W_q and W_k agree in sign. Turn the sign of W_k around, and the early ones are favoured.",
                slip="claim 7"),
            "weights": Option("It depends on W_q and W_k.",
                "Δ_j is the dot product of key j with the mean query, and both come from learned matrices."),
            "early": Option("The early, low ones.",
                "Only if W_q and W_k disagree in sign: then Δ falls where the series rises. If they agree, it is the "
                "late ones."),
        }),
]
