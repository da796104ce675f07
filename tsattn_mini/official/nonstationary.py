"""Non-stationary Transformer as released in thuml/Time-Series-Library (models/Nonstationary_Transformer.py).

The first release, thuml/Nonstationary_Transformers, has the same names and gives the same numbers.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.attention import causal
from tsattn_mini.embedding import sinusoids
from tsattn_mini.nonstationary import NonstationaryTransformer, Projector, destationary_attention, temperature
from tsattn_mini.official import library, weights
from tsattn_mini.trace import record

# Departures of the released code: log τ is cut above only, and no gradient reaches the statistics.
RELEASED = {"log_tau_bounds": (-float("inf"), 80.0), "detach": True}

PROJECTOR = [(r"(^|\.)conv\.", r"\1series_conv."),
             (r"(^|\.)mlp\.(\d+)\.", lambda m: f"{m[1]}backbone.{2 * int(m[2])}.")]
RULES = [*library.FORECASTER, (r"^(tau|delta)_projector\.", r"\1_learner."), *PROJECTOR]

MODEL = NonstationaryTransformer
NAMES = {**library.NAMES, "p_hidden_dims": "p_hidden"}
NEEDED = {"label_len": "steps of the past in front of the decoder", "pred_len": "steps to forecast",
          "H": "number of heads, released name n_heads"}
OPTIONAL = ("activation", "log_tau_bounds", "detach")

# Released name → step, within an attention, an encoder layer, a decoder layer, the whole.
ATTENTION = {"q": "q", "k": "k", "v": "v", "ctx": "out", "scores": "scores", "A": "A", "attn_out": "y"}
ENCODER = {"norm1": "norm1", "ffn": "ffn", "out": "norm2"}
DECODER = {"norm1": "norm1", "norm2": "norm2", "ffn": "ffn", "out": "norm3"}
WHOLE = {"mean_enc": "mu", "std_enc": "sigma", "x_norm": "x_norm", "tau_logit": "log_tau", "tau": "tau",
         "delta": "delta", "x_dec_new": "x_dec", "enc_out": "enc_out", "dec_norm": "dec_norm",
         "dec_projection": "dec_out", "dec_denorm": "y", "forecast": "forecast"}


def load(state: Mapping[str, Any], **config: Any) -> NonstationaryTransformer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    net = build(state, config)
    rules, tables = library.settle(state, told(state), RULES)
    weights.transfer(state, net, rules, also=tables)
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> NonstationaryTransformer:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    return NonstationaryTransformer(**weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL))


def released(net: NonstationaryTransformer) -> weights.State:
    """The state dict that the released code saves of such a model, `load`'s way back; copies, under released names.

    A convolution over one position has its last axis again, and both tables of sinusoids are there.

    Raises:
        ValueError: a model with calendar tables; only time features (or no marks) are written.
    """
    state = weights.renamed(net.state_dict(), RULES)
    if any(".tables." in name for name in state):
        raise ValueError("net: expected time features or no marks, got a model with calendar tables")
    state = {name: (t[..., None] if library.POINTWISE.search(name) else t).clone() for name, t in state.items()}
    M = state["encoder.norm.bias"].shape[0]
    table = sinusoids(library.POSITIONS, M).to(state["encoder.norm.bias"])[None]
    return state | {f"{side}_embedding.position_embedding.pe": table.clone() for side in ("enc", "dec")}


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    return {**library.sizes(state), "p_hidden": _hidden(state, "tau_learner."),
            "seq_len": weights.size(state, "tau_learner.series_conv.weight", axis=1, rank=3)}


def _hidden(state: weights.State, prefix: str = "") -> list[int]:
    """The hidden widths of a released Projector: all its layers but the last."""
    found = [int(m[1]) for name in state if (m := re.match(re.escape(prefix) + r"backbone\.(\d+)\.", name))]
    widths = [weights.size(state, f"{prefix}backbone.{i}.weight", axis=0, rank=2)
              for i in range(0, max(found, default=0) + 1, 2)]
    return widths[:-1]


def _projector(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    hidden = _hidden(state)
    last = 2 * len(hidden)
    O = weights.size(state, f"backbone.{last}.weight", axis=0, rank=2)  # noqa: E741
    net = Projector(*x["x_raw"].shape[1:], hidden, O)
    weights.transfer(state, net, PROJECTOR)
    with record() as trace:
        y = net(x["x_raw"], x["stats"])
    answer = {"conv": trace["conv"].tensor, "flat": trace["z"].tensor, f"backbone_{last}_linear": y, "y": y}
    for i in range(len(hidden)):
        answer[f"backbone_{2 * i}_linear"] = trace[f"a{i + 1}"].tensor
        answer[f"backbone_{2 * i + 1}_relu"] = trace[f"h{i + 1}"].tensor
    if params.get("which") == "tau":
        answer["tau"] = temperature(y, RELEASED["log_tau_bounds"])
    return library.under_both(answer)


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **params, **RELEASED)
    with record() as trace:
        net(x["x_enc"], x.get("x_mark_enc"), x.get("x_dec"), x.get("x_mark_dec"))
    names = {**WHOLE, **library.embeddings()}
    for i in range(len(net.transformer.encoder.layers)):
        names |= {f"enc{i}_{a}": f"enc{i}/{b}" for a, b in {**ATTENTION, **ENCODER}.items()}
    for i in range(len(net.transformer.decoder.layers)):
        names |= {f"dec{i}_{a}": f"dec{i}/{b}" for a, b in DECODER.items()}
        for part in ("self", "cross"):
            names |= {f"dec{i}_{part}_{a}": f"dec{i}/{part}/{b}" for a, b in ATTENTION.items()}
    return library.under_both({released: trace[ours].tensor for released, ours in names.items() if ours in trace})


def _destationary_attention(params: dict[str, Any], state: weights.State,
                            x: dict[str, Tensor]) -> dict[str, Tensor]:
    mask = causal(x["queries"].shape[1]) if params["mask_flag"] else None
    with record() as trace:
        out = destationary_attention(x["queries"], x["keys"], x["values"], x.get("tau"), x.get("delta"), mask)
    return library.under_both({**{name: trace[name].tensor for name in ("scores", "logits", "A")}, "V": out})


REPLAYS = {
    ("layers/SelfAttention_Family.py", "DSAttention"): _destationary_attention,
    ("models/Nonstationary_Transformer.py", "Projector"): _projector,
    ("models/Nonstationary_Transformer.py", "Model"): _forecast,
}
