"""Check questions of lesson 17, Autoformer."""

from math import log, log2, log10, pi

import torch
import torch.nn.functional as F

from tsattn_mini import record
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.zoo.autoformer import Autoformer, auto_correlation, correlation, number_of_delays

LESSON = "17_autoformer"


def _column(x: torch.Tensor) -> torch.Tensor:
    return x[None, :, None, None]


def _wave(shift: float = 0) -> torch.Tensor:
    return (2 * pi * (torch.arange(96, dtype=torch.float64) + shift) / 24).sin()


def _released_rows(kernel: int) -> int:
    """Rows of an average over 96 whose ends were repeated (kernel − 1) // 2 times each."""
    x = torch.zeros(1, 1, 96 + 2 * ((kernel - 1) // 2))
    return F.avg_pool1d(x, kernel, stride=1).shape[-1]


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


def _train() -> str:
    """Two unlike windows together, delays shared: what is the same for both?"""
    x = torch.stack([_wave(), (2 * pi * torch.arange(96, dtype=torch.float64) / 16).sin()])[:, :, None, None]
    with record() as trace:
        auto_correlation(x / 9, x / 9, x, shared=True)
    delays, weights = (torch.allclose(*trace[name].tensor) for name in ("delays", "A"))
    return "both" if delays and weights else "delays" if delays else "nothing"


def _level() -> str:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        start = Autoformer(12, 6, 4, 5, M=8, H=4, d_ff=16, kernel=5).double().forecaster.start
    x = torch.linspace(-1, 1, 60, dtype=torch.float64).reshape(1, 12, 5).sin()
    moved = [float((after - before).abs().max()) for before, after in zip(start(x), start(x + 7), strict=True)]
    return {(0, 7): "trend", (7, 0): "season", (0, 0): "lost"}[round(moved[0]), round(moved[1])]


QUESTIONS = [
    number(
        id="17-even", lesson=LESSON, answer=lambda: _released_rows(24), tolerance=0.1,
        text="A moving average of 24 steps runs over 96 rows, after the first and the last row were repeated "
             "(24 − 1)//2 times each. How many rows come out?",
        right="11 + 96 + 11 = 118 rows, and an average over 24 of them has 118 − 23 = 95 places to stand. One row is "
              "missing, and x − trend fails.",
        wrong="An average over k rows of n has n − k + 1 places to stand. How many rows are there after the repeats?",
        slips={
            "kept": Slip(lambda: _released_rows(25),
                         "That is what 25 gives: 12 repeats at each end. With 24 they are 11."),
            "no repeats": Slip(73, "That is without any repeats: 96 − 23."),
        }),
    choice(
        id="17-odd", lesson=LESSON, answer=_odd,
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
        id="17-count", lesson=LESSON, answer=lambda: number_of_delays(96, 1), tolerance=0.1,
        text="A window of 96 steps, factor 1. How many delays are kept?",
        right="⌊ln 96⌋ = ⌊4.56⌋ = 4, the natural logarithm cut off.",
        wrong="⌊1 · ln 96⌋: the natural logarithm, cut off.",
        slips={
            "rounded": Slip(lambda: round(log(96)), "ln 96 = 4.56, but it is cut off, not rounded."),
            "two": Slip(lambda: int(log2(96)), "That is the logarithm to base 2."),
            "ten": Slip(lambda: int(log10(96)), "That is the logarithm to base 10."),
        }),
    choice(
        id="17-direction", lesson=LESSON, answer=_direction,
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
        id="17-loud", lesson=LESSON, answer=_loud,
        text="A noisy wave gives the weights 0.42, 0.19, 0.19, 0.19 for the delays 0, 48, 24, 72. Queries and keys "
             "become ten times as large. The weights become …",
        options={
            "same": Option("the same: a correlation does not know the scale.",
                "A Pearson correlation does not. This one is a bare sum of products, 100 times as large now."),
            "flat": Option("more equal.",
                "That happens when the differences shrink. They grow a hundredfold."),
            "identity": Option("1, 0, 0, 0.",
                "The differences between the R grow a hundredfold, and delay 0 leads: out = v."),
        }),
    choice(
        id="17-train", lesson=LESSON, answer=_train,
        text="Two windows of a batch have the periods 24 and 16. What do they have in common when the released code "
             "trains?",
        options={
            "delays": Option("The delays, not the weights.",
                "The ranking is by the mean R of the batch; each window then weighs the chosen delays by its own R."),
            "both": Option("Delays and weights.",
                "The delays are shared, but the softmax is over the window's own R."),
            "nothing": Option("Nothing: every window is worked on alone.",
                "That is evaluation, and both modes of this package. In training the batch's mean R ranks the delays."),
        }),
    choice(
        id="17-level", lesson=LESSON, answer=_level,
        text="All values of a window rise by 7. Where do the two inputs of the decoder show it?",
        options={
            "trend": Option("In the trend alone.",
                "The moving average rises by 7, its continuation by the mean too, and x − trend does not move."),
            "season": Option("In the seasonal part alone.",
                "The seasonal part is x − trend: both rise by 7, and the difference stays."),
            "lost": Option("Nowhere: it is normalised away.",
                "Nothing is normalised here. The level travels in the trend and is added at the end."),
        }),
]
