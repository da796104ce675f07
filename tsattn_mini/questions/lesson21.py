"""Check questions of lesson 21, the models side by side; answers come from untrained models and the stored tables."""

import torch

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.results import load
from tsattn_mini.results.nonstationary import task
from tsattn_mini.results.zoo import MODELS, build
from tsattn_mini.trace import record

LESSON = "21_compare"


def misses(times: float, plus: float) -> dict[str, float]:
    """How far each untrained model's forecast of `times` x + `plus` is from `times` f(x) + `plus`, at most."""
    cut = task("bikes").test[[12]]
    past, marks, _, decoder_marks = (part.double() for part in tuple(cut))
    found = {}
    for name in MODELS:
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(21)
            model = build("bikes", name).double().eval()
            y, moved = (model(z, marks, None, decoder_marks) for z in (past, times * past + plus))
        found[name] = (moved - times * y - plus).abs().max().item()
    return found


def _followers() -> float:
    return float(sum(gap < 1e-3 for gap in misses(3, 7).values()))


def _level() -> str:
    kept = [name for name, gap in misses(1, 7).items() if gap < 1e-3]
    return "decomposed" if "Autoformer" in kept and "Informer" not in kept else "normalised"


def _lost() -> str:
    """Informer takes nothing off a window: it has no statistics among its steps."""
    cut = task("bikes").test[[12]]
    with torch.no_grad(), record() as trace:
        build("bikes", "Informer").eval()(cut.past, cut.past_marks, None, cut.decoder_marks)
    return "lost" if {"mu", "sigma"} & set(trace) else "untouched"


def _fallen() -> str:
    """Which models of the zoo stay more than ten times behind the last value on the growing series?"""
    results = load("zoo")
    limit = 10 * results["macro", "last value", "mse"].mean
    fallen = {m for m in MODELS if results["macro", m, "mse"].mean > limit}
    return "no level" if fallen == {"Transformer", "Informer"} else "other"


def _memory() -> str:
    at = load("cost").values
    sparse, full = (at("L", name, "mib")[3] for name in ("ProbSparse", "full attention"))
    return "more" if sparse > full else "less"


def _doors() -> str:
    """Where does a level of 7 leave the largest miss among the models that normalise?"""
    found = misses(1, 7)
    return max(("Non-stationary", "iTransformer", "TimeXer", "DUET"), key=lambda name: found[name])


QUESTIONS = [
    choice(
        id="21-lost", lesson=LESSON, answer=_lost,
        text="Informer does not normalise its windows. What happens to the level and scale of a window, before "
             "the first layer?",
        options={
            "lost": Option("They are lost.", "Only what is taken off can be lost, and Informer takes nothing off. "
                                             "The loss the papers speak of is caused by normalising."),
            "untouched": Option("Nothing: they are still there.", "The window goes in as it is. Whether the model "
                                "can do anything with a level it has never seen is another question."),
            "trend": Option("They go into the trend.", "That is Autoformer and FEDformer. Informer has no "
                                                       "decomposition."),
        }),
    number(
        id="21-follow", lesson=LESSON, answer=_followers, tolerance=0.5,
        text="Eight models with random weights, the plain Transformer among them. For how many is the forecast of "
             "3x + 7 three times that of x, plus 7, to three decimals?",
        right="Two: iTransformer and TimeXer normalise, restore, and look at level and scale nowhere else.",
        wrong="Normalising is not enough: level and scale must not come in by another door.",
        slips={"normalise": Slip(4, "Four normalise. But τ and δ, and DUET's router and links, read the raw "
                                    "window."),
               "decompose": Slip(6, "Decomposition keeps the scale: R and the scores grow with it.")}),
    choice(
        id="21-macro", lesson=LESSON, answer=_fallen,
        text="Trained on fifty years of growing US series, tested on levels above all they have seen. Which models "
             "end more than ten times behind the last value?",
        options={
            "no level": Option("Transformer and Informer.", "Both have no path for the level. Every other model "
                               "normalises or decomposes, and is within a factor of three."),
            "other": Option("All that do not normalise, Autoformer and FEDformer too.",
                            "They do not normalise, and the level reaches the forecast in the trend, exactly."),
            "none": Option("None: training takes care of the level.",
                           "It cannot: there are no such levels in training."),
        }),
    choice(
        id="21-sparse", lesson=LESSON, answer=_memory,
        text="ProbSparse attention promises L ln L in time and memory. At 384 steps, how much memory does its call "
             "hold, compared with full attention?",
        options={
            "less": Option("Less: 30 sampled keys instead of 384.",
                           "30 keys are *gathered* for each query, each with 64 numbers. A score is one number."),
            "more": Option("More.", "384 · 30 sampled keys of 64 numbers each are more than 384 · 384 scores. "
                                    "A better exponent wins only from some length on: here from 768."),
            "same": Option("The same: scores are scores.", "Scores are not what fills it."),
        }),
    choice(
        id="21-level", lesson=LESSON, answer=_level,
        text="A window rises by 7, the weights are random. Which forecasts rise by exactly 7?",
        options={
            "normalised": Option("Those of models that normalise, no others.",
                                 "Decomposition does it too: a constant is all trend, and the trend is added at the "
                                 "end."),
            "decomposed": Option("Those of iTransformer, TimeXer, Autoformer and FEDformer.",
                                 "Two take the level off and put it back, two let it ride in the trend."),
            "all": Option("All: a forecast starts where the window ends.",
                          "Nothing makes it start there. A LayerNorm hides the level, and no one puts it back."),
        }),
    choice(
        id="21-doors", lesson=LESSON, answer=_doors,
        text="Four models normalise. Through whose other door does a level of 7 come in most, before training?",
        options={
            "Non-stationary": Option("The Non-stationary Transformer's τ and δ.",
                                     "Untrained Projectors are quiet: 0.03. Training can make them loud."),
            "iTransformer": Option("iTransformer's time marks.", "Marks know the clock, not the level: 0.000."),
            "TimeXer": Option("TimeXer's global token.", "It is made from the normalised series: 0.000."),
            "DUET": Option("DUET's router and links.",
                           "A level sends windows to other experts and cuts other links: 1.3 in units of the "
                           "series."),
        }),
]
