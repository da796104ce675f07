"""What the released Autoformer and FEDformer have in common: the names around their attentions.

Both are from thuml/Time-Series-Library (layers/Autoformer_EncDec.py, models/Autoformer.py, models/FEDformer.py). Even
moving averages are refused by the released code, as their output is one step short; here they are not.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.official import library, weights
from tsattn_mini.trace import Trace, record
from tsattn_mini.zoo.decomposition import DecompositionForecaster, series_decomp

RULES = [
    (r"^forecaster\.", ""),
    (r"embedding\.token\.", "embedding.value_embedding.tokenConv."),
    (r"embedding\.time\.weight", "embedding.temporal_embedding.embed.weight"),
    (r"^encoder\.layers\.", "encoder.attn_layers."),
    (r"^decoder\.(\d+)\.", r"decoder.layers.\1."),
    (r"\.to_trend\.", ".projection."),
    (r"^projection\.", "decoder.projection."),
    (r"^encoder\.norm\.norm\.", "encoder.norm.layernorm."),
    (r"^decoder_norm\.norm\.", "decoder.norm.layernorm."),
    (r"attention\.(query|key|value|out)\.", r"attention.\1_projection."),
    (r"ffn\.up\.", "conv1."),
    (r"ffn\.down\.", "conv2."),
]
NAMES = {**library.NAMES, "moving_avg": "kernel"}
NEEDED = {"seq_len": "steps of the past", "label_len": "steps of the past in front of the decoder",
          "pred_len": "steps to forecast", "H": "number of heads, released name n_heads",
          "kernel": "steps of the moving average, released name moving_avg"}
OPTIONAL = ("activation",)

# Released name → step.
WHOLE = {"x_enc_in": "x", "decomp_seasonal": "decomp/seasonal", "decomp_trend": "decomp/trend",
         "seasonal_init": "seasonal_init", "trend_init": "trend_init", "enc_out": "enc_out",
         "seasonal_part": "seasonal_part", "forecast": "forecast"}


def forecast(forecaster: DecompositionForecaster, x: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Run on the inputs of a golden file; returns the arrays of the whole model under both prefixes."""
    with record() as trace:
        forecaster(x["x_enc"], x.get("x_mark_enc"), x.get("x_dec"), x.get("x_mark_dec"))
    names = {**WHOLE, **library.embeddings()}
    for i in range(len(forecaster.encoder.layers)):
        names[f"enc{i}_out"] = f"enc{i}/decomp2/seasonal"
    for i in range(len(forecaster.decoder)):
        names |= {f"dec{i}_out": f"dec{i}/decomp3/seasonal", f"dec{i}_residual_trend": f"dec{i}/added_trend",
                  "trend_part": f"dec{i}/trend"}
    return collect(trace, names)


def collect(trace: Trace, names: Mapping[str, str]) -> dict[str, Tensor]:
    """The steps of `trace` under their released names."""
    return library.under_both({released: trace[ours].tensor for released, ours in names.items() if ours in trace})


def _series_decomp(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    with record() as trace:
        series_decomp(x["x"], params["kernel"])
    return collect(trace, {"seasonal": "seasonal", "trend": "trend"})


REPLAYS = {("layers/Autoformer_EncDec.py", "series_decomp"): _series_decomp}
