"""Small forecasters and windows for the tests; sizes are different primes where the architecture lets them be."""

import onnxruntime
import torch

from tsattn_mini import record
from tsattn_mini.explore.export import difference, export
from tsattn_mini.nonstationary import NonstationaryTransformer

TOY = {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16}
SMALL = {"seq_len": 7, "label_len": 3, "pred_len": 5, "V": 2, "M": 6, "H": 3, "d_ff": 11, "p_hidden": (13,)}


def build(cls=NonstationaryTransformer, seed=0, dtype=torch.float64, **sizes):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return cls(**sizes).to(dtype)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def inputs(B=2, seq_len=12, label_len=6, pred_len=4, V=5, marks=4, dtype=torch.float64, **_):
    """x_enc, x_mark_enc, x_dec, x_mark_dec."""
    L = label_len + pred_len
    return ((draw(B, seq_len, V, seed=1) * 2 + 3).to(dtype), draw(B, seq_len, marks, seed=2, dtype=dtype),
            draw(B, L, V, seed=3, dtype=dtype), draw(B, L, marks, seed=4, dtype=dtype))


def traced(net, *args):
    with torch.no_grad(), record() as trace:
        net(*args)
    return trace


def distance(A, B):
    """Total variation between two rows of attention, the largest of all rows."""
    return float((A - B).abs().sum(-1).max()) / 2


def graph_gap(net, first):
    """The largest difference between a step of `net` and of its exported graph, at the inputs `first` and at others."""
    names = list(traced(lambda: net(**first)))
    with torch.no_grad():
        graph = export(lambda **values: net(**values), first, {}, names)
    session, gaps = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]), []
    for values in (first, {name: 0.7 * t.flip(0) for name, t in first.items()}):
        trace = traced(lambda values=values: net(**values))
        got = session.run(names, {f"in/{name}": t.numpy() for name, t in values.items()})
        gaps += [difference(trace[name].tensor, torch.from_numpy(a)) for name, a in zip(names, got, strict=True)]
    return max(gaps)
