"""Check questions of lesson 07, the Non-stationary Transformer in the wild; answers come from the stored table."""

from torch import Tensor

from tsattn_mini import step
from tsattn_mini.datasets import load_macro, split_by_time
from tsattn_mini.explore.question import Draw, Option, Slip, choice, number, several
from tsattn_mini.results import interval, load

LESSON = "07_non_stationary_in_the_wild"
RESULTS, MODELS = load("nonstationary"), ("raw", "stationarized", "with τ, δ", "last value")
T_THREE = interval([-1.0, 0.0, 1.0]).half * 3**0.5  # Student's t for three runs; their deviation is 1 here


def _new_quarters() -> float:
    """Percent of test quarters with an output above everything in the training part."""
    parts = split_by_time(load_macro().tensor(["realgdp"]))
    return (parts.test > parts.train.max()).double().mean().item() * 100


def _winner(series: str) -> str:
    return min((m for s, m in RESULTS.pairs() if s == series), key=lambda m: RESULTS[series, m, "mse"].mean)


def _half_width(x: Tensor) -> Tensor:
    s, t = step("s", x.std(), axes=""), step("t", x.new_tensor(T_THREE), axes="")
    step("normal", 1.96 * s / 3**0.5, axes="")
    step("single", t * s, axes="")
    step("three", t * s / 3, axes="")
    return t * s / 3**0.5


def _errors(series: str) -> str:
    return "; ".join(f"{model} {RESULTS[series, model, 'mse']}" for model in MODELS)


def _allowed() -> set[str]:
    """Which of these differences are larger than the intervals of both sides?"""
    said = {"raw": ("macro", "stationarized", "raw"), "bikes raw": ("bikes", "stationarized", "raw"),
            "handles": ("bikes", "with τ, δ", "stationarized"), "worse": ("bikes", "stationarized", "with τ, δ"),
            "naive": ("bikes", "with τ, δ", "last value"), "macro naive": ("macro", "with τ, δ", "last value")}
    pairs = {name: [RESULTS[series, model, "mse"] for model in models] for name, (series, *models) in said.items()}
    return {name for name, (a, b) in pairs.items() if a.mean < b.mean and not a.overlaps(b)}


def _copies() -> str:
    plain = RESULTS["macro", "stationarized", "copies"].mean
    return "same" if plain < 0.01 else "apart"


QUESTIONS = [
    number(
        id="07-new", lesson=LESSON, answer=_new_quarters, tolerance=1, unit="%", difficulty=1,
        text="US output grew 4.8 times in fifty years. The first 70 % of the quarters are for training, the last 20 % "
             "for the test. In how many percent of the test quarters is output above everything in training?",
        right="All of them. A model that works on raw levels meets nothing but new numbers.",
        wrong="Output hardly ever falls for long, and 10 % of the quarters lie between the two parts.",
        slips={"half": Slip(50, "That would need output to fall back to old levels in every other quarter.")}),
    choice(
        id="07-winner", lesson=LESSON, answer=lambda: _winner("macro"),
        text="Four ways to forecast five growing US series for two years ahead, trained on the first 70 % of fifty "
             "years. Which has the smallest squared error on the last 20 %?",
        options={
            "raw": Option("A Transformer on the raw levels.",
                "It is last by far: it has never seen levels like these."),
            "stationarized": Option("The same Transformer with stationarized windows.",
                "Stationarizing is worth a factor of forty, and still something simpler is ahead."),
            "with τ, δ": Option("The Non-stationary Transformer with τ and δ.",
                "Close to the stationarized one, and still something simpler is ahead."),
            "last value": Option("Repeat the last value.",
                "On 111 training windows of slow series the naive forecast is hard to beat. Without that line in the "
                "table, a factor of forty would look like a triumph."),
        }),
    number(
        id="07-interval", lesson=LESSON, tolerance=0.002, answer=_half_width,
        draws={"x": Draw((3,), 0.1, 0.3, step=0.02)}, first={"x": (0.14, 0.16, 0.18)},
        text="Three seeds give test errors {x}. Their standard deviation is {s}, and Student's t for three seeds is "
             "{t}. What is half the width of the 95 % confidence interval of the mean?",
        right="{t} · {s} / √3 = {answer:3}. With three seeds a mean is known only roughly.",
        wrong="Half the width is t · s / √n, here with n = 3: the deviation of the *mean* is s / √3.",
        slips={
            "normal": Slip("normal",
                "1.96 is for many seeds. With three, s itself is uncertain, and t is {t}."),
            "no root": Slip("single", "That is t · s, for a single run. The mean of three is √3 times as certain."),
            "divided by n": Slip("three", "That divides by 3. Variances of independent runs add, so the deviation of "
                                          "their mean falls with √3."),
        }),
    several(
        id="07-open", lesson=LESSON, answer=_allowed, difficulty=3,
        text="Errors on a test part, mean of eight seeds ± half a 95 % interval. "
             f"Macro: {_errors('macro')}. Bikes: {_errors('bikes')}. "
             "Which statements hold because the two intervals share no point?",
        hint="Write down both ends of each interval, mean minus and mean plus. Do the two stretches overlap?",
        options={
            "raw": Option("Macro: stationarizing makes the error smaller.",
                "6.742 − 0.132 lies far above 0.170 + 0.022."),
            "bikes raw": Option("Bikes: stationarizing makes the error smaller.",
                "0.572 + 0.014 = 0.586 still lies below 0.624 − 0.024 = 0.600."),
            "handles": Option("Bikes: τ and δ make the error smaller.",
                "The mean is not even smaller, and the intervals share points: another eight seeds could turn the "
                "order round."),
            "worse": Option("Bikes: τ and δ make the error larger.",
                "The mean is larger by 0.007, and the intervals, 0.558 to 0.586 and 0.569 to 0.589, share most of "
                "their points. That is no proof of equality either."),
            "naive": Option("Bikes: the model with τ and δ beats the last value.",
                "0.589 at most against 1.013. Repeating a value has no seeds, so its interval is a point."),
            "macro naive": Option("Macro: the model with τ and δ beats the last value.",
                "The last value lies below the whole interval, 0.142 to 0.188: it is the rival that wins."),
        }),
    choice(
        id="07-copies", lesson=LESSON, answer=_copies, claims=(5, 6),
        text="A trained model with stationarized windows, but no τ and δ, reads a window x and then 2x + "
             "1. How do its "
             "attention maps differ?",
        options={
            "apart": Option("They differ, since training has seen both levels.",
                "Training sees neither level: it is taken off before the first layer."),
            "sharper": Option("The second is sharper: larger numbers, larger scores.",
                "So it is in the raw model. Here both windows are the same numbers when they reach "
                "attention."),
            "same": Option("Hardly at all.",
                "Both windows are the same after stationarization, up to ε. This part of "
                "over-stationarization is not a "
                "matter of training."),
        }),
]
