"""Check questions of lesson 22; answers come from hooks that are set, files that are loaded, a table that is read."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn, softmax
from torch.utils._python_dispatch import TorchDispatchMode

from tsattn_mini import step
from tsattn_mini.datasets import read_csv
from tsattn_mini.explore.question import Draw, Option, Pair, Show, Slip, choice, match, number, several
from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.official import load_checkpoint, settings
from tsattn_mini.official.nonstationary import released

LESSON = "22_your_own_model"
PRICE = "a-price-on-distance"  # the explorer of the lesson


def _nearer(m: Tensor, near: Tensor, far: Tensor) -> Tensor:
    """Weight ratio of two keys with equal scores, `near` and `far` steps away, where a step costs m."""
    a, b = softmax(-m * torch.stack([near, far]), -1)
    step("gap", m * (far - near), axes="")
    step("alone", torch.exp(m * far), axes="")
    step("steps", far / near, axes="")
    return torch.where(far > near, a / b, torch.nan)


def _layer() -> tuple[nn.TransformerEncoderLayer, Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(22)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=torch.float64)
        return layer.eval().requires_grad_(False), torch.randn(1, 5, 8, dtype=torch.float64)


def _made(layer: nn.TransformerEncoderLayer, x: Tensor) -> dict[str, Tensor]:
    """What the layer computes on its way, once more from its weights."""
    attention = layer.self_attn
    q, k, v = (x @ attention.in_proj_weight.mT + attention.in_proj_bias).unflatten(-1, (3, 2, 4)).unbind(2)
    scores = torch.einsum("blhe,bshe->bhls", q, k) / 2
    A = softmax(scores, -1)
    y = torch.einsum("bhls,bshe->blhe", A, v).flatten(-2) @ attention.out_proj.weight.mT + attention.out_proj.bias
    return {"q": q, "scores": scores, "A": A, "y": y, "sum": x + y, "hidden": layer.linear1(layer.norm1(x + y))}


def _heard() -> set[str]:
    """Which of these go into or come out of one of the layer's modules while it runs?"""
    layer, x = _layer()
    heard = []
    for part in layer.modules():
        part.register_forward_hook(lambda part, given, made: heard.extend(
            t.flatten() for t in (*given, *(made if isinstance(made, tuple) else (made,))) if t is not None))
    layer(x)
    return {name for name, t in _made(layer, x).items()
            if any(h.shape == t.flatten().shape and torch.allclose(h, t.flatten()) for h in heard)}


class _Operations(TorchDispatchMode):
    """Counts what torch really runs."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += 1
        return operation(*args, **(kwargs or {}))


def _hooked() -> str:
    """What does one hook on norm1 change about the layer?"""
    layer, x = _layer()
    with _Operations() as alone:
        want = layer(x)
    called = []
    layer.norm1.register_forward_hook(lambda *_: called.append(True))
    with _Operations() as watched:
        got = layer(x)
    if not called:
        return "never"
    if not torch.allclose(got, want):
        return "wrong"
    return "way" if watched.count > alone.count == 1 else "nothing"


def _checkpoint() -> dict[str, Tensor]:
    sizes = {"M": 8, "H": 4, "d_ff": 16, "e_layers": 2, "d_layers": 1, "p_hidden": (5,)}
    with torch.random.fork_rng():
        torch.manual_seed(22)
        return released(NonstationaryTransformer(12, 6, 5, 3, **sizes).float())


def _told() -> set[str]:
    """Which settings do the weights of a Non-stationary Transformer tell?"""
    return {"M", "H", "e_layers", "seq_len", "pred_len", "activation"} & settings(_checkpoint()).read.keys()


def _heads() -> str:
    """What happens with half the heads it was trained with?"""
    state, x, forecasts = _checkpoint(), torch.arange(36.0).sin().float().reshape(1, 12, 3), []
    try:
        for n_heads in (4, 2):
            net = load_checkpoint(state, label_len=6, pred_len=5, n_heads=n_heads)
            with torch.no_grad():
                forecasts.append(net(x))
    except ValueError:
        return "refused"
    return "same" if torch.allclose(*forecasts) else "other"


def _filled() -> dict[str, str]:
    """What each rule puts between 2 and 8 where two hours are empty."""
    found = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "gap.csv"
        path.write_text("time,load\n" + "".join(f"2026-03-01 {hour:02}:00,{load}\n"
                                               for hour, load in enumerate((5, 2, "", "", 8, 1))), "utf8")
        for rule in ("interpolate", "last", "zero"):
            values = read_csv(path, missing=rule).frame["load"]
            found[rule] = " and ".join(f"{value:g}" for value in values.iloc[2:4])
    return found


_RAN = []


class _Gift:
    """Says, when it is unpickled, that it was."""

    def __reduce__(self):
        return _ran, ()


def _ran() -> dict:
    _RAN.append(True)
    return {}


def _opened() -> str:
    """When does a function run that a pickle names?"""
    _RAN.clear()
    packed = pickle.dumps(_Gift())
    if _RAN:
        return "saved"
    pickle.loads(packed)
    return "opened" if _RAN else "used"


QUESTIONS = [
    number(
        id="22-nearer", lesson=LESSON, answer=_nearer, tolerance=0.05, difficulty=1, show=Show(PRICE, m=0.5),
        draws={"m": Draw(values=(0.25, 0.5, 1)), "near": Draw((), 1, 3, whole=True), "far": Draw((), 3, 6, whole=True)},
        first={"m": 0.5, "near": 1, "far": 5},
        text="Two keys have the same score and stand {near} and {far} steps away from the query; every step costs "
             "{m}. How many times the weight of the farther one does the nearer one get?",
        hint="The price is taken off the score, and then comes a softmax.",
        right="The farther one pays {gap} more, and $e$ to the {gap} is {answer:2}.",
        wrong="Take the difference of the two prices, then its exponential.",
        slips={"linear": Slip("gap", "{gap} is the difference of the two logits. Weights are exponentials: $e$ to the "
                                     "{gap}."),
               "alone": Slip("alone", "The nearer one pays for its steps as well: only the difference counts."),
               "shares": Slip("steps", "Not the distances are in proportion. Prices are taken off, so the odds are an "
                                       "exponential.")}),
    several(
        id="22-heard", lesson=LESSON, answer=_heard,
        text="You set forward hooks on every submodule of a `TransformerEncoderLayer`. Which of these pass through the "
             "hands of one of them?",
        hint="A hook hears what goes into a module and what comes out of it.",
        options={
            "q": Option("the queries", "`in_proj_weight` is a parameter, no module: queries, keys and values are made "
                                       "inside one call of torch."),
            "scores": Option("the raw scores", "They are born and gone inside the fused attention."),
            "A": Option("the weights `A`", "The layer asks its attention for none (`need_weights=False`), and gets "
                                           "None in their place."),
            "y": Option("what attention returns", "It is the first entry of what `self_attn` returns."),
            "sum": Option("input plus attention, not yet normed", "It is what `norm1` is given: hooks hear inputs."),
            "hidden": Option("the hidden features of the feed-forward part", "They are what `linear1` returns."),
        }),
    choice(
        id="22-hooked", lesson=LESSON, answer=_hooked, difficulty=3,
        text="In evaluation, without gradients, torch runs a `TransformerEncoderLayer` as one fused operation. You "
             "attach a hook to its `norm1`. What happens?",
        options={
            "never": Option("The hook is never called: the fused operation calls no modules.",
                            "It would be so, but the layer looks first whether a part of it has hooks, and then does "
                            "not take the fused way."),
            "way": Option("The layer goes another way: many operations, the same numbers up to rounding.",
                          "Whoever looks gives up the fast path. What you see is what the layer computes, but the time "
                          "you measure beside it is not that of the layer alone."),
            "wrong": Option("The forecast changes visibly.", "Both ways compute the same formula; they differ by "
                                                             "rounding."),
            "nothing": Option("Nothing but the call of the hook.",
                              "The layer notices the hook and leaves its fused path: one operation becomes fourteen."),
        }),
    several(
        id="22-told", lesson=LESSON, answer=_told, difficulty=1,
        text="You get the weights of a Non-stationary Transformer, with their names and nothing else. Which settings "
             "of the model can you read from them?",
        hint="Which of them is the size of some matrix?",
        options={
            "M": Option("the model width", "Nearly every matrix has it as a side."),
            "H": Option("the number of heads", "W is `M` × `M`, however it is cut into heads afterwards."),
            "e_layers": Option("the number of encoder layers", "The names count them: `encoder.attn_layers.0`, `1`, …"),
            "seq_len": Option("the length of the past", "Attention would not tell, but the Projector's kernel has a "
                                                        "channel for every step."),
            "pred_len": Option("the length of the forecast", "The decoder makes as many rows as it is given places."),
            "activation": Option("the activation function", "GELU and ReLU have no weights."),
        }),
    choice(
        id="22-heads", lesson=LESSON, answer=_heads,
        text="The sender forgot to say that the model was trained with 4 heads. You load it with `n_heads=2`. What "
             "happens?",
        hint="What does the number of heads do to the shapes of the weights?",
        options={
            "refused": Option("An error: the shapes do not fit.",
                              "They fit. Four matrices `M` × `M` make any number of heads that divides `M`."),
            "same": Option("Nothing: heads are only a way to compute.",
                           "Each head has a softmax of its own, over the dot products of its own entries: other heads, "
                           "other weights."),
            "other": Option("It runs without an error, and forecasts something else.",
                            "No shape can tell. So `load_checkpoint` asks, and fills in no default."),
        }),
    match(
        id="22-gap", lesson=LESSON, answer=_filled, difficulty=1,
        text="Six hours of a column, two of them empty: 5, 2, ·, ·, 8, 1. What does each rule of `read_csv` put there?",
        left={
            "interpolate": Option("`missing=\"interpolate\"`", "In equal steps of time from 2 to 8."),
            "last": Option("`missing=\"last\"`", "The last value that was measured is repeated."),
            "zero": Option("`missing=\"zero\"`", "Right where an empty hour means that nobody came; wrong for a "
                                                 "temperature."),
        },
        right={"4 and 6": "4 and 6", "5 and 5": "5 and 5", "2 and 2": "2 and 2", "8 and 8": "8 and 8",
               "0 and 0": "0 and 0"},
        pairs=[Pair("interpolate", "5 and 5", "That is the middle of 2 and 8, twice. The line rises through the gap: "
                                              "4, then 6."),
               Pair("last", "8 and 8", "That is the next value. In a forecast it would be a look into the future.")]),
    choice(
        id="22-pickle", lesson=LESSON, answer=_opened, difficulty=1,
        text="The pickle in a file of weights names a function that deletes a folder. When is it called, if the file "
             "is opened as any pickle is?",
        options={
            "used": Option("When the model is first used.", "By then it is too late: it is called while the objects "
                                                            "are built."),
            "opened": Option("While the file is opened, before you have seen anything of it.",
                             "A pickle is a list of calls. `torch.load(…, weights_only=True)` makes those that tensors "
                             "need and refuses all others; `load_checkpoint` knows no other way."),
            "saved": Option("Never again: it was called when the file was saved.",
                            "Saving only writes down its name; the call comes with opening."),
        }),
]
