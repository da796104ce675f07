"""Check questions of lesson 17, Autoformer."""

from math import log, pi

import torch
import torch.nn.functional as F
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number
from tsattn_mini.trace import step
from tsattn_mini.zoo.autoformer import Autoformer, auto_correlation, correlation

LESSON = "17_autoformer"
DELAYS = "which-delay-fits"
STEPS = Draw(values=(48, 72, 96, 120, 144, 168, 192, 336))


def _column(x: torch.Tensor) -> torch.Tensor:
    return x[None, :, None, None]


def _wave(shift: float = 0) -> torch.Tensor:
    return (2 * pi * (torch.arange(96, dtype=torch.float64) + shift) / 24).sin()


def _rows(L: Tensor, k: Tensor) -> Tensor:
    """Rows of an average over L whose ends were repeated (k − 1) // 2 times each; k is even."""
    step("odd", k + 1, axes="")
    step("half", k / 2, axes="")
    repeats = step("repeats", (k - 1) // 2, axes="")
    long = step("long", L + 2 * repeats, axes="")
    step("bare", L - k + 1, axes="")
    return long - k + 1


def _count(L: Tensor, c: Tensor) -> Tensor:
    """How many delays are kept."""
    product = step("product", c * L.log(), axes="")
    step("rounded", product.round(), axes="")
    step("two", (product / log(2)).floor(), axes="")
    step("ten", (product / log(10)).floor(), axes="")
    return product.floor()


def _odd() -> str:
    g = torch.Generator().manual_seed(25)
    q, k = (_column(torch.randn(25, generator=g, dtype=torch.float64)) for _ in range(2))
    true, released = correlation(q, k), correlation(q, k, released_lags=True)
    if released.shape == true.shape:
        return "same"
    return "short" if torch.allclose(released, true[:, :24]) else "others"


def _direction() -> str:
    """Keys run a quarter of a period ahead: is the output like the query, like the keys, or upside down?"""
    q, k = _wave(), _wave(6)
    out = auto_correlation(_column(q), _column(k), _column(k)).flatten()
    likeness = {"query": q, "keys": k, "down": -q}
    return max(likeness, key=lambda name: float(F.cosine_similarity(out, likeness[name], dim=0)))


def _weights(x: torch.Tensor, scale: float) -> torch.Tensor:
    with record() as trace:
        auto_correlation(_column(scale * x), _column(scale * x), _column(x))
    return trace["A"].tensor[0]


def _loud() -> str:
    g = torch.Generator().manual_seed(0)
    x = _wave() + 0.3 * torch.randn(96, generator=g, dtype=torch.float64)
    quiet, loud = _weights(x, 0.3), _weights(x, 3.0)
    if torch.allclose(quiet, loud, atol=0.01):
        return "same"
    return "identity" if loud[0] > 0.99 else "flat"


def _handles() -> str:
    """Scores τ q·k + δ_j go through Auto-Correlation, δ as one more channel: which of the two moves its weights?"""
    g = torch.Generator().manual_seed(0)
    q, k = (_column(torch.randn(24, generator=g, dtype=torch.float64)) for _ in range(2))
    one, delta = torch.ones_like(q), _column(torch.linspace(-1, 1, 24, dtype=torch.float64) ** 2)
    given = {"plain": (q, k), "tau": (q / 2, k), "delta": (torch.cat([q, one], -1), torch.cat([k, delta], -1))}
    R = {name: correlation(*pair) * pair[0].shape[-1] for name, pair in given.items()}
    A = {name: torch.softmax(r, -1) for name, r in R.items()}
    moved = tuple(not torch.allclose(A["plain"], A[name]) for name in ("tau", "delta"))
    return {(True, True): "both", (True, False): "tau", (False, True): "delta", (False, False): "neither"}[moved]


def _train() -> str:
    """Two unlike windows together, delays shared: what is the same for both?"""
    x = torch.stack([_wave(), (2 * pi * torch.arange(96, dtype=torch.float64) / 16).sin()])[:, :, None, None]
    with record() as trace:
        auto_correlation(x / 9, x / 9, x, shared=True)
    delays, weights = (torch.allclose(*trace[name].tensor) for name in ("delays", "A"))
    return "both" if delays and weights else "delays" if delays else "nothing"


def _inputs() -> dict[str, str]:
    """Which input of the decoder moves with the window's level, and which with its scale."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        start = Autoformer(12, 6, 4, 5, M=8, H=4, d_ff=16, kernel=5).double().forecaster.start
    x = torch.linspace(-1, 1, 60, dtype=torch.float64).reshape(1, 12, 5).sin()
    names = {(False, True): "trend", (True, False): "season", (True, True): "both"}
    return {change: names[tuple(not torch.allclose(*pair) for pair in zip(start(x), start(y), strict=True))]
            for change, y in {"scale": 3 * x, "level": x + 7}.items()}


QUESTIONS = [
    number(
        id="17-even", lesson=LESSON, answer=_rows, tolerance=0.1,
        draws={"k": Draw(values=(4, 6, 8, 12, 24)), "L": STEPS}, first={"k": 24, "L": 96},
        text="A moving average of {k} steps runs over {L} rows, after the first and the last row were repeated "
             "({k} − 1)//2 times each. How many rows come out?",
        right="{repeats} + {L} + {repeats} = {long} rows, and an average over {k} of them has {answer} places to "
              "stand. One row is missing, and x − trend fails.",
        wrong="An average over k rows of n has n − k + 1 places to stand. After the repeats there are {long} rows.",
        slips={
            "kept": Slip("L", "That is what {odd} gives: {half} repeats at each end. With {k} they are {repeats}.",
                         slip="released Autoformer"),
            "no repeats": Slip("bare", "That is without any repeats: {L} − {k} + 1. They add {repeats} rows at each "
                                       "end."),
        }),
    choice(
        id="17-odd", lesson=LESSON, answer=_odd, difficulty=3,
        text="25 steps have 13 frequencies. The inverse transform gets these 13 and no length. What comes out?",
        options={
            "same": Option("All 25 lags.",
                "It cannot know: 13 frequencies belong to 24 steps or to 25, and it takes the even one."),
            "short": Option("The first 24 of the 25 lags.",
                "24 they are, but not the first ones. The waves are laid out over 24 steps instead of 25, so every lag "
                "but 0 lies elsewhere."),
            "others": Option("24 other numbers.",
                "The same waves, laid out over 24 steps: the lags of a series resampled to 24 points."),
        }),
    number(
        id="17-count", lesson=LESSON, answer=_count, tolerance=0.1, difficulty=1,
        draws={"L": STEPS, "c": Draw(low=1, high=3, whole=True)}, first={"L": 96, "c": 1},
        text="A window of {L} steps, factor {c}. How many delays does Auto-Correlation keep?",
        right="⌊{c} · ln {L}⌋ = ⌊{product:2}⌋ = {answer}, the natural logarithm cut off.",
        wrong="⌊{c} · ln {L}⌋: the natural logarithm times the factor, cut off.",
        slips={
            "rounded": Slip("rounded", "{c} · ln {L} = {product:2}, but it is cut off, not rounded."),
            "two": Slip("two", "That is the logarithm to base 2. The natural one gives {product:2}."),
            "ten": Slip("ten", "That is the logarithm to base 10. The natural one gives {product:2}."),
        }),
    choice(
        id="17-direction", lesson=LESSON, answer=_direction, difficulty=3,
        show=Show(DELAYS, preset="A quarter period ahead"),
        text="Queries are a wave of period 24. Keys and values are the same wave, six hours ahead. Auto-Correlation "
             "finds delay 6. The output is …",
        options={
            "query": Option("the query's wave: the shift undoes the six hours.",
                "It would with v at t − 6. The formula takes v at t + 6."),
            "keys": Option("the values, unmoved.",
                "That would be delay 0. Delay 6 was found, and every value moves by it."),
            "down": Option("the query upside down.",
                "v runs six hours ahead, and the shift adds six more: half a period, sin turned into −sin."),
        }),
    choice(
        id="17-loud", lesson=LESSON, answer=_loud, show=Show(DELAYS, preset="Loud"),
        text="In Auto-Correlation a noisy wave gives the weights 0.42, 0.19, 0.19, 0.19 for the delays 0, 48, 24, "
             "72. Queries and keys become ten times as large. The weights become …",
        options={
            "same": Option("the same: a correlation does not know the scale.",
                "A Pearson correlation does not. This one is a bare sum of products, 100 times as large now."),
            "flat": Option("more equal.",
                "That happens when the differences shrink. They grow a hundredfold."),
            "identity": Option("1, 0, 0, 0.",
                "The differences between the R grow a hundredfold, and delay 0 leads: out = v."),
        }),
    choice(
        id="17-handles", lesson=LESSON, answer=_handles, difficulty=3,
        text="The Non-stationary Transformer turns the scores q·k of one window into τ q·k + δ, with one δ for each "
             "key. Put Auto-Correlation in the place of its attention: R(delay) now sums these new scores. Which of "
             "the two can move the weights?",
        hint="Every delay pairs each key with some query, once.",
        options={
            "both": Option("τ and δ, as before.",
                "A sum over time visits every key once, whatever the delay. So every R gets the same Σ δ, and the "
                "softmax cancels it."),
            "tau": Option("τ alone.",
                "τ multiplies every R, and so sharpens or flattens the weights. δ adds Σ δ to each R: nothing moves. "
                "It speaks of single keys, and here no key is asked alone."),
            "delta": Option("δ alone.",
                "The other way round: δ adds the same Σ δ to every R. τ multiplies R, as a louder window does."),
            "neither": Option("Neither of them.",
                "δ cannot. But τ multiplies every R, just as a louder window does: it sharpens or flattens."),
        }),
    choice(
        id="17-train", lesson=LESSON, answer=_train, claims=(45,),
        text="Two windows of a batch have the periods 24 and 16. What do they have in common when the released "
             "Autoformer trains?",
        options={
            "delays": Option("The delays, not the weights.",
                "The ranking is by the mean R of the batch; each window then weighs the chosen delays by its own R."),
            "both": Option("Delays and weights.",
                "The delays are shared, but the softmax is over the window's own R: its weights are its own."),
            "nothing": Option("Nothing: every window is worked on alone.",
                "That is evaluation, and both modes of this package. In training the batch's mean R ranks the delays."),
        }),
    match(
        id="17-level", lesson=LESSON, answer=_inputs, claims=(43, 44), show=Show("trend-and-season", climb=30),
        text="A window changes. Which inputs of Autoformer's decoder change?",
        left={
            "level": Option("All values rise by 7.",
                "The moving average rises by 7, its continuation by the mean too, and x − trend does not move: nothing "
                "is normalised, the level travels in the trend and is added at the end."),
            "scale": Option("All values are tripled.",
                "Trend and x − trend are both three times as large. Nothing looks after the scale."),
        },
        right={"both": "both", "trend": "the trend", "season": "the seasonal part"},
        pairs=[Pair("scale", "trend", "A normalisation would take the spread off what is left. Decomposition does not: "
                                      "x − trend is tripled too.", slip="claim 43"),
               Pair("level", "season", "The seasonal part is x − trend: both rise by 7, and the difference stays.")]),
]
