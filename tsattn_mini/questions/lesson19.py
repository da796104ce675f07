"""Check questions of lesson 19, iTransformer and TimeXer."""

from collections.abc import Callable

import torch
from torch import Tensor

from tsattn_mini import record, step
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, order
from tsattn_mini.lesson import counting
from tsattn_mini.zoo.itransformer import ITransformer, normalise
from tsattn_mini.zoo.timexer import TimeXer

LESSON = "19_inverted"
SIZES = {"seq_len": 12, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}


def _window(V: int = 5, T: int = 12) -> Tensor:
    return (counting(1, T, V) ** 1.3).sin()


def _model(cls: type, seed: int = 0, **sizes) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return cls(**SIZES | sizes).double().requires_grad_(False)


def _tokens(T: Tensor, V: Tensor, K: Tensor) -> Tensor:
    step("mixed", T * V, axes="")
    return V + K


def _swap() -> str:
    """What trading columns 0 and 3 of the input does to the forecast."""
    net, x, order = _model(ITransformer), _window(), [3, 1, 2, 0, 4]
    before, after = net(x), net(x[..., order])
    if torch.allclose(after, before):
        return "same"
    return "follows" if torch.allclose(after, before[..., order]) else "other"


def _mixes() -> dict[str, str]:
    """For each part of an iTransformer, whether one token's numbers reach the other tokens through it."""
    net, x = _model(ITransformer), _window()
    layer, h = net.encoder.layers[0], counting(1, 5, 8).sin()

    def reaches(part: Callable[[Tensor], Tensor], tokens: Tensor) -> str:
        other = tokens.clone()
        other[:, 2] += 1
        moved = (part(other) - part(tokens)).abs().amax((0, 2)) > 0
        return "within" if moved.tolist() == [v == 2 for v in range(5)] else "between"

    return {"embedding": reaches(lambda rows: net.embedding(rows.mT), x.mT),
            "attention": reaches(lambda h: layer.attention(h, h), h),
            "ffn": reaches(layer.ffn, h), "projection": reaches(net.projection, h)}


def _affine(y: Tensor, a: Tensor, b: Tensor) -> Tensor:
    step("scale", a * y, axes="")
    step("level", y + b, axes="")
    return a * y + b


def _in_place() -> str:
    x = _window().requires_grad_()
    try:
        normalise(x, released_statistics=True)[0].square().sum().backward()
    except RuntimeError:
        return "error"
    return "zero" if float(x.grad.abs().max()) == 0 else "right"


def _ignored(p: Tensor) -> Tensor:
    rest = torch.remainder(p.new_tensor(24), p)
    step("missing", p - rest, axes="")
    step("patches", (24 - rest) / p, axes="")
    return torch.where((rest < 1) | (2 * rest == p), torch.nan, rest)


def _spreads() -> list[str]:
    """In which order a changed exogenous column moves the parts of a TimeXer for one target."""
    net, x, other = _model(TimeXer, patch_len=4, features="MS"), _window(), _window()
    other[0, :, 0] = other[0, :, 0].flip(0)
    with record() as a:
        net(x)
    with record() as b:
        net(other)
    rows = {"column": ("exogenous_embedding/tokens", slice(None)), "global": ("tokens", slice(-1, None)),
            "patches": ("tokens", slice(-1)), "forecast": ("forecast", slice(None))}
    target = [name for name in a if a[name].axes == "B N L M"]
    when = {}
    for item, (start, part) in rows.items():
        steps = target if start == "tokens" else [start]
        when[item] = next(list(a).index(name) for name in steps
                          if not torch.equal(a[name].tensor[..., part, :], b[name].tensor[..., part, :]))
    return sorted(when, key=when.__getitem__)


def _nothing_outside() -> str:
    net, x = _model(TimeXer, V=1, patch_len=4, features="S"), _window(V=1)
    with record() as trace:
        y = net(x)
    if not torch.isfinite(y).all():
        return "nan"
    return "target" if any("cross" in name for name in trace) else "skip"


QUESTIONS = [
    number(
        id="19-tokens", lesson=LESSON, answer=_tokens, tolerance=0.1, difficulty=1, claims=(54,),
        draws={"T": Draw(values=(12, 24, 36, 48, 96)), "V": Draw(low=3, high=9, whole=True),
               "K": Draw(low=2, high=6, whole=True)}, first={"T": 12, "V": 5, "K": 4},
        text="A window has {T} steps of {V} variables, and each step has {K} time marks. How many tokens does "
             "iTransformer make of it?",
        right="{V} + {K} = {answer}: every column becomes a token, the columns of marks too.",
        wrong="A token is a column of the table here, and marks are columns: add {V} and {K}.",
        slips={
            "time": Slip("T", "One per step is what the other models do. Here a token is a whole column, and there are "
                              "{V} + {K} of them."),
            "no marks": Slip("V", "Those are the variables. Given marks, their {K} columns become tokens as well."),
            "mixed": Slip("mixed", "That counts the numbers of the window. {T} of them go into each token."),
        }),
    choice(
        id="19-swap", lesson=LESSON, answer=_swap, claims=(51,), show=Show("variables-ask", preset="Swap"),
        text="In the input of a trained iTransformer you swap columns 0 and 3. The forecast …",
        hint="Does any weight belong to a column's place?",
        options={
            "same": Option("stays as it was: the model is permutation invariant.",
                "Invariance would mean that the output does not notice. But the forecast has a column for every "
                "variable, and each follows its own: columns 0 and 3 of the forecast trade places. That is "
                "*equivariance*.", slip="claim 51"),
            "follows": Option("has its columns 0 and 3 swapped, and no other number changes.",
                "Equivariance: all columns share all weights, and softmax sums over keys in any order."),
            "other": Option("becomes another forecast, as with the Non-stationary Transformer's τ.",
                "The Projector behind τ has a weight for each place among the columns. Here no weight knows a place, "
                "so the same numbers come out, in columns 3 and 0."),
        }),
    match(
        id="19-time", lesson=LESSON, answer=_mixes, claims=(54,),
        text="Which parts of an iTransformer carry something from one variable to another, and which work on the past "
             "of one variable alone?",
        hint="A token is one variable's whole past.",
        left={
            "embedding": Option("the inverted embedding, T steps to M features",
                "One column in, one token out, by the same matrix for all columns."),
            "attention": Option("attention",
                "Its rows and columns are variables. Set its output to 0, and each variable is forecast from its own "
                "past alone."),
            "ffn": Option("the feed-forward part",
                "It takes each token by itself, and a token is one variable's past: this is what works along time."),
            "projection": Option("the last matrix, M features to F steps",
                "Every token says its own future."),
        },
        right={"within": "works within one variable, along its time", "between": "brings variables together"},
        pairs=[Pair("attention", "within", "So it is where tokens are time steps. Here tokens are variables, and what "
                    "attention relates is variables: the two parts have traded roles."),
               Pair("ffn", "between", "In a Transformer over time it mixes the variables of one step. Here a token is "
                    "one variable, and the feed-forward part sees one token at a time.")]),
    number(
        id="19-affine", lesson=LESSON, answer=_affine, tolerance=0.01, claims=(53,),
        show=Show("variables-ask", preset="Rentals × 3 + 2"),
        draws={"y": Draw(low=2, high=9, whole=True), "a": Draw(values=(2, 3, 4, 5, 10)),
               "b": Draw(low=1, high=20, whole=True)}, first={"y": 2, "a": 3, "b": 7},
        text="iTransformer forecasts {y} for a window x. What does it forecast for {a}x + {b}?",
        hint="What reaches the network after normalising, and what is done to its output?",
        right="{a} · {y} + {b} = {answer}: what normalising took off is put back at the output.",
        wrong="Normalised, both windows are the same numbers. Then σ and μ come back: {a} · {y} + {b}.",
        slips={
            "forgotten": Slip("y", "Then level and scale would be lost. They are taken off before the network, but "
                                   "multiplied and added again at its output: {a} · {y} + {b}.", slip="claim 53"),
            "level": Slip("level", "The level came back, and so does the scale: {a} · {y} + {b}."),
            "scale": Slip("scale", "The scale came back, and so does the level: {a} · {y} + {b}."),
        }),
    choice(
        id="19-in-place", lesson=LESSON, answer=_in_place, difficulty=3, claims=(52,),
        text="The released iTransformer detaches μ, not σ, and divides x − μ by σ in place. A layer in front of the "
             "model is to train, so x requires a gradient. What does backward do?",
        options={
            "right": Option("It gives the right gradient.",
                "σ was computed from x − μ, and to pass a gradient through σ those numbers are needed. The division in "
                "place has overwritten them, and backward stops.", slip="released iTransformer"),
            "zero": Option("It gives zeros, as the statistics are detached.",
                "Only μ is. And even with both detached, x' = (x − μ) / σ still depends on x itself: its slope would "
                "be 1 / σ, not 0.", slip="claim 52"),
            "error": Option("It stops with a RuntimeError.",
                "The slope of σ needs x − μ, which the division has overwritten. With plain data nobody asks for it."),
        }),
    order(
        id="19-first-layer", lesson=LESSON, answer=_spreads, difficulty=3,
        show=Show("who-hears", x=[[0, 1, 2, -6, 2, 1], [3, 1, 2, 0, 1, 2], [0, 2, 1, 3, 2, 4]]),
        text="A TimeXer of two layers forecasts one target, and an exogenous series changes. What moves first, and "
             "what after it?",
        hint="Who asks, in the cross-attention?",
        items={
            "forecast": Option("the forecast", "The head reads all tokens of the target, after the last layer."),
            "patches": Option("the target's patch tokens",
                "They never ask the exogenous tokens. In the self-attention of layer 2 they hear of them from the "
                "global token."),
            "global": Option("the target's global token",
                "It is the only query of the cross-attention, which comes after self-attention in each layer."),
            "column": Option("the token of the changed series",
                "It is made of the series itself, before any layer."),
        },
        pairs=[Pair("patches", "global", "After layer 1 the patches have moved by exactly 0: in the "
                    "cross-attention the global token alone asks. Patches hear of it one layer later.")],
        right="Own token, global token in layer 1, patches in layer 2, forecast. With a single layer the patches never "
              "hear of it, and the head brings both together."),
    number(
        id="19-patch", lesson=LESSON, answer=_ignored, tolerance=0.1,
        show=Show("cutting-a-day", preset="7, released"),
        draws={"p": Draw(low=5, high=23, whole=True)}, first={"p": 7},
        text="The released TimeXer cuts 24 hours into patches of {p}, from the oldest on. How many of the newest hours "
             "are in no patch?",
        right="24 − {patches} · {p} = {answer}: the newest hours, those a forecast leans on most, are left over.",
        wrong="What remains of 24 after as many patches of {p} as fit?",
        slips={
            "none": Slip(0, "So it should be, and so one expects. The released cut begins at the oldest hour and drops "
                            "what does not fill a patch: 24 − {patches} · {p} hours.", slip="defects: TimeXer 27"),
            "whole": Slip("p", "That is a whole patch. What is left over is shorter than one."),
            "padding": Slip("missing", "So many are missing to one more patch. So many are there: {p} − {missing}."),
        }),
    choice(
        id="19-zero", lesson=LESSON, answer=_nothing_outside,
        text="One series, no other column, no time marks: what does the cross-attention of this book's TimeXer do?",
        options={
            "nan": Option("It returns NaN: a softmax over no key.",
                "A bare softmax over nothing has no answer, and the released code stops there with an error. In this "
                "book the empty case has a rule: nothing is added.", slip="defects: TimeXer 28"),
            "target": Option("It lets the global token ask the target.",
                "With features \"M\" it would: there every column is asked. With \"S\" there is nothing to ask."),
            "skip": Option("It is left out: nothing is added to the global token.",
                "A rule for the empty case, written down and tested."),
        }),
]
