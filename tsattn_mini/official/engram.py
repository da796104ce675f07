"""Engram as released in deepseek-ai/Engram (engram_demo_v1.py).

The weights do not say which row an n-gram has: that follows from the tokenizer's vocabulary, the padding id, the
numbers of all layers with a memory, and the seed. All of them are needed to load a checkpoint.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tsattn_mini.engram.hashing import NgramHash, ngram_hashes
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.official import weights
from tsattn_mini.trace import Trace, record

# Departures of the released code: negative ids pass through the compression, a signed root precedes the sigmoid.
RELEASED = {"keep_negative": True, "root": "sign"}

RULES = [
    (r"^table\.rows$", "multi_head_embedding.embedding.weight"),
    (r"^value\.", "value_proj."),
    (r"^key\.", "key_projs."),
    (r"^convolution\.weight$", "short_conv.conv.weight"),
]
GAINS = {"gate.k_gain": "norm1", "gate.h_gain": "norm2", "convolution.gain": "short_conv.norms"}
OFFSETS = "multi_head_embedding.offsets"

MODEL = Engram
NAMES = {"hidden_size": "M", "hc_mult": "C", "n_head_per_ngram": "H", "kernel_size": "K", "engram_vocab_size": "sizes",
         "layer_ids": "layers", "layer_id": "layer", "pad_id": "pad", "hash_seed": "seed"}
NEEDED = {"vocab": "[decoded text, raw token] of every token id",
          "layers": "all layers that have a memory, released name layer_ids",
          "layer": "the one to load, released name layer_id",
          "sizes": "least rows per head, for n-grams of 2, 3, … tokens, released name engram_vocab_size",
          "H": "heads per order, released name n_head_per_ngram",
          "pad": "the padding token's id, or None, released name pad_id"}
OPTIONAL = ("seed",)
FOLLOWS = re.compile(r"hashing\.|table\.offsets$")  # buffers of ours that the settings alone decide
OURS = ("keep_negative", "root", "conv_gate")  # settings that only a model of this package has


def load(state: Mapping[str, Any], **config: Any) -> Engram:
    """See `tsattn_mini.official.load_checkpoint`.

    The released root in front of the sigmoid is set, since the weights were trained with it.

    Raises:
        ValueError: a layer that is not listed, or weights and settings that contradict each other.
    """
    state = weights.plain(state)
    net = build(state, {**config, **RELEASED})
    offsets = net.table.offsets.flatten()
    if OFFSETS in state and not torch.equal(state[OFFSETS].flatten(), offsets):
        raise ValueError(f"state dict: {OFFSETS!r} holds {state[OFFSETS].tolist()}, but these layers, sizes and heads "
                         f"give {offsets.tolist()}")
    own = {name: t for name, t in net.state_dict().items() if name.startswith("hashing.") or name == "table.offsets"}
    weights.transfer({**_gathered(state, *net.gate.k_gain.shape), **own}, net, RULES, also=[OFFSETS])
    return net


def build(state: weights.State, config: Mapping[str, Any]) -> Engram:
    """The model of these settings, of the sizes that its weights tell; they are not in it yet.

    Raises:
        ValueError: a layer that is not listed, or weights and settings that contradict each other.
    """
    settings = weights.settings(config, NAMES, told(state), NEEDED, (*OPTIONAL, *OURS))
    if settings["layer"] not in settings["layers"]:
        raise ValueError(f"layer: expected one of layers={list(settings['layers'])}, got {settings['layer']}")
    hashing = _hashes(settings["vocab"], settings)[settings["layer"]]
    E = weights.size(state, "multi_head_embedding.embedding.weight", axis=1, rank=2)
    for name, size in (("max_ngram_size", len(settings["sizes"]) + 1), ("n_embed_per_ngram", settings["H"] * E)):
        if config.get(name, size) != size:
            raise ValueError(f"{name}: the other settings and the weights say {size}, got {config[name]}")
    return Engram(hashing, settings["M"], settings["C"], E, settings["K"], root=settings.get("root"),
                  conv_gate=settings.get("conv_gate"))


def told(state: weights.State) -> dict[str, Any]:
    """What the weights tell about the model they belong to."""
    return {"M": weights.size(state, "value_proj.weight", axis=0, rank=2),
            "C": weights.count(state, r"key_projs\.(\d+)\."),
            "K": weights.size(state, "short_conv.conv.weight", axis=2, rank=3)}


def _hashes(vocab: Sequence[Sequence[str]], settings: Mapping[str, Any]) -> dict[int, NgramHash]:
    if not isinstance(vocab, Sequence) or not vocab or any(isinstance(v, str) or len(v) != 2 for v in vocab):
        raise ValueError("vocab: expected [decoded text, raw token] of every token id")
    texts, raw = zip(*vocab, strict=True)
    return ngram_hashes(Compression(texts, raw, keep_negative=settings.get("keep_negative", False)), settings["layers"],
                        settings["sizes"], settings["H"], settings["pad"], settings.get("seed", 0))


def _gathered(state: weights.State, C: int, M: int) -> weights.State:
    """The released state with the gains of all branches in one tensor, as ours are."""
    state = dict(state)
    for ours, released in GAINS.items():
        names = [f"{released}.{c}.weight" for c in range(C)]
        for name in names:
            if weights.size(state, name, axis=0, rank=1) != M:
                raise ValueError(f"state dict: key {name!r} has shape {tuple(state[name].shape)} instead of ({M},)")
        state[ours] = torch.stack([state.pop(name) for name in names])
    return state


def _hash(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    needed = {name: meaning for name, meaning in NEEDED.items() if name != "layer"}
    settings = {**RELEASED, **weights.settings(params, NAMES, {}, needed, ("seed",))}
    hashes = _hashes(settings["vocab"], settings)
    first = next(iter(hashes.values()))
    answer = {"out/lookup_table": first.compression.table, "out/num_new_token": torch.tensor(first.compression.size),
              "out/pad_id_compressed": first.pad,
              "out/multipliers": torch.stack([h.multipliers for h in hashes.values()]),
              "out/primes": torch.stack([h.primes for h in hashes.values()])}
    for layer, hashing in hashes.items():
        for kind in x:
            suffix = kind.removeprefix("ids")
            with record() as trace:
                hashing(x[kind])
            answer[f"out/{kind}_compressed"] = trace["ids"].tensor
            answer[f"out/hash{suffix}_layer{layer}"] = trace["hash"].tensor.flatten(2)
            for order, mix in enumerate(trace["mix"].tensor.unbind(-1), start=2):
                answer[f"mid/mix{suffix}_layer{layer}_n{order}"] = mix
    return answer


def _forward(params: dict[str, Any], state: weights.State, x: dict[str, Tensor]) -> dict[str, Tensor]:
    net = load(state, **params)
    with record() as trace:
        net(x["ids"], x["hidden_states"])
    return {"out/y": trace["y"].tensor, **{f"mid/{name}": t for name, t in _middle(trace).items()}}


def _middle(trace: Trace) -> dict[str, Tensor]:
    ours = {"embeddings": "e", "value_proj": "v", "keys": "k", "normed_key": "k_norm", "normed_query": "h_norm",
            "score": "score", "signed_sqrt": "rooted", "gated_value": "v_gated", "conv_out": "conv"}
    return {**{released: trace[name].tensor for released, name in ours.items()},
            "hash_ids": trace["hash"].tensor.flatten(2), "gates": trace["alpha"].tensor[..., None],
            "conv_in": trace["v_norm"].tensor.flatten(2).mT, "conv_raw": trace["conv_raw"].tensor.flatten(2).mT}


REPLAYS = {
    ("engram_demo_v1.py", "CompressedTokenizer, NgramHashMapping"): _hash,
    ("engram_demo_v1.py", "Engram"): _forward,
}
