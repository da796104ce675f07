"""Check questions of lesson 20."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, several
from tsattn_mini.results import load
from tsattn_mini.zoo.duet.channels import PRICE, ChannelMask
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.duet.router import Router

LESSON = "20_duet"


def _seeded(compute: Callable[[], Any]) -> Callable[[], Any]:
    """Seed 0 for what is drawn here, and none of it is noticed by the lesson that asks."""
    @wraps(compute)
    def seeded() -> Any:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return compute()
    return seeded


def odds(E: Tensor) -> Tensor:
    """Weight of a hidden key against a shown one, both with score 0, in a head of width E under the soft mask."""
    step("no root", E.new_tensor(PRICE).exp(), axes="")
    step("root", E**0.5, axes="")
    found = (PRICE / E**0.5).exp()
    step("share", found / (1 + found), axes="")
    return found


def sharpened(p: Tensor) -> Tensor:
    """How often the released draw keeps a link of probability p."""
    step("cut", (1 - p) ** 2 / (p**2 + (1 - p) ** 2), axes="")
    return p**2 / (p**2 + (1 - p) ** 2)


@_seeded
def _routed() -> dict[str, str]:
    """What becomes of 50 windows' experts and gates under three changes."""
    router, x, noise = Router(T=6, N=4, k=2, hidden=8), torch.randn(50, 1, 6), torch.randn(50, 1, 4)
    found = {}
    with torch.no_grad():
        gates = router(x)[0]
        for change, moved in (("scale", router(3 * x)), ("level", router(x + 7)), ("noise", router(x, noise))):
            same = bool(((moved[0] > 0) == (gates > 0)).all())
            found[change] = "sharper" if same and moved[0].amax() > gates.amax() else "same" if same else "other"
        clusters = TemporalClusters(6, 1, 3, N=4, k=2, hidden=8, kernel=3)
        inside = [clusters.revin(z.mT)[0] for z in (x, 3 * x + 7)]
        found["experts"] = "same" if torch.allclose(*inside, atol=1e-3) else "other"
    return found


@_seeded
def _one_expert() -> str:
    clusters = TemporalClusters(6, 2, 3, N=4, k=1, hidden=8, kernel=3)
    clusters(torch.randn(5, 6, 2))[0].square().sum().backward()
    return "none" if clusters.router.scores.up.weight.grad.abs().max() < 1e-6 else "small"


@_seeded
def _near() -> set[str]:
    """Which changes of a window leave it at distance 0."""
    x = torch.randn(12, dtype=torch.float64)
    mask = ChannelMask(12).double()
    others = {"level": x + 3, "late": x.roll(4), "loud": 2 * x, "down": -x, "back": x.flip(0)}
    size = torch.fft.rfft(x).abs()
    return {name: z for name, z in others.items()
            if (mask.A @ (size - torch.fft.rfft(z).abs())).square().sum() < 1e-20}.keys() & set(others)


@_seeded
def _partners() -> str:
    p = ChannelMask(24).double().probabilities(1 + torch.rand(20, 6, 6, dtype=torch.float64))
    return "one" if bool(((p - 0.99 * torch.eye(6)).amax(-1) > 0.989).all()) else "none"


def _help() -> str:
    table = load("duet")
    gains = [table[s, "all", "mse"].mean / table[s, "links", "mse"].mean - 1 for s in ("planted", "macro", "bikes")]
    return "little" if max(map(abs, gains)) < 0.05 else "much"


@_seeded
def _versus() -> str:
    clusters, x = TemporalClusters(6, 1, 3, N=4, k=2, hidden=8, kernel=3).double(), torch.randn(50, 6, 1).double()
    with torch.no_grad():
        inside = (clusters.revin(x)[0] - clusters.revin(x + 7)[0]).abs().max()
        asked = (clusters.router(clusters.routed(x))[0] > 0) != (clusters.router(clusters.routed(x + 7))[0] > 0)
    return "route" if inside < 1e-12 and bool(asked.any()) else "nowhere"


QUESTIONS = [
    match(
        id="20-scale", lesson=LESSON, answer=_routed, show=Show("window-chooses", preset="Louder"),
        text="DUET's router scores a raw window x by W₂ relu(W₁ x), without biases, keeps the best 2 of 4 experts, and "
             "weighs them by a softmax of their scores. What does each change do?",
        hint="relu(3 a) = 3 relu(a).",
        left={
            "scale": Option("x becomes 3x",
                "All scores are tripled and keep their order: scale is a temperature, and the softmax is three times "
                "as cold."),
            "level": Option("x becomes x + 7",
                "The 7 reaches every hidden unit, times the sum of its weights, and may turn it on or off: the order "
                "of the scores can change."),
            "noise": Option("the scores get noise, as in training",
                "A near miss is tried now and then: that is what the noise is for."),
            "experts": Option("what the *experts* read, as x becomes 3x + 7",
                "They read the normalised window, which is the same up to the 10⁻⁵ in σ. Only the router looks at the "
                "raw one."),
        },
        right={"other": "other experts can be chosen", "same": "nothing changes",
               "sharper": "the same experts, and the first gets more of the say"},
        pairs=[
            Pair("scale", "other", "Every score is multiplied by 3, because relu(3 a) = 3 relu(a). Their order stays, "
                 "so the same two are kept. Only level and shape can change the choice."),
            Pair("scale", "same", "The order of the scores stays, but their differences triple: softmax(3, 2) = "
                 "(0.731, 0.269) becomes softmax(9, 6) = (0.953, 0.047)."),
            Pair("experts", "other", "Which experts are asked can change with the 7. What they read does not: each "
                 "window is normalised before it reaches them."),
        ]),
    choice(
        id="20-one-expert", lesson=LESSON, answer=_one_expert, difficulty=3,
        text="A router keeps k = 1 expert, and divides its gate by itself. What does the error of the forecast teach "
             "the router?",
        hint="What is p / p, and what is its slope?",
        options={
            "small": Option("A little: the better expert is asked more often.",
                "That would need a gate that could be 0.6 or 0.7. It is p / p = 1 whatever p is, and a constant has no "
                "gradient.", slip="released DUET"),
            "none": Option("Nothing.",
                "The gate is 1 whatever the scores are, so their gradient is 0. With k = 1 the router learns "
                "from the price on an uneven load alone."),
            "jump": Option("Everything, at the moment when the choice flips.",
                "A flip is a jump, and a jump has no gradient: before it and after it the gate is 1."),
        }),
    several(
        id="20-distance", lesson=LESSON, answer=_near, show=Show("who-may-look", preset="Out of step"),
        text="DUET compares series by the sizes of their frequencies, |rfft x|, weighed by a learned matrix. Which of "
             "these are at distance 0 from x?",
        hint="What does a shift do to a frequency: to its size, or to its phase?",
        options={
            "level": Option("x + 3: the same shape at another level",
                "The level is frequency 0, and a learned matrix mixes it with the others. It counts, and often most."),
            "late": Option("x, shifted in a circle by four steps",
                "Shifting turns the phase of every frequency and leaves its size. When it happens is forgotten."),
            "loud": Option("2x: the same shape, twice as loud",
                "Every size doubles, so the spectra differ by a whole spectrum of x."),
            "down": Option("−x: upside down",
                "|−c| = |c|. A series and its opposite count as the same, rise where it falls."),
            "back": Option("x, played backwards",
                "For real numbers time reversed means phases reversed. The sizes stay."),
        }),
    choice(
        id="20-partner", lesson=LESSON, answer=_partners, show=Show("who-may-look", preset="Only noise"),
        text="DUET links variables with p_ij = 0.99 · (1 / D_ij) / max_j (1 / D_ij), where D is a distance of spectra. "
             "Six variables have nothing to do with each other. How many links with probability 0.99 does a variable "
             "have, besides that to itself?",
        hint="What is p at the j where 1 / D is largest?",
        options={
            "none": Option("None: nobody is near.",
                "Near is relative here. Each row of 1 / D is divided by its own largest entry, which so becomes 1, "
                "however far that variable is."),
            "one": Option("One: its nearest stranger.",
                "The largest entry of a row is divided by itself. DUET cannot say “nobody”."),
            "all": Option("Five: all are equally far.",
                "Only if the distances were equal. The nearest gets 0.99, one with twice its D gets 0.495."),
        }),
    number(
        id="20-drawn", lesson=LESSON, answer=sharpened, tolerance=0.005,
        show=Show("who-may-look", preset="Unlucky, sharpened"),
        draws={"p": Draw(low=0.15, high=0.9, step=0.05)}, first={"p": 0.3},
        text="The released DUET draws a link with Gumbel noise from the logits log(p / (1 − p)) and log((1 − p) / p). "
             "How often does it keep a link with p = {p}?",
        hint="Gumbel noise draws by a softmax. Over two logits it gives the first exp(a) / (exp(a) + exp(b)).",
        right="{p}² / ({p}² + (1 − {p})²) = {answer:3}: the two logits differ by twice log(p / (1 − p)), which squares "
              "the odds.",
        wrong="exp of the first logit is p / (1 − p), exp of the second its inverse: {p}² / ({p}² + (1 − {p})²).",
        slips={
            "Bernoulli": Slip("p", "That is what the name Bernoulli promises. It would need the logits log p and "
                                   "log(1 − p). With these, the odds are squared: {answer:3}.", slip="released DUET"),
            "other": Slip("cut", "That is how often it is cut.")}),
    number(
        id="20-odds", lesson=LESSON, answer=odds, tolerance=0.002, show=Show("soft-hard-mask", preset="Wide head"),
        draws={"E": Draw(values=(64, 81, 100, 128, 144, 256, 400, 512))}, first={"E": 64},
        text="In the released DUET a hidden pair gets the score −ln(10¹⁰) = −23.03. In a head of width E = {E}, and "
             "against a shown pair with score 0: what are its odds?",
        hint="What happens to every score before the softmax?",
        right="exp(−23.03 / √{E}) = {answer:3}. Hidden is a price, and a wide head makes it cheap.",
        wrong="Scores are divided by √E before the softmax, this one too: exp(−23.03 / √{E}).",
        slips={
            "no root": Slip("no root", "That is exp(−23.03), as good as hidden. But every score is divided by √E "
                                       "first, this one by √{E} = {root:2}.", slip="released DUET"),
            "share": Slip("share", "That is its share of the row. The odds are the ratio of the two weights.")}),
    choice(
        id="20-help", lesson=LESSON, answer=_help, difficulty=3,
        text="DUET is trained with its links and with every link, eight seeds each, on three series. One of them has "
             "two planted groups that know nothing of each other. What does the mask do to the error?",
        options={
            "much": Option("It falls by a tenth or more, at least with the planted groups.",
                "That is what one hopes, and what the mask is for. Measured, it is less than 3 % there: 0.528 with "
                "links, 0.541 without a mask.", slip="defects: DUET 29"),
            "little": Option("It changes by less than a twentieth on every series.",
                "By 2.5 % with the planted groups, and seed by seed even that could be chance."),
            "worse": Option("It rises: hidden variables are missed.",
                "No: where something is hidden that would have helped, little is lost either. The largest rise of the "
                "three is from 0.163 to 0.167, on the macro series, and seeds differ by more."),
        }),
    choice(
        id="20-versus", lesson=LESSON, answer=_versus, difficulty=1,
        text="DUET and the Non-stationary Transformer both normalise a window. Where does DUET use what was removed?",
        options={
            "inject": Option("Inside attention, as a factor and an offset on the scores.",
                "That is the Non-stationary Transformer: one network for all windows, and statistics put back in. "
                "DUET's attention reads normalised features only."),
            "route": Option("In front of the experts: the raw window decides which of them are asked.",
                "DUET uses different networks for different windows. Its attention across variables sees "
                "normalised features only."),
            "nowhere": Option("Nowhere but at the output.",
                "It is put back there in both. But DUET's router and its links read the raw window as well, so the "
                "level decides which experts are asked."),
        }),
]
