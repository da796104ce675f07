"""Check questions of lesson 18, FEDformer."""

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number
from tsattn_mini.lesson import counting
from tsattn_mini.trace import step
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention, keep_modes

LESSON = "18_fedformer"
WAVE, BINS = "one-wave-three-kept-bins", "frequencies-ask-frequencies"


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


def _leaves(kept: Tensor) -> Tensor:
    """The bin at which a tone of the first kept bin leaves the released block, whose matrices are 1: its rank."""
    bins = step("bins", kept.sort().values, axes="J")
    rank = step("rank", (kept < kept[0]).sum().to(kept), axes="")
    step("next", rank + 1, axes="")
    step("lowest", bins[0], axes="")
    step("own", kept[0], axes="")
    different = (bins[1:] > bins[:-1]).all()
    return torch.where(different, rank, torch.nan)


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


def _whisper(M: Tensor) -> Tensor:
    """How much quieter two divisions by the model width make it."""
    step("head", (M / 8) ** 2, axes="")
    return M**2


def _weights() -> dict[str, str]:
    """What the rows of weights become for quiet and for loud queries and keys, under tanh and under softmax."""
    found = {}
    for activation in ("tanh", "softmax"):
        for name, size in (("quiet", 1e-6), ("loud", 1e6)):
            x = size * counting(1, 12, 1, 2).sin()
            with record() as trace:
                _made(FourierCrossAttention, 2, 1, 12, 12, activation=activation)(x, x, x)
            A = trace["A_re"].tensor.abs()
            rows, largest = A.sum(-1), A.amax(-1)
            found[f"{activation}, {name}"] = (
                "zero" if float(rows.max()) < 0.01 else "ends" if float(rows.min()) > 1.5 else
                "equal" if float(largest.max()) < 0.5 else "winner" if float(largest.min()) > 0.99 else "else")
    return found


QUESTIONS = [
    choice(
        id="18-heard", lesson=LESSON, answer=_heard, claims=(45, 47),
        text="A Fourier block keeps the bins 1, 2, 3 and 5 of 12 steps. Step 4 of the input changes. How many steps of "
             "the output change?",
        options={
            "itself": Option("One: step 4.",
                "That would be a map that works step by step, like the feed-forward part.", slip="claim 45"),
            "kept": Option("Four, as many as there are kept bins.",
                "Four pairs of numbers change in the spectrum. Each of them is a wave over all 12 steps."),
            "all": Option("All 12.",
                "One step is in every bin, and every bin is in every step: a view of the whole window in one layer."),
        }),
    number(
        id="18-leaves", lesson=LESSON, answer=_leaves, tolerance=0.1, show=Show(WAVE, preset="As released"),
        draws={"kept": Draw((5,), 3, 40, whole=True)}, first={"kept": (20, 5, 40, 12, 33)},
        text="FEDformer's released block draws the bins {kept}, sorts them, keeps these and writes the n-th of them to "
             "bin n, counted from 0. Its matrices are 1. At which bin does a tone of bin {kept[0]} leave?",
        hint="Sorted they are {bins}.",
        right="Sorted {kept[0]} stands at place {rank} of {bins}, so it leaves at bin {answer}: a far slower "
              "wave.",
        wrong="Sort the bins: {bins}. The place in the list becomes the frequency, counted from 0.",
        slips={
            "own bin": Slip("own", "That is what the paper's padding means, and what this package does. The released "
                                   "block counts places: {bins}."),
            "counted from one": Slip("next", "Places are counted from 0: bin {lowest} goes to 0, and {kept[0]} to "
                                             "{rank}."),
            "lost": Slip(0, "At bin 0 leaves the tone of bin {lowest}, as a constant."),
        }),
    choice(
        id="18-sixty-four", lesson=LESSON, answer=_sixty_four, claims=(48,),
        text="FEDformer draws at most 64 random bins. The window has 96 steps. How much does the draw decide in "
             "the encoder?",
        hint="How many waves, from the constant upwards, have more than two steps to themselves?",
        options={
            "sixty-four": Option("Which 64 of 96 bins are kept.",
                "A real series of 96 steps has no 96 bins: the upper half mirrors the lower.", slip="claim 48"),
            "forty-eight": Option("Which 48 bins are kept.",
                "There are 48 below Nyquist, and 64 are allowed, so there is nothing left to choose."),
            "none": Option("Nothing: all 48 bins below Nyquist are kept.",
                "64 is more than there are. Nothing is random, nothing is left out, and the block is as wide as the "
                "window. Only longer windows begin to choose."),
        }),
    choice(
        id="18-reload", lesson=LESSON, answer=_reload, difficulty=3,
        text="A trained Fourier block is saved without its list of bins. A new process draws another list and loads "
             "the matrices. What comes out?",
        options={
            "same": Option("The same: the matrices are what was learnt.",
                "Each matrix was learnt for one frequency. It now multiplies another, and the output is another."),
            "rounding": Option("Almost the same.",
                "No two bins carry the same wave, so nothing protects the output: the change is larger than it."),
            "other": Option("Something else: the change is larger than the output.",
                "The norm of the difference is 1.4 times that of the output, as for two unrelated outputs. And no "
                "error is raised: all shapes fit."),
        }),
    choice(
        id="18-values", lesson=LESSON, answer=_values,
        text="In FEDformer's released cross-attention the values are doubled. The output …",
        options={
            "twice": Option("doubles.",
                "In the paper's formula, yes: the values stand there alone. The released code puts the keys there."),
            "same": Option("stays the same, bit by bit.",
                "No number of the values is read. Their projection is computed, never used, and never trained."),
            "other": Option("changes in another way.",
                "It would have to be read for that. The released code takes the keys in the place of the values."),
        }),
    number(
        id="18-whisper", lesson=LESSON, answer=_whisper, tolerance=100, difficulty=1,
        draws={"M": Draw(values=(128, 192, 256, 384, 512, 768, 1024))}, first={"M": 512},
        text="FEDformer's released cross-attention divides its result by the model width, twice. By how much is it "
             "quieter at the width {M}, with 8 heads?",
        right="{M}² = {answer} times. Beside the residual of order 1 that is a whisper.",
        wrong="Divided by {M}, and once more by {M}.",
        slips={
            "once": Slip("M", "That is one of the two divisions. The other one makes it {M} · {M}."),
            "per head": Slip("head", "That is ({M}/8)². It divides by the width of the model, not of a head."),
        }),
    match(
        id="18-refuses", lesson=LESSON, answer=_weights, show=Show(BINS, preset="Quiet, tanh"),
        text="Attention between frequencies squeezes its scores by tanh or by softmax. What do the weights become when "
             "queries and keys are very quiet, or very loud?",
        left={
            "tanh, quiet": Option("tanh, very quiet", "tanh 0 = 0: all weights vanish, this attention can refuse."),
            "softmax, quiet": Option("softmax, very quiet",
                                     "Scores near 0 are equal scores, and the row still hands out its one unit."),
            "tanh, loud": Option("tanh, very loud", "Every entry is driven to −1 or 1 by itself; no sum holds them."),
            "softmax, loud": Option("softmax, very loud", "The largest score takes the whole unit."),
        },
        right={"equal": "equal shares of 1", "zero": "all almost 0", "winner": "1 for one, 0 for the others",
               "ends": "each −1 or 1"},
        pairs=[Pair("softmax, quiet", "zero", "Attention by softmax always hands out one unit: equal scores make "
                                              "equal shares, not none."),
               Pair("tanh, quiet", "equal", "Nothing brings tanh to sum 1. Each weight follows its own score, to 0."),
               Pair("tanh, loud", "winner", "There is no contest under tanh: every large score goes to an end of its "
                                            "own, −1 or 1.")]),
]
