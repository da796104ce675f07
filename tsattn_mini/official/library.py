"""What the models of thuml/Time-Series-Library share: the names around their attentions, and what their weights tell.

Its encoder–decoders embed and stack alike, so that sizes are read off the same weights; `FORECASTER` is for those that
are built of `Transformer` here.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.embedding import sinusoids
from tsattn_mini.official import weights

POSITIONS = 5000  # rows of the released table of sinusoids

FORECASTER = [
    (r"^transformer\.", ""),
    (r"embedding\.token\.", "embedding.value_embedding.tokenConv."),
    (r"embedding\.time\.weight", "embedding.temporal_embedding.embed.weight"),
    (r"encoder\.layers\.", "encoder.attn_layers."),
    (r"^projection\.", "decoder.projection."),
    (r"attention\.(query|key|value|out)\.", r"attention.\1_projection."),
    (r"ffn\.up\.", "conv1."),
    (r"ffn\.down\.", "conv2."),
]
LAYER = [(r"^(query|key|value|out)\.", r"\1_projection.")]  # of an attention by itself
CALENDAR = {"fixed": (r"embedding\.time\.tables\.(\w+)\.", r"embedding.temporal_embedding.\1_embed.emb."),
            "learned": (r"embedding\.time\.tables\.(\w+)\.", r"embedding.temporal_embedding.\1_embed.")}
POINTWISE = re.compile(r"conv[12]\.weight$")  # convolutions over one position, whose last axis linear layers lack
BY_MODE = re.compile(r"inner_correlation\.weights[12]$")  # one matrix per mode, which is their last axis
NAMES = {"d_model": "M", "n_heads": "H", "enc_in": "V", "dec_in": "V", "c_out": "V"}


def sizes(state: weights.State) -> dict[str, Any]:
    """What the weights of an encoder–decoder tell about it."""
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
        "d_ff": weights.size(state, "encoder.attn_layers.0.conv1.weight", axis=0, rank=3),
        "e_layers": weights.count(state, r"encoder\.attn_layers\.(\d+)\."),
        "d_layers": max(weights.count(state, r"decoder\.layers\.(\d+)\."), 1),
        "marks": marks,
        "calendar": calendar,
    }


def settle(state: weights.State, found: Mapping[str, Any], rules: weights.Rules) -> tuple[weights.Rules, list[str]]:
    """`rules` and those of the calendar, and the names of the tables of sinusoids, which are compared with ours."""
    tables = [f"{side}_embedding.position_embedding.pe" for side in ("enc", "dec")]
    for name in tables:
        weights.check_table(state, name, sinusoids(POSITIONS, found["M"]))
    return [*rules, *([CALENDAR[found["calendar"]]] if found["calendar"] else [])], tables


def embeddings() -> dict[str, str]:
    """Released name → step, of both embeddings."""
    parts = {"": "h", "_value": "token", "_temporal": "time", "_position": "position"}
    return {f"{side}{a}": f"{side}/{b}" for side in ("enc_embedding", "dec_embedding") for a, b in parts.items()}


def under_both(answer: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Some arrays are `mid/` in one golden file and `out/` in another."""
    return {f"{kind}/{name}": tensor for name, tensor in answer.items() for kind in ("mid", "out")}
