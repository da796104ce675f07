"""Check questions of lesson 08, the prior."""

from math import pi

import torch
from torch import Tensor

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.kite.prior import NORMS, granger, normalise, pearson, ridge_shortcut
from tsattn_mini.nonstationary import stationarize

LESSON = "08_prior"
T = 168


def _randn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _walks() -> str:
    """Mean |r| of two random walks that have nothing to do with each other, beside that of white noise."""
    noise = _randn(2000, T, 2, seed=0)
    r = [float(pearson(x[..., :1], x[..., 1:]).mean()) for x in (noise.cumsum(1), noise)]
    beliefs = {"zero": 0.0, "noise": r[1], "four": 0.4, "eight": 0.8}
    return min(beliefs, key=lambda name: abs(beliefs[name] - r[0]))


def _six_hours() -> str:
    t = torch.arange(T, dtype=torch.float64)
    now, late = (torch.sin(2 * pi * (t - delay) / 24)[None, :, None] for delay in (0, 6))
    r = float(pearson(now, late))
    return min({"one": 1.0, "most": 0.75, "zero": 0.0}.items(), key=lambda belief: abs(belief[1] - r))[0]


def _one_hour_late() -> str:
    """Which measures stand out when the driver acts one hour later?"""
    e = _randn(50, T + 1, 1, seed=1)
    x, e = e[:, :T] + 0.5 * _randn(50, T, 1, seed=2), e[:, 1:]
    shortcut = ridge_shortcut(stationarize(x)[0], stationarize(e)[0])
    seen = {"r": pearson(x, e).mean() > 0.2, "b": shortcut.mean() > 0.2, "F": (granger(x, e)[1] < 0.05).all()}
    return "".join(name for name in ("r", "F", "b") if seen[name])


def _fooled() -> str:
    """Two daily cycles with random phases and noise: which test calls them related more often?"""
    t = torch.arange(T, dtype=torch.float64)
    phase = 24 * torch.rand(300, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    x = torch.sin(2 * pi * (t[:, None] - phase) / 24) + 0.5 * _randn(300, T, 2, seed=4)
    x, e = x[..., :1], x[..., 1:]
    by_r, by_F = float((pearson(x, e) > 0.5).double().mean()), float((granger(x, e)[1] < 0.05).double().mean())
    return "F" if by_F > by_r + 0.1 else "r" if by_r > by_F + 0.1 else "same"


def _kills_the_third() -> str:
    S = torch.tensor([0.92, 0.90, 0.88], dtype=torch.float64)
    return "+".join(norm for norm in NORMS if float(normalise(S, norm)[2]) == 0)


def _ten() -> float:
    return float(normalise(torch.tensor([1.0] + 9 * [0.0], dtype=torch.float64), "softmax")[0])


def _one_driver() -> str:
    S = torch.tensor([0.02], dtype=torch.float64)
    return "+".join(norm for norm in NORMS if float(normalise(S, norm)) == 1)


QUESTIONS = [
    choice(
        id="08-walks", lesson=LESSON, answer=_walks,
        text="Two random walks of 168 steps, each the running sum of its own white noise. They have never heard of "
             "each other. How large is their correlation on average, when its sign is dropped?",
        hint="Draw two of them on paper. How often do they seem to go together, or in opposite directions?",
        options={
            "zero": Option("0: they are independent.",
                "r is 0 on average, because its sign is a coin flip. Without the sign nothing cancels."),
            "noise": Option("About 0.06: a little noise.",
                "That is the level of white noise, √(2/(πT)). A walk remembers: its steps are not fresh draws."),
            "four": Option("About 0.4.",
                "Two lines that drift look alike, or like mirror images. Longer walks do not help: they drift on."),
            "eight": Option("About 0.8.",
                "Two steady trends reach that. A walk turns round often enough to stay at half of it."),
        }),
    choice(
        id="08-six-hours", lesson=LESSON, answer=_six_hours,
        text="The sun heats the ground, the ground heats the air: a perfect daily sine, and the same sine six hours "
             "later. What is |r| over a week?",
        options={
            "one": Option("1: one determines the other completely.",
                "It does, and |r| does not see it. At twelve hours it would be 1 again: the mirror image."),
            "most": Option("About 0.75: a quarter of the day is missing.",
                "r is the cosine of the delay as an angle. Six of 24 hours are 90°."),
            "zero": Option("0.",
                "A sine and a cosine: over whole days their products cancel. A perfect relation, and r = 0."),
        }),
    choice(
        id="08-one-hour-late", lesson=LESSON, answer=_one_hour_late,
        text="The driver is white noise, and the target is what the driver was **one hour ago** plus some noise of "
             "its own. Which measures notice?",
        options={
            "rFb": Option("|r|, the F-test and the released regression.",
                "|r| compares the same hour only, and white noise forgets within one step."),
            "Fb": Option("The F-test and the released regression.",
                "The released regression has a single lag, 4. It looks three hours too far back."),
            "F": Option("The F-test alone.",
                "It has all lags from 1 to 4. |r| looks at lag 0, the released regression at lag 4: both miss it."),
            "r": Option("|r| alone.",
                "|r| looks at lag 0. There a white driver and its echo have nothing in common."),
        }),
    choice(
        id="08-fooled", lesson=LESSON, answer=_fooled,
        text="Two series with a daily cycle, each with its own phase and its own noise, otherwise unrelated. Which "
             "of the two calls them related more often: |r| > 0.5, or the F-test at 5 %?",
        hint="The F-test asks whether the stranger's past improves a forecast from four noisy values of one's own.",
        options={
            "r": Option("|r| > 0.5.",
                "It does so in nearly half of the pairs. The F-test does worse."),
            "F": Option("The F-test.",
                "Nearly always. Four noisy values do not tell the time of day well; four more, from any clock, help."),
            "same": Option("Both rarely: there is no relation.",
                "There is a common clock. Both measures see it, and neither can say that it is only a clock."),
        }),
    choice(
        id="08-third", lesson=LESSON, answer=_kills_the_third,
        text="Three strong drivers, |r| = 0.92, 0.90, 0.88. Which Norm gives the third a prior of exactly 0?",
        options={
            "none": Option("None of the four.",
                "One of them sends the smallest entry of every row to 0."),
            "minmax": Option("Min–max.",
                "(S − min)/(max − min) is 0 for the weakest, however strong it is."),
            "softmax": Option("Softmax.",
                "Its shares are 0.340, 0.333, 0.327: nearly equal, and never 0."),
            "max+minmax": Option("Max and min–max.",
                "Max divides by the largest: 0.88/0.92 = 0.957. Only min–max subtracts."),
        }),
    number(
        id="08-ten", lesson=LESSON, answer=_ten, tolerance=0.006,
        text="Ten drivers: one with |r| = 1, nine with |r| = 0. What prior does the softmax of the released code give "
             "the perfect one?",
        hint="exp(1) = 2.718, exp(0) = 1.",
        right="e/(e + 9) = 0.232. The nine useless ones share the other 77 %.",
        wrong="The share is exp(1) over the sum of all ten exponentials.",
        slips={
            "certainty": Slip(1.0, "That would be dividing by the sum of the |r|. Softmax takes exponentials first, "
                                   "and exp(0) is 1, not 0."),
            "nothing": Slip(0.1, "That is the share of each of ten equal drivers. This one gets e times the share of "
                                 "another."),
        }),
    choice(
        id="08-one-driver", lesson=LESSON, answer=_one_driver,
        text="There is a single driver, and its |r| is 0.02: noise. Which Norms give it the prior 1, full trust?",
        options={
            "neither": Option("None of the four: 0.02 is small.",
                "Two of them compare a driver with the other drivers of its row only, and there is no other."),
            "max": Option("Max only.",
                "0.02/0.02 = 1, yes. And a softmax over one entry?"),
            "softmax": Option("Softmax only.",
                "A single share is 1, yes. And 0.02 divided by the largest of the row?"),
            "max+softmax": Option("Max and softmax.",
                "Both are relative to the row: alone, everyone is the best. With one driver their prior says nothing."),
        }),
]
