"""TimeXer as released in thuml/Time-Series-Library (models/TimeXer.py)."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.embedding import sinusoids
from tsattn_mini.official import library, weights
from tsattn_mini.official.itransformer import ATTENTION, DECODER, LAYER, RELEASED
from tsattn_mini.trace import record
from tsattn_mini.zoo.timexer import TimeXer

TABLE = "en_embedding.position_embedding.pe"
PATCHES = {"released_patches": True}  # weights that were trained without the newest steps stay so

RULES = [(r"^patch_embedding\.value\.", "en_embedding.value_embedding."),
         (r"^patch_embedding\.global_token", "en_embedding.glb_token"),
         (r"^exogenous_embedding\.value\.", "ex_embedding.value_embedding."),
         (r"^layers\.", "encoder.layers."), (r"^norm\.", "encoder.norm."), (r"^head\.", "head.linear."), *LAYER]

MODEL = TimeXer
NAMES = {"d_model": "M", "n_heads": "H", "enc_in": "V"}
NEEDED = {"H": "number of heads, released name n_heads", "features": '"M", "MS" or "S"',
          "V": "number of variables, released name enc_in"}
OPTIONAL = ("marks", "activation", "use_norm", "released_statistics", "released_patches")

# Released name → step. The released code keeps windows and targets on one axis: what is (B, N, …) here is (B·N, …).
SEPARATE = {"en_in": "endogenous", "ex_embed": "exogenous_embedding/tokens", "head_in": "head_in",
            "head_out": "head_out", "forecast": "forecast"}
TOGETHER = {"en_embed": "tokens", "enc_out": "enc_out"}
LAYER_TOGETHER = {"norm1": "norm1", "ffn": "ffn", "out": "norm3"}


def load(state: Mapping[str, Any], **config: Any) -> TimeXer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    net = build(state, PATCHES | config)
    weights.check_table(state, TABLE, sinusoids(library.POSITIONS, told(state)["M"]))
    weights.transfer(state, net, RULES, also=[TABLE])
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> TimeXer:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    config = {name: value for name, value in config.items() if name not in DECODER}
    config = weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL)
    return TimeXer(**{**config, "use_norm": bool(config.get("use_norm", True))})  # 0 or 1 in the released settings


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    targets = weights.size(state, "en_embedding.glb_token", axis=1, rank=4)
    return {
        **({"V": targets, "features": "M"} if targets > 1 else {}),  # with "MS" and "S" there is one
        "M": weights.size(state, "en_embedding.value_embedding.weight", axis=0, rank=2),
        "patch_len": weights.size(state, "en_embedding.value_embedding.weight", axis=1, rank=2),
        "seq_len": weights.size(state, "ex_embedding.value_embedding.weight", axis=1, rank=2),
        "pred_len": weights.size(state, "head.linear.weight", axis=0, rank=2),
        "d_ff": weights.size(state, "encoder.layers.0.conv1.weight", axis=0, rank=3),
        "e_layers": weights.count(state, r"encoder\.layers\.(\d+)\."),
    }


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    marks = x.get("x_mark_enc")
    net = load(state, **{**params, **RELEASED, "marks": 0 if marks is None else marks.shape[-1]})
    with record() as trace:
        net(x["x_enc"], marks)
    separate, together, answer = dict(SEPARATE), dict(TOGETHER), {}
    for i in range(len(net.layers)):
        separate |= {f"enc{i}_{part}_{a}": f"enc{i}/{part}/{b}" for part in ("self", "cross")
                     for a, b in ATTENTION.items()}
        together |= {f"enc{i}_{a}": f"enc{i}/{b}" for a, b in LAYER_TOGETHER.items()}
        answer[f"enc{i}_norm2_glb"] = trace[f"enc{i}/global"].tensor.flatten(0, 1)[:, None]
    x_norm = trace["x_norm" if net.use_norm else "x"].tensor
    answer["ex_in"] = x_norm if net.features == "M" else x_norm[..., :-1]
    answer |= {released: trace[ours].tensor for released, ours in separate.items() if ours in trace}
    answer |= {released: trace[ours].tensor.flatten(0, 1) for released, ours in together.items()}
    return library.under_both(answer)


REPLAYS = {("models/TimeXer.py", "Model"): _forecast}
