"""What one call of an operator costs as the window, or the number of variables, grows; and the exponents fitted to it.

Operators between time steps get queries, keys and values of 8 heads of width 64. Operators between variables get
windows of 7 variables and make their tokens inside the measured call, for that is where the window's length enters.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from tsattn_mini.attention import scaled_dot_product
from tsattn_mini.nonstationary import destationary_attention
from tsattn_mini.results import Results
from tsattn_mini.training import one_thread
from tsattn_mini.zoo.autoformer import auto_correlation
from tsattn_mini.zoo.duet.channels import ChannelMask, channel_attention
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention
from tsattn_mini.zoo.itransformer import InvertedEmbedding
from tsattn_mini.zoo.prob_sparse import ProbSparse
from tsattn_mini.zoo.timexer import PatchEmbedding

SIZES = (48, 96, 192, 384, 768, 1536)
FITTED = SIZES[2:]  # below, most of the time goes into calling, not into computing
FIXED = {"L": 96, "V": 7}  # where the one stands while the other grows
B, H, E = 1, 8, 64
M, PATCH = H * E, 16
Call = Callable[[], Tensor]


def heads(L: int) -> list[Tensor]:
    """Queries, keys and values of a window of L steps: (B, L, H, E), standard normal, the same on every call."""
    g = torch.Generator().manual_seed(L)
    return [torch.randn(B, L, H, E, generator=g) for _ in range(3)]


def window(L: int, V: int) -> Tensor:
    """One batch of windows: (B, L, V), standard normal, the same on every call."""
    return torch.randn(B, L, V, generator=torch.Generator().manual_seed(L + V))


def between_steps(make: Callable[[int], Callable[..., Tensor]]) -> Callable[[int, int], Call]:
    """The call of the operator `make(L)` on queries, keys and values."""
    def prepare(L: int, V: int) -> Call:
        attend, (q, k, v) = make(L), heads(L)
        return lambda: attend(q, k, v)

    return prepare


def destationary(L: int) -> Callable[..., Tensor]:
    """De-stationary attention with τ = 1 and δ = 0 for a window of `L` steps."""
    tau, delta = torch.ones(B, 1), torch.zeros(B, L)
    return lambda q, k, v: destationary_attention(q, k, v, tau, delta)


def as_heads(tokens: Tensor) -> Tensor:
    """(…, L, M) → (…, L, H, E)"""
    return tokens.unflatten(-1, (H, E))


def inverted(L: int, V: int) -> Call:
    """A token of every variable, then attention between them."""
    x, embed = window(L, V), InvertedEmbedding(L, M)

    def call() -> Tensor:
        z = as_heads(embed(x))
        return scaled_dot_product(z, z, z)

    return call


def patched(L: int, V: int) -> Call:
    """Every variable's patches and its global token attend to each other; then the global tokens ask all variables."""
    x, patches, embed = window(L, V), PatchEmbedding(L, PATCH, M, V), InvertedEmbedding(L, M)

    def call() -> Tensor:
        z = as_heads(patches(x.mT).flatten(0, 1))
        globals_ = scaled_dot_product(z, z, z)[:, -1].unflatten(0, (B, V))
        variables = as_heads(embed(x))
        return scaled_dot_product(globals_, variables, variables)

    return call


def experts(L: int, V: int) -> Call:
    """Router and four linear extractors, for every variable by itself."""
    x, clusters = window(L, V), TemporalClusters(L, V, M)
    return lambda: clusters(x)[0]


def linked(L: int, V: int) -> Call:
    """Which variables may look at which, then attention along these links."""
    x, mask, z = window(L, V), ChannelMask(L), heads(V)
    return lambda: channel_attention(*z, mask(x.mT))


@dataclass(frozen=True)
class Operator:
    """How to prepare a call for L steps and V variables; what its paper promises; what its formula takes.

    `order` counts multiplications up to a common factor. An empty `promise`: none is known to us.
    """

    prepare: Callable[[int, int], Call]
    promise: str
    order: Callable[[int, int], float]
    grows: tuple[str, ...] = ("L",)


OPERATORS = {
    "full attention": Operator(between_steps(lambda L: scaled_dot_product), "L²", lambda L, V: L * L),
    "de-stationary": Operator(between_steps(destationary), "L²", lambda L, V: L * L),
    "ProbSparse": Operator(between_steps(lambda L: ProbSparse(L, L)), "L ln L", lambda L, V: L * log(L)),
    "Auto-Correlation": Operator(between_steps(lambda L: auto_correlation), "L ln L", lambda L, V: L * log(L)),
    "Fourier block": Operator(between_steps(lambda L: FourierBlock(M, H, L)), "L", lambda L, V: L),
    "Fourier cross": Operator(between_steps(lambda L: FourierCrossAttention(M, H, L, L)), "L", lambda L, V: L),
    "inverted": Operator(inverted, "V²", lambda L, V: V * L + 2 * V * V, ("L", "V")),
    "patches, global": Operator(patched, "", lambda L, V: 2 * V * L + 2 * V * (L / PATCH + 1)**2 + 2 * V * V,
                                ("L", "V")),
    "router, experts": Operator(experts, "", lambda L, V: L * V, ("L", "V")),
    "links": Operator(linked, "", lambda L, V: V * V * (L * L / 4 + 2 * M), ("L", "V")),
}


@contextmanager
def silenced() -> Iterator[None]:
    """The profiler writes to the terminal past Python; here that goes nowhere."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def milliseconds(call: Call, budget: float = 1.0, least: int = 3) -> float:
    """The best time of one call among those that fit into `budget` seconds, at least `least` after a first one."""
    call()
    best, start, rounds = float("inf"), time.perf_counter(), 0
    while rounds < least or time.perf_counter() - start < budget:
        began = time.perf_counter()
        call()
        best, rounds = min(best, time.perf_counter() - began), rounds + 1
    return 1000 * best


def peak_mib(call: Call) -> float:
    """The most that one call holds at once beyond what lives before it, from the allocator's own record."""
    with silenced(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    events = sorted((e.start_ns(), e.nbytes()) for e in record.profiler.kineto_results.events()
                    if e.name() == "[memory]")
    return int(torch.tensor([size for _, size in events]).cumsum(0).max()) / 2**20


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope a of the straight line log value = a · log size + b."""
    x, y = (torch.tensor([log(v) for v in column], dtype=torch.float64) for column in (sizes, values))
    x = x - x.mean()
    return float((x * y).sum() / x.square().sum())


def measure(grows: str, operator: str, size: int) -> dict:
    """One row of the table: `grows` is "L" or "V"."""
    with torch.no_grad(), one_thread():
        call = OPERATORS[operator].prepare(**{**FIXED, grows: size})
        return {"series": grows, "model": operator, "size": size, "ms": milliseconds(call), "mib": peak_mib(call)}


def fits(results: Results) -> list[dict]:
    """Per operator and growing size: fitted exponents of time and memory, and that of its formula at the same sizes."""
    found = []
    for grows, operator in results.pairs():
        rows = [r for r in results.rows if (r["series"], r["model"]) == (grows, operator) and r["size"] in FITTED]
        sizes = [r["size"] for r in rows]
        orders = [OPERATORS[operator].order(**{**FIXED, grows: size}) for size in sizes]
        found.append({"grows": grows, "operator": operator, "promise": OPERATORS[operator].promise,
                      "time": exponent(sizes, [r["ms"] for r in rows]),
                      "memory": exponent(sizes, [r["mib"] for r in rows]), "formula": exponent(sizes, orders)})
    return found


def about() -> dict:
    """What the numbers depend on, apart from the processor."""
    return {"sizes": list(SIZES), "fitted": list(FITTED), "fixed": FIXED, "batch": B, "heads": H, "head width": E,
            "threads": 1, "dtype": "float32", "ms": "best of the calls in 1 s, at least 3", "mib":
            "the most held at once during a call"}


def rows() -> Iterator[dict]:
    """Every row of the table, in order."""
    for grows in FIXED:
        for operator, one in OPERATORS.items():
            if grows in one.grows:
                for size in SIZES:
                    yield measure(grows, operator, size)
