"""Autoformer as released in thuml/Time-Series-Library (models/Autoformer.py, layers/AutoCorrelation.py)."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tsattn_mini.attention import AttentionLayer
from tsattn_mini.official import decomposition, library, weights
from tsattn_mini.trace import record
from tsattn_mini.zoo.autoformer import AutoCorrelation, Autoformer, auto_correlation, correlation, fit

# Departures of the released code: an inverse transform without a length, no lower limit for the number of delays, and
# another formula in training than in evaluation.
OPERATOR = {"released_lags": True, "released_count": True}
RELEASED = {**OPERATOR, "shared_in_training": True}

MODEL, NAMES, RULES = Autoformer, decomposition.NAMES, decomposition.RULES
NEEDED = {**decomposition.NEEDED, "factor": "how many delays are kept, factor · ln n of n"}
OPTIONAL = (*decomposition.OPTIONAL, *RELEASED)

STEPS = {"mean_corr": "R", "delays": "delays", "weights": "strength", "softmax_weights": "A", "V": "out"}


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    return library.sizes(state)


def load(state: Mapping[str, Any], **config: Any) -> Autoformer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    net = build(state, config)
    rules, tables = library.settle(state, told(state), RULES)
    weights.transfer(state, net, rules, also=tables)
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> Autoformer:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    return Autoformer(**weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL))


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **params, **RELEASED).train(params["training"])
    return decomposition.forecast(net.forecaster, x)


def _auto_correlation(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    q, k, v = x["queries"], x["keys"], x["values"]
    shared = params["training"]
    with record() as trace:
        auto_correlation(q, k, v, params["factor"], shared=shared, **OPERATOR)
    answer = decomposition.collect(trace, STEPS)
    if shared:  # the released code keeps one row of them for the whole batch
        answer |= library.under_both({"delays": answer["out/delays"][0]})
    return answer | library.under_both({"corr": _per_channel(q, fit(k, q.shape[1]))})


def _per_channel(q: Tensor, k: Tensor) -> Tensor:
    """The correlation of every channel by itself, "B J H E": our operator takes the mean before the transform back."""
    B, L, H, E = q.shape
    alone = [x.transpose(1, 2).transpose(2, 3).reshape(B * H * E, L, 1, 1) for x in (q, k)]
    return correlation(*alone, released_lags=True).reshape(B, H, E, -1).movedim(-1, 1)


def _layer(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    attend = AutoCorrelation(params["factor"], **RELEASED).train(params["training"])
    net = AttentionLayer(attend, x["queries"].shape[-1], params["n_heads"])
    weights.transfer(state, net, library.LAYER)
    with record() as trace:
        net(x["queries"], x["keys"])
    answer = decomposition.collect(trace, {"q": "q", "k": "k", "v": "v", "inner_out": "out", "y": "y"})
    return answer | library.under_both({"viewed": trace["out"].tensor.flatten(-2)})


REPLAYS = {
    **decomposition.REPLAYS,
    ("layers/AutoCorrelation.py", "AutoCorrelation"): _auto_correlation,
    ("layers/AutoCorrelation.py", "AutoCorrelationLayer(AutoCorrelation)"): _layer,
    ("models/Autoformer.py", "Model"): _forecast,
}
