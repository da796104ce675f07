"""Check questions of lesson 04, the Projector."""

import torch
from torch import Tensor, nn

from tsattn_mini import record, step
from tsattn_mini.explore.question import Draw, Option, Show, Slip, choice, number, several, written
from tsattn_mini.lesson import counting, weights
from tsattn_mini.nonstationary import NonstationaryTransformer, Projector, destationary_attention, stationarize

LESSON, FIVE = "04_projector", "five-columns-one-temperature"


def _projector(T: int = 12, V: int = 5, O: int = 1) -> Projector:  # noqa: E741
    with torch.random.fork_rng():
        torch.manual_seed(4)
        return Projector(T, V, (16, 16), O).double().requires_grad_(False)


OUT, _, TAPS = _projector().conv.weight.shape


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


def _conv_weights(T: Tensor, V: Tensor) -> Tensor:
    """One weight for each time step (channel in), channel out and tap, the last two as the Projector has them."""
    step("linear", T * 1.0, axes="")
    step("each", T * V, axes="")
    step("all", T * V * TAPS, axes="")
    step("bias", T * TAPS * OUT + 1, axes="")
    return T * TAPS * OUT


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


def _inputs() -> set[str]:
    """What moves δ when it alone is changed?"""
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = NonstationaryTransformer(12, 6, 4, 5, M=8, H=4, d_ff=16, p_hidden=(16, 16)).double()
    x = counting(1, 12, 5).sin()
    _, mu, sigma = stationarize(x)

    def marked(marks: Tensor) -> Tensor:
        with record() as trace:
            model(x, marks, None, marks[:, :10])
        return trace["delta"].tensor

    delta, hours = model.handles(x, mu, sigma)[1], counting(1, 12, 4)
    turned, lifted, spread = (model.handles(*raw)[1] for raw in ((x.flip(1), mu, sigma), (x, mu + 1, sigma),
                                                                 (x, mu, 2 * sigma)))
    moved = {"window": (turned, delta), "mean": (lifted, delta), "spread": (spread, delta),
             "marks": (marked(hours), marked(hours.flip(1)))}
    return {name for name, (one, other) in moved.items() if not torch.allclose(one, other)}


def _underflow() -> str:
    log_tau, q, k = (torch.tensor(x, dtype=torch.float32) for x in ([[-165.0]], [[1.0]], [[2.0], [1.0], [0.0]]))
    tau = log_tau.exp()
    A = weights(destationary_attention, q, k, tau=tau)[0]
    if not bool(A.isfinite().all()):
        return "nan"
    return "uniform" if tau == 0 and torch.allclose(A, A.flip(0)) else "ranking"


def _thousand() -> float:
    """How much log τ grows when the whole window is written in units a thousand times smaller."""
    projector, x = _projector(), 1e6 * counting(1, 12, 5).sin()
    return round(_log_tau(projector, 1000 * x) / _log_tau(projector, x))


QUESTIONS = [
    choice(
        id="04-swap", lesson=LESSON, answer=_swap, difficulty=1, claims=(34,), show=Show(FIVE, preset="Swapped"),
        text="A Non-stationary Transformer is trained. Then two columns of your CSV file change places, and you feed "
             "it the file as it is. What happens to τ, the one number that sharpens or flattens all attention of a "
             "window?",
        options={
            "same": Option("It stays: τ describes the window, not its columns.",
                "It comes from a network that gives every column its own weights and its own neighbours."),
            "changes": Option("It changes.",
                "The order of the variables is part of the model, although it means nothing in the data."),
            "error": Option("The model refuses: the columns no longer match.",
                "The shapes still fit, and nothing checks the names."),
        }),
    several(
        id="04-inputs", lesson=LESSON, answer=_inputs, difficulty=1, claims=(8, 16),
        text="The Non-stationary Transformer shifts its scores by δ, one number for each step. From what is δ "
             "computed?",
        options={
            "mean": Option("The mean of the window",
                "One of the two inputs of its Projector: δ = P_δ(x, μ). Add 1 to μ alone, and δ moves."),
            "window": Option("The raw window",
                "A convolution makes one number per variable of it, and the statistic brings one more: δ = P_δ(x, μ). "
                "The mean alone is not enough: two windows with one mean get different δ.", slip="claim 8"),
            "spread": Option("The standard deviation of the window",
                "That is what τ gets: τ = exp P_τ(x, σ). Double σ alone, and δ stays where it was."),
            "marks": Option("The hours and days of its steps",
                "The marks go into the embedding. Reverse them, and δ is the same to the last bit."),
        }),
    choice(
        id="04-sees", lesson=LESSON, answer=_sees, claims=(34, 35),
        text="The Projector of τ and δ begins with `Conv1d(12, 1, kernel_size=3)`, over a window of 12 steps and 5 "
             "variables. Which entries of the window does one number of its output see?",
        hint="Conv1d takes (batch, channels, length). Which axis of (B, 12, 5) is the length?",
        options={
            "own steps": Option("Three neighbouring steps of one variable.",
                "That needs time as the axis to slide along. Here time is the channel axis, which is always "
                "taken whole.", slip="claim 34"),
            "three steps": Option("Three neighbouring steps of all variables.",
                "That is a conv whose channels are the variables, as in the token embedding. This one is "
                "turned round."),
            "three variables": Option("All twelve steps of three neighbouring variables.",
                "Time is the channel axis, so all of it enters; the kernel slides along the variables, in a "
                "circle."),
        }),
    number(
        id="04-weights", lesson=LESSON, answer=_conv_weights, tolerance=0.5, claims=(33, 35, 37),
        draws={"T": Draw(values=(12, 16, 24, 36, 48, 96)), "V": Draw(low=4, high=9, whole=True)},
        first={"T": 24, "V": 7},
        text="A window has {T} steps and {V} variables. How many weights has the Projector's conv, with time as its "
             "channels, one channel out and a kernel of 3?",
        right="{T} channels · 1 output · 3 taps = {answer}. The number of variables does not enter.",
        wrong="Channels in · channels out · taps. There is no bias.",
        slips={
            "linear": Slip("linear",
                "That is a Linear over time, which is the same conv with one tap."),
            "per variable": Slip("each",
                "That is a Linear of its own for each variable. The conv shares its weights over the variables, and so "
                "does a `Linear({T}, 1)` over time.", slip="claim 33"),
            "all": Slip("all",
                "The kernel slides over the {V} variables; it does not have weights for each."),
            "bias": Slip("bias", "That counts a bias, and this conv has none: {T} · 3, and no more."),
        }),
    written(
        id="04-channels", lesson=LESSON, difficulty=3, claims=(33, 34, 36, 37), show=Show(FIVE, preset="Turned"),
        text="What does `in_channels = seq_len` mean in the Projector's Conv1d, and why is a `Linear` over the time "
             "axis not used instead?",
        hint="Conv1d takes (batch, channels, length), and a window is (B, T, V). Then count the weights of both.",
        model_answer="Time steps are the *channels*: every output mixes all of them, one weight for each step and tap. "
                     "What the kernel of 3 slides along, in a circle, are the *variables*. So T × V numbers become V "
                     "numbers with 3 T weights and no bias. A `Linear(T, 1)` on the transposed window does the same "
                     "with T weights and without a look at neighbours: it is the conv with both outer taps at zero. "
                     "The reason can therefore be neither fewer weights (36 against 12, at 12 steps) nor locality in "
                     "time (there is none). What the conv adds is mixing between variables that stand side by side in "
                     "the file, and with it a dependence on the order of the columns.",
        rubric=[
            "Time is the channel axis: all steps enter, each with weights of its own.",
            "The kernel slides over neighbouring variables, in a circle.",
            "Not to save weights, and not for locality in time: a Linear over time has a third of the weights and is a "
            "special case of the conv.",
            "What it adds is mixing of neighbouring columns, so that the result depends on their order.",
        ],
        parts=["04-sees", "04-weights", "04-turn"]),
    number(
        id="04-one-variable", lesson=LESSON, answer=_effective, tolerance=0.5, difficulty=3, claims=(35,),
        text="The Projector's conv mixes all time steps and slides over three neighbouring variables, in a circle. "
             "With a single variable and 12 steps it still has 36 weights. How many independent numbers do they "
             "amount to?",
        hint="In a circle of one, who stands to the left and who to the right?",
        right="12: left, middle and right tap see the same variable, so only their sum counts.",
        wrong="The circle has one member: all three taps look at it.",
        slips={
            "all": Slip(36, "They are stored and trained, but three of them always add up."),
            "two": Slip(24, "That is two variables: left and right neighbour are then the same one."),
        }),
    choice(
        id="04-turn", lesson=LESSON, answer=_turn, difficulty=3, claims=(34,), show=Show(FIVE, preset="Turned"),
        text="All five columns of a window move one place on, and the last becomes the first. What follows for c, the "
             "five numbers that the Projector's conv makes, and for τ?",
        options={
            "both": Option("c turns with them, so τ is as before.",
                "c does turn. But then come weights with a fixed place for each variable, and they do not turn."),
            "conv": Option("c turns with them, and τ changes.",
                "The circular conv follows a turn. The layers behind it give each place its own weights."),
            "neither": Option("Both c and τ become something else.",
                "Sliding in a circle knows no first column: c only turns."),
        }),
    choice(
        id="04-underflow", lesson=LESSON, answer=_underflow, claims=(2,),
        text="A Projector says log τ = −165. In float32, without a lower bound, what becomes of the "
             "attention?",
        options={
            "ranking": Option("It is almost uniform, but the best key still leads a little.",
                "exp(−165) is 2·10⁻⁷², and the smallest number float32 can hold is about 10⁻⁴⁵."),
            "uniform": Option("It is exactly the plain mean, and τ = 0 passes no gradient on.",
                "exp(−165) becomes 0 in float32. Finite, and meaningless: training cannot bring it back. The "
                "released code has no lower bound."),
            "nan": Option("It is NaN.",
                "0 times a score is 0. NaN threatens on the other side, where τ is infinite."),
        }),
    number(
        id="04-thousand", lesson=LESSON, answer=_thousand, tolerance=5,
        difficulty=3, show=Show(FIVE, preset="Times 100"),
        text="A file in trillions of dollars is rewritten in billions, and the Projector's weights stay. "
             "All its numbers are large. By what factor does log τ grow, about?",
        hint="The layers are linear, and relu(1000 · a) = 1000 · relu(a).",
        right="1000: without the small biases the whole Projector is homogeneous. τ itself is raised to "
              "that power.",
        wrong="Follow a factor 1000 through conv, σ, matrices and relu.",
        slips={
            "log": Slip(6.9, "That is log 1000, how log τ would *shift* if τ grew 1000 times. But it is log "
                             "τ that grows."),
            "square": Slip(1e6, "σ² would grow a million times. The Projector takes σ, and is free to learn "
                                "the square; untrained it is linear."),
            "none": Slip(1.0, "Stationarizing removes the unit from x'. The Projector sees x as it was."),
        }),
]
