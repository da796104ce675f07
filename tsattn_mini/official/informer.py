"""Informer as released in thuml/Time-Series-Library (models/Informer.py, layers/SelfAttention_Family.py).

The first release, zhouhaoyi/Informer2020, has the same layers; it reads its heads right since 2021, and its
cross-attention is full: `load` its weights with `released_view=False, released_cross=False`.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tsattn_mini.attention import AttentionLayer, causal
from tsattn_mini.official import library, weights
from tsattn_mini.trace import Trace, record, scope
from tsattn_mini.zoo.informer import Informer, prob_sparse, sample_size

# Departures of the released attention, and those of the rest of the model.
ATTENTION = {"released_view": True, "released_squeeze": True, "released_mean": True, "released_peek": True,
             "released_sum": True}
RELEASED = {**ATTENTION, "released_padding": True, "released_cross": True, "released_start": True}
OWN = r"index_sample$"  # drawn anew at every call of the released code, so no state dict holds them

DISTILLING = [(r"encoder\.distil\.(\d+)\.conv\.", r"encoder.conv_layers.\1.downConv."),
              (r"encoder\.distil\.", "encoder.conv_layers.")]
RULES = [*DISTILLING, *library.FORECASTER]
MODEL, NAMES = Informer, library.NAMES
NEEDED = {"seq_len": "steps of the past", "label_len": "steps of the past in front of the decoder",
          "pred_len": "steps to forecast", "H": "number of heads, released name n_heads",
          "factor": "how many keys are sampled, factor · ⌈ln n⌉ of n"}
OPTIONAL = ("activation", "normalise", "seed", *RELEASED)
SHORT = "short_term_forecast"

# Released name → step.
WHOLE = {"enc_out": "enc_out", "x_dec_in": "x_dec", "dec_projection": "dec_out", "forecast": "forecast"}


def load(state: Mapping[str, Any], **config: Any) -> Informer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    net = build(state, {**RELEASED, **config})
    rules, tables = library.settle(state, told(state), RULES)
    weights.transfer(state, net, rules, also=tables, own=OWN)
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> Informer:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    found, given = told(state), dict(config)
    if "task_name" in given:
        given.setdefault("normalise", given["task_name"] == SHORT)
    if found["e_layers"] == 1:  # there is nothing to halve
        given.pop("distil", None)
    return Informer(**weights.settings(given, NAMES, found, NEEDED, OPTIONAL))


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    return {**library.sizes(state), "distil": weights.count(state, r"encoder\.conv_layers\.(\d+)\.") > 0}


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **{**params, "task_name": params["task_name"]}).eval()
    samples = [x[f"index_sample_{i}"] for i in range(len(net.draw(0)))]
    with record() as trace:
        net(x["x_enc"], x.get("x_mark_enc"), x["x_dec"], x.get("x_mark_dec"), index_samples=samples)
    names = {"x_enc_in": "x_norm" if net.normalise else "x", **WHOLE, **library.embeddings()}
    calls = []
    for i in range(len(net.transformer.encoder.layers)):
        names |= {f"enc{i}_out": f"enc{i}/norm2", f"distil{i}_out": f"distil{i}/distilled"}
        calls.append(f"enc{i}/")
    for i in range(len(net.transformer.decoder.layers)):
        names[f"dec{i}_out"] = f"dec{i}/norm3"
        calls += [f"dec{i}/self/", f"dec{i}/cross/"]
    answer = {released: trace[ours].tensor for released, ours in names.items() if ours in trace}
    for i, call in enumerate(calls):
        answer |= {f"prob{i}_{name}": t for name, t in _choice(trace, params["factor"], call).items()}
    return library.under_both(answer)


def _choice(trace: Trace, factor: int, call: str = "") -> dict[str, Tensor]:
    """What one attention chose, with its rows in the order of the released top-k, which does not sort."""
    M, rows, scores = (trace[call + name].tensor for name in ("M", "M_top", "QK_top"))
    order = M.topk(sample_size(factor, M.shape[-1]), sorted=False).indices
    at = torch.searchsorted(rows.contiguous(), order)[..., None].expand(-1, -1, -1, scores.shape[-1])
    return {"QK_sample": trace[f"{call}QK_sample"].tensor, "sparsity_M": M, "M_top": order,
            "scores_top_unscaled": scores.gather(2, at)}


def _prob_sparse(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    q, k, v = x["queries"], x["keys"], x["values"]
    mask = causal(q.shape[1]) if params["mask_flag"] else None
    with record() as trace:
        prob_sparse(q, k, v, x["index_sample"], u=sample_size(params["factor"], q.shape[1]), mask=mask, **ATTENTION)
    rows, A_top = trace["M_top"].tensor, trace["A_top"].tensor
    B, _, H, _ = q.shape
    even = torch.full((B, H, q.shape[1], k.shape[1]), 1 / k.shape[1])
    attn = even.scatter(2, rows[..., None].expand_as(A_top), A_top)
    return library.under_both({**_choice(trace, params["factor"]), "context": trace["context"].tensor, "attn": attn})


def _layer(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    M = weights.size(state, "query_projection.weight", axis=1, rank=2)
    net = AttentionLayer(prob_sparse, M, params["n_heads"])
    weights.transfer(state, net, library.LAYER)
    asks, keys = x["queries"], x["keys"]
    mask = causal(asks.shape[1]) if params["mask_flag"] else None
    with record() as trace, scope("layer"):
        net(asks, keys, index_sample=x["index_sample"], u=sample_size(params["factor"], asks.shape[1]), mask=mask,
            **ATTENTION)
    answer = {name: trace[f"layer/{name}"].tensor for name in ("q", "k", "v", "context", "y")}
    answer["viewed"] = trace["layer/out"].tensor.flatten(2)
    return library.under_both({**answer, **_choice(trace, params["factor"], "layer/")})


REPLAYS = {
    ("layers/SelfAttention_Family.py", "ProbAttention"): _prob_sparse,
    ("layers/SelfAttention_Family.py", "AttentionLayer(ProbAttention)"): _layer,
    ("models/Informer.py", "Model"): _forecast,
}
