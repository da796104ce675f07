"""Check questions of lesson 08, the prior."""

from math import pi

import torch
from torch import Tensor

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, several
from tsattn_mini.kite.prior import NORMS, granger, normalise, pearson, ridge_shortcut
from tsattn_mini.nonstationary import stationarize

LESSON = "08_prior"
T = 168
THREE = torch.tensor([0.92, 0.90, 0.88], dtype=torch.float64)
ROWS = {"stretched": (1, 0.5, 0), "shares": (0.340, 0.333, 0.327), "same": (0.92, 0.90, 0.88),
        "relative": (1, 0.978, 0.957)}


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


def _one_hour_late() -> set[str]:
    """Which measures stand out when the driver acts one hour later?"""
    e = _randn(50, T + 1, 1, seed=1)
    x, e = e[:, :T] + 0.5 * _randn(50, T, 1, seed=2), e[:, 1:]
    shortcut = ridge_shortcut(stationarize(x)[0], stationarize(e)[0])
    seen = {"r": pearson(x, e).mean() > 0.2, "b": shortcut.mean() > 0.2, "F": (granger(x, e)[1] < 0.05).all()}
    return {name for name, noticed in seen.items() if noticed}


def _fooled() -> str:
    """Two daily cycles with random phases and noise: which test calls them related more often?"""
    t = torch.arange(T, dtype=torch.float64)
    phase = 24 * torch.rand(300, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    x = torch.sin(2 * pi * (t[:, None] - phase) / 24) + 0.5 * _randn(300, T, 2, seed=4)
    x, e = x[..., :1], x[..., 1:]
    by_r, by_F = float((pearson(x, e) > 0.5).double().mean()), float((granger(x, e)[1] < 0.05).double().mean())
    return "F" if by_F > by_r + 0.1 else "r" if by_r > by_F + 0.1 else "same"


def _three() -> dict[str, str]:
    """Which row each Norm makes of three strong drivers."""
    def nearest(norm: str) -> str:
        return min(ROWS, key=lambda row: float((normalise(THREE, norm) - THREE.new_tensor(ROWS[row])).abs().max()))

    return {norm: nearest(norm) for norm in NORMS}


def _best(best: Tensor, others: Tensor) -> Tensor:
    """The softmax prior of the best of ten drivers."""
    share = normalise(torch.stack([best, *[others] * 9]), "softmax")[0]
    step("of the sum", best / (best + 9 * others), axes="")
    step("rest", 100 * (1 - share), axes="")
    return share


def _one_driver() -> set[str]:
    S = torch.tensor([0.02], dtype=torch.float64)
    return {norm for norm in NORMS if float(normalise(S, norm)) == 1}


QUESTIONS = [
    choice(
        id="08-walks", lesson=LESSON, answer=_walks, difficulty=3, claims=(56, 62),
        text="Two random walks of 168 steps, each the running sum of its own white noise. They have never heard of "
             "each other. How large is their correlation on average, when its sign is dropped?",
        hint="Draw two of them on paper. How often do they seem to go together, or in opposite directions?",
        options={
            "zero": Option("0: they are independent.",
                "r is 0 on average, because its sign is a coin flip. Without the sign nothing cancels: about 0.4."),
            "noise": Option("About 0.06: a little noise.",
                "That is the level of white noise, √(2/(πT)). A walk remembers, its places are not fresh draws: about "
                "0.4 at any length."),
            "four": Option("About 0.4.",
                "Two lines that drift look alike, or like mirror images. Longer walks do not help: they drift on."),
            "eight": Option("About 0.8.",
                "Two steady trends reach that. A walk turns round often enough to stay at half of it, about 0.4."),
        }),
    choice(
        id="08-six-hours", lesson=LESSON, answer=_six_hours, claims=(62,),
        text="The sun heats the ground, the ground heats the air: a perfect daily sine, and the same sine six hours "
             "later. What is |r| over a week?",
        options={
            "one": Option("1: one determines the other completely.",
                "One does determine the other, but |r| does not see it: over whole days the products of a sine and a "
                "cosine cancel, r = 0. At twelve hours |r| is 1 again, for the mirror image."),
            "most": Option("About 0.75: a quarter of the day is missing.",
                "r is the cosine of the delay as an angle. Six of 24 hours are 90°, and cos 90° = 0."),
            "zero": Option("0.",
                "A sine and a cosine: over whole days their products cancel. A perfect relation, and r = 0."),
        },
        show=Show("a-driver-and-a-stranger", preset="Clocks six hours apart")),
    several(
        id="08-one-hour-late", lesson=LESSON, answer=_one_hour_late, claims=(62, 63),
        text="The driver is white noise, and the target is what the driver was **one hour ago** plus some noise of "
             "its own. Which of these measures notice?",
        options={
            "r": Option("|r|, the correlation",
                "It compares the same hour only, and white noise forgets within one step: |r| stays at 0.06, as for "
                "strangers."),
            "F": Option("the F-test with lags 1 to 4",
                "Lag 1 is among its lags: it finds such a driver in every window."),
            "b": Option("the weight of the regression that KITE's released code calls \"granger\"",
                "Named so, but it has a single lag, 4, and looks three hours too far back: its weight stays at 0.06.",
                slip="released KITE"),
        },
        show=Show("a-driver-and-a-stranger", preset="One hour late")),
    choice(
        id="08-fooled", lesson=LESSON, answer=_fooled, difficulty=3, claims=(62, 63),
        text="Two series with a daily cycle, each with its own phase and its own noise, otherwise unrelated. Which "
             "of the two calls them related more often: |r| > 0.5, or the F-test at 5 %?",
        hint="The F-test asks whether the stranger's past improves a forecast from four noisy values of one's own.",
        options={
            "r": Option("|r| > 0.5.",
                "It does so in nearly half of the pairs, the F-test in nearly all: another clock's past does help a "
                "forecast."),
            "F": Option("The F-test.",
                "Nearly always. Four noisy values do not tell the time of day well; four more, from any clock, help."),
            "same": Option("Both rarely: there is no relation.",
                "There is a common clock. Both measures see it, |r| in half of the pairs and F in nearly all, and "
                "neither can say that it is only a clock."),
        },
        show=Show("a-driver-and-a-stranger", preset="Clocks six hours apart")),
    match(
        id="08-norms", lesson=LESSON, answer=_three, claims=(65,),
        text="Three strong drivers, |r| = 0.92, 0.90, 0.88. Which prior does each Norm make of them?",
        left={
            "none": Option("none: |r| itself", "Nothing is done: (0.92, 0.90, 0.88)."),
            "max": Option("max: divide by the largest", "0.90/0.92 = 0.978, 0.88/0.92 = 0.957. All stay strong."),
            "minmax": Option("min–max: (S − min)/(max − min)",
                "Over the range of 0.04: 0.04, 0.02 and 0. The weakest gets exactly 0, however strong it is."),
            "softmax": Option("softmax", "It makes shares of one unit: three nearly equal drivers get a third each."),
        },
        right={row: f"({', '.join(f'{x:g}' for x in ROWS[row])})" for row in ROWS},
        pairs=(
            Pair("softmax", "stretched", "A softmax never gives 0. It makes shares, here nearly a third each."),
            Pair("max", "stretched", "Max only divides: 0.88/0.92 is 0.957. What subtracts is min–max."),
            Pair("minmax", "relative", "That is division by the largest. Min–max first subtracts the smallest, 0.88."),
        ),
        show=Show("four-readings-of-norm", S=[0.92, 0.9, 0.88, 0.88], norm="minmax")),
    number(
        id="08-ten", lesson=LESSON, answer=_best, tolerance=0.006, claims=(65,),
        draws={"best": Draw(low=0.5, high=1, step=0.1), "others": Draw(low=0, high=0.4, step=0.1)},
        first={"best": 1, "others": 0},
        text="Ten drivers: one with |r| = {best}, nine with |r| = {others}. What prior does the softmax of the "
             "released code give the best one?",
        hint="Ten exponentials: exp({best}) and nine times exp({others}).",
        right="1/(1 + 9 · exp({others} − {best})) = {answer:3}. The nine others share {rest:0} %.",
        wrong="The share is exp({best}) over the sum of all ten exponentials.",
        slips={
            "certainty": Slip("of the sum", "That would be dividing by the sum of the |r|. Softmax takes exponentials "
                                            "first: exp({best}) over exp({best}) + 9 exp({others})."),
            "nothing": Slip(0.1, "That is the share of each of ten equal drivers. The best gets exp({best} − {others}) "
                                 "times the share of another."),
        }),
    several(
        id="08-one-driver", lesson=LESSON, answer=_one_driver, claims=(65,),
        text="There is a single driver, and its |r| is 0.02: noise. Which Norms give it the prior 1, full trust?",
        options={
            "none": Option("none: |r| itself", "It leaves 0.02 as it is, hardly any trust."),
            "max": Option("max: divide by the largest of the row", "0.02/0.02 = 1: alone, everyone is the best."),
            "minmax": Option("min–max: (S − min)/(max − min)",
                "Smallest and largest are the same: 0/0, nothing to stretch. The book's code then leaves 0.02 as it "
                "is."),
            "softmax": Option("softmax over the row",
                "It shares out one unit, and a single share is all of it: with one driver it always says 1."),
        },
        show=Show("four-readings-of-norm", S=[0.02, 0, 0, 0], norm="max")),
]
