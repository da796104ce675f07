"""DUET as released in decisionintelligence/DUET (ts_benchmark/baselines/duet)."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.official import weights
from tsattn_mini.trace import record
from tsattn_mini.zoo.duet.channels import ChannelMask, channel_attention
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.duet.forecaster import DUET

# Departures of the released code: W_h acts in training only, the load compares scores with probabilities, links are
# drawn in evaluation too, with a sharpened probability, that to itself included, and a hidden link is not hidden.
ROUTER = {"mix_in_eval": False, "one_scale": False, "eps": 1e-6}
LINKS = {"sharpened": True, "keep_self": False}
RELEASED = {**ROUTER, **LINKS, "soft": True, "sample_in_eval": True, "detach": True}

CLUSTERS = [(r"(^|\.)router\.W_h$", r"\1W_h"),
            (r"(^|\.)router\.scores\.", r"\1gate."), (r"(^|\.)router\.spread\.", r"\1noise."),
            (r"(gate|noise)\.up\.", r"\1.distribution_fit.0."), (r"(gate|noise)\.down\.", r"\1.distribution_fit.2."),
            (r"experts\.(\d+)\.seasonal\.", r"experts.\1.Linear_Seasonal."),
            (r"experts\.(\d+)\.trend\.", r"experts.\1.Linear_Trend."),
            (r"revin\.(weight|bias)$", r"revin.affine_\1")]
RULES = [(r"^clusters\.", "cluster."), *CLUSTERS,
         (r"^mask\.A$", "mask_generator.A"),
         (r"^encoder\.layers\.", "Channel_transformer.attn_layers."),
         (r"^encoder\.norm\.", "Channel_transformer.norm."),
         (r"attention\.(query|key|value|out)\.", r"attention.\1_projection."),
         (r"ffn\.up\.", "conv1."), (r"ffn\.down\.", "conv2."),
         (r"^head\.", "linear_head.0.")]
UNUSED = ("mean", "std")  # of the standard normal that the released load is computed with

MODEL = DUET
NAMES = {"d_model": "M", "n_heads": "H", "enc_in": "V", "num_experts": "N", "hidden_size": "hidden",
         "moving_avg": "kernel", "CI": "per_variable"}
NEEDED = {"H": "number of heads, released name n_heads", "k": "experts per window",
          "kernel": "steps of the moving average, released name moving_avg"}
OPTIONAL = ("activation", "per_variable", "marks", *RELEASED)


def load(state: Mapping[str, Any], **config: Any) -> DUET:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    net = build(state, config)
    own = {name: value for name, value in net.state_dict().items() if name.startswith("draws.")}
    weights.transfer({**state, **own}, net, RULES, also=[f"cluster.{name}" for name in UNUSED])
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> DUET:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    return DUET(**weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL))


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    return {
        **_cluster_sizes(state, "cluster.", T="seq_len"),
        "pred_len": weights.size(state, "linear_head.0.weight", axis=0, rank=2),
        "d_ff": weights.size(state, "Channel_transformer.attn_layers.0.conv1.weight", axis=0, rank=3),
        "e_layers": weights.count(state, r"Channel_transformer\.attn_layers\.(\d+)\."),
    }


def _cluster_sizes(state: weights.State, prefix: str = "", T: str = "T") -> dict[str, Any]:
    expert = f"{prefix}experts.0.Linear_Seasonal.weight"
    return {
        T: weights.size(state, expert, axis=1, rank=2),
        "M": weights.size(state, expert, axis=0, rank=2),
        "V": weights.size(state, f"{prefix}revin.affine_weight", axis=0, rank=1),
        "N": weights.count(state, re.escape(prefix) + r"experts\.(\d+)\."),
        "hidden": weights.size(state, f"{prefix}gate.distribution_fit.0.weight", axis=0, rank=2),
    }


def _cluster(params: dict[str, Any], state: weights.State) -> TemporalClusters:
    sizes = _cluster_sizes(state)
    net = TemporalClusters(**sizes, k=params["k"], kernel=params["moving_avg"], per_variable=params.get("CI", True),
                           detach=True, **ROUTER)
    weights.transfer(state, net, CLUSTERS, also=UNUSED)
    return net


def _windows(x: Tensor, V: int) -> Tensor:
    """Released rows (B·V, T, 1), each variable by itself, as (B, T, V); other windows stay as they are."""
    return x.reshape(-1, V, x.shape[1]).mT if x.shape[-1] == 1 else x


def _extractors(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = _cluster(params, state)
    with record() as trace:
        features, *_ = net(_windows(x["x"], len(net.revin.weight)))
    got = {name.removeprefix("router/"): s.tensor for name, s in trace.items()}
    return {
        "mid/logits": got["scores"].flatten(0, 1), "mid/gate_probs": got["probs"].flatten(0, 1),
        "mid/revin_norm": got["x_affine"], "mid/revin_mean": got["mu"], "mid/revin_stdev": got["sigma"],
        "out/gates": got["gates"].flatten(0, 1), "out/load": got["load"],
        "out/y": _features(features, net.per_variable), "out/importance_loss": got["balance"].reshape(1),
    }


def _features(features: Tensor, per_variable: bool) -> Tensor:
    return features.flatten(0, 1)[..., None] if per_variable else features.mT


def _noisy_gates(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = _cluster(params, state)
    windows = net.routed(_windows(x["x"], len(net.revin.weight)))
    with record() as trace:
        net.router(windows, x["noise"].reshape(*windows.shape[:2], -1))
    rows = {ours: trace[ours].tensor.flatten(0, 1) for ours in ("scores", "spread", "noisy", "probs", "gates")}
    return {"mid/clean_logits": rows["scores"], "mid/noise_stddev": rows["spread"], "mid/noisy_logits": rows["noisy"],
            "mid/probs": rows["probs"], "out/gates": rows["gates"], "out/load": trace["load"].tensor}


def _uniform(noise: Tensor, V: int) -> Tensor:
    """Two released draws e_0, e_1 ~ Exp(1) per link say what one uniform number says: e_0 / (e_0 + e_1)."""
    keep, cut = noise.double().reshape(-1, V, V, 2).unbind(-1)
    return keep / (keep + cut)


def _mask(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    series = x["x"]
    net = ChannelMask(series.shape[-1], **LINKS)
    weights.transfer(state, net, [])
    with record() as trace:
        keep = net(series, _uniform(x["noise_exponential"], series.shape[1]).to(series.dtype))
    return {"mid/spectrum_abs": trace["spectrum"].tensor, "mid/p": trace["p"].tensor,
            "mid/gumbel": -x["noise_exponential"].log(), "out/mask": keep[:, None]}


def _attention(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    with record() as trace:
        out = channel_attention(x["queries"], x["keys"], x["values"], x["mask"][:, 0], soft=True)
    return {"mid/scores": trace["QK"].tensor, "mid/masked_scores": trace["scores"].tensor,
            "out/A": trace["A"].tensor, "out/V": out}


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **params, **RELEASED).eval()
    u = _uniform(x["noise_exponential"], net.V).to(x["x"].dtype) if net.V > 1 else None
    with record() as trace:
        forecast = net(x["x"], u=u)
    got = {name: s.tensor for name, s in trace.items()}
    per_variable = net.clusters.per_variable
    answer = {
        "mid/cluster_in": x["x"].mT.flatten(0, 1)[..., None] if per_variable else x["x"],
        "mid/temporal_feature": _features(got["features"], per_variable),
        "mid/gates": got["router/gates"].flatten(0, 1), "mid/head_out": got["head"],
        "out/forecast": forecast, "out/importance_loss": got["router/balance"].reshape(1)}
    if net.V > 1:
        answer |= {"mid/mask_p": got["links/p"], "mid/channel_mask": got["links/keep"][:, None],
                   "mid/channel_out": got["enc_out"]}
        answer |= {f"mid/enc{i}_out": got[f"enc{i}/norm2"] for i in range(len(net.encoder.layers))}
    return answer


LAYERS, UTILS = "ts_benchmark/baselines/duet/layers/", "ts_benchmark/baselines/duet/utils/"
REPLAYS = {
    (f"{LAYERS}linear_extractor_cluster.py", "Linear_extractor_cluster"): _extractors,
    (f"{LAYERS}linear_extractor_cluster.py", "Linear_extractor_cluster.noisy_top_k_gating"): _noisy_gates,
    (f"{UTILS}masked_attention.py", "Mahalanobis_mask"): _mask,
    (f"{UTILS}masked_attention.py", "FullAttention"): _attention,
    ("ts_benchmark/baselines/duet/models/duet_model.py", "DUETModel"): _forecast,
}
