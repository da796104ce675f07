"""Check questions of lesson 18, FEDformer."""

import torch

from tsattn_mini import record
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.lesson import counting
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention, keep_modes

LESSON = "18_fedformer"


def _made(cls: type, *sizes: int, **more) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return cls(*sizes, **more).double().requires_grad_(False)


def _heard() -> str:
    """How many of 12 output steps move when one input step does."""
    block, x = _made(FourierBlock, 1, 1, 12, [1, 2, 3, 5]), torch.zeros(1, 12, 1, 1, dtype=torch.float64)
    y = block(x.index_fill(1, torch.tensor([4]), 1.0)) - block(x)
    moved = int((y.abs() > 1e-9).sum())
    return {1: "itself", 4: "kept", 12: "all"}[moved]


def _leaves(bin: int, kept: list[int], slots: bool) -> int:
    """The bin of a series of 96 steps at which a tone leaves a block whose matrices are 1."""
    block = _made(FourierBlock, 1, 1, 96, kept, released_slots=slots)
    block.real.fill_(1)
    block.imag.zero_()
    wave = torch.cos(2 * torch.pi * bin * torch.arange(96, dtype=torch.float64) / 96)
    return int(torch.fft.rfft(block(wave[None, :, None, None]), dim=1).abs().argmax())


def _sixty_four() -> str:
    """Do five draws of at most 64 modes differ at 96 steps?"""
    draws = {tuple(keep_modes(96, None, "random", seed).tolist()) for seed in range(5)}
    return "none" if len(draws) == 1 else "sixty-four" if len(next(iter(draws))) == 64 else "forty-eight"


def _reload() -> str:
    """How far two blocks with the same matrices and other bins are apart, as a share of the output."""
    first, second = (_made(FourierBlock, 8, 2, 96, 8, seed=seed) for seed in (0, 1))
    x = counting(1, 96, 2, 4).sin()
    off = float((second(x) - first(x)).norm() / first(x).norm())
    return "same" if off < 1e-9 else "rounding" if off < 0.1 else "other"


def _values() -> str:
    cross, q, k = _made(FourierCrossAttention, 2, 1, 12, 12, released_values=True), *(
        (counting(1, 12, 1, 2) * size).sin() for size in (1, 2))
    once, twice = cross(q, k, k), cross(q, k, 2 * k)
    return "same" if torch.equal(once, twice) else "twice" if torch.allclose(2 * once, twice) else "other"


def _whisper(M: int = 512) -> float:
    plain, released = (_made(FourierCrossAttention, M, 8, 4, 4, [1], [1], released_scale=s) for s in (False, True))
    x = counting(1, 4, 8, M // 8).sin()
    return float(plain(x, x, x).norm() / released(x, x, x).norm())


def _refuses() -> str:
    """Can a row of tanh weights be almost nothing, and can a row of softmax weights?"""
    x = torch.full((1, 12, 1, 2), 1e-6, dtype=torch.float64)
    sums = {}
    for activation in ("tanh", "softmax"):
        with record() as trace:
            _made(FourierCrossAttention, 2, 1, 12, 12, activation=activation)(x, x, x)
        sums[activation] = float(trace["A_re"].tensor.abs().sum(-1).max())
    quiet = {name for name, total in sums.items() if total < 0.01}
    return {frozenset(): "neither", frozenset({"tanh"}): "tanh", frozenset(sums): "both"}[frozenset(quiet)]


QUESTIONS = [
    choice(
        id="18-heard", lesson=LESSON, answer=_heard,
        text="A Fourier block keeps the bins 1, 2, 3 and 5 of 12 steps. Step 4 of the input changes. How many steps of "
             "the output change?",
        options={
            "itself": Option("One: step 4.",
                "That would be a map that works step by step, like the feed-forward part."),
            "kept": Option("Four, as many as there are kept bins.",
                "Four pairs of numbers change in the spectrum. Each of them is a wave over all 12 steps."),
            "all": Option("All 12.",
                "One step is in every bin, and every bin is in every step: a view of the whole window in one layer."),
        }),
    number(
        id="18-leaves", lesson=LESSON, answer=lambda: _leaves(20, [5, 20, 40], slots=True), tolerance=0.1,
        text="The released block keeps the bins 5, 20 and 40 and writes the n-th of them to bin n, counted from 0. Its "
             "matrices are 1. At which bin does a tone of bin 20 leave?",
        hint="20 is the middle one of the three.",
        right="Bin 1: a wave of 4.8 steps comes out as one wave per window.",
        wrong="5 goes to 0, 20 to 1, 40 to 2: the place in the list becomes the frequency.",
        slips={
            "own bin": Slip(lambda: _leaves(20, [5, 20, 40], slots=False),
                "That is what the paper's padding means, and what this package does. The released block counts."),
            "counted from one": Slip(2, "Places are counted from 0: bin 5 goes to 0, and bin 20 to the next."),
            "lost": Slip(0, "At bin 0 leaves the tone of bin 5, as a constant."),
        }),
    choice(
        id="18-sixty-four", lesson=LESSON, answer=_sixty_four,
        text="The model draws at most 64 random bins. The window has 96 steps. How much does the draw decide in the "
             "encoder?",
        hint="How many waves, from the constant upwards, have more than two steps to themselves?",
        options={
            "sixty-four": Option("Which 64 of 96 bins are kept.",
                "A real series of 96 steps has no 96 bins: the upper half mirrors the lower."),
            "forty-eight": Option("Which 48 bins are kept.",
                "There are 48 below Nyquist, and 64 are allowed, so there is nothing left to choose."),
            "none": Option("Nothing: all 48 bins below Nyquist are kept.",
                "64 is more than there are. Nothing is random, nothing is left out, and the block is as wide as the "
                "window. Only longer windows begin to choose."),
        }),
    choice(
        id="18-reload", lesson=LESSON, answer=_reload,
        text="A trained block is saved without its list of bins. A new process draws another list and loads the "
             "matrices. What comes out?",
        options={
            "same": Option("The same: the matrices are what was learnt.",
                "Each matrix was learnt for one frequency. It now multiplies another."),
            "rounding": Option("Almost the same.",
                "No two bins carry the same wave, so nothing protects the output."),
            "other": Option("Something else: the change is larger than the output.",
                "The norm of the difference is 1.4 times that of the output, as for two unrelated outputs. And no "
                "error is raised: all shapes fit."),
        }),
    choice(
        id="18-values", lesson=LESSON, answer=_values,
        text="In the released cross-attention the values are doubled. The output …",
        options={
            "twice": Option("doubles.",
                "In the paper's formula, yes: the values stand there alone. The released code puts the keys there."),
            "same": Option("stays the same, bit by bit.",
                "No number of the values is read. Their projection is computed, never used, and never trained."),
            "other": Option("changes in another way.",
                "It would have to be read for that."),
        }),
    number(
        id="18-whisper", lesson=LESSON, answer=_whisper, tolerance=100,
        text="The released cross-attention divides its result by the model width, twice. By how much is it quieter at "
             "the usual width of 512?",
        right="512² = 262,144 times. Beside the residual of order 1 that is a whisper.",
        wrong="512 · 512.",
        slips={
            "once": Slip(512, "That is one of the two divisions."),
            "per head": Slip(64 * 64, "It divides by the width of the model, not of a head."),
        }),
    choice(
        id="18-refuses", lesson=LESSON, answer=_refuses,
        text="All queries and keys become very small. Which weights can go to zero altogether?",
        options={
            "neither": Option("None: attention always hands out one unit.",
                "The softmax does. The hyperbolic tangent knows no sum."),
            "tanh": Option("Those of tanh; a row of softmax still sums to 1.",
                "tanh 0 = 0: this attention can refuse. Loud inputs drive every entry to −1 or 1 instead."),
            "both": Option("Both.",
                "Equal scores make the softmax uniform, not zero."),
        }),
]
