"""How different are the attention maps of two windows? One number between 0 and 1."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini.trace import record
from tsattn_mini.training import Cut, Task


def encoder_maps(model: nn.Module, cut: Cut) -> Float[Tensor, "B H L S"]:
    """The step `A` of every encoder layer, the heads of all layers side by side."""
    with torch.no_grad(), record() as trace:
        model(cut.past, cut.past_marks, None, cut.decoder_marks)
    return torch.cat([s.tensor for name, s in trace.items() if name.startswith("enc") and name.endswith("/A")], dim=1)


def distance(A: Float[Tensor, "*#batch L S"], B: Float[Tensor, "*#batch L S"]) -> Float[Tensor, "*batch"]:
    """The share of attention that sits on other keys, mean over queries: 0 for equal maps, 1 for disjoint ones."""
    return ((A - B).abs().sum(-1) / 2).mean(-1)


def between(A: Float[Tensor, "B H L S"]) -> float:
    """Mean distance of two different windows, over all pairs and heads."""
    pairs = distance(A[:, None], A[None]).mean(-1)
    return (pairs.sum() / (len(A) * (len(A) - 1))).item()


def spaced(task: Task, count: int = 8) -> Cut:
    """`count` windows spread over the whole series, all beginning at the same phase of its period."""
    cycles = (len(task.x) - task.seq_len - task.pred_len) // task.period
    return task.at([task.period * (i * cycles // (count - 1)) for i in range(count)])


def affine(cut: Cut, scale: float = 2.0, level: float = 1.0) -> Cut:
    """The same windows with another scale and level, in scaled units: x becomes scale · x + level."""
    return cut._replace(past=scale * cut.past + level, future=scale * cut.future + level)
