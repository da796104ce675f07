"""Check questions of lesson 06, the forecast chain."""

from functools import cache

import torch
from torch import Tensor

from tsattn_mini import record, step
from tsattn_mini.explore.question import Draw, Option, Show, Slip, choice, number, several, written
from tsattn_mini.nonstationary import NonstationaryTransformer, destationarize
from tsattn_mini.trace import Trace

LESSON, CHAIN = "06_forecast_chain", "forecast-chain"


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


def _who_sees_delta() -> set[str]:
    """One entry of δ moves by 1: which attention maps move?"""
    delta = torch.zeros(1, 12, dtype=torch.float64)
    before, after = _fill(_window(), delta), _fill(_window(), delta.index_fill(1, torch.tensor([0]), 1.0))
    return {kind for kind in ("enc0", "enc1", "dec0/self", "dec0/cross")
            if not torch.equal(before[f"{kind}/A"].tensor, after[f"{kind}/A"].tensor)}


def _label_zero(T: Tensor, F: Tensor) -> Tensor:
    """The released slice, at label_len = 0, of a window whose first T rows are filled."""
    filled = (torch.arange(96, device=T.device) < T).to(T)
    step("window", T * 1.0, axes="")
    step("wanted", F * 1.0, axes="")
    return filled[-0:].sum() + F


def _fits(T: Tensor, label: Tensor) -> Tensor:
    """The horizon at which label_len + pred_len is seq_len."""
    step("entries", T * 1.0, axes="")
    step("both", T + label, axes="")
    return T - label


def _compared(label: Tensor, F: Tensor, V: Tensor) -> Tensor:
    step("rows", label + F, axes="")
    step("all", (label + F) * V, axes="")
    step("dropped", label * V, axes="")
    return F * V


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
        id="06-noise", lesson=LESSON, answer=_noise, difficulty=1, claims=(4, 31),
        text="A Non-stationary Transformer is called with a decoder input `x_dec` of 6 rows of history and 4 rows of "
             "zeros. You overwrite all of it with 100. What happens to the forecast?",
        options={
            "label": Option("It changes, because the 6 rows of history are gone.",
                "They were never read. The model rebuilds them from `x_enc`."),
            "all": Option("It becomes a forecast near 100.",
                "The numbers in `x_dec` go nowhere; only how many rows there are is looked at."),
            "nothing": Option("Nothing at all.",
                "The difference is exactly 0.0: of `x_dec` the model takes the shape."),
        }),
    number(
        id="06-label-zero", lesson=LESSON, tolerance=0.5, answer=_label_zero, claims=(17,),
        draws={"T": Draw(values=(8, 10, 12, 16, 24, 36, 48)), "F": Draw(low=2, high=7, whole=True)},
        first={"T": 12, "F": 4},
        text="The released Non-stationary Transformer takes the history of the decoder as `x[:, -label_len:]`, then "
             "appends `pred_len` zeros. With `seq_len` {T}, `label_len` 0 and `pred_len` {F}: how many rows does "
             "*that* decoder input have?",
        hint="What is -0?",
        right="−0 is 0, and `x[:, 0:]` is the whole window: {T} + {F}. Nothing fails, the decoder is just longer than "
              "anybody asked for.",
        wrong="Evaluate the slice: `-0` is `0`, and a slice from 0 starts at the beginning.",
        slips={
            "no history": Slip("wanted", "That is what label_len = 0 should mean, and what `tsattn_mini` does. The "
                                         "slice says otherwise."),
            "window only": Slip("window", "The whole window is taken, and the {F} zeros are still appended."),
        }),
    choice(
        id="06-tail", lesson=LESSON, answer=_tail, claims=(17, 32), show=Show(CHAIN, preset="Ten times"),
        text="The decoder of a Non-stationary Transformer starts from 6 rows of the past and 4 rows of zeros. Which "
             "numbers stand in the first 6 rows?",
        options={
            "encoded": Option("The last 6 states of the encoder.",
                "The encoder runs after these rows are taken, and writes to another name; its states have the width of "
                "the model, not one column per variable.", slip="claim 32"),
            "raw": Option("The last 6 rows of the window as it came.",
                "Almost: μ and σ have been taken out first."),
            "input": Option("The last 6 rows of the stationarized window.",
                "History in normalised units, and nothing has attended to it yet."),
        }),
    several(
        id="06-delta", lesson=LESSON, answer=_who_sees_delta, claims=(20, 21, 30),
        text="In a Non-stationary Transformer with two encoder layers and one decoder layer, one entry of δ grows by "
             "1. Which attention maps change?",
        options={
            "enc0": Option("Self-attention in the first encoder layer",
                "Its keys are the 12 steps of the past, and entry j of δ is added to the scores of key j."),
            "enc1": Option("Self-attention in the second encoder layer",
                "The same δ again, although this layer has other keys: one more approximation. Its input has moved "
                "too."),
            "dec0/self": Option("Self-attention in the decoder",
                "Its keys are decoder positions, which have no entry in δ: it gets τ alone, and stays to the last "
                "bit."),
            "dec0/cross": Option("Attention from the decoder to the encoder",
                "Its queries are decoder positions, but its keys are the 12 steps of the past, as in the encoder."),
        }),
    number(
        id="06-fits", lesson=LESSON, answer=_fits, tolerance=0.5, difficulty=1, claims=(22, 29),
        draws={"T": Draw(values=(12, 16, 24, 36, 48, 96)), "label": Draw(low=4, high=9, whole=True)},
        first={"T": 12, "label": 6},
        text="In the Non-stationary Transformer δ has one entry for each of {T} encoder steps. The decoder starts "
             "with {label} known steps, then come those to forecast. At which horizon do the keys of its "
             "self-attention number exactly {T}?",
        right="{label} + {answer} = {T}. The shapes agree, adding δ would run, and mean nothing: no entry of it "
              "belongs to a decoder position.",
        wrong="The decoder has `label_len` + `pred_len` positions, and its self-attention has as many keys.",
        slips={
            "horizon alone": Slip("entries", "The {label} known steps are decoder positions too: {label} + {T} is "
                                             "more than {T}."),
            "sum": Slip("both", "The known steps are part of the decoder's {T} positions, so they are taken off, not "
                                "added."),
        }),
    written(
        id="06-no-delta", lesson=LESSON, difficulty=3, claims=(21, 22, 29, 30),
        text="In the Non-stationary Transformer δ has shape (B, seq_len). Why is `delta=None` in the decoder's "
             "self-attention, while cross-attention gets δ as the encoder does?",
        hint="What does one entry of δ stand for? Then ask whether the shape is the reason or only a symptom.",
        model_answer="An entry of δ belongs to a position of the *encoder*: δ stands for K μ_Q, one number for each "
                     "encoder key. The keys of cross-attention are encoder positions, so δ fits there. Decoder "
                     "positions are other objects, part of them zero placeholders, and no entry of δ speaks of them. "
                     "That the shapes disagree (10 against 12) is a symptom of one setting: with label_len + pred_len "
                     "= seq_len they agree, adding δ would run, and it would be meaningless. τ has no position, so it "
                     "may go everywhere.",
        rubric=[
            "δ has one entry per encoder position, because it stands for K μ_Q of encoder keys.",
            "The keys of cross-attention are encoder positions, those of decoder self-attention are not.",
            "The shape error is a symptom: at label_len + pred_len = seq_len it is gone, and δ is still wrong there.",
        ],
        parts=["06-delta", "06-fits", "06-tail"]),
    choice(
        id="06-rms", lesson=LESSON, answer=_rms, difficulty=3, claims=(18,),
        text="Suppose the decoder of a Non-stationary Transformer starts from a window that is *not* stationarized and "
             "holds values near 5000. How large are the numbers from which cross-attention makes its queries (root "
             "mean square)?",
        hint="What is the last thing that happens in front of cross-attention?",
        options={
            "large": Option("About 5000.",
                "They would be, but a LayerNorm stands in between and brings every position to spread 1.",
                slip="claim 18"),
            "one": Option("About 1.",
                "As always: a LayerNorm stands in front of queries and keys. Different ranges cannot be the reason for "
                "the normalised prefix."),
            "root": Option("About √5000 = 71.",
                "No root is involved; LayerNorm divides by the spread itself."),
        }),
    choice(
        id="06-zero", lesson=LESSON, answer=_zero, claims=(18,), show=Show(CHAIN, preset="Level 5"),
        text="The decoder of a Non-stationary Transformer holds a 0 in the place of each step to come. If the whole "
             "network just passed it on, what would the forecast be?",
        options={
            "zero": Option("0.",
                "That is the placeholder in normalised units. σ and μ are still to be put back: 0 · σ + μ."),
            "mean": Option("The mean of the window.",
                "0 · σ + μ = μ. In normalised units the zero placeholder is a sensible first guess; in raw units it "
                "would mean nothing."),
            "last": Option("The last value of the window.",
                "That would be the naive forecast. The last value stands in the label rows, not in the "
                "placeholders."),
        }),
    number(
        id="06-rows", lesson=LESSON, tolerance=0.5, answer=_compared, difficulty=1, claims=(24,),
        show=Show(CHAIN, preset="A night"),
        draws={"label": Draw(low=4, high=12, whole=True), "F": Draw(low=2, high=9, whole=True),
               "V": Draw(low=2, high=7, whole=True)},
        first={"label": 6, "F": 4, "V": 5},
        text="A decoder returns {rows} rows of {V} variables, all restored to the units of the window: {label} rows "
             "of known past, then {F} steps to come. How many of these {all} numbers does the loss compare with the "
             "truth?",
        right="{F} rows · {V} variables = {answer}. The {label} label rows are restored and then thrown away.",
        wrong="Only the steps to come are compared: `pred_len` rows of {V} variables.",
        slips={
            "all rows": Slip("all", "All {all} are restored, but the last step of the chain keeps the last {F} rows."),
            "label rows": Slip("dropped", "Those are the rows of the past, the ones that are dropped."),
        }),
]
