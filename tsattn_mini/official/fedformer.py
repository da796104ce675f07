"""FEDformer as released in thuml/Time-Series-Library (models/FEDformer.py, layers/FourierCorrelation.py).

The first release, MAZiqing/FEDformer, names its tensors alike; its head count is fixed at 8, whatever `n_heads` says.
Its wavelet version is not here.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tsattn_mini.attention import AttentionLayer
from tsattn_mini.official import decomposition, library, weights
from tsattn_mini.trace import Trace, record
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention

# Departures of the released blocks. That one block serves all layers is seen in the weights.
BLOCK = {"released_slots": True, "released_view": True}
CROSS = {"released_values": True, "released_scale": True, "released_view": True}
RELEASED = {**BLOCK, **CROSS}
OWN = r"(^|\.)modes(_kv)?$"  # drawn anew at every start of the released code, and in no state dict

MATRICES = [(r"(^|\.)attend\.", r"\1inner_correlation."), (r"(^|\.)real$", r"\1weights1"),
            (r"(^|\.)imag$", r"\1weights2")]
LAYER = [*MATRICES, *library.LAYER]
RULES = [*MATRICES, *decomposition.RULES]
PLACES = {"modes_enc": "encoder", "modes_dec_self": "decoder", "modes_cross_q": "cross_q", "modes_cross_kv": "cross_kv"}
KEPT = {"modes_enc": "encoder.attn_layers.0.attention.inner_correlation.modes",  # in a state dict of this package
        "modes_dec_self": "decoder.layers.0.self_attention.inner_correlation.modes",
        "modes_cross_q": "decoder.layers.0.cross_attention.inner_correlation.modes",
        "modes_cross_kv": "decoder.layers.0.cross_attention.inner_correlation.modes_kv"}
MODEL = FEDformer
NAMES = {**decomposition.NAMES, "mode_select": "draw", "cross_activation": "cross"}
NEEDED = {name: text for name, text in decomposition.NEEDED.items() if name != "H"}
OPTIONAL = (*decomposition.OPTIONAL, "draw", "cross", "modes", *PLACES, *RELEASED, "released_sharing")


def load(state: Mapping[str, Any], **config: Any) -> FEDformer:
    """See `tsattn_mini.official.load_checkpoint`."""
    state = weights.plain(state)
    net = build(state, {**RELEASED, "released_sharing": _shared(state), **config})
    rules, tables = library.settle(state, told(state), RULES)
    weights.transfer(_one_matrix_per_mode(state), net, rules, also=tables, own=OWN)
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> FEDformer:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet."""
    given = weights.settings(config, NAMES, told(state), NEEDED, OPTIONAL)
    given["modes"] = _modes(state, given)
    return FEDformer(**given)


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    first = "encoder.attn_layers.0.attention.inner_correlation.weights1"
    return {**library.sizes(state), "H": weights.size(state, first, axis=0, rank=4),
            **{name: state[kept].tolist() for name, kept in KEPT.items() if kept in state}}


def _one_matrix_per_mode(state: weights.State) -> weights.State:
    """The released axes are (heads, in, out, modes); here a mode comes first."""
    return {name: w.permute(3, 0, 1, 2) if name.endswith(("weights1", "weights2")) and w.ndim == 4 else w
            for name, w in state.items()}


def _shared(state: weights.State) -> bool:
    """Do all layers of a kind hold the same matrices, as one shared block leaves them in a state dict?"""
    first = {name: re.sub(r"layers\.\d+\.", "layers.0.", name) for name in state if "inner_correlation" in name}
    return all(torch.equal(state[name], state.get(layer_0, state[name])) for name, layer_0 in first.items())


def undrawn(state: weights.State, given: Mapping[str, Any]) -> dict[str, str]:
    """The lists of bins that the settings of a released state dict lack, with a word on each."""
    if given.get("draw") == "low" or not {"seq_len", "pred_len"} <= set(given):
        return {}
    lengths, counts = _lengths(given["seq_len"], given["pred_len"]), _counts(state)
    return {name: f"which {counts[place]} of {lengths[place]} bins were drawn, a list; or mode_select='low'"
            for name, place in PLACES.items() if name not in given and counts[place] != lengths[place]}


def _lengths(seq_len: int, pred_len: int) -> dict[str, int]:
    """How many bins there are to draw from in every place; the decoder's past is half the window."""
    half = seq_len // 2
    ahead = (half + pred_len) // 2
    return {"encoder": half, "decoder": ahead, "cross_q": ahead, "cross_kv": half}


def _counts(state: weights.State) -> dict[str, int]:
    """How many bins the matrices of every place keep."""
    encoder, own, cross = (weights.size(state, f"{place}.inner_correlation.weights1", axis=3, rank=4) for place in
                           ("encoder.attn_layers.0.attention", "decoder.layers.0.self_attention",
                            "decoder.layers.0.cross_attention"))
    return {"encoder": encoder, "decoder": own, "cross_q": cross, "cross_kv": encoder}


def _modes(state: weights.State, given: dict[str, Any]) -> dict[str, list[int]]:
    """The kept bins of every place, as given; or, where the released draw had no choice, as they must have been."""
    asked, low = given.pop("modes", None), given.get("draw") == "low"
    lengths, counts = _lengths(given["seq_len"], given["pred_len"]), _counts(state)
    half, encoder = lengths["encoder"], counts["encoder"]
    if isinstance(asked, int) and min(asked, half) != encoder:
        raise ValueError(f"modes: the weights keep {encoder} bins of {half} in the encoder, got {asked}")
    bins = {}
    for name, place in PLACES.items():
        listed, count, most = given.pop(name, None), counts[place], lengths[place]
        if listed is None and not low and count != most:
            raise ValueError(f"{name}: no weight tells which {count} of {most} bins were drawn, and the released code "
                             "does not store them, so the list must be given; or draw='low' if they are the lowest")
        bins[place] = list(range(count)) if listed is None else [int(b) for b in listed]
        if place != "cross_kv" and len(bins[place]) != count:
            raise ValueError(f"{name}: the weights say {count} bins, got {len(bins[place])}")
    return bins


def _forecast(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **params, **{name: x[name] for name in PLACES})
    return decomposition.forecast(net.forecaster, x)


def _block(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    q = x["queries"]
    L, H, E = q.shape[1:]
    net = FourierBlock(H * E, H, L, x["modes"].tolist(), **BLOCK)
    weights.transfer(_one_matrix_per_mode(state), net, MATRICES, own=OWN)
    with record() as trace:
        net(q)
    return library.under_both({"y": _heads_first(trace["wave"].tensor), **_pair("x_ft_selected", trace, "X"),
                               **_padded("out_ft", trace, "Y", torch.arange(len(net.modes)), L)})


def _cross(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    q, k, v = x["queries"], x["keys"], x["values"]
    L, H, E = q.shape[1:]
    net = FourierCrossAttention(H * E, H, L, k.shape[1], x["modes_q"].tolist(), x["modes_kv"].tolist(),
                                activation=params["activation"], **CROSS)
    weights.transfer(_one_matrix_per_mode(state), net, MATRICES, own=OWN)
    with record() as trace:
        net(q, k, v)
    return library.under_both({"y": _heads_first(trace["wave"].tensor),
                               **_pair("q_ft", trace, "Q"), **_pair("k_ft", trace, "K"),
                               **{f"{released}_{part}": trace[f"{ours}_{part}"].tensor
                                  for released, ours in (("qk_ft", "QK"), ("act_ft", "A")) for part in ("re", "im")},
                               **_padded("irfft_in", trace, "Y_scaled", net.modes, L)})


def _layer(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    M, L = x["x"].shape[-1], x["x"].shape[1]
    net = AttentionLayer(FourierBlock(M, params["n_heads"], L, x["modes"].tolist(), **BLOCK), M, params["n_heads"])
    weights.transfer(_one_matrix_per_mode(state), net, LAYER, own=OWN)
    with record() as trace:
        net(x["x"], x["x"])
    return library.under_both({"q": trace["q"].tensor, "inner_out": _heads_first(trace["wave"].tensor),
                               "viewed": trace["out"].tensor.flatten(-2), "y": trace["y"].tensor})


def _heads_first(x: Tensor) -> Tensor:
    """(B, L, H, E) as (B, H, E, L)."""
    return x.permute(0, 2, 3, 1)


def _pair(released: str, trace: Trace, ours: str) -> dict[str, Tensor]:
    return {f"{released}_{part}": _heads_first(trace[f"{ours}_{part}"].tensor) for part in ("re", "im")}


def _padded(released: str, trace: Trace, ours: str, bins: Tensor, L: int) -> dict[str, Tensor]:
    """The kept bins among all L // 2 + 1, as the released code hands them to its inverse transform."""
    kept = _pair(released, trace, ours)
    return {name: part.new_zeros(*part.shape[:-1], L // 2 + 1).index_copy(-1, bins, part)
            for name, part in kept.items()}


REPLAYS = {
    ("layers/FourierCorrelation.py", "FourierBlock"): _block,
    ("layers/FourierCorrelation.py", "FourierCrossAttention"): _cross,
    ("layers/FourierCorrelation.py", "AutoCorrelationLayer(FourierBlock)"): _layer,
    ("models/FEDformer.py", "Model"): _forecast,
}
