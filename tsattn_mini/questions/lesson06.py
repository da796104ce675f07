"""Check questions of lesson 06, the forecast chain."""

from functools import cache

import torch
from torch import Tensor

from tsattn_mini import record
from tsattn_mini.explore.question import Option, Slip, choice, number
from tsattn_mini.nonstationary import NonstationaryTransformer, destationarize
from tsattn_mini.trace import Trace

LESSON = "06_forecast_chain"


@cache
def _model() -> NonstationaryTransformer:
    torch.manual_seed(6)
    return NonstationaryTransformer(12, 6, 4, 5, M=8, H=4, d_ff=16, p_hidden=(16, 16), marks=0).double()


def _window(level: float = 0.0) -> Tensor:
    return (torch.arange(60, dtype=torch.float64).reshape(1, 12, 5) * 0.7).sin() + level


def _forecast(x_dec: Tensor | None = None) -> Trace:
    with torch.no_grad(), record() as trace:
        _model()(_window(), None, x_dec)
    return trace


def _fill(x: Tensor, delta: Tensor) -> Trace:
    """The chain from the embedding to the projection, at τ = 1."""
    tau = torch.ones(1, 1, dtype=torch.float64)
    with torch.no_grad(), record() as trace:
        _model().transformer.fill(x, past={"tau": tau, "delta": delta}, own={"tau": tau})
    return trace


def _noise() -> str:
    calm, noisy = (_forecast(size * torch.ones(1, 10, 5, dtype=torch.float64))["forecast"].tensor
                   for size in (0.0, 100.0))
    return "nothing" if torch.equal(calm, noisy) else "label"


def _tail() -> str:
    trace = _forecast()
    rows = trace["x_dec"].tensor[:, :6]
    kinds = {"raw": trace["x"].tensor[:, -6:], "input": trace["x_norm"].tensor[:, -6:]}
    return next((name for name, other in kinds.items() if torch.equal(rows, other)), "encoded")


def _who_sees_delta() -> str:
    """One entry of δ moves by 1: which of the three kinds of attention maps move?"""
    delta = torch.zeros(1, 12, dtype=torch.float64)
    before, after = _fill(_window(), delta), _fill(_window(), delta.index_fill(1, torch.tensor([0]), 1.0))
    moved = {kind for kind in ("enc0", "dec0/self", "dec0/cross")
             if not torch.equal(before[f"{kind}/A"].tensor, after[f"{kind}/A"].tensor)}
    return {3: "all", 1: "encoder"}.get(len(moved), "two" if "dec0/self" not in moved else "other")


def _rms() -> str:
    delta = torch.zeros(1, 12, dtype=torch.float64)
    states = [_fill(_window(level), delta)["dec0/norm1"].tensor for level in (0.0, 5000.0)]
    return "one" if all(abs(h.square().mean().sqrt() - 1) < 0.01 for h in states) else "large"


def _zero() -> str:
    x = _window(3.0)
    mu, sigma = x.mean(1, keepdim=True), x.std(1, keepdim=True, correction=0)
    back = destationarize(torch.zeros_like(x[:, :4]), mu, sigma)
    return "mean" if torch.equal(back, mu.expand_as(back)) else "zero"


QUESTIONS = [
    choice(
        id="06-noise", lesson=LESSON, answer=_noise,
        text="The decoder input `x_dec` holds 6 rows of history and 4 rows of zeros. You overwrite all of "
             "it with 100. "
             "What happens to the forecast?",
        options={
            "label": Option("It changes, because the 6 rows of history are gone.",
                "They were never read. The model rebuilds them from `x_enc`."),
            "all": Option("It becomes a forecast near 100.",
                "The numbers in `x_dec` go nowhere; only how many rows there are is looked at."),
            "nothing": Option("Nothing at all.",
                "The difference is exactly 0.0: of `x_dec` the model takes the shape."),
        }),
    number(
        id="06-label-zero", lesson=LESSON, tolerance=0.5,
        answer=lambda: _window()[:, -0:].shape[1] + 4,
        text="The released code takes the history of the decoder as `x[:, -label_len:]`, then appends "
             "`pred_len` zeros. "
             "With `seq_len` 12, `label_len` 0 and `pred_len` 4: how many rows does *that* decoder input "
             "have?",
        hint="What is -0?",
        right="−0 is 0, and `x[:, 0:]` is the whole window: 12 + 4. Nothing fails, the decoder is just "
              "four times as long.",
        wrong="Evaluate the slice: `-0` is `0`, and a slice from 0 starts at the beginning.",
        slips={
            "no history": Slip(4, "That is what label_len = 0 should mean, and what this package does. "
                                  "The slice says otherwise."),
            "window only": Slip(12, "The whole window is taken, and the 4 zeros are still appended."),
        }),
    choice(
        id="06-tail", lesson=LESSON, answer=_tail,
        text="Which numbers stand in the first 6 rows of the decoder input?",
        options={
            "encoded": Option("The last 6 states of the encoder.",
                "The encoder runs after these rows are taken, and its states have width 8, not 5."),
            "raw": Option("The last 6 rows of the window as it came.",
                "Almost: μ and σ have been taken out first."),
            "input": Option("The last 6 rows of the stationarized window.",
                "History in normalised units, and nothing has attended to it yet."),
        }),
    choice(
        id="06-delta", lesson=LESSON, answer=_who_sees_delta,
        text="One entry of δ grows by 1. In a model with one decoder layer, which attention maps change?",
        options={
            "encoder": Option("Those of the encoder only.",
                "Cross-attention has the same keys, encoder positions, and gets the same δ."),
            "two": Option("Those of the encoder and of cross-attention.",
                "Their keys are the 12 steps of the past. Decoder self-attention stays to the last bit."),
            "all": Option("All of them.",
                "Decoder self-attention has other keys. It gets τ, and no δ."),
        }),
    choice(
        id="06-rms", lesson=LESSON, answer=_rms,
        text="Suppose the window is *not* stationarized and holds values near 5000. How large are the "
             "numbers from which "
             "cross-attention makes its queries (root mean square)?",
        hint="What is the last thing that happens in front of cross-attention?",
        options={
            "large": Option("About 5000.",
                "They would be, but a LayerNorm stands in between and brings every position to spread 1."),
            "one": Option("About 1.",
                "As always: a LayerNorm stands in front of queries and keys. Different ranges cannot be "
                "the reason for "
                "the normalised prefix."),
            "root": Option("About √5000 = 71.",
                "No root is involved; LayerNorm divides by the spread itself."),
        }),
    choice(
        id="06-zero", lesson=LESSON, answer=_zero,
        text="The decoder holds a 0 in the place of each step to come. If the whole network just passed "
             "it on, what "
             "would the forecast be?",
        options={
            "zero": Option("0.",
                "That is the placeholder in normalised units. σ and μ are still to be put back: 0 · σ + "
                "μ."),
            "mean": Option("The mean of the window.",
                "0 · σ + μ = μ. In normalised units the zero placeholder is a sensible first guess; in "
                "raw units it would "
                "mean nothing."),
            "last": Option("The last value of the window.",
                "That would be the naive forecast. The last value stands in the label rows, not in the "
                "placeholders."),
        }),
    number(
        id="06-rows", lesson=LESSON, tolerance=0.5, answer=lambda: _forecast()["forecast"].tensor[0].numel(),
        text="The decoder returns 10 rows of 5 variables, all restored to the units of the window. How "
             "many of these 50 "
             "numbers does the loss compare with the truth?",
        right="4 rows · 5 variables = 20. The 6 label rows are restored and then thrown away.",
        wrong="Only the steps to come are compared: `pred_len` rows of 5 variables.",
        slips={
            "all rows": Slip(50, "All 50 are restored, but the last step of the chain keeps the last 4 "
                                 "rows."),
            "label rows": Slip(30, "Those are the rows of the past, the ones that are dropped."),
        }),
]
