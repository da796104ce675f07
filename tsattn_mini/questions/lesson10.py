"""Check questions of lesson 10, flow and source."""

import torch
from torch import Tensor

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number
from tsattn_mini.kite import exact
from tsattn_mini.kite.flow import euler, flow_loss

LESSON = "10_flow_and_source"
WIDTHS = {"squeeze": (1.0, 0.1), "keep": (1.0, 1.0), "stretch": (0.1, 1.0)}  # of the source and of the target
ENDS = {"one": 1.0, "stretched": 3.08, "squeezed": 0.31, "kept": 1.25}


def _t(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def _crossing() -> str:
    """The velocity with the smallest squared error at the crossing of two opposite lines."""
    beliefs = {"zero": 0.0, "up": 2.0, "down": -2.0}
    return min(beliefs, key=lambda name: float(flow_loss(_t(beliefs[name], beliefs[name]), _t(-1, 1), _t(1, -1))))


def _one_step() -> str:
    end = euler(lambda y, s: exact.gaussian_velocity(y, s, (2.0, 0.3)), _t(-2, 0, 2), 1)
    if float(end.max() - end.min()) > 1e-9:
        return "target" if float(end.std()) > 0.2 else "narrow"
    return "point"


def _median_share(p: Tensor) -> Tensor:
    step("root", (2 * (p / (1 - p)).log()).sqrt(), axes="")
    return exact.two_point_share(p)


def _errors() -> dict[str, str]:
    """Where a constant error of 1 ends, for three pairs of widths: one of the offered numbers."""
    ends = {way: float(exact.error_growth(_t(*widths)[0], _t(*widths)[1])) for way, widths in WIDTHS.items()}
    return {way: min(ENDS, key=lambda name: abs(ENDS[name] - end)) for way, end in ends.items()}


def _width(miss: Tensor) -> Tensor:
    """The width at which the coverage loss is smallest; tests/test_drawn_kite.py looks for it on a grid."""
    step("absolute", miss.abs().mean(), axes="")
    step("deviation", miss.std(), axes="")
    squares = step("squares", miss.square(), axes="F")
    return step("variance", squares.mean(), axes="").sqrt()


def _rank() -> str:
    """How the covariance of M z looks for a matrix with 64 columns and 24 orthonormal rows."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        M = torch.nn.init.orthogonal_(torch.empty(24, 64, dtype=torch.float64))
    values = torch.linalg.eigvalsh(M @ M.T)
    if float(values.max() / values.min()) < 1.001:
        return "isotropic"
    return "low" if int((values > 1e-9).sum()) < 24 else "tilted"


QUESTIONS = [
    choice(
        id="10-crossing", lesson=LESSON, answer=_crossing, difficulty=1,
        text="Two lines cross at (place 0, s = ½): one goes up with velocity +2, one down with −2. A network that is "
             "trained with the squared error and sees only place and time says …",
        options={
            "up": Option("+2, the line it met first.",
                "It meets both equally often. Saying +2 costs 0 on one and 16 on the other, 8 on average; saying 0 "
                "costs 4 on each."),
            "zero": Option("0, the mean of the two.",
                "Its cost is 4 on both. The particles then bounce off each other instead of crossing, and as many "
                "arrive on either side as should."),
            "down": Option("−2.",
                "As good as +2: it costs 0 on one and 16 on the other, 8 on average. Saying 0 costs 4 on each."),
        },
        show=Show("mean-or-median", share=0.5)),
    number(
        id="10-median-share", lesson=LESSON, answer=_median_share, tolerance=0.008, difficulty=3,
        draws={"p": Draw(low=0.55, high=0.9, step=0.05)}, first={"p": 0.7},
        text="The target is +1 with probability {p}, else −1, and the source is N(0, 1). The velocity is trained with "
             "the absolute error. Which share of particles ends at +1? (Guess before you compute.)",
        hint="At every place the median is the point that is more likely there. A particle ends at −1 only if it "
             "starts below −√(2 log({p}/(1 − {p}))) = −{root:3}. Which share of N(0, 1) lies above?",
        right="Φ({root:3}) = {answer:3}: the likelier point gets more than it is due.",
        wrong="Between {p} and 1: a median takes the side of the likelier point, except for particles that start below "
              "−{root:3}. The answer is Φ({root:3}), the share of N(0, 1) above that.",
        slips={
            "mean": Slip("p", "That is what the squared error does: its flow carries the source to the target. A "
                              "median takes sides.", slip="released KITE trains with the absolute error"),
            "all": Slip(1.0, "At s = 0 every particle sets out for +1, yes. Those that started below −{root:3} find −1 "
                             "the likelier point later on."),
        },
        show=Show("mean-or-median", preset="Median, .7")),
    choice(
        id="10-one-step", lesson=LESSON, answer=_one_step,
        text="Source N(0, 1), target N(2, 0.3²), the exact mean velocity, and a single Euler step. Where do the "
             "particles land?",
        options={
            "target": Option("Spread like the target, around 2.",
                "That takes many steps. In one step only the velocity at s = 0 is asked: 2 − y, from everywhere to 2."),
            "narrow": Option("Around 2, with some part of the spread.",
                "Two steps leave some, .083 of .3. One leaves nothing: at s = 0 the velocity is 2 − y, for all."),
            "point": Option("All at 2 exactly.",
                "At s = 0 the place says nothing about where the truth is, so the mean velocity is 2 − y, and "
                "y + (2 − y) = 2 from everywhere."),
        },
        show=Show("particles-on-their-way", preset="One step")),
    match(
        id="10-errors", lesson=LESSON, answer=_errors, difficulty=3, claims=(57,),
        text="A velocity is wrong by +1 all the way from s = 0 to 1. By how much is a particle off at the end?",
        hint="A flow that squeezes its cloud squeezes errors too.",
        left={
            "squeeze": Option("source N(0, 1), target N(0, 0.1²)",
                "This flow squeezes everything it carries to a tenth, early errors included: .31 is left."),
            "keep": Option("source N(0, 1), target N(0, 1)",
                "The cloud narrows to .71 half-way and widens again. An error made where its width is w grows by 1/w "
                "until the end: by 1 or more everywhere, 1.25 in all."),
            "stretch": Option("source N(0, 0.1²), target N(0, 1)",
                "The cloud grows tenfold, and an early error with it: 3.08. Here errors do snowball."),
        },
        right={end: f"{x:g}" for end, x in ENDS.items()},
        pairs=(
            Pair("squeeze", "stretched", "So it would be if errors always snowballed, as the notes have it. But this "
                 "flow squeezes what it carries: .31.", slip="claim 57"),
            Pair("squeeze", "one", "Velocity 1 for a time of 1, if the rest of the velocity did not depend on the "
                 "place. It pulls every particle to the target, lost ones most: .31."),
            Pair("keep", "one", "The widths agree at both ends, but not between: half-way the cloud has a width of .71 "
                 "and errors made there grow again: 1.25."),
        ),
        show=Show("particles-on-their-way", preset="Error, wide")),
    number(
        id="10-sigma", lesson=LESSON, answer=_width, tolerance=0.012,
        draws={"miss": Draw((2,), -2, 2, step=0.2)}, first={"miss": (0.2, -1)},
        text="Two hours were missed by {miss[0]} and by {miss[1]}. At which width σ is the coverage loss, the mean of "
             "½ log σ² + ½ miss²/σ², smallest?",
        hint="Set the derivative by σ² to zero.",
        right="σ² is the mean of the squares, ({squares[0]} + {squares[1]})/2 = {variance}, so σ = {answer:3}.",
        wrong="Set the derivative to zero: σ² is the mean of the squared misses, {squares[0]} and {squares[1]}.",
        slips={
            "absolute": Slip("absolute", "That is the mean absolute miss (with opposite signs also the deviation from "
                                         "the mean miss). The loss measures squares of the misses themselves: take the "
                                         "root of the mean of {squares[0]} and {squares[1]}."),
            "deviation": Slip("deviation", "That is the deviation from the mean miss, with n − 1. The loss measures "
                                           "from the first guess itself, where the miss is 0: the root of the mean of "
                                           "{squares[0]} and {squares[1]}."),
            "squared": Slip("variance", "That is σ². The question asks for σ, its root."),
        }),
    choice(
        id="10-rank", lesson=LESSON, answer=_rank, difficulty=3,
        text="A source adds the noise M z to its first guess, z being 64 normal numbers. M has 64 columns and 24 "
             "rows, one per hour to come; the rows start orthonormal. What does M z look like?",
        options={
            "low": Option("It lies in few directions: a low-rank manifold.",
                "64 columns span at most 24 dimensions, and here they span all of them: M Mᵀ = I, no direction is left "
                "out.", slip="released KITE: rank 64 for a horizon of 24"),
            "tilted": Option("In all 24 directions, some much stronger.",
                "With 64 random columns it would be so. Orthonormal rows give M Mᵀ = I, the same in all directions."),
            "isotropic": Option("Like ordinary independent noise.",
                "M Mᵀ = I, so the 24 hours are independent with equal variance; mixing in isotropic noise changes "
                "nothing."),
        },
        show=Show("a-draw-from-the-source", preset="Full rank")),
]
