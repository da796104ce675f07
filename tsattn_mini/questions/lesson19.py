"""Check questions of lesson 19, iTransformer and TimeXer."""

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.lesson import counting
from tsattn_mini.zoo.itransformer import InvertedEmbedding, ITransformer, normalise
from tsattn_mini.zoo.timexer import PatchEmbedding, TimeXer

LESSON = "19_inverted"
SIZES = {"seq_len": 12, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}


def _window(V: int = 5, T: int = 12) -> Tensor:
    return (counting(1, T, V) ** 1.3).sin()


def _model(cls: type, seed: int = 0, **sizes) -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return cls(**SIZES | sizes).double().requires_grad_(False)


def _tokens(V: int = 5, K: int = 4) -> int:
    with torch.no_grad():
        return InvertedEmbedding(12, 8)(torch.zeros(1, 12, V), torch.zeros(1, 12, K)).shape[1]


def _swap() -> str:
    """What trading columns 0 and 3 of the input does to the forecast."""
    net, x, order = _model(ITransformer), _window(), [3, 1, 2, 0, 4]
    before, after = net(x), net(x[..., order])
    if torch.allclose(after, before):
        return "same"
    return "follows" if torch.allclose(after, before[..., order]) else "other"


def _looks_along_time() -> str:
    """With attention silent, does a step of a variable still move its forecast, and another variable?"""
    net, x = _model(ITransformer), _window()
    for layer in net.encoder.layers:
        layer.attention.out.weight.zero_()
    other = x.clone()
    other[0, 5, 2] += 1
    moved = (net(other) - net(x)).abs().amax((0, 1)) > 1e-12
    return "ffn" if moved.tolist() == [v == 2 for v in range(5)] else "attention"


def _affine(a: float = 3, b: float = 7) -> float:
    """The forecast of a x + b where that of x is 2."""
    net, x = _model(ITransformer), _window()
    first, other = net(x)[0, 0, 0], net(a * x + b)[0, 0, 0]
    return float(other - a * (first - 2))


def _in_place() -> str:
    x = _window().requires_grad_()
    try:
        normalise(x, released_statistics=True)[0].square().sum().backward()
    except RuntimeError:
        return "error"
    return "zero" if float(x.grad.abs().max()) == 0 else "right"


def _ignored(T: int = 24, p: int = 7, released_patches: bool = True) -> int:
    """Steps of the window in no patch."""
    with torch.no_grad(), record() as trace:
        PatchEmbedding(T, p, 2, released_patches=released_patches)(torch.arange(float(T))[None, None])
    return T - trace["patches"].tensor.numel()


def _first_layer() -> str:
    """Which tokens of layer 1 move with an exogenous column."""
    net, x, other = _model(TimeXer, patch_len=4, features="MS"), _window(), _window()
    other[0, :, 0] = other[0, :, 0].flip(0)
    ends = []
    for window in (x, other):
        with record() as trace:
            net(window)
        ends.append(trace["enc0/norm3"].tensor[0, 0])
    moved = (ends[0] - ends[1]).abs().amax(1) > 0
    return {(False, True): "global", (True, True): "all"}.get((bool(moved[:-1].any()), bool(moved[-1])), "none")


def _nothing_outside() -> str:
    net, x = _model(TimeXer, V=1, patch_len=4, features="S"), _window(V=1)
    with record() as trace:
        y = net(x)
    if not torch.isfinite(y).all():
        return "nan"
    return "target" if any("cross" in name for name in trace) else "skip"


QUESTIONS = [
    number(
        id="19-tokens", lesson=LESSON, answer=_tokens, tolerance=0.1,
        text="A window has 12 steps of 5 variables, and each step has 4 time marks. How many tokens does iTransformer "
             "make of it?",
        right="5 + 4 = 9: every column becomes a token, the columns of marks too.",
        wrong="A token is a column of the table here, and marks are columns.",
        slips={
            "time": Slip(12, "One per step is what the other models do. Here a token is a whole column."),
            "no marks": Slip(5, "Those are the variables. Given marks, their 4 columns become tokens as well."),
            "mixed": Slip(60, "That counts the numbers. Twelve of them go into each token."),
        }),
    choice(
        id="19-swap", lesson=LESSON, answer=_swap,
        text="In the input of a trained iTransformer you swap columns 0 and 3. The forecast …",
        hint="Does any weight belong to a column's place?",
        options={
            "same": Option("stays as it was: attention does not know an order.",
                "That would be invariance. The forecast has a column for every variable, and each follows its own."),
            "follows": Option("has its columns 0 and 3 swapped, and no other number changes.",
                "Equivariance: all columns share all weights, and softmax sums over keys in any order."),
            "other": Option("becomes another forecast, as τ did in lesson 04.",
                "The Projector has a weight for each place among the columns. Here no weight knows a place."),
        }),
    choice(
        id="19-time", lesson=LESSON, answer=_looks_along_time,
        text="Which part of an iTransformer layer works along time, within one variable?",
        options={
            "attention": Option("Attention.",
                "Its rows and columns are variables. Switch it off, and each variable is forecast from its own past "
                "alone."),
            "ffn": Option("The feed-forward part.",
                "It works on each token alone, and a token is a whole past. The two parts have traded their roles."),
            "none": Option("None: time is gone once the tokens are made.",
                "A token still holds its 12 steps, as M features. What works on features works on the past."),
        }),
    number(
        id="19-affine", lesson=LESSON, answer=_affine, tolerance=0.01,
        text="iTransformer forecasts 2 for a window x. What does it forecast for 3x + 7?",
        right="3 · 2 + 7 = 13: what normalising took off is put back at the output.",
        wrong="Normalised, both windows are the same numbers. Then σ and μ come back.",
        slips={
            "forgotten": Slip(2, "Then level and scale would be lost. They are multiplied and added at the end."),
            "level": Slip(9, "The level came back, the scale as well: 3 · 2 + 7."),
            "scale": Slip(6, "The scale came back, the level as well: 3 · 2 + 7."),
        }),
    choice(
        id="19-in-place", lesson=LESSON, answer=_in_place,
        text="The released code detaches μ, not σ, and divides x − μ by σ in place. A layer in front of the model is "
             "to train, so x requires a gradient. What does backward do?",
        options={
            "right": Option("It gives the right gradient.",
                "σ was computed from x − μ, and those numbers have been overwritten."),
            "zero": Option("It gives zeros, as the statistics are detached.",
                "Only μ is. And even with both detached, x' still depends on x."),
            "error": Option("It stops with a RuntimeError.",
                "The slope of σ needs x − μ, which the division has overwritten. With plain data nobody asks for it."),
        }),
    choice(
        id="19-first-layer", lesson=LESSON, answer=_first_layer,
        text="TimeXer forecasts one target; an exogenous series changes. Which tokens have moved after layer 1?",
        hint="Who asks, in the cross-attention?",
        options={
            "all": Option("Patches and global token.",
                "Patches do not ask the exogenous tokens. They hear of them from the global token, one layer later."),
            "global": Option("The global token alone.",
                "It is the only query of the cross-attention, which comes after self-attention."),
            "none": Option("None: exogenous series reach the head only.",
                "The global token asks them in every layer."),
        }),
    number(
        id="19-patch", lesson=LESSON, answer=_ignored, tolerance=0.1,
        text="The released TimeXer cuts 24 hours into patches of 7, from the oldest on. How many of the newest hours "
             "are in no patch?",
        right="24 = 3 · 7 + 3: three patches, and the three newest hours are left over.",
        wrong="What remains of 24 after as many sevens as fit?",
        slips={
            "none": Slip(0, "Only if a shorter patch were made of the rest, or the cut began elsewhere."),
            "whole": Slip(7, "That is a whole patch. What is left over is shorter than one."),
            "padding": Slip(4, "So many are missing to a fourth patch. So many are there: 7 − 4."),
        }),
    choice(
        id="19-zero", lesson=LESSON, answer=_nothing_outside,
        text="One series, no other column, no time marks: what does the cross-attention of our TimeXer do?",
        options={
            "nan": Option("It returns NaN: a softmax over no key.",
                "A bare softmax over nothing has no answer, and the released code stops there with an error."),
            "target": Option("It lets the global token ask the target.",
                "With \"M\" it would: there every column is asked. With \"S\" there is nothing to ask."),
            "skip": Option("It is left out: nothing is added to the global token.",
                "A rule for the empty case, written down and tested."),
        }),
]
