"""Check questions of lesson 04, the Projector."""

import torch
from torch import Tensor, nn

from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.lesson import counting, weights
from tsattn_mini.nonstationary import Projector, destationary_attention, stationarize

LESSON = "04_projector"


def _projector(T: int = 12, V: int = 5, O: int = 1) -> Projector:  # noqa: E741
    with torch.random.fork_rng():
        torch.manual_seed(4)
        return Projector(T, V, (16, 16), O).double().requires_grad_(False)


def _log_tau(projector: Projector, x: Tensor) -> float:
    return projector(x, stationarize(x)[2]).item()


def _swap() -> str:
    projector, x = _projector(), counting(1, 12, 5).sin()
    before, after = (_log_tau(projector, y) for y in (x, x[..., [1, 0, 2, 3, 4]]))
    return "changes" if abs(before - after) > 1e-3 else "same"


def _sees() -> str:
    """Which entries of the window move c of variable 0?"""
    projector, x = _projector(), counting(1, 12, 5).sin().requires_grad_()
    around = nn.functional.pad(x, (1, 1), mode="circular")
    nn.functional.conv1d(around, projector.conv.weight)[0, 0, 0].backward()
    times, variables = (x.grad[0] != 0).sum(0).max().item(), (x.grad[0] != 0).sum(1).max().item()
    return {(12, 3): "three variables", (3, 5): "three steps", (3, 1): "own steps"}[times, variables]


def _conv_weights(T: int, V: int) -> int:
    return Projector(T, V, (16,), 1).conv.weight.numel()


def _effective() -> int:
    """The rank of c as a function of the conv's weights, over many windows of a single variable."""
    x = torch.randn(50, 12, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    taps = nn.functional.pad(x, (1, 1), mode="circular").flatten(1)  # what each of the 36 weights multiplies
    return int(torch.linalg.matrix_rank(taps))


def _turn() -> str:
    projector, x = _projector(), counting(1, 12, 5).sin()
    turned = x.roll(1, -1)
    conv = lambda y: nn.functional.conv1d(  # noqa: E731
        nn.functional.pad(y, (1, 1), mode="circular"), projector.conv.weight)
    follows = torch.allclose(conv(turned), conv(x).roll(1, -1))
    same = abs(_log_tau(projector, x) - _log_tau(projector, turned)) < 1e-6
    return "both" if follows and same else "conv" if follows else "neither"


def _inputs() -> str:
    projector, x = _projector(O=12), counting(1, 12, 5).sin()
    mu = stationarize(x)[1]
    moves = [not torch.allclose(projector(x, mu), projector(*other)) for other in ((x, mu + 1), (x.flip(1), mu))]
    return {(True, True): "both", (True, False): "mean", (False, True): "window"}[tuple(moves)]


def _underflow() -> str:
    tau = torch.tensor(-165.0).exp()
    k = torch.tensor([[2.0], [1.0], [0.0]])
    A = weights(destationary_attention, torch.ones(1, 1), k, tau=tau.reshape(1, 1))[0]
    if not bool(A.isfinite().all()):
        return "nan"
    return "uniform" if tau == 0 and torch.allclose(A, A.flip(0)) else "ranking"


def _thousand() -> float:
    """How much log τ grows when the whole window is written in units a thousand times smaller."""
    projector, x = _projector(), 1e6 * counting(1, 12, 5).sin()
    return round(_log_tau(projector, 1000 * x) / _log_tau(projector, x))


QUESTIONS = [
    choice(
        id="04-swap", lesson=LESSON, answer=_swap,
        text="Two columns of your CSV file change places; the model is trained already. You feed it the file "
             "as it is. What happens to τ, the one number that sharpens or flattens all attention of a "
             "window?",
        options={
            "same": Option("It stays: τ describes the window, not its columns.",
                "It comes from a network that gives every column its own weights and its own neighbours."),
            "changes": Option("It changes.",
                "The order of the variables is part of the model, although it means nothing in the data."),
            "error": Option("The model refuses: the columns no longer match.",
                "The shapes still fit, and nothing checks the names."),
        }),
    choice(
        id="04-inputs", lesson=LESSON, answer=_inputs,
        text="From what is δ computed?",
        options={
            "mean": Option("From the mean of the window.",
                "That is one of two inputs. Turn the window round in time, keep its mean, and δ is another."),
            "window": Option("From the raw window.",
                "That is one of two inputs. The mean enters by itself as well."),
            "both": Option("From the raw window and its mean.",
                "δ = f(x, μ), as τ = f(x, σ): the conv makes V numbers of x, and the statistic brings V "
                "more."),
        }),
    choice(
        id="04-sees", lesson=LESSON, answer=_sees,
        text="The conv is `Conv1d(12, 1, kernel_size=3)` over a window of 12 steps and 5 variables. Which "
             "entries "
             "of the window does one number of its output see?",
        hint="Conv1d takes (batch, channels, length). Which axis of (B, 12, 5) is the length?",
        options={
            "own steps": Option("Three neighbouring steps of one variable.",
                "That needs time as the axis to slide along. Here time is the channel axis, which is always "
                "taken whole."),
            "three steps": Option("Three neighbouring steps of all variables.",
                "That is a conv whose channels are the variables, as in the token embedding. This one is "
                "turned round."),
            "three variables": Option("All twelve steps of three neighbouring variables.",
                "Time is the channel axis, so all of it enters; the kernel slides along the variables, in a "
                "circle."),
        }),
    number(
        id="04-weights", lesson=LESSON, answer=lambda: _conv_weights(24, 7), tolerance=0.5,
        text="A window has 24 steps and 7 variables. How many weights has the Projector's conv?",
        right="24 channels · 1 output · 3 taps = 72. The number of variables does not enter.",
        wrong="Channels in · channels out · taps. There is no bias.",
        slips={
            "linear": Slip(lambda: nn.Linear(24, 1, bias=False).weight.numel(),
                "That is a Linear over time, which is the same conv with one tap."),
            "per variable": Slip(lambda: nn.Conv1d(7, 7, 24, groups=7).weight.numel(),
                "That is a Linear of its own for each variable. The conv shares its weights over the "
                "variables."),
            "all": Slip(24 * 7 * 3,
                "The kernel slides over the 7 variables; it does not have weights for each."),
            "bias": Slip(lambda: _conv_weights(24, 7) + 1, "There is no bias here."),
        }),
    number(
        id="04-one-variable", lesson=LESSON, answer=_effective, tolerance=0.5,
        text="With a single variable and 12 steps the conv still has 36 weights. How many independent "
             "numbers "
             "do they amount to?",
        hint="In a circle of one, who stands to the left and who to the right?",
        right="12: left, middle and right tap see the same variable, so only their sum counts.",
        wrong="The circle has one member: all three taps look at it.",
        slips={
            "all": Slip(36, "They are stored and trained, but three of them always add up."),
            "two": Slip(24, "That is two variables: left and right neighbour are then the same one."),
        }),
    choice(
        id="04-turn", lesson=LESSON, answer=_turn,
        text="All five columns move one place on, and the last becomes the first. What follows?",
        options={
            "both": Option("c turns with them, so τ is as before.",
                "c does turn. But then come weights with a fixed place for each variable, and they do not."),
            "conv": Option("c turns with them, and τ changes.",
                "The circular conv follows a turn. The layers behind it give each place its own weights."),
            "neither": Option("Both c and τ become something else.",
                "Sliding in a circle knows no first column: c only turns."),
        }),
    choice(
        id="04-underflow", lesson=LESSON, answer=_underflow,
        text="A Projector says log τ = −165. In float32, without a lower bound, what becomes of the "
             "attention?",
        options={
            "ranking": Option("It is almost uniform, but the best key still leads a little.",
                "exp(−165) is 2·10⁻⁷², and the smallest number float32 can hold is about 10⁻⁴⁵."),
            "uniform": Option("It is exactly the plain mean, and τ = 0 passes no gradient on.",
                f"exp(−165) becomes {torch.tensor(-165.0).exp().item():.0f} in float32. Finite, and "
                 "meaningless: "
                "training cannot bring it back."),
            "nan": Option("It is NaN.",
                "0 times a score is 0. NaN threatens on the other side, where τ is infinite."),
        }),
    number(
        id="04-thousand", lesson=LESSON, answer=_thousand, tolerance=5,
        text="A file in trillions of dollars is rewritten in billions, and the Projector's weights stay. "
             "All its "
             "numbers are large. By what factor does log τ grow, about?",
        hint="The layers are linear, and relu(1000 · a) = 1000 · relu(a).",
        right="1000: without the small biases the whole Projector is homogeneous. τ itself is raised to "
              "that power.",
        wrong="Follow a factor 1000 through conv, σ, matrices and relu.",
        slips={
            "log": Slip(6.9, "That is log 1000, how log τ would *shift* if τ grew 1000 times. But it is log "
                             "τ that "
                "grows."),
            "square": Slip(1e6, "σ² would grow a million times. The Projector takes σ, and is free to learn "
                                "the "
                "square; untrained it is linear."),
            "none": Slip(1.0, "Stationarizing removes the unit from x'. The Projector sees x as it was."),
        }),
]
