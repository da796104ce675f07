"""The questions of lesson 21 that ask for the rows of its table; keys come from untrained models on one window."""

from functools import cache

import torch
from torch import nn

from tsattn_mini.explore.question import Option, Pair, match
from tsattn_mini.results.nonstationary import task
from tsattn_mini.results.zoo import MODELS, build
from tsattn_mini.trace import Trace, record

LESSON = "21_compare"
RELATED = {  # a step of the trace, and its shape
    "sparse": ("enc0/A_top", (1, 4, 20, 48)), "delays": ("enc0/A", (1, 3)), "modes": ("enc0/X_re", (1, 24, 4, 8)),
    "steps": ("enc0/A", (1, 4, 48, 48)), "columns": ("enc0/A", (1, 4, 8, 8)),
    "patches": ("enc0/self/A", (4, 4, 5, 5)), "links": ("links/keep", (1, 4, 4))}


def _untrained(name: str) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(21)
        return build("bikes", name).eval()


@cache
def misses(times: float, plus: float) -> dict[str, float]:
    """How far each untrained model's forecast of `times` x + `plus` is from `times` f(x) + `plus`, at most."""
    cut = task("bikes").test[[12]]
    past, marks, _, decoder_marks = (part.double() for part in tuple(cut))
    found = {}
    for name in MODELS:
        model = _untrained(name).double()
        with torch.no_grad():
            y, moved = (model(z, marks, None, decoder_marks) for z in (past, times * past + plus))
        found[name] = (moved - times * y - plus).abs().max().item()
    return found


@cache
def _traces() -> dict[str, Trace]:
    """The steps of each untrained model on one window of the bikes."""
    cut, found = task("bikes").test[[12]], {}
    for name in list(MODELS)[1:]:
        model = _untrained(name)
        with torch.no_grad(), record() as found[name]:
            model(cut.past, cut.past_marks, None, cut.decoder_marks)
    return found


def _relates() -> dict[str, str]:
    return {name: next(key for key, (step, shape) in RELATED.items() if step in t and t[step].shape == shape)
            for name, t in _traces().items()}


def _returns() -> dict[str, str]:
    """Where level and scale come back: by the steps of a model, and by whether its forecast rises with the window."""
    gaps, found = misses(1, 7), {}
    for name, trace in _traces().items():
        if "mu" not in trace:
            found[name] = "trend" if gaps[name] < 1e-3 else "nothing"
        else:
            found[name] = "inside" if "tau" in trace else "experts" if "router/gates" in trace else "output"
    return found


TABLE = [
    match(
        id="21-problem", lesson=LESSON, difficulty=1, claims=(38, 42, 47, 49, 51),
        answer={"Informer": "cost", "Autoformer": "series", "FEDformer": "whole", "Non-stationary": "alike",
                "iTransformer": "blend"},
        text="Which problem does each paper set out from?",
        left={
            "Informer": Option("Informer", "Time and memory of attention over L steps grow as L²; ProbSparse is the "
                                           "answer."),
            "Autoformer": Option("Autoformer", "Whole sub-series, shifted, are compared in place of single steps."),
            "FEDformer": Option("FEDformer", "Decomposition for the overall course, a few frequencies for linear "
                                             "cost."),
            "Non-stationary": Option("Non-stationary Transformer",
                "Windows that differ in level and scale become the same once normalised; τ and δ tell them apart."),
            "iTransformer": Option("iTransformer", "So a token becomes a variable, and attention runs between "
                                                   "variables."),
        },
        right={
            "blend": "a token made of one step blends unlike variables, and delayed events",
            "period": "periods are missing from the series",
            "whole": "seeing the whole window, at a low cost",
            "local": "local decomposition",
            "cost": "attention over L steps costs L²",
            "order": "the order of the variables must not matter",
            "alike": "normalised windows look alike to attention",
            "series": "single steps know little; patterns span many of them",
        },
        pairs=[
            Pair("Autoformer", "period", "Periods are what it uses, not what it misses: long-range patterns hide "
                 "between single steps, so it compares whole shifted series.", slip="claim 42"),
            Pair("FEDformer", "local", "The other way round: point-wise attention misses the *global* course, and is "
                 "dear. Decomposition and a few frequencies are its answer.", slip="claim 47"),
            Pair("iTransformer", "order", "That is a property of its answer, and it is equivariance. The problem is "
                 "what a token of one step mixes.", slip="claim 51"),
        ]),
    match(
        id="21-statistics", lesson=LESSON, answer=_returns, claims=(39, 40, 43, 44, 49, 53),
        text="What becomes of a window's level and scale, from the first layer to the forecast?",
        hint="What was never taken off cannot be lost.",
        left={
            "Informer": Option("Informer",
                "The window goes in as it is. Whether the model can do anything with a level it has never seen is "
                "another question."),
            "Autoformer": Option("Autoformer",
                "A moving average carries the level, and the trend is added at the end. The scale stays in both "
                "parts."),
            "FEDformer": Option("FEDformer", "As in Autoformer: trend plus rest is the window, nothing is taken off."),
            "Non-stationary": Option("Non-stationary Transformer",
                "The only one of the seven that has τ and δ: it puts the statistics back at the output and in "
                "attention."),
            "iTransformer": Option("iTransformer",
                "Its last line is y ⊙ σ + μ, so 3x + 7 gives three times the forecast, plus 7. Attention hears "
                "nothing of it."),
            "TimeXer": Option("TimeXer", "As in iTransformer: y ⊙ σ + μ for the target, and nowhere else."),
            "DUET": Option("DUET", "Normalised for the experts, restored at the output; but the router reads the raw "
                                   "window, so its level picks the experts."),
        },
        right={
            "lost": "taken off, and lost",
            "output": "taken off, put back at the output only",
            "inside": "taken off, put back at the output and inside attention",
            "trend": "not taken off; the level travels in the trend",
            "experts": "taken off, put back at the output, and used to choose among networks",
            "nothing": "not taken off, and nothing is done about them",
        },
        pairs=[
            Pair("Informer", "lost", "Only what is taken off can be lost. The loss the papers speak of is caused by "
                 "normalising, and Informer does not normalise.", slip="claim 40"),
            Pair("Autoformer", "output", "Decomposition is no normalisation: trend plus rest is the window, and the "
                 "rest has nearly all of its spread.", slip="claim 43"),
            Pair("FEDformer", "output", "Decomposition is no normalisation: nothing is divided by σ. The level goes "
                 "with the trend.", slip="claim 43"),
            Pair("Autoformer", "lost", "To the last digit it is there: the window's mean enters the trend, and the "
                 "trend is added at the end.", slip="claim 44"),
            Pair("iTransformer", "lost", "They are restored, at the output: 3x + 7 is forecast as 3 · forecast + 7. "
                 "What it does not do is tell attention.", slip="claim 53"),
            Pair("Non-stationary", "output", "There as well. But τ and δ bring them back inside attention, which is "
                 "what is new in it."),
            Pair("DUET", "inside", "DUET has no τ and δ. The raw window chooses which experts are asked."),
        ]),
    match(
        id="21-relates", lesson=LESSON, answer=_relates, claims=(45, 54),
        text="48 hours of 4 series, each hour with 4 time marks. What does the first layer of each model relate?",
        hint="What is a token: a step, a patch, a variable?",
        left={
            "Informer": Option("Informer", "ProbSparse: the 20 queries that stand out attend, the others take a mean."),
            "Autoformer": Option("Autoformer", "Auto-Correlation: the whole series against itself, shifted by the 3 "
                                               "best delays. One weight per delay."),
            "FEDformer": Option("FEDformer", "A matrix for each of a few frequencies, which all hours share."),
            "Non-stationary": Option("Non-stationary Transformer", "Plain attention over time, with τ and δ in it."),
            "iTransformer": Option("iTransformer", "Every column is a token, and marks are columns: 4 + 4."),
            "TimeXer": Option("TimeXer", "Per target: four patches of 12 hours, and its global token."),
            "DUET": Option("DUET", "Tokens are variables; marks are not read, and links are drawn."),
        },
        right={
            "columns": "8 columns × 8 columns",
            "links": "4 variables × 4 variables, some links cut",
            "delays": "3 delays, the same for all hours",
            "steps": "48 hours × 48 hours",
            "patches": "5 × 5: patches of a series, and one token for the whole of it",
            "modes": "24 frequencies, each by itself",
            "sparse": "20 chosen hours × 48 hours",
        },
        pairs=[
            Pair("Autoformer", "steps", "Its tokens are embedded hour by hour, but they meet by delay: one weight "
                 "moves the whole series.", slip="claim 45"),
            Pair("FEDformer", "steps", "Its tokens are embedded hour by hour, but they meet by frequency: no hour asks "
                 "another.", slip="claim 45"),
            Pair("iTransformer", "steps", "That is the Transformer on its feet. Here a token is a column: 4 variables "
                 "and 4 marks."),
            Pair("iTransformer", "links", "Close: variables, but all see all, and the 4 columns of marks are tokens "
                                          "too."),
            Pair("DUET", "columns", "DUET does not read the marks, and cuts links between variables."),
        ]),
]
