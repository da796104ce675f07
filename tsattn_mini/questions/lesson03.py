"""Check questions of lesson 03, stationarization."""

from math import sqrt

import torch
from torch import Tensor

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.lesson import counting
from tsattn_mini.nonstationary import EPS, NonstationaryTransformer, destationarize, stationarize

LESSON = "03_stationarize"


def _normal(*values: float) -> tuple[Tensor, Tensor, Tensor]:
    """x', μ and σ of one window of one variable."""
    x, mu, sigma = stationarize(torch.tensor(values, dtype=torch.float64)[None, :, None])
    return x.flatten(), mu.squeeze(), sigma.squeeze()


def _sigma() -> float:
    return _normal(2, 4, 6, 8)[2].item()


def _twin() -> str:
    windows = {"line": (-100, -50, 0, 50), "mirror": (4, 3, 2, 1), "curve": (1, 4, 9, 16)}
    x = _normal(1, 2, 3, 4)[0]
    return min(windows, key=lambda name: float((_normal(*windows[name])[0] - x).abs().max()))


def _restored(y: float, mu: float, sigma: float) -> float:
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    return destationarize(y * one, mu * one, sigma * one).item()


def _largest(n: int) -> float:
    """The largest entry of a stationarized window of `n` steps: one spike, all else equal."""
    return _normal(*[0.0] * (n - 1), 1e6)[0].max().item()


def _constant() -> float:
    return _normal(7, 7, 7)[2].item()


def _detached() -> str:
    """The same seeded model with and without detached statistics: compare outputs and parameter gradients."""
    x, runs = counting(2, 12, 5).sin(), []
    for detach in (True, False):
        with torch.random.fork_rng():
            torch.manual_seed(3)
            model = NonstationaryTransformer(12, 6, 4, V=5, M=8, H=4, d_ff=16, p_hidden=(16,), marks=0,
                                             detach=detach).double()
        y = model(x)
        y.square().sum().backward()
        runs.append([y.detach(), *(p.grad for p in model.parameters())])
    same = [torch.equal(a, b) for a, b in zip(*runs, strict=True)]
    return "nothing" if all(same) else "gradients" if same[0] else "outputs"


def _batch_norm() -> str:
    x = counting(7, 3).sin().requires_grad_()
    (torch.nn.BatchNorm1d(3, affine=False).double()(x) * counting(7, 3).cos()).sum().backward()
    return "through" if float(x.grad.sum(0).abs().max()) < 1e-6 else "detached"


def _which_step() -> str:
    """Change one past step at a time: does σ notice?"""
    x = counting(12).sin()
    moved = []
    for t in range(12):
        other = x.clone()
        other[t] += 1
        moved.append(bool(_normal(*other.tolist())[2] != _normal(*x.tolist())[2]))
    return "all" if all(moved) else "last" if moved[-1] else "future"


QUESTIONS = [
    number(
        id="03-sigma", lesson=LESSON, answer=_sigma, tolerance=0.005,
        text="A window holds 2, 4, 6, 8. What is its σ in this model?",
        right="√5 = 2.236: the squared distances from 5 are 9, 1, 1, 9, and their mean is 5.",
        wrong="Take the mean of the squared distances from the mean, then the root.",
        slips={
            "unbiased": Slip(lambda: torch.tensor([2.0, 4, 6, 8]).double().std().item(),
                "That divides by 3. The model divides by all 4 steps (`unbiased=False`)."),
            "variance": Slip(lambda: _sigma() ** 2, "That is σ², the variance. The root is still missing."),
        }),
    choice(
        id="03-twin", lesson=LESSON, answer=_twin,
        text="Which window becomes the same four numbers as 1, 2, 3, 4?",
        options={
            "line": Option("−100, −50, 0, 50",
                "It is 50 times the window, minus 150. Level and scale are what stationarization removes."),
            "mirror": Option("4, 3, 2, 1",
                "It has the same level and the same scale, but it falls: its numbers are the negatives. "
                "Shape stays."),
            "curve": Option("1, 4, 9, 16",
                "No a·x + b turns a line into a curve, so its four numbers are others."),
        }),
    number(
        id="03-restore", lesson=LESSON, answer=lambda: _restored(0.8, 5, 3), tolerance=0.01,
        text="A window has μ = 5 and σ = 3. Inside, the network says 0.8. What is the forecast?",
        right="0.8 · 3 + 5 = 7.4.",
        wrong="Undo the steps in reverse order: times σ, plus μ.",
        slips={
            "swapped": Slip(lambda: _restored(0.8, 3, 5),
                "That is 0.8 · 5 + 3: μ and σ have changed places."),
            "variance": Slip(lambda: _restored(0.8, 5, 9),
                "That multiplies by σ². The window was divided by σ."),
            "order": Slip(lambda: (0.8 + 5) * 3,
                "That adds μ before it multiplies. Division came last, so it goes first."),
        }),
    choice(
        id="03-which-step", lesson=LESSON, answer=_which_step,
        text="The past windows have 12 steps. Their σ has shape (2, 1, 5) and multiplies a forecast of "
             "4 steps. At which time step was it computed?",
        hint="What does the 1 in the middle stand for?",
        options={
            "last": Option("At the last one: the forecast continues from there.",
                "The last step alone has no deviation. The middle axis was averaged away, not cut."),
            "all": Option("At none: it is one number for the whole past window.",
                "All 12 steps enter it. That it fits the 4 future steps is an assumption of the model: they "
                "will "
                "have the past's level and scale."),
            "future": Option("At each of the 4 steps of the forecast.",
                "Those are not known yet. One number of the past serves all four."),
        }),
    number(
        id="03-bound", lesson=LESSON, answer=lambda: _largest(12), tolerance=0.01,
        text="Twelve numbers are brought to mean 0 and standard deviation 1. How large can the largest of "
             "them be?",
        hint="Eleven steps of the window are equal, one is different.",
        right="√11 = 3.317, reached when the other eleven are equal. It depends on n alone.",
        wrong="Let eleven steps be equal and one differ: mean 0 and mean square 1 then leave one solution, "
              "√(n − 1).",
        slips={
            "notes": Slip(1.5,
                "About what a straight line of twelve steps reaches (1.593). Other shapes reach further."),
            "root n": Slip(lambda: sqrt(12),
                "If the whole sum of squares, 12, sat on one step, the mean would not be 0."),
            "three": Slip(3.0,
                "Three sigma is a custom, not a bound. Twelve numbers can go a little further, and no more."),
        }),
    number(
        id="03-constant", lesson=LESSON, answer=lambda: 1000 * _constant(), tolerance=0.05,
        text="A sensor is stuck: 7, 7, 7. What is σ, in thousandths?",
        hint="The variance is 0. What is added, and where?",
        right="1000 · √(0 + 10⁻⁵) = 3.162: ε stands inside the root.",
        wrong="The variance is 0. Then ε = 10⁻⁵ is added, and then the root is taken.",
        slips={
            "outside": Slip(lambda: 1000 * EPS,
                "That is ε itself, or 0 to two digits. ε is added to the variance, and the root makes "
                "0.00316 of it."),
        }),
    choice(
        id="03-detach", lesson=LESSON, answer=_detached,
        text="The released code computes τ and δ from `x_enc.clone().detach()` and detaches μ and σ. You "
             "delete "
             "every `clone` and `detach`, and train on the same file with the same seed. What changes?",
        options={
            "outputs": Option("The forecasts: the copy is overwritten by the normalised window.",
                "`x = x - mean` makes a new tensor and gives it the old name. Nothing is overwritten."),
            "gradients": Option("The training: the Projectors now learn to undo the normalisation.",
                "A gradient that flows into data ends there. Those of the parameters are the same to the "
                "last bit."),
            "nothing": Option("Nothing at all.",
                "Difference 0.0 in the forecasts and in every parameter gradient. It matters only when "
                "something that "
                "trains produces the window."),
        }),
    choice(
        id="03-batchnorm", lesson=LESSON, answer=_batch_norm,
        text="Does batch normalisation, in training, let the gradient pass through the batch mean and "
             "variance?",
        options={
            "detached": Option("No: statistics must not be changed by gradients.",
                "Statistics are not parameters, so there is nothing to change. You may be thinking of the "
                "*running* "
                "averages, which are kept outside the graph."),
            "through": Option("Yes.",
                "So its input gradients sum to 0 in every column: raising a whole column changes nothing. "
                "Detaching is the departure from it."),
        }),
]
