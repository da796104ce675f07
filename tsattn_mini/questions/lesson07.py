"""Check questions of lesson 07, the Non-stationary Transformer in the wild; answers come from the stored table."""

from tsattn_mini.datasets import load_macro, split_by_time
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.results import interval, load

LESSON = "07_non_stationary_in_the_wild"


def _new_quarters() -> float:
    """Percent of test quarters with an output above everything in the training part."""
    parts = split_by_time(load_macro().tensor(["realgdp"]))
    return (parts.test > parts.train.max()).double().mean().item() * 100


def _winner(series: str) -> str:
    results = load("nonstationary")
    return min((m for s, m in results.pairs() if s == series), key=lambda m: results[series, m, "mse"].mean)


def _separable(series: str) -> str:
    """Can the table tell which of the two stationarized models has the smaller squared error?"""
    plain, steered = (load("nonstationary")[series, model, "mse"] for model in ("stationarized", "with τ, δ"))
    if plain.overlaps(steered):
        return "open"
    return "steered" if steered.mean < plain.mean else "plain"


def _copies() -> str:
    plain = load("nonstationary")["macro", "stationarized", "copies"].mean
    return "same" if plain < 0.01 else "apart"


QUESTIONS = [
    number(
        id="07-new", lesson=LESSON, answer=_new_quarters, tolerance=1, unit="%",
        text="US output grew 4.8 times in fifty years. The first 70 % of the quarters are for training, "
             "the last 20 % "
             "for the test. In how many percent of the test quarters is output above everything in "
             "training?",
        right="All of them. A model that works on raw levels meets nothing but new numbers.",
        wrong="Output hardly ever falls for long, and 10 % of the quarters lie between the two parts.",
        slips={"half": Slip(50, "That would need output to fall back to old levels in every other "
                                "quarter.")}),
    choice(
        id="07-winner", lesson=LESSON, answer=lambda: _winner("macro"),
        text="Forecast five growing US series for two years ahead. Which has the smallest squared error "
             "on the test part?",
        options={
            "raw": Option("A Transformer on the raw levels.",
                "It is last by far: it has never seen levels like these."),
            "stationarized": Option("The same Transformer with stationarized windows.",
                "Stationarizing is worth a factor of forty, and still something simpler is ahead."),
            "with τ, δ": Option("The Non-stationary Transformer with τ and δ.",
                "Close to the stationarized one, and still something simpler is ahead."),
            "last value": Option("Repeat the last value.",
                "On 111 training windows of slow series the naive forecast is hard to beat. Without that "
                "line in the table, "
                "a factor of forty would look like a triumph."),
        }),
    number(
        id="07-interval", lesson=LESSON, tolerance=0.002,
        answer=lambda: interval([0.14, 0.16, 0.18]).half,
        text="Three seeds give test errors 0.14, 0.16 and 0.18. Their standard deviation is 0.02, and "
             "Student's t for three "
             "seeds is 4.303. What is half the width of the 95 % confidence interval of the mean?",
        right="4.303 · 0.02 / √3 = 0.050. With three seeds the mean is known to a third of itself.",
        wrong="t · s / √n.",
        slips={
            "normal": Slip(1.96 * 0.02 / 3**0.5,
                "1.96 is for many seeds. With three, s itself is uncertain, and t is 4.303."),
            "no root": Slip(4.303 * 0.02, "That is for a single run. The mean of three is √3 times as "
                                          "certain."),
        }),
    choice(
        id="07-open", lesson=LESSON, answer=lambda: _separable("bikes"),
        text="You have seen the bikes rows of the table, eight seeds each. Which statement about τ and δ "
             "do they allow?",
        hint="Do the two confidence intervals share a point?",
        options={
            "steered": Option("With τ and δ the error is smaller.",
                "The intervals share points: another eight seeds could turn the order round."),
            "plain": Option("Without τ and δ the error is smaller.",
                "The mean is, by 0.007. The intervals overlap by more than that."),
            "open": Option("This table cannot tell.",
                "The intervals overlap. That is no proof of equality either: more seeds or more data "
                "might part them."),
        }),
    choice(
        id="07-copies", lesson=LESSON, answer=_copies,
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
