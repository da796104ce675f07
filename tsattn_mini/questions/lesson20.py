"""Check questions of lesson 20."""

from math import exp, sqrt

import torch

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.results import load
from tsattn_mini.zoo.duet.channels import PRICE, ChannelMask
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.duet.router import Router, first

LESSON = "20_duet"


def odds(E: int) -> float:
    """Weight of a hidden key against a shown one, both with score 0, in a head of width E under the soft mask."""
    return exp(PRICE / sqrt(E))


def sharpened(p: float) -> float:
    """How often the released draw keeps a link of probability p."""
    return p**2 / (p**2 + (1 - p) ** 2)


def _scaled() -> str:
    torch.manual_seed(0)
    router, x = Router(T=6, N=4, k=2, hidden=8), torch.randn(50, 1, 6)
    with torch.no_grad():
        same = torch.equal(first(router.scores(x), 2), first(router.scores(3 * x), 2))
        sharper = router(3 * x)[0].amax() > router(x)[0].amax()
    return "sharper" if same and sharper else "other"


def _one_expert() -> str:
    torch.manual_seed(0)
    clusters = TemporalClusters(6, 2, 3, N=4, k=1, hidden=8, kernel=3)
    clusters(torch.randn(5, 6, 2))[0].square().sum().backward()
    return "none" if clusters.router.scores.up.weight.grad.abs().max() < 1e-6 else "small"


def _distances() -> torch.Tensor:
    torch.manual_seed(0)
    x = torch.randn(12, dtype=torch.float64)
    mask, others = ChannelMask(12).double(), (x.roll(4), x + 3, 2 * x)
    spectrum = [torch.fft.rfft(s).abs() for s in (x, *others)]
    return torch.stack([(mask.A @ (spectrum[0] - s)).square().sum() for s in spectrum[1:]])


def _zero_distance() -> str:
    return ("late", "level", "loud")[int(_distances().argmin())]


def _partners() -> str:
    torch.manual_seed(0)
    p = ChannelMask(24).double().probabilities(1 + torch.rand(20, 6, 6, dtype=torch.float64))
    return "one" if bool(((p - 0.99 * torch.eye(6)).amax(-1) > 0.989).all()) else "none"


def _help() -> str:
    table = load("duet")
    gains = [table[s, "all", "mse"].mean / table[s, "links", "mse"].mean - 1 for s in ("planted", "macro", "bikes")]
    return "little" if max(map(abs, gains)) < 0.05 else "much"


def _versus() -> str:
    torch.manual_seed(0)
    clusters, x = TemporalClusters(6, 1, 3, N=4, k=2, hidden=8, kernel=3).double(), torch.randn(50, 6, 1).double()
    with torch.no_grad():
        inside = (clusters.revin(x)[0] - clusters.revin(x + 7)[0]).abs().max()
        asked = (clusters.router(clusters.routed(x))[0] > 0) != (clusters.router(clusters.routed(x + 7))[0] > 0)
    return "route" if inside < 1e-12 and bool(asked.any()) else "nowhere"


QUESTIONS = [
    choice(
        id="20-scale", lesson=LESSON, answer=_scaled,
        text="A window is multiplied by 3. The router is W₂ relu(W₁ x), without biases. What changes?",
        options={
            "other": Option("Other experts are chosen.",
                "Every score is multiplied by 3, because relu(3 a) = 3 relu(a). Their order stays."),
            "sharper": Option("The same experts, but the first of them gets more of the say.",
                "All scores are tripled: the softmax is three times as cold. Scale is a temperature here, "
                "and only the level, or the shape, can change the choice."),
            "same": Option("Nothing: a router looks at the shape.",
                "It looks at the raw window. The order of the scores stays, their differences triple."),
        }),
    choice(
        id="20-one-expert", lesson=LESSON, answer=_one_expert,
        text="With k = 1 the one kept gate is divided by itself. What does the error of the forecast teach the router?",
        options={
            "small": Option("A little: the better expert is asked more often.",
                "That would need a gate that could be 0.6 or 0.7. It is p / p = 1 whatever p is."),
            "none": Option("Nothing.",
                "The gate is 1 whatever the scores are, so their gradient is 0. With k = 1 the router learns "
                "from the price on an uneven load alone."),
            "jump": Option("Everything, at the moment when the choice flips.",
                "A flip is a jump, and a jump has no gradient."),
        }),
    choice(
        id="20-distance", lesson=LESSON, answer=_zero_distance,
        text="Which of these is at distance 0 from x, when spectra are compared by size?",
        options={
            "level": Option("x + 3: the same shape at another level.",
                "The level is frequency 0, and a learned matrix mixes it with the others. It counts, and often most."),
            "late": Option("x, shifted in a circle by four steps.",
                "Shifting turns the phase of every frequency and leaves its size. When it happens is forgotten."),
            "loud": Option("2 x: the same shape, twice as loud.",
                "Every size doubles, so the spectra differ by a whole spectrum of x."),
        }),
    choice(
        id="20-partner", lesson=LESSON, answer=_partners,
        text="Six variables have nothing to do with each other. How many links with probability 0.99 does a "
             "variable have, besides that to itself?",
        options={
            "none": Option("None: nobody is near.",
                "Near is relative here. Each row of 1 / D is divided by its own largest entry."),
            "one": Option("One: its nearest stranger.",
                "The largest entry of a row is divided by itself. DUET cannot say “nobody”."),
            "all": Option("Five: all are equally far.",
                "Only if the distances were equal. The nearest gets 0.99, the others less."),
        }),
    number(
        id="20-drawn", lesson=LESSON, answer=lambda: sharpened(0.3), tolerance=0.005,
        text="The released code draws a link from the logits log(p / (1 − p)) and log((1 − p) / p). "
             "How often does it keep a link with p = 0.3?",
        hint="A softmax over two logits gives the first exp(a) / (exp(a) + exp(b)).",
        right="0.3² / (0.3² + 0.7²) = 0.155: the two logits differ by twice log(p / (1 − p)), which squares the odds.",
        wrong="exp of the first logit is p / (1 − p), exp of the second its inverse.",
        slips={
            "Bernoulli": Slip(0.3, "That is what the name Bernoulli promises. It would need the logits log p and "
                                   "log(1 − p)."),
            "other": Slip(lambda: sharpened(0.7), "That is how often it is cut.")}),
    number(
        id="20-odds", lesson=LESSON, answer=lambda: odds(64), tolerance=0.002,
        text="A hidden pair gets the score −ln(10¹⁰) = −23.03. In a head of width 64, and against a shown pair "
             "with score 0: what are its odds?",
        hint="What happens to every score before the softmax?",
        right="exp(−23.03 / √64) = 0.056. One part in eighteen is not hidden.",
        wrong="Scores are divided by √E before the softmax, this one too.",
        slips={
            "no root": Slip(1e-10, "That is exp(−23.03): the division by √64 = 8 is missing."),
            "wider": Slip(lambda: odds(512), "That is a head of width 512."),
            "share": Slip(lambda: odds(64) / (1 + odds(64)), "That is its share of the row. The odds are the ratio "
                                                             "of the two weights.")}),
    choice(
        id="20-help", lesson=LESSON, answer=_help,
        text="DUET is trained with its links and with every link, eight seeds each, on three series. One of them has "
             "two planted groups that know nothing of each other. What does the mask do to the error?",
        options={
            "much": Option("It falls by a tenth or more, at least with the planted groups.",
                "That is what one hopes. The table below shows less than 3 %."),
            "little": Option("It changes by less than a twentieth on every series.",
                "By 2.5 % with the planted groups, and seed by seed even that could be chance."),
            "worse": Option("It rises: hidden variables are missed.",
                "No: where something is hidden that would have helped, little is lost either."),
        }),
    choice(
        id="20-versus", lesson=LESSON, answer=_versus,
        text="Both models normalise a window. Where does DUET use what was removed?",
        options={
            "inject": Option("Inside attention, as a factor and an offset on the scores.",
                "That is the Non-stationary Transformer: one network for all windows, and statistics put back in."),
            "route": Option("In front of the experts: the raw window decides which of them are asked.",
                "DUET uses different networks for different windows. Its attention across variables sees "
                "normalised features only."),
            "nowhere": Option("Nowhere but at the output.",
                "It is put back there in both. The router and the links read the raw window as well."),
        }),
]
