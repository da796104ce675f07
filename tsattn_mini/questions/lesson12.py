"""Check questions of lesson 12, KITE on bikes; answers come from the stored table or from torch code."""

import torch
from torch import Tensor

from tsattn_mini import record, step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, number, order
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.gate import DELTA
from tsattn_mini.results import load

LESSON = "12_kite_on_bikes"
CHAIN = {"velocities": "ode0/v_c", "restore": "samples", "attend": "ode0/net/past0/kgc/A", "start": "source/Y0",
         "guide": "ode0/v_hat", "move": "ode0/Y"}


def _crps(x: Tensor, y: Tensor) -> Tensor:
    """Fair CRPS of three trajectories at one hour; tests/test_drawn_kite.py asks a library."""
    distances = step("distances", (x - y).abs(), axes="P")
    pairs = step("pairs", (x - x.roll(1)).abs(), axes="P")     # of three, each pair once
    miss, apart = step("miss", distances.mean(), axes=""), step("apart", pairs.mean(), axes="")
    step("all pairs", miss - pairs.sum() / 9, axes="")
    return miss - apart / 2


def _price(before: Tensor, after: Tensor) -> Tensor:
    """How many nats the log-gate takes off a driver whose prior falls from `before` to `after`."""
    price = (before + DELTA).log() - (after + DELTA).log()
    step("difference", before - after, axes="")
    step("odds", price.exp(), axes="")
    return price


def _chain() -> list[str]:
    """The order in which a forecast with one step of Euler's method makes its tensors."""
    with torch.random.fork_rng(), torch.no_grad(), record() as trace:
        torch.manual_seed(0)
        net = KITE(12, 4, 2, M=8, H=2, depth=1, source={"rank": 2}).eval()
        net.sample(torch.randn(1, 12, 1), torch.randn(1, 12, 2), torch.randn(1, 4, 2), n_samples=1, steps=1, omega=1.2)
    made = list(trace.keys())
    return sorted(CHAIN, key=lambda name: made.index(CHAIN[name]))


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
    order(
        id="12-chain", lesson=LESSON, answer=_chain, difficulty=1, claims=(79, 80, 84),
        text="One KITE forecast, with a single step (K = 1): put in order what happens.",
        items={
            "attend": Option("the state asks the exogenous series (A, Eq. 13)",
                "It needs a state to ask with, so it comes after the start, and inside every velocity."),
            "start": Option("a start Y₀ is drawn from the history",
                "First of all: the source reads the past of the series itself, no attention yet."),
            "guide": Option("ω mixes the two into v̂", "It needs both velocities, the untold and the told one."),
            "velocities": Option("two velocities come out, untold v_u and told v_c",
                "They come out of the network whose attention has just asked."),
            "restore": Option("the forecast gets its level and spread back", "Last, in the units of the data."),
            "move": Option("the state takes a step, Y + v̂/K", "It follows the guided velocity, in standardised units."),
        },
        right="The source is drawn once. With more steps attention, velocities, guidance and the step "
              "repeat K times; then level and spread come back.",
        pairs=(
            Pair("attend", "start", "Attention never touches the start: the source reads only the past of the series."),
            Pair("guide", "attend", "Attention is inside the network; guidance mixes what the network answered."),
            Pair("restore", "move", "The flow moves in standardised units. Only its end is restored."),
        )),
    number(
        id="12-crps", lesson=LESSON, answer=_crps, tolerance=0.005,
        draws={"x": Draw((3,), 1, 9, whole=True), "y": Draw((), 1, 9, whole=True)},
        first={"x": (1, 2, 6), "y": 3},
        text="Three trajectories say {x} at an hour whose truth is {y}. What is the fair CRPS, mean |X − y| minus half "
             "the mean |X − X'| over pairs of *different* trajectories?",
        right="The distances to the truth are {distances} with mean {miss}; the pairs are {pairs} apart, mean {apart}. "
              "{miss} − {apart}/2 = {answer:3}.",
        wrong="First the three distances to {y}, {distances}, then those of the three pairs, {pairs}.",
        slips={
            "point": Slip("miss", "That is the mean distance to the truth. The second term takes off half of {apart}, "
                                  "the mean distance of the pairs."),
            "all pairs": Slip("all pairs",
                "That divides by all nine pairs, each trajectory with itself included. It makes small ensembles look "
                "worse than they are: the three pairs of different trajectories have the mean {apart}."),
        }),
    choice(
        id="12-spread", lesson=LESSON, answer=_spread, difficulty=1,
        text="Of the test hours, 55 % fall into KITE's 90 % interval. The trajectories are …",
        options={
            "narrow": Option("too close together.",
                "Overconfident: nearly half the hours surprise it, where it promised a tenth. Every training window "
                "was seen forty times, and each has one future only."),
            "wide": Option("too far apart.", "Then more than 90 % of the hours would fall in, not 55 %."),
            "right": Option("as wide as they should be.",
                "Then 90 % of the hours would fall in, give or take a few, not 55 %."),
        }),
    number(
        id="12-price", lesson=LESSON, answer=_price, tolerance=0.02, unit="nats", claims=(74, 75),
        draws={"before": Draw(low=0.5, high=0.99, step=0.01), "after": Draw(low=0.01, high=0.2, step=0.01)},
        first={"before": 0.97, "after": 0.04},
        text="A driver's correlation falls from {before} to {after}. By how much does log(S̃ + δ) lower its score, with "
             "S̃ = |r| and δ = 10⁻⁶?",
        right="log {before} − log {after} = {answer:2}: odds of {odds:1} to 1 against it. A lead of {answer:1} in the "
              "data's own scores buys that back.",
        wrong="The difference of two natural logarithms, of {before} and of {after}; δ hardly matters.",
        slips={
            "zero": Slip(13.8, "That is the price of a prior of 0. Here it falls to {after}; in data it is never 0.",
                         slip="claim 74"),
            "linear": Slip("difference", "That is the difference of the correlations. First take logarithms."),
        }),
    choice(
        id="12-noise", lesson=LESSON, answer=_broken, difficulty=3, claims=(56, 77),
        text="A decoy, a driver that repeated the truth all through training, is noise in the test. Its prior falls to "
             "0.04, and KGC takes two thirds of its attention away. Against the network without a prior, the forecast "
             "is …",
        options={
            "better": Option("better.",
                "So the module is meant. But over five seeds the intervals overlap: what leaves the decoy must go "
                "elsewhere, as every row sums to 1.", slip="claim 77"),
            "same": Option("as wrong.",
                "The intervals overlap widely. Attention that leaves the decoy must go elsewhere, as every row sums "
                "to 1, and the network has never seen what then comes out."),
            "worse": Option("worse.", "Over five seeds the intervals overlap widely: 58.7 ± 2.6 against 58.3 ± 4.1."),
        },
        show=Show("one-liar", preset="It lies")),
    choice(
        id="12-cut", lesson=LESSON, answer=_cut_off, difficulty=3, claims=(74, 77),
        text="A network was trained with a decoy that told the truth. Now the decoy is noise, you know it, and set its "
             "prior to 0 by hand: no attention is left on it. The forecast is now …",
        options={
            "deaf": Option("as good as without any drivers.",
                "That would need a way to say \"none of them\". A softmax has none: the row is filled with the other "
                "drivers, a mixture the network never met.", slip="claim 77"),
            "between": Option("better than when it listened.",
                "It listens to noise no longer. But the row is now filled with the other drivers, and that mixture, "
                "which the network never met, is worse than the noise."),
            "worst": Option("worse than when it listened to noise.",
                "All through training the decoy had most of the attention. Without it the row is filled with the other "
                "drivers, and the later layers read that mixture as if it were the usual one."),
        },
        show=Show("one-liar", preset="Cut off by hand")),
    choice(
        id="12-omega", lesson=LESSON, answer=lambda: _best_omega("noise"), claims=(85, 86),
        text="A network trained with a decoy that told the truth meets it as noise. Which guidance weight gives the "
             "smallest CRPS?",
        hint="What does ω = 0 listen to?",
        options={
            "0": Option("ω = 0",
                "Guidance can refuse: it turns to the velocity that was trained without any condition. It refuses the "
                "weather as well."),
            "0.5": Option("ω = 0.5",
                "Half the lie is half too much here. ω = 0 hears none of it; .5 is the best hedge if you cannot know."),
            "1": Option("ω = 1",
                "The best while the decoy tells the truth. Now it passes the whole lie on; ω = 0 hears none of it."),
            "2.4": Option("ω = 2.4",
                "It exaggerates what the decoy says, the worst of all; ω = 0 hears none of it.", slip="claim 84"),
        },
        show=Show("one-liar", preset="Refuse everything")),
    choice(
        id="12-door", lesson=LESSON, answer=_door, claims=(55, 77),
        text="The released network lets exogenous futures into its head as well, past the prior. A decoy tells the "
             "truth in training and lies in the test. What does that second door do to the forecast?",
        options={
            "sharper": Option("Better while the decoy is true, worse when it lies.",
                "A shorter way in for good news and for bad. The attention on the decoy falls even lower there, and it "
                "does not help: a guard at one door guards one door."),
            "safer": Option("Worse while the decoy is true, better when it lies.",
                "There is no prior at that door: truth and lie both walk in more easily. It is the other way round."),
            "both": Option("Better in both cases.",
                "Nothing at that door looks at the prior: when the decoy lies, the lie walks in."),
            "neither": Option("Worse in both cases.",
                "A shorter way to the futures does help while they are true: 15.8 against 17.4."),
        }),
]
