"""Check questions of lesson 21, the models side by side; answers come from untrained models and the stored tables."""

from tsattn_mini.explore.question import Option, Show, Slip, choice, number, several, written
from tsattn_mini.questions.comparison import LESSON, TABLE, misses
from tsattn_mini.results import load
from tsattn_mini.results.zoo import MODELS


def _followers() -> float:
    return float(sum(gap < 1e-3 for gap in misses(3, 7).values()))


def _level() -> set[str]:
    return {name for name, gap in misses(1, 7).items() if gap < 1e-3} - {"Transformer"}


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
    *TABLE,
    number(
        id="21-follow", lesson=LESSON, answer=_followers, tolerance=0.5, difficulty=3, claims=(53,),
        show=Show("who-follows", level=7, scale=3.0),
        text="Eight models with random weights: the plain Transformer, Informer, Autoformer, FEDformer, the "
             "Non-stationary Transformer, iTransformer, TimeXer, DUET. For how many is the forecast of 3x + 7 three "
             "times that of x, plus 7, to three decimals?",
        right="Two: iTransformer and TimeXer normalise, restore, and look at level and scale nowhere else.",
        wrong="Normalising is not enough: level and scale must not come in by another door. Two are left, "
              "iTransformer and TimeXer.",
        slips={"normalise": Slip(4, "Four normalise. But τ and δ, and DUET's router and links, read the raw "
                                    "window. Two are left."),
               "restore": Slip(3, "The Non-stationary Transformer with iTransformer and TimeXer? Its τ and δ read the "
                                  "raw window: untrained it is off by 0.110. DUET is off by 3.867."),
               "none": Slip(0, "iTransformer too puts the level and the scale back at its output, and TimeXer does: "
                               "for these two it holds.", slip="claim 53"),
               "decompose": Slip(6, "Decomposition keeps the scale in, and R and the scores grow with it: Autoformer "
                                    "and FEDformer follow the 7, not the 3.", slip="claim 43")}),
    choice(
        id="21-macro", lesson=LESSON, answer=_fallen, claims=(44,),
        text="Eight models, trained on fifty years of growing US series, are tested on levels above all they have "
             "seen. Which of them end more than ten times behind the forecast “as the last value”?",
        hint="Which have a path for the level?",
        options={
            "no level": Option("Transformer and Informer.", "Both have no path for the level. Every other model "
                               "normalises or decomposes, and is within a factor of three."),
            "other": Option("All that do not normalise, Autoformer and FEDformer too.",
                            "They do not normalise, and the level reaches the forecast in the trend, exactly. They "
                            "end at twice the error of the last value, Transformer and Informer at fifty times."),
            "none": Option("None: training takes care of the level.",
                           "It cannot: there are no such levels in training. Transformer and Informer, without a path "
                           "for the level, end at fifty times the error of the last value."),
        }),
    choice(
        id="21-sparse", lesson=LESSON, answer=_memory, difficulty=3, claims=(38,),
        text="ProbSparse attention promises L ln L in time and memory. At 384 steps, with 8 heads of width 64, how "
             "much memory does one call hold, compared with full attention?",
        hint="For each query, 30 sampled keys are gathered. How many numbers is a key?",
        options={
            "less": Option("Less: 30 sampled keys instead of 384.",
                           "30 keys are *gathered* for each query, each with 64 numbers: 384 · 30 · 64. A score is one "
                           "number: 384 · 384. The first is the larger, fivefold."),
            "more": Option("More.", "384 · 30 sampled keys of 64 numbers each are more than 384 · 384 scores. "
                                    "A better exponent wins only from some length on: here from 768."),
            "same": Option("The same: scores are scores.", "Scores are not what fills it: 384 · 30 sampled keys of 64 "
                           "numbers each are five times as many."),
        }),
    several(
        id="21-level", lesson=LESSON, answer=_level, claims=(40, 43, 44), show=Show("who-follows", preset="Higher"),
        text="A window rises by 7, and the weights of the model are random. Which forecasts rise by exactly 7?",
        hint="Two ways lead there: take the level off and put it back, or let it ride outside the network.",
        options={
            "Informer": Option("Informer's", "Nothing makes a forecast start where the window ends. A LayerNorm hides "
                                             "the level, and no one puts it back."),
            "Autoformer": Option("Autoformer's", "A constant is all trend, and the trend is added at the end."),
            "FEDformer": Option("FEDformer's", "Its moving averages too let a constant through, around all that is "
                                               "done to frequencies."),
            "Non-stationary": Option("the Non-stationary Transformer's",
                "Nearly. μ comes back at the output, but δ reads it: off by 0.030, untrained."),
            "iTransformer": Option("iTransformer's", "The level is taken off, and put back at the output."),
            "TimeXer": Option("TimeXer's", "As in iTransformer: + μ is the last thing that is done to the target."),
            "DUET": Option("DUET's", "μ comes back at the output, but a level sends the window to other experts: off "
                                     "by 1.3."),
        }),
    written(
        id="21-versus", lesson=LESSON, difficulty=3, claims=(49,),
        text="The Non-stationary Transformer and DUET both deal with series whose distribution drifts. What is the "
             "essential difference?",
        hint="What do they have in common? What is done with what was removed, and against which complaint?",
        model_answer="Both normalise each window, and restore level and scale at the output. The Non-stationary "
             "Transformer keeps *one* network for all windows and puts what was removed back inside attention over "
             "time, as 1 + T numbers, τ and δ. DUET has *different* networks for different windows: a router that "
             "reads the raw window sends each variable's window to k of N linear extractors, and a learned distance "
             "of spectra decides which variables may look at each other. Re-inject the statistics, or route by them. "
             "The first answers a side effect of normalising: windows that attention cannot tell apart. The second "
             "answers windows and variables that differ in kind. Both give up following the units: under 3x + 7 the "
             "untrained forecasts are off by 0.110 and by 3.867, where normalising alone follows.",
        rubric=["Both normalise the window and restore its level and scale at the output.",
                "Non-stationary Transformer: one network; the removed statistics come back inside attention, as τ and "
                "δ.",
                "DUET: the raw window decides which of several experts are asked, so other windows have other "
                "networks.",
                "DUET also says which variables may look at which, by their spectra.",
                "The first repairs a side effect of normalising, the second answers windows and variables that are "
                "unlike."],
        parts=["21-statistics", "21-follow", "21-doors"]),
    choice(
        id="21-doors", lesson=LESSON, answer=_doors, show=Show("who-follows", preset="DUET"),
        text="The Non-stationary Transformer, iTransformer, TimeXer and DUET normalise their windows. Through whose "
             "other door does a level of 7 come in most, before training?",
        hint="Who reads the raw window, and what hangs on it?",
        options={
            "Non-stationary": Option("The Non-stationary Transformer's τ and δ.",
                                     "Untrained Projectors are quiet: the forecast is off by 0.03, DUET's by 1.3. "
                                     "Training can make them loud."),
            "iTransformer": Option("iTransformer's time marks.", "Marks know the clock, not the level: off by 0.000."),
            "TimeXer": Option("TimeXer's global token.", "It is learned, and the same in every window; what it "
                              "attends to is the normalised series: off by 0.000."),
            "DUET": Option("DUET's router and links.",
                           "A level sends windows to other experts and cuts other links: 1.3 in units of the "
                           "series."),
        }),
]
