"""Knowledge-guided attention as released in decisionintelligence/KITE (ts_benchmark/baselines/kite/layers)."""

from typing import Any

from torch import Tensor

from tsattn_mini.kite.conditioning import KnowledgeGuidedAttention
from tsattn_mini.official import weights
from tsattn_mini.trace import record

# The released code takes any prior of 0 or more; the switch is named `bounded`.
RELEASED = {"bounded": False}
ATTENTION = [(r"^(.*\.)?variable$", r"\1pos_emb"), (r"(^|\.)q([12])\.", r"\1w\2."), (r"(^|\.)(k|v)\.", r"\1w\2."),
             (r"(^|\.)up\.", r"\1proj.0."), (r"(^|\.)down\.", r"\1proj.2.")]
UNUSED = "prior_bias"  # stored by the released module and never read

# Released name → step; those of the first row keep their heads on axis 2 here and on axis 1 there.
PER_HEAD = {"q1": "q1", "q2": "q2", "k": "k", "v": "v"}
REST = {"attn_base": "A_b", "attn_prior": "A_g", "log_prior": "gate", "logits": "logits", "A": "A"}


def _attention(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    D, M = (weights.size(state, "pos_emb", axis, 3) for axis in (1, 2))
    net = KnowledgeGuidedAttention(M, params["n_heads"], D, **RELEASED)
    weights.transfer(state, net, ATTENTION, also=[UNUSED])
    with record() as trace:
        y = net(x["x_q"], x["x_kv"], x["w_ij"])
    answer = {released: trace[ours].tensor.transpose(1, 2) for released, ours in PER_HEAD.items()}
    answer |= {released: trace[ours].tensor for released, ours in REST.items()}
    answer["ctx"] = trace["out"].tensor.flatten(-2)
    return {**{f"mid/{name}": tensor for name, tensor in answer.items()}, "out/y": y}


REPLAYS = {("ts_benchmark/baselines/kite/layers/layers.py", "KnowledgeGuidedAttention"): _attention}
