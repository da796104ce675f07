"""iTransformer as released in thuml/Time-Series-Library (models/iTransformer.py, layers/Embed.py)."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.official import library, weights
from tsattn_mini.trace import record
from tsattn_mini.zoo.itransformer import InvertedEmbedding, ITransformer

RELEASED = {"released_statistics": True}  # μ detached, σ not, and the division in place

EMBEDDING = [(r"(^|\.)value\.", r"\1value_embedding.")]
LAYER = [(r"attention\.(query|key|value|out)\.", r"attention.\1_projection."), (r"ffn\.up\.", "conv1."),
         (r"ffn\.down\.", "conv2.")]
RULES = [(r"^embedding\.value\.", "enc_embedding.value_embedding."),
         (r"^encoder\.layers\.", "encoder.attn_layers."), *LAYER]

MODEL = ITransformer
NAMES = {"d_model": "M", "n_heads": "H", "enc_in": "V"}
NEEDED = {"V": "number of variables, released name enc_in", "H": "number of heads, released name n_heads"}
OPTIONAL = ("marks", "activation", "released_statistics")
DECODER = ("dec_in", "c_out", "d_layers", "label_len")  # settings of a whole run that these models have no use for

# Released name → step, within an attention, an encoder layer, the whole.
ATTENTION = {"q": "q", "k": "k", "v": "v", "ctx": "out", "A": "A", "attn_out": "y"}
ENCODER = {**ATTENTION, "norm1": "norm1", "ffn": "ffn", "out": "norm2"}
WHOLE = {"x_norm": "x_norm", "enc_embedding": "embedding/tokens", "enc_out": "enc_out", "projection": "projection",
         "forecast": "forecast"}


def load(state: Mapping[str, Any], **config: Any) -> ITransformer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = _one_head(weights.plain(state))
    net = build(state, config)
    weights.transfer(state, net, RULES)
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> ITransformer:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    config = {name: value for name, value in config.items() if name not in DECODER}
    return ITransformer(**weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL))


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    state = _one_head(state)
    return {
        "M": weights.size(state, "enc_embedding.value_embedding.weight", axis=0, rank=2),
        "seq_len": weights.size(state, "enc_embedding.value_embedding.weight", axis=1, rank=2),
        "pred_len": weights.size(state, "projection.weight", axis=0, rank=2),
        "d_ff": weights.size(state, "encoder.attn_layers.0.conv1.weight", axis=0, rank=3),
        "e_layers": weights.count(state, r"encoder\.attn_layers\.(\d+)\."),
    }


def _one_head(state: weights.State) -> weights.State:
    """The head is called `projection`; weights of other code that call it `projector` are read as well."""
    return {re.sub(r"^projector\.", "projection.", name): value for name, value in state.items()}


def _embedding(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = InvertedEmbedding(x["x"].shape[1], weights.size(state, "value_embedding.weight", axis=0, rank=2))
    weights.transfer(state, net, EMBEDDING)
    return {"out/with_mark": net(x["x"], x["x_mark"]), "out/without_mark": net(x["x"])}


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    marks = x.get("x_mark_enc")
    net = load(state, **{**params, **RELEASED, "marks": 0 if marks is None else marks.shape[-1]})
    with record() as trace:
        net(x["x_enc"], marks)
    names = dict(WHOLE)
    for i in range(len(net.encoder.layers)):
        names |= {f"enc{i}_{a}": f"enc{i}/{b}" for a, b in ENCODER.items()}
    return library.under_both({released: trace[ours].tensor for released, ours in names.items()})


REPLAYS = {
    ("layers/Embed.py", "DataEmbedding_inverted"): _embedding,
    ("models/iTransformer.py", "Model"): _forecast,
}
