"""Check questions of lesson 11, guidance."""

import torch

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.kite import exact
from tsattn_mini.kite.flow import guide
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import normalise

LESSON = "11_guidance"
CONDITIONAL, MARGINAL = (1.0, 0.5), (0.0, 1.25 ** 0.5)


def _t(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _omega(gamma: float) -> float:
    """The ω at which v_u + ω (v_c - v_u) equals (1 + γ) v_c - γ v_u, for v_u = 1 and v_c = 3."""
    return ((1 + gamma) * 3 - gamma * 1 - 1) / (3 - 1)


def _zero() -> str:
    w = {"zero": 0.0, "one": 1.0, "minus": -1.0}
    return next(name for name, w in w.items() if 3 + w * (3 - 1) == guide(_t(1), _t(3), 1.0).item())


def _nothing() -> str:
    """What the values of attention are when covariates and prior are 0, in a network with random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = VectorField(T=5, F=3, D=2, M=4, H=2, depth=1, future=False).double()
    exo = net.x_exo(torch.zeros(2, 2, 5, dtype=torch.float64)) + net.history[0].attention.variable
    weights = normalise(torch.zeros(1, 1, 2, dtype=torch.float64), "softmax")
    if float(exo.detach().abs().max()) == 0 or float(weights.max()) == 0:
        return "silence"
    return "constant" if torch.equal(exo[0], exo[1]) else "average"


def _coin(whole_batch: bool) -> float:
    """In how many percent of the steps no row of 32 is told nothing, with p = 0.1."""
    return 100 * 0.9 ** (1 if whole_batch else 32)


def _width(omega: float) -> float:
    return float(exact.guided_gaussian(omega, CONDITIONAL, MARGINAL)[1])


def _crps() -> str:
    options = {"half": 0.5, "one": 1.0, "some": 1.2, "much": 2.4}
    return min(options, key=lambda name: float(exact.gaussian_crps(
        exact.guided_gaussian(options[name], CONDITIONAL, MARGINAL), CONDITIONAL)))


def _dirt() -> str:
    """How the share of dirt in v̂ - v_u changes from ω = 1 to ω = 2.4."""
    v_u, clean, dirt = _t(0.2), _t(1.0), _t(0.5)
    shares = [float((guide(v_u, v_u + clean + dirt, w) - guide(v_u, v_u + clean, w)) /
                    (guide(v_u, v_u + clean + dirt, w) - v_u)) for w in (1.0, 2.4)]
    change = shares[1] - shares[0]
    return "same" if abs(change) < 1e-12 else "grows" if change > 0 else "shrinks"


def _first() -> str:
    """Guidance between two exact Gaussian velocities, which no knowledge-guided network made, hits both ends."""
    y, s = _t(-1, 0, 2), _t(0.5, 0.5, 0.5)
    v_u, v_c = (exact.gaussian_velocity(y, s, g) for g in (MARGINAL, CONDITIONAL))
    works = torch.equal(guide(v_u, v_c, 0), v_u) and torch.equal(guide(v_u, v_c, 1), v_c)
    return "both" if works else "kgc"


QUESTIONS = [
    number(
        id="11-gamma", lesson=LESSON, answer=lambda: _omega(1.4), tolerance=0.01,
        text="A summary reports γ = 1.4 as best, in v̂ = (1 + γ) v_c − γ v_u. Which ω is that in v_u + ω (v_c − v_u)?",
        hint="Set v_u = 0.",
        right="ω = 1 + γ = 2.4.",
        wrong="Set v_u = 0: then v̂ = (1 + γ) v_c on one side and ω v_c on the other.",
        slips={"same": Slip(1.4, "γ counts from the conditional velocity, ω from the unconditional one: 1 apart."),
               "minus": Slip(0.4, "The other way round: γ = ω − 1.")}),
    choice(
        id="11-zero", lesson=LESSON, answer=_zero,
        text="A library writes v_c + w (v_c − v_u). Which w gives the plain conditional model, as ω = 1 does here?",
        options={
            "one": Option("w = 1.", "That is ω = 2: it goes past the condition by the whole difference."),
            "zero": Option("w = 0.",
                "It starts from v_c, so 0 adds nothing. In this convention 'no guidance' and 'no condition' are two "
                "different things; w = −1 ignores the condition."),
            "minus": Option("w = −1.", "That is v_u: the condition is ignored."),
        }),
    choice(
        id="11-nothing", lesson=LESSON, answer=_nothing,
        text="The released network is told nothing by setting covariates and raw prior to zero. What do its attention "
             "values hold then?",
        options={
            "silence": Option("Zeros, so attention adds nothing.",
                "The embedding has a bias and every covariate a learned vector; neither is zero. And the softmax turns "
                "the zero prior into 1/D each."),
            "constant": Option("A learned constant, the same for every window.",
                "Bias and learned vectors are what is left. 'No condition' is an input like any other, and the network "
                "learns what to say to it."),
            "average": Option("The average of the covariates seen in training.",
                "Nothing is averaged. But zero is the mean of a standardised window, which is a problem of its own: "
                "see the calm week."),
        }),
    number(
        id="11-coin", lesson=LESSON, answer=lambda: _coin(True), tolerance=0.5, unit="%",
        text="The condition is hidden with probability .1, by one coin for all 32 rows of a batch. In how many percent "
             "of the training steps does no row at all learn v_u?",
        right="90 %: one coin, all or nothing.",
        wrong="One coin decides for all 32 rows together.",
        slips={"per row": Slip(lambda: _coin(False), "That is .9³², with a coin for every row."),
               "hidden": Slip(10.0, "That is how often all rows learn it.")}),
    number(
        id="11-width", lesson=LESSON, answer=lambda: _width(2.0), tolerance=0.006,
        text="σ_u = 1.118 and σ_c = 0.5. The spread is σ_u^(1−ω) σ_c^ω. Which spread remains at ω = 2?",
        right="1.118⁻¹ · .5² = .224, less than half of what the truth has.",
        wrong="Insert ω = 2: σ_c² / σ_u.",
        slips={"square": Slip(0.25, "That leaves out the factor 1/1.118."),
               "linear": Slip(lambda: 2 * 0.5 - MARGINAL[1], "That mixes the widths linearly, and would be negative."),
               "kept": Slip(0.5, "That is ω = 1.")}),
    choice(
        id="11-crps", lesson=LESSON, answer=_crps,
        text="The network is perfect: v_u and v_c are exact. Which ω has the best (smallest) CRPS on average?",
        options={
            "half": Option("0.5: caution pays.",
                "It mixes in what would happen under the opposite condition: mean .63, spread .75, and .356 against "
                ".282."),
            "one": Option("1.",
                "Then the forecast is the true distribution, and no other can score better on average."),
            "some": Option("1.2: a bit of emphasis.",
                "Mean 1.10, spread .43. A small loss, .290 against .282, but a loss."),
            "much": Option("2.4: the best in the summary.",
                "Mean 1.37, spread .16: too sure of too much, .428 against .282."),
        }),
    choice(
        id="11-dirt", lesson=LESSON, answer=_dirt,
        text="A third of v_c − v_u is dirt. ω goes from 1 to 2.4. Which part of v̂ − v_u is dirt now?",
        options={
            "same": Option("A third.", "ω multiplies the whole difference. It cannot tell one part from the other."),
            "grows": Option("More: guidance amplifies the dirt.",
                "It does, by 2.4. And the clean part by 2.4 as well."),
            "shrinks": Option("Less: guidance brings out the signal.", "It would have to know which part is signal."),
        }),
    choice(
        id="11-first", lesson=LESSON, answer=_first,
        text="What does classifier-free guidance need?",
        options={
            "kgc": Option("A knowledge-guided conditioner: without a clean v_c it makes no sense.",
                "A clean v_c is better, but nothing in the formula asks who made it. Plain cross-attention does."),
            "both": Option("A model that can answer with and without the condition.",
                "That is all. KGC improves what v_c says, guidance sets how far to follow it."),
            "classifier": Option("A classifier of the condition.",
                "That was the method before; this one is named for not needing it."),
        }),
]
