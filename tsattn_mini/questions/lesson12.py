"""Check questions of lesson 12, KITE on bikes; answers come from the stored table and from the scoring library."""

from math import log

import numpy as np
import scoringrules

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.kite.gate import DELTA
from tsattn_mini.results import load

LESSON = "12_kite_on_bikes"
SAMPLES, TRUTH = np.array([1.0, 2.0, 6.0]), 3.0


def _crps(estimator: str) -> float:
    """CRPS of three trajectories at one hour."""
    return float(scoringrules.crps_ensemble(TRUTH, SAMPLES, estimator=estimator, backend="numpy"))


def _price(before: float, after: float) -> float:
    """How many nats the log-gate takes off a driver whose prior falls from `before` to `after`."""
    return log(before + DELTA) - log(after + DELTA)


def _spread() -> str:
    covered = load("kite")["none", "KGC", "in 90%"]
    return "narrow" if covered.high < 90 else "wide" if covered.low > 90 else "right"


def _broken() -> str:
    """In noise: is the forecast with the prior better than the one without, worse, or the same?"""
    kgc, plain = (load("kite")["true", model, "noise"] for model in ("KGC", "no prior"))
    if kgc.overlaps(plain):
        return "same"
    return "better" if kgc.mean < plain.mean else "worse"


def _cut_off() -> str:
    results = load("kite")
    cut, listening = (results["true", "KGC", c] for c in ("cut off", "noise"))
    deaf = results["true", "KGC, ω = 0", "noise"]
    if cut.mean < deaf.high:
        return "deaf"
    return "between" if cut.mean < listening.low else "worst"


def _best_omega(column: str) -> str:
    results = load("kite")
    names = {"0": "KGC, ω = 0", "0.5": "KGC, ω = 0.5", "1": "KGC", "2.4": "KGC, ω = 2.4"}
    return min(names, key=lambda w: results["true", names[w], column].mean)


def _door() -> str:
    results = load("kite")
    kept, noise = (results["true", "second door", c].mean < results["true", "KGC", c].mean for c in ("crps", "noise"))
    if kept == noise:
        return "both" if kept else "neither"
    return "sharper" if kept else "safer"


QUESTIONS = [
    number(
        id="12-crps", lesson=LESSON, answer=lambda: _crps("fair"), tolerance=0.005,
        text="Three trajectories say 1, 2 and 6 at an hour whose truth is 3. What is the fair CRPS, mean |X − y| minus "
             "half the mean |X − X'| over pairs of *different* trajectories?",
        right="The distances to the truth are 2, 1, 3 with mean 2; the pairs are 1, 5, 4 apart, mean 10/3. "
              "2 − 5/3 = 0.333.",
        wrong="First the three distances to 3, then the three pairs.",
        slips={
            "point": Slip(2.0, "That is the mean distance to the truth. The second term pays for honest spread."),
            "all pairs": Slip(lambda: _crps("nrg"),
                "That divides by all nine pairs, each trajectory with itself included. It makes small ensembles look "
                "worse than they are."),
        }),
    choice(
        id="12-spread", lesson=LESSON, answer=_spread,
        text="Of the test hours, 55 % fall into KITE's 90 % interval. The trajectories are …",
        options={
            "narrow": Option("too close together.",
                "Overconfident: nearly half the hours surprise it, where it promised a tenth. Every training window "
                "was seen forty times, and each has one future only."),
            "wide": Option("too far apart.", "Then more than 90 % would fall in."),
            "right": Option("as wide as they should be.", "Then it would be 90 %, give or take a few."),
        }),
    number(
        id="12-price", lesson=LESSON, answer=lambda: _price(0.97, 0.04), tolerance=0.02, unit="nats",
        text="In the test part the decoy's correlation falls from 0.97 to 0.04. By how much does log(S̃ + δ) lower its "
             "score, with δ = 10⁻⁶?",
        right="log 0.97 − log 0.04 = 3.19: odds of 24 to 1 against it. A lead of 3.2 in the data's own scores buys "
              "that back, and a mean of the others has to fill the row.",
        wrong="The difference of two logarithms.",
        slips={
            "zero": Slip(13.8, "That is the price of a prior of 0. A correlation in data is never exactly 0."),
            "linear": Slip(0.93, "That is the difference of the correlations. The gate takes logarithms."),
        }),
    choice(
        id="12-noise", lesson=LESSON, answer=_broken,
        text="The decoy was true all through training and is noise in the test. Its prior falls to 0.04, and KGC takes "
             "two thirds of its attention away. Against the network without a prior, the forecast is …",
        options={
            "better": Option("better.", "So the module is meant. The table says otherwise."),
            "same": Option("as wrong.",
                "The intervals overlap widely. Attention that leaves the decoy must go elsewhere, as every row sums "
                "to 1, and the network has never seen what then comes out."),
            "worse": Option("worse.", "The intervals overlap widely: this table cannot say so."),
        }),
    choice(
        id="12-cut", lesson=LESSON, answer=_cut_off,
        text="You know that the decoy lies, and set its prior to 0 by hand: no attention is left on it. In noise, the "
             "forecast of the trained network is now …",
        options={
            "deaf": Option("as good as without any drivers.",
                "That would need a way to say \"none of them\". A softmax has none."),
            "between": Option("better than when it listened.", "It listens to noise no longer, and still …"),
            "worst": Option("worse than when it listened to noise.",
                "All through training the decoy had most of the attention. Without it the row is filled with the other "
                "drivers, and the later layers read that mixture as if it were the usual one."),
        }),
    choice(
        id="12-omega", lesson=LESSON, answer=lambda: _best_omega("noise"),
        text="Same network, same lying decoy. Which guidance weight gives the smallest CRPS?",
        hint="What does ω = 0 listen to?",
        options={
            "0": Option("ω = 0",
                "Guidance can refuse: it turns to the velocity that was trained without any condition. It refuses the "
                "weather as well."),
            "0.5": Option("ω = 0.5", "Half the lie is half too much here; it is the best hedge if you cannot know."),
            "1": Option("ω = 1", "The best while the decoy tells the truth."),
            "2.4": Option("ω = 2.4", "It exaggerates what the decoy says: the worst of all."),
        }),
    choice(
        id="12-door", lesson=LESSON, answer=_door,
        text="The released network lets exogenous futures into its head as well, past the prior. What does that second "
             "door do to the forecast?",
        options={
            "sharper": Option("Better while the decoy is true, worse when it lies.",
                "A shorter way in for good news and for bad. The attention on the decoy falls even lower there, and it "
                "does not help: a guard at one door guards one door."),
            "safer": Option("Worse while the decoy is true, better when it lies.", "There is no prior at that door."),
            "both": Option("Better in both cases.", "Nothing at that door looks at the prior."),
            "neither": Option("Worse in both cases.", "A shorter way to the futures does help while they are true."),
        }),
]
