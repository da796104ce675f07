"""KITE as released in decisionintelligence/KITE (ts_benchmark/baselines/kite): source, network, flow, forecaster."""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tsattn_mini.kite.flow import point_forecast
from tsattn_mini.kite.forecaster import CLOCK, KITE
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.window import Condition
from tsattn_mini.official import weights
from tsattn_mini.trace import Trace, record

# Departures of the released code: softmax as the norm of the prior, absolute error, one coin for a whole batch,
# every draw divided by its own deviation, and exogenous futures in the head as well.
RELEASED = {"norm": "softmax", "loss": "l1", "one_coin": True}
RELEASED_SOURCE = {"form": "released"}

ATTENTION = [(r"(^|\.)attention\.", r"\1attn."), (r"\.variable$", ".pos_emb"), (r"attn\.q([12])\.", r"attn.w\1."),
             (r"attn\.(k|v)\.", r"attn.w\1."), (r"attn\.up\.", "attn.proj.0."), (r"attn\.down\.", "attn.proj.2.")]
NETWORK = [
    (r"(^|\.)time\.mlp\.", r"\1time_embed.mlp."), (r"(^|\.)state\.", r"\1input_proj."),
    (r"(^|\.)([xy])_exo\.", r"\1\2_exo_embedding."), (r"(^|\.)history\.", r"\1cond_embed_x."),
    (r"(^|\.)ahead\.", r"\1cond_embed_y."), (r"modulation\.linear\.", "adaLN_modulation.1."),
    (r"(^|\.)head\.door\.", r"\1final_layer.fc1."), (r"(^|\.)head\.out\.", r"\1final_layer.fc2."),
    (r"(^|\.)head\.", r"\1final_layer."), *ATTENTION,
]
SOURCE = [(r"(^|\.)barycentre\.", r"\1barycenter_mapper."), (r"(^|\.)spread\.", r"\1uncertainty_estimator."),
          (r"(^|\.)M$", r"\1manifold_basis"), (r"(^|\.)mix$", r"\1mix_param")]
RULES = [(r"^(source|field)\.", lambda m: {"source": "", "field": "net."}[m[1]]), *SOURCE, *NETWORK]
DEAD = re.compile(r"(^|\.)res_blocks\.|\.prior_bias$")  # stored and counted, never read by the released forward

MODEL = KITE
NAMES = {"d_model": "M", "n_heads": "H", "seq_len": "T", "horizon": "F", "pred_len": "F", "n_exo": "D",
         "use_future_exog": "future", "min_sigma": "sigma_min"}
NEEDED = {"H": "number of heads, released name n_heads"}
OPTIONAL = ("sigma_min", "structure_max", "p_uncond")
OURS = ("norm", "loss", "one_coin", "form", "conditioning", "gate")  # settings that only a model of this package has
PART = ("hidden", "rank", "sigma_min", "structure_max", "form")  # those of the source

BLOCK = {"adaln": "adaln", "A": "kgc/A", "attn_in": "asks", "attn_out": "told", "mlp_out": "mlp", "out": "x"}
WHOLE = {"input_proj": "x", "time_freq": "moment/waves", "time_emb": "moment/time", "y_exo_emb": "y_exo",
         "x_exo_emb": "x_exo", "prior_softmax": "S"}


def load(state: Mapping[str, Any], **config: Any) -> KITE:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = _inner(weights.plain(state))
    net = _built({**weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL), **RELEASED, **RELEASED_SOURCE})
    weights.transfer(state, net, RULES, also=[name for name in state if DEAD.search(name)])
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> KITE:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    return _built(weights.settings(config, NAMES, told(state), NEEDED, (*OPTIONAL, *OURS)))


def _built(config: Mapping[str, Any]) -> KITE:
    source = {name: value for name, value in config.items() if name in PART}
    return KITE(**{name: value for name, value in config.items() if name not in PART}, source=source)


def _inner(state: weights.State) -> weights.State:
    """The names inside the released model's only part."""
    if not any(name.startswith("flow_matching.") for name in state):
        return state
    return {name.removeprefix("flow_matching."): value for name, value in state.items()}


def dead_parameters(state: Mapping[str, Tensor]) -> int:
    """How many numbers of a released state dict no forward pass ever reads."""
    return sum(value.numel() for name, value in state.items() if DEAD.search(name))


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    state, mapper = _inner(state), "barycenter_mapper.0.weight"
    return {**_network_sizes(state, "net."), "rank": weights.size(state, "manifold_basis", axis=1, rank=2),
            "hidden": weights.size(state, mapper, axis=0, rank=2) if mapper in state else 0}


def _network_sizes(state: weights.State, prefix: str) -> dict[str, Any]:
    M, F = (weights.size(state, f"{prefix}input_proj.weight", axis, 2) for axis in (0, 1))
    door = f"{prefix}final_layer.fc1.0.weight"
    return {
        "T": weights.size(state, f"{prefix}x_exo_embedding.weight", axis=1, rank=2), "F": F, "M": M,
        "D": weights.size(state, f"{prefix}cond_embed_x.0.attn.pos_emb", axis=1, rank=3),
        "depth": weights.count(state, re.escape(prefix) + r"cond_embed_x\.(\d+)\."),
        "future": weights.count(state, re.escape(prefix) + r"cond_embed_y\.(\d+)\.") > 0,
        "mlp_ratio": weights.size(state, f"{prefix}cond_embed_x.0.mlp.0.weight", axis=0, rank=2) / M,
        "second_door": door in state,
        "door_width": weights.size(state, door, axis=0, rank=2) if door in state else None,
    }


def _vector_field(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    sizes = _network_sizes(state, "")
    net = VectorField(**sizes, H=params["n_heads"])
    weights.transfer(state, net, NETWORK, also=[name for name in state if DEAD.search(name)])
    with record() as trace:
        v = net(x["x0"], x["t"], x["x_exo"], torch.softmax(x["prior"], dim=-1), x.get("y_exo"))
    return {"out/v": v, **{f"mid/{name}": t for name, t in _network_steps(trace, net).items()}}


def _network_steps(trace: Trace, net: VectorField) -> dict[str, Tensor]:
    names = dict(WHOLE)
    for i in range(len(net.history)):
        for side, ours in (("x", "past"), ("y", "ahead")):
            names |= {f"block{i}_{side}_{a}": f"{ours}{i}/{b}" for a, b in BLOCK.items()}
    last = f"ahead{len(net.history) - 1}/x" if net.future else f"past{len(net.history) - 1}/x"
    names["final_mixed"] = "head/mixed" if net.head.door is not None else last
    found = {released: trace[ours].tensor for released, ours in names.items() if ours in trace}
    mixed = found["final_mixed"]
    return {**found, "final_norm": nn.functional.layer_norm(mixed, mixed.shape[-1:], eps=1e-6),
            "final_modulated": trace["head/read"].tensor}


def _source(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    source = _load(params, state).source
    answer = {}
    for suffix, keep in (("", 1.0), ("_mask0", 0.0), ("_mask1", 1.0)):
        with record() as trace:
            source(x["origin"], x["noise_z"], x["noise_eps"], torch.full((len(x["origin"]), 1), keep))
        if suffix:
            answer[f"out/train_epsilon{suffix}"] = trace["delta_h"].tensor
            answer[f"out/train_alpha{suffix}"] = trace["alpha"].tensor[0]
        else:
            names = {"mid/raw_struct": "Mz", "mid/epsilon_struct": "structured", "mid/epsilon_hybrid": "mixed",
                     "mid/uncertainty_raw": "sigma_raw", "out/barycentre": "mu_h", "out/epsilon": "delta_h",
                     "out/scale": "sigma_h", "out/x0": "Y0"}
            answer |= {released: trace[ours].tensor for released, ours in names.items()}
            answer["out/alpha"] = trace["alpha"].tensor[0]
    return answer


def _sampling(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net, P, K = _load(params, state), params["n_samples"], params["steps"]
    origin = x["origin"].repeat_interleave(P, dim=0)
    given = Condition(x["prior"], x["x_exo"], x.get("y_exo")).repeat(P)
    told, untold = net.normalised(given), net.normalised(given.times(0.0))
    answer = {"mid/t_net": torch.stack([CLOCK * torch.tensor(i / K) for i in range(K)])}
    y0, _, _ = net.source(origin, x["noise_z"], x["noise_eps"])
    for omega in params["omegas"]:
        with record() as trace:
            y = net.flow(y0, told, untold, K, omega=torch.tensor(omega))
        name, samples = f"omega{omega:g}", y.unflatten(0, (-1, P))
        answer |= {
            f"mid/{name}_states": torch.stack([y0, *(trace[f"ode{i}/Y"].tensor for i in range(K))]),
            f"mid/{name}_v_cond": torch.stack([trace[f"ode{i}/v_c"].tensor for i in range(K)]),
            f"mid/{name}_v_uncond": torch.stack([trace[f"ode{i}/v_u"].tensor for i in range(K)]),
            f"out/{name}_samples": samples, f"out/{name}_mean": point_forecast(samples, "mean"),
            f"out/{name}_median": point_forecast(samples, "median")}
    return answer


def _loss(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = _load(params, state)
    condition = net.normalised(Condition(x["prior"], x["x_exo"], x.get("y_exo")))
    with record() as trace:
        loss = net.row_loss(x["origin"], x["target"], condition, x["t"], x["noise_z"], x["noise_eps"])
    names = {"x_t": "flow/Y_s", "t_net": "flow/net/t", "v_pred": "flow/net/head/v", "nll": "source/nll"}
    answer = {f"mid/{released}": trace[ours].tensor for released, ours in names.items()}
    return {**answer, "mid/aux_loss": net.nll_weight * answer["mid/nll"].mean()[None], "out/loss": loss[None]}


def _inference(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net, P = _load(params, state), params["n_samples"]
    with record() as trace:
        y = net(x["x_endo"], x["x_exo"], x.get("y_exo"), n_samples=P, steps=params["steps"], omega=params["omega"],
                z=x["noise_z"], eps=x["noise_eps"])
    answer = {"out/forecast": y, "mid/origin": trace["endo/x_norm"].tensor[..., 0],
              "mid/x_exo_std": trace["exo/x_norm"].tensor.mT, "mid/prior": trace["prior/S"].tensor,
              "mid/y_std": trace[f"ode{params['steps'] - 1}/Y"].tensor.unflatten(0, (-1, P)).mean(1)}
    if "y_exo" in x:
        answer["mid/y_exo_std"] = trace["exo/ahead"].tensor.mT
    return answer


def _load(params: dict[str, Any], state: weights.State) -> KITE:
    return load(state, **params).eval()


LAYERS, FLOW = ("ts_benchmark/baselines/kite/layers/" + name for name in ("layers.py", "flow_loss.py"))
REPLAYS = {
    (LAYERS, "KITEVectorField"): _vector_field,
    (FLOW, "KITEFlowMatching.get_hybrid_gaussian_noise + barycenter_mapper + uncertainty_estimator"): _source,
    (FLOW, "KITEFlowMatching.sample"): _sampling,
    (FLOW, "KITEFlowMatching.forward"): _loss,
    ("ts_benchmark/baselines/kite/models/KITEModel.py", "KITEModel.inference"): _inference,
}
