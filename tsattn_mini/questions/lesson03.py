"""Check questions of lesson 03, stationarization."""

import torch
from torch import Tensor

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Option, Show, Slip, choice, number, several, written
from tsattn_mini.lesson import counting
from tsattn_mini.nonstationary import EPS, NonstationaryTransformer, destationarize, stationarize

LESSON, DRAG = "03_stationarize", "what-a-window-remembers"


def _normal(*values: float) -> tuple[Tensor, Tensor, Tensor]:
    """x', μ and σ of one window of one variable."""
    x, mu, sigma = stationarize(torch.tensor(values, dtype=torch.float64)[None, :, None])
    return x.flatten(), mu.squeeze(), sigma.squeeze()


def _sigma(x: Tensor) -> Tensor:
    """σ of a window whose mean is a whole number; other windows are drawn again."""
    _, mu, sigma = stationarize(x[None, :, None])
    step("level", mu.squeeze(), axes="")
    step("squares", (x - mu.squeeze()) ** 2, axes="T")
    variance = step("variance", x.var(correction=0), axes="")
    step("unbiased", x.std(), axes="")
    return torch.where((x.sum() % 4 == 0) & (variance > 0), sigma.squeeze(), torch.nan)


def _twins() -> set[str]:
    windows = {"line": (-100, -50, 0, 50), "mirror": (4, 3, 2, 1), "curve": (1, 4, 9, 16), "ten": (10, 20, 30, 40),
               "stuck": (7, 7, 7, 7)}
    x = _normal(1, 2, 3, 4)[0]
    return {name for name, window in windows.items() if torch.allclose(_normal(*window)[0], x, atol=1e-4)}


def _restored(y: Tensor, mu: Tensor, sigma: Tensor) -> Tensor:
    step("swapped", y * mu + sigma, axes="")
    step("variance", y * sigma**2 + mu, axes="")
    step("order", (y + mu) * sigma, axes="")
    return destationarize(*(z.reshape(1, 1, 1) for z in (y, mu, sigma))).squeeze()


def _largest(n: Tensor) -> Tensor:
    """The largest of n stationarized steps when one differs from all others, and what a straight line reaches."""
    steps = torch.arange(100, device=n.device)
    line = steps.to(n)

    def top(x: Tensor) -> Tensor:
        rest = torch.where(steps < n, x - torch.where(steps < n, x, 0.0).sum() / n, 0.0)
        return rest.max() / (rest.square().sum() / n).sqrt()

    step("others", n - 1, axes="")
    step("line", top(line), axes="")
    step("root n", n.sqrt(), axes="")
    return top((steps == 0).to(n))


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
        id="03-sigma", lesson=LESSON, answer=_sigma, tolerance=0.005, difficulty=1, claims=(6, 13),
        draws={"x": Draw((4,), 1, 9, whole=True)}, first={"x": (2, 4, 6, 8)},
        text="A window holds {x}. What is its σ in the Non-stationary Transformer?",
        right="√{variance} = {answer}: the squared distances from {level} are {squares}, and their mean is {variance}.",
        wrong="Take the mean of the squared distances from the mean, {level}, then the root.",
        slips={
            "unbiased": Slip("unbiased",
                "That divides by 3. The model divides by all 4 steps (`unbiased=False`)."),
            "variance": Slip("variance", "That is σ², the variance. The root is still missing."),
        }),
    several(
        id="03-twin", lesson=LESSON, answer=_twins, claims=(6,), show=Show(DRAG, level=20, scale=1000),
        text="Stationarized, which windows become the same four numbers as 1, 2, 3, 4?",
        options={
            "line": Option("−100, −50, 0, 50",
                "It is 50 times the window, minus 150. Level and scale are what stationarization removes."),
            "mirror": Option("4, 3, 2, 1",
                "It has the same level and the same scale, but it falls: its numbers are the negatives. "
                "Shape stays."),
            "curve": Option("1, 4, 9, 16",
                "No a·x + b turns a line into a curve, so its four numbers are others."),
            "ten": Option("10, 20, 30, 40",
                "Ten times the window. Mean and spread are ten times as large, and both divide out: −1.342, −0.447, "
                "0.447, 1.342 again."),
            "stuck": Option("7, 7, 7, 7",
                "There is no spread to divide by: all four become 0. Nothing of a line is left in it."),
        }),
    number(
        id="03-restore", lesson=LESSON, answer=_restored, tolerance=0.01, difficulty=1, claims=(24,),
        draws={"y": Draw(low=-1.5, high=1.5, step=0.1), "mu": Draw(low=2, high=9, whole=True),
               "sigma": Draw(low=2, high=9, whole=True)},
        first={"y": 0.8, "mu": 5, "sigma": 3},
        text="A window has μ = {mu} and σ = {sigma}. Inside, the network says {y}. What is the forecast?",
        right="{y} · {sigma} + {mu} = {answer:1}.",
        wrong="Undo the steps in reverse order: times σ, plus μ.",
        slips={
            "swapped": Slip("swapped",
                "That is {y} · {mu} + {sigma}: μ and σ have changed places."),
            "variance": Slip("variance",
                "That multiplies by σ². The window was divided by σ."),
            "order": Slip("order",
                "That adds μ before it multiplies. The division came last, so it is undone first: times σ."),
        }),
    choice(
        id="03-which-step", lesson=LESSON, answer=_which_step, claims=(24,), show=Show(DRAG, slope=1),
        text="The past windows have 12 steps. Their σ has shape (2, 1, 5) and multiplies a forecast of "
             "4 steps. At which time step was it computed?",
        hint="What does the 1 in the middle stand for?",
        options={
            "last": Option("At the last one: the forecast continues from there.",
                "The last step alone has no deviation. The middle axis was averaged away, not cut."),
            "all": Option("At none: it is one number for the whole past window.",
                "All 12 steps enter it. That it fits the 4 future steps is an assumption of the model: they will have "
                "the past's level and scale."),
            "future": Option("At each of the 4 steps of the forecast.",
                "Those are not known yet. One number of the past serves all four."),
        }),
    written(
        id="03-broadcast", lesson=LESSON, difficulty=3, claims=(24,), show=Show(DRAG, preset="Higher"),
        text="The forecast is restored by `dec_out × std_enc + mean_enc`, where `std_enc` has shape (2, 1, 5): two "
             "windows of 12 steps, five variables. At which time step was this standard deviation computed, and why "
             "may it be broadcast to the 4 steps of the output?",
        hint="Which operation leaves an axis of length 1? And what does a forecast have to do with the past's spread?",
        model_answer="At none: it is computed *over* all 12 steps of the input, once for each window and variable, "
                     "with the biased variance and 10⁻⁵ under the root. `keepdim` leaves a time axis of length 1, and "
                     "such an axis fits any length: here the decoder's 10 rows, of which the last 4 are kept. That "
                     "the shapes fit is no reason that the numbers do. The model assumes that the future has level "
                     "and scale of the input window; if they move, the decoder would have to predict the move in "
                     "units of the past.",
        rubric=[
            "Computed over all 12 input steps, at no single one; one number for each window and variable.",
            "The time axis has length 1 and is broadcast to any number of rows.",
            "It assumes that the future keeps the level and the scale of the past window.",
        ],
        parts=["03-which-step", "03-sigma", "03-restore"]),
    number(
        id="03-bound", lesson=LESSON, answer=_largest, tolerance=0.01, difficulty=3, claims=(14,),
        show=Show(DRAG, preset="One outlier"),
        draws={"n": Draw(values=(5, 6, 8, 12, 14, 17, 24, 26, 37, 48, 50, 65, 96))}, first={"n": 12},
        text="{n} numbers are brought to mean 0 and standard deviation 1. How large can the largest of them be?",
        hint="All but one of them are equal.",
        right="√{others} = {answer}, reached when the other {others} are equal. It depends on n alone.",
        wrong="Let all but one be equal: mean 0 and mean square 1 then leave one solution, √(n − 1).",
        slips={
            "notes": Slip(1.5,
                "About what a straight line of twelve steps reaches (of {n} steps: {line}). Other shapes reach "
                "further: one number apart from {n} − 1 equal ones reaches √({n} − 1).",
                slip="claim 14"),
            "root n": Slip("root n",
                "If the whole sum of squares, {n}, sat on one number, the mean would not be 0."),
            "three": Slip(3.0,
                "Three sigma is a custom, not a bound: what bounds {n} numbers is √{others}."),
        }),
    number(
        id="03-constant", lesson=LESSON, answer=lambda: 1000 * _constant(), tolerance=0.05,
        claims=(13,), show=Show(DRAG, level=0, scale=1e-4),
        text="A sensor is stuck: 7, 7, 7. What is σ, in thousandths?",
        hint="The variance is 0. What is added, and where?",
        right="1000 · √(0 + 10⁻⁵) = 3.162: ε stands inside the root.",
        wrong="The variance is 0. Then ε = 10⁻⁵ is added, and then the root is taken.",
        slips={
            "outside": Slip(lambda: 1000 * EPS,
                "That is ε itself, or 0 to two digits. ε is added to the variance, and the root makes "
                "0.00316 of it, which is 3.162 thousandths."),
        }),
    choice(
        id="03-detach", lesson=LESSON, answer=_detached, difficulty=3, claims=(10, 11),
        text="The released Non-stationary Transformer computes τ and δ from `x_enc.clone().detach()` and detaches μ "
             "and σ. You delete every `clone` and `detach`, and train on the same file with the same seed. What "
             "changes?",
        options={
            "outputs": Option("The forecasts: the copy is overwritten by the normalised window.",
                "`x = x - mean` makes a new tensor and gives it the old name. Nothing is overwritten.", slip="claim "
                "10"),
            "gradients": Option("The training: the Projectors now learn to undo the normalisation.",
                "A gradient that flows into data ends there. Those of the parameters are the same to the last bit.",
                slip="claim 11"),
            "nothing": Option("Nothing at all.",
                "Difference 0.0 in the forecasts and in every parameter gradient. It matters only when something that "
                "trains produces the window."),
        }),
    choice(
        id="03-batchnorm", lesson=LESSON, answer=_batch_norm, claims=(12,),
        text="Does batch normalisation, in training, let the gradient pass through the batch mean and "
             "variance?",
        options={
            "detached": Option("No: statistics must not be changed by gradients.",
                "Statistics are not parameters, so there is nothing to change. You may be thinking of the *running* "
                "averages, which are kept outside the graph.", slip="claim 12"),
            "through": Option("Yes.",
                "So its input gradients sum to 0 in every column: raising a whole column changes nothing. "
                "Detaching is the departure from it."),
        }),
]
