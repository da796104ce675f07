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
from tsattn_mini.official import weights
from tsattn_mini.trace import record

# Departures of the released code: log τ is cut above only, and no gradient reaches the statistics.
RELEASED = {"log_tau_bounds": (-float("inf"), 80.0), "detach": True}
POSITIONS = 5000  # rows of the released table of sinusoids

PROJECTOR = [(r"(^|\.)conv\.", r"\1series_conv."),
             (r"(^|\.)mlp\.(\d+)\.", lambda m: f"{m[1]}backbone.{2 * int(m[2])}.")]
FORECASTER = [
    (r"^transformer\.", ""),
    (r"embedding\.token\.", "embedding.value_embedding.tokenConv."),
    (r"embedding\.time\.weight", "embedding.temporal_embedding.embed.weight"),
    (r"encoder\.layers\.", "encoder.attn_layers."),
    (r"^projection\.", "decoder.projection."),
    (r"attention\.(query|key|value|out)\.", r"attention.\1_projection."),
    (r"ffn\.up\.", "conv1."),
    (r"ffn\.down\.", "conv2."),
    (r"^(tau|delta)_projector\.", r"\1_learner."),
    *PROJECTOR,
]
CALENDAR = {"fixed": (r"embedding\.time\.tables\.(\w+)\.", r"embedding.temporal_embedding.\1_embed.emb."),
            "learned": (r"embedding\.time\.tables\.(\w+)\.", r"embedding.temporal_embedding.\1_embed.")}

NAMES = {"d_model": "M", "n_heads": "H", "enc_in": "V", "dec_in": "V", "c_out": "V",
         "p_hidden_dims": "p_hidden"}
NEEDED = {"label_len": "steps of the past in front of the decoder", "pred_len": "steps to forecast",
          "H": "number of heads, released name n_heads"}
OPTIONAL = ("activation", "log_tau_bounds", "detach")

# Released name → step, within an attention, an embedding, an encoder layer, a decoder layer, the whole.
ATTENTION = {"q": "q", "k": "k", "v": "v", "ctx": "out", "scores": "scores", "A": "A", "attn_out": "y"}
EMBEDDING = {"": "h", "_value": "token", "_temporal": "time", "_position": "position"}
ENCODER = {"norm1": "norm1", "ffn": "ffn", "out": "norm2"}
DECODER = {"norm1": "norm1", "norm2": "norm2", "ffn": "ffn", "out": "norm3"}
WHOLE = {"mean_enc": "mu", "std_enc": "sigma", "x_norm": "x_norm", "tau_logit": "log_tau", "tau": "tau",
         "delta": "delta", "x_dec_new": "x_dec", "enc_out": "enc_out", "dec_norm": "dec_norm",
         "dec_projection": "dec_out", "dec_denorm": "y", "forecast": "forecast"}


def load(state: Mapping[str, Any], **config: Any) -> NonstationaryTransformer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    found = _sizes(state)
    net = NonstationaryTransformer(**weights.settings(config, NAMES, found, NEEDED, OPTIONAL))
    tables = [f"{side}_embedding.position_embedding.pe" for side in ("enc", "dec")]
    for name in tables:
        weights.check_table(state, name, sinusoids(POSITIONS, found["M"]))
    calendar = [CALENDAR[found["calendar"]]] if found["calendar"] else []
    weights.transfer(state, net, [*FORECASTER, *calendar], also=tables)
    return net


def _sizes(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    token = "enc_embedding.value_embedding.tokenConv.weight"
    time = "enc_embedding.temporal_embedding."
    marks, calendar = weights.count(state, re.escape(time) + r"(\w+)_embed\."), None
    if marks:
        calendar = "fixed" if f"{time}hour_embed.emb.weight" in state else "learned"
    elif f"{time}embed.weight" in state:
        marks = weights.size(state, f"{time}embed.weight", axis=1, rank=2)
    return {
        "M": weights.size(state, token, axis=0, rank=3),
        "V": weights.size(state, token, axis=1, rank=3),
        "seq_len": weights.size(state, "tau_learner.series_conv.weight", axis=1, rank=3),
        "d_ff": weights.size(state, "encoder.attn_layers.0.conv1.weight", axis=0, rank=3),
        "e_layers": weights.count(state, r"encoder\.attn_layers\.(\d+)\."),
        "d_layers": max(weights.count(state, r"decoder\.layers\.(\d+)\."), 1),
        "p_hidden": _hidden(state, "tau_learner."),
        "marks": marks,
        "calendar": calendar,
    }


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
    return _under_both(answer)


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **params, **RELEASED)
    with record() as trace:
        net(x["x_enc"], x.get("x_mark_enc"), x.get("x_dec"), x.get("x_mark_dec"))
    names = dict(WHOLE)
    for side in ("enc_embedding", "dec_embedding"):
        names |= {f"{side}{a}": f"{side}/{b}" for a, b in EMBEDDING.items()}
    for i in range(len(net.transformer.encoder.layers)):
        names |= {f"enc{i}_{a}": f"enc{i}/{b}" for a, b in {**ATTENTION, **ENCODER}.items()}
    for i in range(len(net.transformer.decoder.layers)):
        names |= {f"dec{i}_{a}": f"dec{i}/{b}" for a, b in DECODER.items()}
        for part in ("self", "cross"):
            names |= {f"dec{i}_{part}_{a}": f"dec{i}/{part}/{b}" for a, b in ATTENTION.items()}
    return _under_both({released: trace[ours].tensor for released, ours in names.items() if ours in trace})


def _destationary_attention(params: dict[str, Any], state: weights.State,
                            x: dict[str, Tensor]) -> dict[str, Tensor]:
    mask = causal(x["queries"].shape[1]) if params["mask_flag"] else None
    with record() as trace:
        out = destationary_attention(x["queries"], x["keys"], x["values"], x.get("tau"), x.get("delta"), mask)
    return _under_both({**{name: trace[name].tensor for name in ("scores", "logits", "A")}, "V": out})


def _under_both(answer: dict[str, Tensor]) -> dict[str, Tensor]:
    """Some arrays are `mid/` in one golden file and `out/` in another."""
    return {f"{kind}/{name}": tensor for name, tensor in answer.items() for kind in ("mid", "out")}


REPLAYS = {
    ("layers/SelfAttention_Family.py", "DSAttention"): _destationary_attention,
    ("models/Nonstationary_Transformer.py", "Projector"): _projector,
    ("models/Nonstationary_Transformer.py", "Model"): _forecast,
}
