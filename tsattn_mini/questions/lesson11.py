"""Check questions of lesson 11, guidance."""

import torch
from torch import Tensor

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number
from tsattn_mini.kite import exact
from tsattn_mini.kite.conditioning import ExogenousCrossAttention, KnowledgeGuidedConditioning
from tsattn_mini.kite.flow import guide
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import normalise

LESSON = "11_guidance"
OMEGAS = {"past": 2.0, "ignored": 0.0, "plain": 1.0}
CONDITIONAL, MARGINAL = (1.0, 0.5), (0.0, 1.25 ** 0.5)


def _t(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _omega(gamma: Tensor) -> Tensor:
    """The ω at which v_u + ω (v_c - v_u) equals (1 + γ) v_c - γ v_u, for v_u = 1 and v_c = 3."""
    step("other way", gamma - 1, axes="")
    return ((1 + gamma) * 3 - gamma * 1 - 1) / (3 - 1)


def _spellings() -> dict[str, str]:
    """Where three spellings with the settings that are asked lead, for v_u = 1 and v_c = 3."""
    v_u, v_c = 1.0, 3.0
    ends = {"ours": v_u + 0 * (v_c - v_u), "zero": v_c + 0 * (v_c - v_u), "one": v_c + 1 * (v_c - v_u),
            "note": (1 - 1) * v_c + 1 * v_u}
    known = {name: guide(_t(v_u), _t(v_c), omega).item() for name, omega in OMEGAS.items()}
    return {way: next(name for name, v in known.items() if v == end) for way, end in ends.items()}


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


def _coin(p: Tensor, rows: Tensor) -> Tensor:
    """In how many percent of the steps no row is told nothing, with one coin for all."""
    step("per row", 100 * (1 - p) ** rows, axes="")
    step("hidden", 100 * p, axes="")
    return 100 * (1 - p)


def _width(sigma_u: Tensor, sigma_c: Tensor, omega: Tensor) -> Tensor:
    """The width of `exact.guided_gaussian`, as tests/test_drawn_kite.py checks."""
    step("rest", 1 - omega, axes="")
    step("left out", sigma_c**omega, axes="")
    step("linear", (1 - omega) * sigma_u + omega * sigma_c, axes="")
    return sigma_u ** (1 - omega) * sigma_c**omega


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
    """Does guidance reach both ends without KGC, and has KGC a say without guidance?"""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        y, X, S = torch.randn(1, 2, 4), torch.randn(1, 3, 6), torch.rand(1, 2, 3)
        plain, kgc = (net(T=6, F=4, d=3) for net in (ExogenousCrossAttention, KnowledgeGuidedConditioning))
        v_u, v_c = plain(y, 0 * X), plain(y, X)
        alone = torch.equal(guide(v_u, v_c, 0), v_u) and torch.equal(guide(v_u, v_c, 1), v_c)
        heard = not torch.equal(kgc(y, X, S), kgc(y, X, 1 - S))
    return {(True, True): "neither", (False, True): "kgc", (True, False): "cfg"}[alone, heard]


QUESTIONS = [
    number(
        id="11-gamma", lesson=LESSON, answer=_omega, tolerance=0.01, difficulty=1, claims=(84, 85),
        draws={"gamma": Draw(low=0.2, high=3, step=0.2)}, first={"gamma": 1.4},
        text="A summary of KITE writes v̂ = (1 + γ) v_c − γ v_u. Which ω is γ = {gamma} in v_u + ω (v_c − v_u)?",
        hint="Set v_u = 0.",
        right="ω = 1 + γ = {answer}.",
        wrong="Set v_u = 0: then v̂ = (1 + γ) v_c on one side and ω v_c on the other.",
        slips={"same": Slip("gamma", "γ counts from v_c, ω from v_u, one difference further back: ω = 1 + γ."),
               "minus": Slip("other way", "The other way round: γ = ω − 1, so ω = 1 + γ.")}),
    match(
        id="11-spellings", lesson=LESSON, answer=_spellings, claims=(84,),
        text="v_u is a velocity without condition, v_c one with it. Four lines of code guide with a \"0\", \"1\" or "
             "\"−1\": what does each of them do?",
        hint="Insert v_u = 1 and v_c = 3.",
        left={
            "ours": Option("v_u + ω (v_c − v_u), ω = 0", "It starts from v_u and goes nowhere: v_u, no condition."),
            "zero": Option("v_c + w (v_c − v_u), w = 0",
                "It starts from v_c and adds nothing: v_c. In this convention 0 is \"no guidance\"."),
            "one": Option("v_c + w (v_c − v_u), w = 1",
                "2 v_c − v_u: one whole difference past the condition. In ω that is 2."),
            "note": Option("(1 + γ) v_c − γ v_u, γ = −1", "0 · v_c + 1 · v_u: v_u, no condition. γ = ω − 1."),
        },
        right={
            "plain": "follow the condition: v_c",
            "past": "go past the condition",
            "ignored": "ignore the condition: v_u",
        },
        pairs=(
            Pair("zero", "ignored", "That is what 0 means for ω. This line starts from v_c, so 0 leaves v_c."),
            Pair("one", "plain", "That is what 1 means for ω. This line starts from v_c, and adds a difference."),
            Pair("note", "past", "γ = 1 would go past it. γ = −1 gives (1 − 1) v_c + v_u = v_u."),
        )),
    choice(
        id="11-nothing", lesson=LESSON, answer=_nothing, difficulty=3,
        text="KITE's released network is told nothing by setting covariates and raw prior to zero. What do its "
             "attention values hold then?",
        options={
            "silence": Option("Zeros, so attention adds nothing.",
                "The embedding has a bias and every covariate a learned vector; neither is zero. And the softmax turns "
                "the zero prior into 1/D each: a constant is added, the same for every window.",
                slip="released KITE: zeros called unconditional"),
            "constant": Option("A learned constant, the same for every window.",
                "Bias and learned vectors are what is left. 'No condition' is an input like any other, and the network "
                "learns what to say to it."),
            "average": Option("The average of the covariates seen in training.",
                "Nothing is averaged: bias and learned vectors are left, a constant. But zero is the mean of a "
                "standardised window, so a calm week looks like no information at all."),
        }),
    number(
        id="11-coin", lesson=LESSON, answer=_coin, tolerance=0.5, unit="%",
        draws={"p": Draw(values=(0.05, 0.1, 0.15, 0.2, 0.3)), "rows": Draw(values=(8, 16, 32, 64))},
        first={"p": 0.1, "rows": 32},
        text="In training the condition is hidden with probability {p}, by one coin for all {rows} rows of a batch. In "
             "how many percent of the steps does no row at all learn v_u, the velocity without condition?",
        right="{answer} %: one coin, all or nothing.",
        wrong="One coin decides for all {rows} rows together, and it hides with probability {p}.",
        slips={"per row": Slip("per row", "That is (1 − {p}) to the power {rows}, with a coin for every row. Here "
                                          "one coin decides for all."),
               "hidden": Slip("hidden", "That is how often all rows learn it. In all other steps none does.")}),
    number(
        id="11-width", lesson=LESSON, answer=_width, tolerance=0.006, claims=(85,),
        draws={"sigma_u": Draw(values=(0.8, 1.118, 1.25, 1.5, 2)), "sigma_c": Draw(values=(0.25, 0.4, 0.5, 0.6)),
               "omega": Draw(values=(0.5, 1.5, 2, 2.4, 3))},
        first={"sigma_u": 1.118, "sigma_c": 0.5, "omega": 2},
        text="Without condition the spread is σ_u = {sigma_u}, with it σ_c = {sigma_c}. Guidance makes a geometric "
             "mixture of them, σ_u^(1−ω) σ_c^ω. Which spread remains at ω = {omega}?",
        right="{sigma_u} to the {rest} times {sigma_c} to the {omega} = {answer:3}. At ω = 1, without "
              "guidance, it is {sigma_c}.",
        wrong="Insert ω = {omega}: {sigma_u} to the {rest}, times {sigma_c} to the {omega}.",
        slips={
            "square": Slip("left out", "That leaves out the factor {sigma_u} to the {rest}."),
            "linear": Slip("linear", "That mixes the widths linearly. ω mixes slopes linearly, and so logarithms of "
                                     "widths."),
            "kept": Slip("sigma_c", "That is the spread at ω = 1, the condition as it is. Here ω is {omega}."),
        }),
    choice(
        id="11-crps", lesson=LESSON, answer=_crps, difficulty=3, claims=(84, 85),
        text="The truth is N(1, .5²) under the condition and N(0, 1.118²) without, and a network knows both velocities "
             "exactly. Which ω in v_u + ω (v_c − v_u) has the best (smallest) CRPS on average?",
        options={
            "half": Option("0.5: caution pays.",
                "It mixes in what would happen under the opposite condition: mean .63, spread .75, and a CRPS of .356 "
                "against .282 at ω = 1."),
            "one": Option("1.",
                "Then the forecast is the true distribution, and no other can score better on average."),
            "some": Option("1.2: a bit of emphasis.",
                "Mean 1.10, spread .43. A small loss, .290 against .282, but a loss."),
            "much": Option("2.4: what a summary of KITE calls the best.",
                "Mean 1.37, spread .16: too sure of too much, .428 against .282.", slip="claim 84"),
        },
        show=Show("turn-omega", preset="γ = 1.4")),
    choice(
        id="11-dirt", lesson=LESSON, answer=_dirt, claims=(85,),
        text="v̂ = v_u + ω (v_c − v_u), and a third of v_c − v_u is dirt, from a spurious driver. ω goes from 1 to 2.4. "
             "Which part of v̂ − v_u is dirt now?",
        options={
            "same": Option("A third.",
                "ω multiplies the whole difference and cannot tell its parts apart. With one step, 1 of signal and "
                ".5 of dirt, the mean lands at 2.4 · 1.5 = 2.4 + 1.2."),
            "grows": Option("More: guidance amplifies the dirt.",
                "It does, by 2.4. And the clean part by 2.4 as well: a third stays a third."),
            "shrinks": Option("Less: guidance brings out the signal.",
                "It would have to know which part is signal. ω multiplies both by 2.4: a third stays a third."),
        },
        show=Show("turn-omega", omega=2.4, dirt=0.5, steps=1)),
    choice(
        id="11-first", lesson=LESSON, answer=_first, claims=(84, 85, 86),
        text="A question that talks on KITE always meet: KGC (knowledge-guided conditioning) and CFG (guidance), who "
             "comes first?",
        options={
            "kgc": Option("KGC: it is the precondition of CFG, not an option.",
                "So the notes say, and there is sense in it: guidance amplifies whatever v_c − v_u holds, so clean the "
                "condition first. But the formula does not ask who made v_c. Plain cross-attention will do.",
                slip="claim 86"),
            "neither": Option("Neither needs the other; think about KGC first.",
                "KGC is how a condition enters, CFG how hard it is followed. CFG needs a model that answers with and "
                "without the condition, whoever built it in; KGC works at ω = 1, where there is no guidance."),
            "cfg": Option("CFG: without guidance the condition is not heard.",
                "At ω = 1 there is no guidance, v̂ = v_c, and the network hears the condition all the same."),
        }),
]
