"""Eq. 10 with a matrix for every pair beside its two factorised branches, as the number of pairs N·D grows.

    python tests/bench_kite.py

prints the best time and the peak memory of A_b + S ⊙ A_g for F = T = 512 and d = 64 in float32, and the exponents
fitted to them: how time and memory grow with N·D, both growing together. The last size is N = 64, D = 256. Its
16,384 matrices of 512 × 512 are 16 GiB and the product S W2 as much again, so they are formed only up to 1,024
pairs; what they would need at the last size is extrapolated, and said to be.
"""

import time
from collections.abc import Callable
from math import exp, log

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from tsattn_mini.kite.conditioning import KnowledgeGuidedConditioning, bilinear_scores

F, T, WIDTH = 512, 512, 64
SIZES = [(8, 32), (8, 64), (16, 64), (32, 128), (64, 256)]
LARGEST_FORMED = 1024  # pairs: 1 GiB of matrices, 2 GiB while they are made
ROUNDS = {"factorised": 50, "formed": 3}


def draw(N: int, D: int) -> tuple[Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(N)
    return torch.randn(N, F, generator=g), torch.randn(D, T, generator=g), torch.rand(N, D, generator=g)


def factorised(net: KnowledgeGuidedConditioning, Y: Tensor, X: Tensor, S: Tensor) -> Tensor:
    A_b, A_g = net.branches(Y[None], X[None])
    return (A_b + S * A_g)[0]


def formed(net: KnowledgeGuidedConditioning, Y: Tensor, X: Tensor, S: Tensor) -> Tensor:
    return bilinear_scores(Y, X, *net.matrices(), S)


def seconds(call: Callable[[], Tensor], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def peak_mib(call: Callable[[], Tensor]) -> float:
    """The most that one call holds at once beyond what lives before it, from the allocator's own record."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    events = sorted((e.start_ns(), e.nbytes()) for e in record.profiler.kineto_results.events()
                    if e.name() == "[memory]")
    return int(torch.tensor([size for _, size in events]).cumsum(0).max()) / 2**20


def fit(pairs: list[int], values: list[float]) -> tuple[float, float]:
    """The exponent a and the value at the last size of the straight line log value = a · log pairs + b."""
    x, y = (torch.tensor([log(v) for v in column], dtype=torch.float64) for column in (pairs, values))
    a = float(((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum())
    last = SIZES[-1][0] * SIZES[-1][1]
    return a, exp(a * (log(last) - float(x.mean())) + float(y.mean()))


def main() -> None:
    torch.set_num_threads(2)
    torch.manual_seed(0)
    net = KnowledgeGuidedConditioning(T, F, WIDTH).requires_grad_(False)
    ways = {"factorised": factorised, "formed": formed}
    print(f"A_b + S ⊙ A_g, F = T = {F}, d = {WIDTH}, float32")
    print(f"{'way':12}{'N':>5}{'D':>6}{'N·D':>8}{'ms':>12}{'MiB':>12}")
    found: dict[str, list[tuple[int, float, float]]] = {name: [] for name in ways}
    for N, D in SIZES:
        inputs, want = draw(N, D), None
        for name, way in ways.items():
            if name == "formed" and N * D > LARGEST_FORMED:
                continue
            call = lambda way=way, inputs=inputs: way(net, *inputs)  # noqa: E731
            want = call() if want is None else want
            assert torch.allclose(call(), want, rtol=0, atol=2e-4 * float(want.abs().max())), name
            ms, mib = 1000 * seconds(call, ROUNDS[name]), peak_mib(call)
            found[name].append((N * D, ms, mib))
            print(f"{name:12}{N:5}{D:6}{N * D:8,}{ms:12,.2f}{mib:12,.1f}", flush=True)
    last = {}
    for name, rows in found.items():
        pairs, ms, mib = (list(column) for column in zip(*rows, strict=True))
        (a, last_ms), (b, last_mib) = fit(pairs, ms), fit(pairs, mib)
        last[name] = (last_ms, last_mib) if name == "formed" else rows[-1][1:]
        print(f"{name:12} time grows as (N·D)^{a:.2f}, memory as (N·D)^{b:.2f}")
    (quick, small), (slow, large) = last["factorised"], last["formed"]
    print(f"N=64, D=256: factorised {quick:.2f} ms and {small:.1f} MiB, measured; formed {slow / 1000:.1f} s and "
          f"{large / 1024:.0f} GiB, extrapolated: {slow / quick:,.0f} and {large / small:,.0f} times as much")


if __name__ == "__main__":
    main()
