"""Check questions of lesson 10, flow and source."""

import torch

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.kite import exact
from tsattn_mini.kite.flow import euler, flow_loss
from tsattn_mini.kite.source import coverage

LESSON = "10_flow_and_source"


def _t(*numbers: float) -> torch.Tensor:
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


def _growth(source: float, target: float) -> float:
    return float(exact.error_growth(_t(source), _t(target)))


def _error() -> str:
    end = _growth(1.0, 0.1)
    return "shrinks" if end < 0.99 else "grows" if end > 1.01 else "stays"


def _sigma(misses: tuple[float, ...] = (0.2, -1.0)) -> float:
    """The width at which the coverage loss of these misses is smallest, to a thousandth."""
    widths = torch.arange(0.15, 2.0, 0.001, dtype=torch.float64)
    y = _t(*misses)[:, None].expand(-1, 1)
    losses = torch.stack([coverage(y, torch.zeros_like(y), w.expand(len(y), 1)).mean() for w in widths])
    return float(widths[losses.argmin()])


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
        id="10-crossing", lesson=LESSON, answer=_crossing,
        text="Two lines cross at (place 0, s = ½): one goes up with velocity +2, one down with −2. A network that is "
             "trained with the squared error and sees only place and time says …",
        options={
            "up": Option("+2, the line it met first.",
                "It meets both equally often. Saying +2 costs 0 on one and 16 on the other, 8 on average; there is "
                "something cheaper."),
            "zero": Option("0, the mean of the two.",
                "Its cost is 4 on both. The particles then bounce off each other instead of crossing, and as many "
                "arrive on either side as should."),
            "down": Option("−2.",
                "By symmetry as good as +2: 0 on one and 16 on the other. Something between them costs less."),
        }),
    number(
        id="10-median-share", lesson=LESSON, answer=lambda: float(exact.two_point_share(0.7)), tolerance=0.008,
        text="The target is +1 with probability .7, else −1. Trained with the absolute error, which share of particles "
             "ends at +1? (Guess first; the table comes next.)",
        hint="At every place the median is the point that is more likely there. A particle of the source N(0, 1) ends "
             "at −1 only if it starts below −√(2 log(.7/.3)) = −1.302. Which share of N(0, 1) lies above?",
        right="Φ(1.302) = .904: the likelier point gets more than it is due.",
        wrong="Between .7 and 1: a median takes the side of the likelier point, except for particles that start far "
              "down. The hint gives Φ(1.302).",
        slips={
            "mean": Slip(0.7, "That is what the squared error does: its flow carries the source to the target."),
            "all": Slip(1.0, "At s = 0 every particle sets out for +1, yes. Some that started far below find −1 the "
                             "likelier point later on."),
        }),
    choice(
        id="10-one-step", lesson=LESSON, answer=_one_step,
        text="Source N(0, 1), target N(2, 0.3²), the exact mean velocity, and a single Euler step. Where do the "
             "particles land?",
        options={
            "target": Option("Spread like the target, around 2.",
                "That takes many steps. In one step only the velocity at s = 0 is asked."),
            "narrow": Option("Around 2, with some part of the spread.",
                "Two steps leave some. With one step there is nothing left; see why at s = 0."),
            "point": Option("All at 2 exactly.",
                "At s = 0 the place says nothing about where the truth is, so the mean velocity is 2 − y, and "
                "y + (2 − y) = 2 from everywhere."),
        }),
    choice(
        id="10-error", lesson=LESSON, answer=_error,
        text="Source N(0, 1), target N(0, 0.1²). The velocity is wrong by +1 all the way from s = 0 to 1. At the end "
             "particles are off by …",
        options={
            "grows": Option("more than 1: errors snowball.",
                "They do from a narrow source to a wide target. This flow squeezes everything it carries, errors "
                "included."),
            "stays": Option("1: velocity 1 for a time of 1.",
                "That would be so if the rest of the velocity did not depend on the place. It pulls every particle "
                "towards the target, the lost ones most."),
            "shrinks": Option("less than 1.",
                "By .31. The flow squeezes the source to a tenth of its width, and an early error with it."),
        }),
    number(
        id="10-sigma", lesson=LESSON, answer=_sigma, tolerance=0.012,
        text="Two hours were missed by 0.2 and by −1.0. At which width σ is the coverage loss, the mean of "
             "½ log σ² + ½ miss²/σ², smallest?",
        hint="Set the derivative by σ² to zero.",
        right="σ² is the mean of the squares, (.04 + 1)/2 = .52, so σ = .721.",
        wrong="Set the derivative to zero: σ² is the mean of the squared misses.",
        slips={
            "absolute": Slip(0.6, "That is the mean absolute miss. A Gaussian loss measures squares."),
            "deviation": Slip(0.849, "That is the deviation around the mean miss. The loss measures "
                                    "from μ_h itself."),
            "squared": Slip(0.52, "That is σ². The question asks for σ."),
        }),
    choice(
        id="10-rank", lesson=LESSON, answer=_rank,
        text="M has 24 rows, one per hour to come, and 64 columns, orthogonal at the start. What does the noise M z "
             "look like?",
        options={
            "low": Option("It lies in few directions: a low-rank manifold.",
                "64 columns span at most 24 dimensions, and here they span all of them."),
            "tilted": Option("In all 24 directions, some much stronger.",
                "With random columns it would be so. Orthogonal ones give M Mᵀ = I."),
            "isotropic": Option("Like ordinary independent noise.",
                "M Mᵀ = I, so the 24 hours are independent with equal variance; mixing in isotropic noise changes "
                "nothing."),
        }),
]
