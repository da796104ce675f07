"""What a looked-up memory and its gate are worth to a small language model: seven models, several seeds, one rival.

Losses are in nats per token of the test text, by the kind of the token that has to be predicted.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache, partial
from math import log

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini.engram.counts import Counts
from tsattn_mini.engram.gate import ConstantGate, HiddenGate, OpenGate
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.language import LanguageModel, losses, shifted, train
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.text import KINDS, USUAL, Text, parts
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.trace import record

SEEDS = range(6)
SIZES = {"M": 32, "H": 4, "d_ff": 64}
MEMORY = {"sizes": [1000, 1000], "H": 2, "E": 8, "K": 4, "layer": 2}
ROWS = {"train": 32000, "validation": 1000, "test": 2000}
BUDGET = {"rounds": 20, "batch": 64, "lr": 3e-3, "table_lr": 5.0}
BUCKETS = 5  # of α, each 1/5 wide
SHUT = 0.01  # the α that a gate is forced to, to see what comes through all the same

MODELS: dict[str, dict | None] = {  # what the memory is built with; None for no memory
    "no memory": None,
    "Engram": {},
    "α = 1": {"gate": OpenGate},
    "α from h alone": {"gate": partial(HiddenGate, 1, SIZES["M"])},
    "α constant": {"gate": partial(ConstantGate, 1)},
    "remedy: input": {"conv_gate": "input"},
    "remedy: output": {"conv_gate": "output"},
}


@cache
def tokenizer() -> Tokenizer:
    """The tokenizer of the table's models."""
    return Tokenizer()


@cache
def text(part: str) -> Text:
    """The "train", "validation" or "test" text."""
    return parts(**ROWS)[list(ROWS).index(part)]


@cache
def compression() -> Compression:
    """Which spellings of its pieces count as one."""
    return Compression(tokenizer().pieces)


def memory(gate: Callable[[], nn.Module] | None = None, conv_gate: str | None = None) -> Engram:
    """The memory of one of the `MODELS`."""
    layer = MEMORY["layer"]
    hashing = ngram_hashes(compression(), [layer], MEMORY["sizes"], MEMORY["H"], tokenizer().pad_id)[layer]
    return Engram(hashing, SIZES["M"], E=MEMORY["E"], K=MEMORY["K"], conv_gate=conv_gate, gate=gate and gate())


def build(model: str) -> LanguageModel:
    """One of the `MODELS`, untrained."""
    recipe = MODELS[model]
    return LanguageModel(len(tokenizer()), text("train").ids.shape[1] - 1, **SIZES,
                         memory=None if recipe is None else memory(**recipe))


def fit(model: str, seed: int) -> LanguageModel:
    """Train one of the `MODELS`, exactly as for the table."""
    return train(partial(build, model), text("train"), seed, **BUDGET, label=model)


def by_kind(loss: Float[Tensor, "B L"], part: Text) -> dict[str, float]:
    """The mean loss per token, over all and over each kind."""
    kinds = shifted(part)[2]
    return {"loss": loss[kinds >= 0].mean().item(),
            **{kind: loss[kinds == i].mean().item() for i, kind in enumerate(KINDS)}}


def shut(model: LanguageModel, alpha: float = SHUT) -> LanguageModel:
    """The same weights behind a gate that stands at `alpha` for every token."""
    closed = deepcopy(model)
    gate = ConstantGate(1)
    gate.logit.data.fill_(log(alpha / (1 - alpha)))
    closed.memory.gate = gate
    return closed


def removed(model: LanguageModel) -> LanguageModel:
    """The same weights without the memory."""
    bare = deepcopy(model)
    bare.memory = None
    return bare


def memory_steps(model: LanguageModel, part: Text, *names: str) -> list[Tensor]:
    """Steps of the memory where a token follows, one row per such place: `alpha`, `v_gated`, `conv`, …"""
    tokens, targets, _ = shifted(part)
    with torch.no_grad(), record() as trace:
        model(tokens)
    return [trace[name].tensor[targets >= 0] for name in names]


def rms(x: Tensor) -> float:
    """The root of the mean square of all entries."""
    return x.square().mean().sqrt().item()


def gate_report(model: LanguageModel, loss: Float[Tensor, "B L"], part: Text) -> dict[str, float]:
    """What the gate does to the test text.

    α fixed, α usual, …    mean α where a token of that kind has to be predicted
    loss 0, share 0, …     loss and share of the tokens in each bucket of α; no loss for fewer than 100 tokens
    conv / direct          size of what the convolution adds, against the direct path
    conv kept              how much of the convolution's size is left with α forced to `SHUT`
    shut, removed          loss on fixed tokens with α forced to `SHUT`, and without the memory
    """
    alpha, direct, conv = memory_steps(model, part, "alpha", "v_gated", "conv")
    kinds = shifted(part)[2]
    alpha, loss, kinds = alpha[:, 0], loss[kinds >= 0], kinds[kinds >= 0]
    report = {f"α {kind}": alpha[kinds == i].mean().item() for i, kind in enumerate(KINDS)}
    for i in range(BUCKETS):
        inside = (alpha * BUCKETS).long().clamp(max=BUCKETS - 1) == i
        report[f"share {i}"] = inside.float().mean().item()
        report[f"loss {i}"] = loss[inside].mean().item() if inside.sum() >= 100 else None
    closed = shut(model)
    return {**report, "conv / direct": rms(conv) / rms(direct),
            "conv kept": rms(memory_steps(closed, part, "conv")[0]) / rms(conv),
            "shut": by_kind(losses(closed, part), part)["fixed"],
            "removed": by_kind(losses(removed(model), part), part)["fixed"]}


def baseline() -> dict:
    """What counting the last three compressed tokens knows: the table without a network."""
    (read, targets, _), (asked, answers, _) = shifted(text("train")), shifted(text("test"))
    squeeze = compression().table
    counts = Counts(squeeze[read], targets, len(tokenizer()))
    return {"series": "text", "model": "counts", **by_kind(counts.losses(squeeze[asked], answers), text("test"))}


def measure(model: str, seed: int) -> dict:
    """One row of the table."""
    fitted, test = fit(model, seed), text("test")
    loss = losses(fitted, test)
    return {"series": "text", "model": model, "seed": seed, **by_kind(loss, test),
            **({} if fitted.memory is None else gate_report(fitted, loss, test))}


def about() -> dict:
    """What the numbers depend on, apart from the processor."""
    kinds = torch.bincount(shifted(text("test"))[2].flatten() + 1)[1:].tolist()
    return {"seeds": list(SEEDS), "sizes": SIZES, "memory": MEMORY, "rows": ROWS, "budget": BUDGET, "usual": USUAL,
            "pieces": len(tokenizer()), "compressed": compression().size, "shut": SHUT, "buckets": BUCKETS,
            "test tokens": dict(zip(KINDS, kinds, strict=True)), "optimiser": "Adam, every row once",
            "errors": "mean over test tokens of -log p, in nats"}


def rows() -> Iterator[dict]:
    """Every row of the table, in order."""
    yield baseline()
    for model in MODELS:
        for seed in SEEDS:
            yield measure(model, seed)
