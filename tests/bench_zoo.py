"""Every operator of the zoo beside a plain textbook form of the same formula, and how its cost grows.

    python tests/bench_zoo.py

First at B=32, L=96, model width 512, 8 heads, 7 variables, without gradients, float32 and one thread: both forms must
agree, then they take turns. Best time, median processor time and peak memory; the last column is the ratio of the
processor times. Freed memory is kept, or both forms would mostly time the system's fresh pages. Then the exponents of
time and memory fitted as the window, or the number of variables, grows to 1536: the table of lesson 21, measured anew.
"""

import ctypes
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, einsum, softmax

from tsattn_mini.attention import scaled_dot_product
from tsattn_mini.nonstationary import destationary_attention
from tsattn_mini.results import Results, cost
from tsattn_mini.zoo.autoformer import auto_correlation, number_of_delays
from tsattn_mini.zoo.decomposition import series_decomp
from tsattn_mini.zoo.duet.channels import ChannelMask, channel_attention
from tsattn_mini.zoo.duet.extractor import TemporalClusters
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention
from tsattn_mini.zoo.itransformer import InvertedEmbedding
from tsattn_mini.zoo.prob_sparse import ProbSparse
from tsattn_mini.zoo.timexer import TimeXerLayer

B, L, V, M, H, E = 32, 96, 7, 512, 8, 64
ROUNDS = 15
SAME = 0.9  # so close two runs of one form come to each other on a quiet machine
Pair = tuple[Callable[[], Tensor], Callable[[], Tensor]]  # ours, textbook


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return einsum("bhls,bshe->blhe", softmax(einsum("blhe,bshe->bhls", q, k) / E**0.5, -1), v)


def steered(q: Tensor, k: Tensor, v: Tensor, tau: Tensor, delta: Tensor) -> Tensor:
    scores = einsum("blhe,bshe->bhls", q, k) * tau[:, :, None, None] + delta[:, None, None]
    return einsum("bhls,bshe->blhe", softmax(scores / E**0.5, -1), v)


def sampled(q: Tensor, k: Tensor, v: Tensor, index: Tensor, u: int) -> Tensor:
    """Algorithm 1: a copy of all keys for every query, of which each keeps the ones it sampled."""
    q, k, v = (z.transpose(1, 2) for z in (q, k, v))
    few = k[:, :, None].expand(-1, -1, L, -1, -1)[:, :, torch.arange(L)[:, None], index]
    QK = (q[..., None, :] @ few.mT)[..., 0, :]
    top = (QK.amax(-1) - QK.mean(-1)).topk(u, -1).indices[..., None].expand(-1, -1, -1, E)
    out = v.mean(2, keepdim=True).repeat(1, 1, L, 1)
    A = softmax(q.gather(2, top) @ k.mT / E**0.5, -1)
    return out.scatter(2, top, A @ v).transpose(1, 2)


def delays(q: Tensor, k: Tensor, v: Tensor, kept: int) -> Tensor:
    """One turn of the loop for each delay; the values stand there twice, so that a slice can run round the end."""
    R = torch.fft.irfft(torch.fft.rfft(q, dim=1) * torch.fft.rfft(k, dim=1).conj(), n=L, dim=1).mean((2, 3))
    strength, lags = R.topk(kept, -1)
    weight, twice, out = softmax(strength, -1), torch.cat([v, v], 1), torch.zeros_like(v)
    for i in range(kept):
        rows = torch.arange(L) + lags[:, i, None]
        moved = twice.gather(1, rows[:, :, None, None].expand_as(v))
        out = out + weight[:, i, None, None, None] * moved
    return out


def paper_weights(block: FourierBlock | FourierCrossAttention) -> Tensor:
    """R as the paper has it, in ℂ^(D × D × modes): the bins come last."""
    return torch.complex(block.real, block.imag).permute(1, 2, 3, 0).contiguous()


def bins(q: Tensor, modes: list[int], R: Tensor) -> Tensor:
    """One turn of the loop for each kept bin, in complex numbers."""
    X = torch.fft.rfft(q, dim=1)
    Y = torch.zeros_like(X)
    for j, mode in enumerate(modes):
        Y[:, mode] = einsum("bhe,hed->bhd", X[:, mode], R[..., j])
    return torch.fft.irfft(Y, n=q.shape[1], dim=1)


def cross_bins(q: Tensor, k: Tensor, v: Tensor, modes: list[int], modes_kv: list[int], R: Tensor) -> Tensor:
    of = lambda x, modes: torch.fft.rfft(x, dim=1)[:, modes]  # noqa: E731
    QK = einsum("bjhe,bihe->bhji", of(q, modes), of(k, modes_kv))
    X = einsum("bhji,bihe->bjhe", torch.complex(QK.real.tanh(), QK.imag.tanh()), of(v, modes_kv))
    Y = torch.zeros(len(q), L // 2 + 1, H, E, dtype=X.dtype)
    for j, mode in enumerate(modes):
        Y[:, mode] = einsum("bhe,hed->bhd", X[:, j], R[..., j])
    return torch.fft.irfft(Y, n=L, dim=1)


def averages(x: Tensor, kernel: int) -> Tensor:
    ends = x[:, :1].repeat(1, kernel // 2, 1), x[:, -1:].repeat(1, (kernel - 1) // 2, 1)
    padded = torch.cat([ends[0], x, ends[1]], 1)
    return x - torch.nn.functional.avg_pool1d(padded.mT, kernel, stride=1).mT


def feed(layer: TimeXerLayer, x: Tensor) -> Tensor:
    return layer.ffn.down(torch.nn.functional.gelu(layer.ffn.up(x)))


def project(layer: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    q, k, v = layer.query(x), layer.key(y), layer.value(y)
    heads = attend(*(z.view(len(z), -1, H, E) for z in (q, k, v)))
    return layer.out(heads.reshape(x.shape))


def patches_and_global(layer: TimeXerLayer, x: Tensor, exogenous: Tensor) -> Tensor:
    rows = x.view(-1, *x.shape[2:])
    rows = layer.norm1(rows + project(layer.self_attention, rows, rows))
    last = rows[:, -1].view(B, V, M)
    last = layer.norm2(last + project(layer.cross_attention, last, exogenous))
    rows = torch.cat([rows[:, :-1], last.view(-1, 1, M)], 1)
    return layer.norm3(rows + feed(layer, rows)).view_as(x)


def experts(net: TemporalClusters, x: Tensor) -> Tensor:
    """All experts one after another, then the chosen two."""
    raw = x.mT
    scores = net.router.scores.down(torch.relu(net.router.scores.up(raw))) @ net.router.W_h
    best, which = softmax(scores, -1).topk(net.router.k, -1)
    gates = torch.zeros_like(scores).scatter(-1, which, best / best.sum(-1, keepdim=True))
    mu = x.mean(1, keepdim=True)
    z = (x - mu) / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
    seasonal = averages(z, net.kernel)
    trend = z - seasonal
    out = torch.zeros(B, V, M)
    for n, expert in enumerate(net.experts):
        out = out + gates[..., n, None] * (expert.seasonal(seasonal.mT) + expert.trend(trend.mT))
    return out


def links(net: ChannelMask, x: Tensor) -> Tensor:
    size = torch.fft.rfft(x).abs()
    near = torch.zeros(B, V, V)
    for i in range(V):
        for j in range(V):
            if i != j:
                near[:, i, j] = 1 / (((size[:, i] - size[:, j]) @ net.A.mT).square().sum(-1) + 1e-10)
    p = 0.99 * near / near.amax(-1, keepdim=True)
    return ((p >= 0.5) | torch.eye(V, dtype=torch.bool)).float()


def masked(q: Tensor, k: Tensor, v: Tensor, keep: Tensor) -> Tensor:
    scores = einsum("blhe,bshe->bhls", q, k).masked_fill(keep[:, None] == 0, -torch.inf)
    return einsum("bhls,bshe->blhe", softmax(scores / E**0.5, -1), v)


def pairs() -> dict[str, Pair]:
    """Name of each operator → ours and the textbook form, on the same numbers."""
    q, k, v = (torch.randn(B, L, H, E) for _ in range(3))
    x, x_wide, tokens = torch.randn(B, L, V), torch.randn(B, L, M), torch.randn(B, V, 7, M)
    tau, delta, few = torch.rand(B, 1) + 0.5, torch.randn(B, L), [z[:, :V] for z in (q, k, v)]
    sparse = ProbSparse(L, L, 5)
    block, cross = FourierBlock(M, H, L), FourierCrossAttention(M, H, L, L)
    inverted, layer, clusters, mask = InvertedEmbedding(L, M), TimeXerLayer(M, H, 4 * M), TemporalClusters(
        L, V, M), ChannelMask(L)
    keep, R, R_cross = mask(x.mT).detach(), paper_weights(block), paper_weights(cross)
    kept, kept_kv = cross.modes.tolist(), cross.modes_kv.tolist()
    split = lambda h: h.view(B, V, H, E)  # noqa: E731
    between = lambda f: lambda: (lambda z: f(z, z, z))(split(inverted(x)))  # noqa: E731
    plain = lambda: attend(*[split(inverted.value(x.mT))] * 3)  # noqa: E731
    return {
        "full attention": (lambda: scaled_dot_product(q, k, v), lambda: attend(q, k, v)),
        "de-stationary attention": (lambda: destationary_attention(q, k, v, tau, delta),
                                    lambda: steered(q, k, v, tau, delta)),
        "ProbSparse": (lambda: sparse(q, k, v), lambda: sampled(q, k, v, sparse.index_sample, sparse.u)),
        "Auto-Correlation": (lambda: auto_correlation(q, k, v, 3), lambda: delays(q, k, v, number_of_delays(L, 3))),
        "decomposition, kernel 25": (lambda: series_decomp(x_wide, 25)[0], lambda: averages(x_wide, 25)),
        "Fourier block": (lambda: block(q), lambda: bins(q, block.modes.tolist(), R)),
        "Fourier cross-attention": (lambda: cross(q / 10, k / 10, v),
                                    lambda: cross_bins(q / 10, k / 10, v, kept, kept_kv, R_cross)),
        "attention between variables": (between(scaled_dot_product), plain),
        "patches and global token": (lambda: layer(tokens, tokens[:, :, 0]),
                                     lambda: patches_and_global(layer, tokens, tokens[:, :, 0])),
        "router and experts": (lambda: clusters(x)[0], lambda: experts(clusters, x)),
        "links between variables": (lambda: mask(x.mT), lambda: links(mask, x.mT)),
        "linked attention": (lambda: channel_attention(*few, keep), lambda: masked(*few, keep)),
    }


def compare(name: str, ours: Callable[[], Tensor], textbook: Callable[[], Tensor]) -> None:
    """Both must agree; then one line with their times in turn."""
    want = textbook()
    assert torch.allclose(ours(), want, rtol=0, atol=1e-4 * float(want.abs().max())), name
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "textbook": []}
    for round_ in range(2 * ROUNDS):
        which, call = (("ours", ours), ("textbook", textbook))[(round_ + round_ // 2) % 2]
        start = time.perf_counter(), time.process_time()
        call()
        times[which].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    best, processor = ({w: f(1000 * torch.tensor(rounds)[:, column]) for w, rounds in times.items()}
                       for f, column in ((torch.min, 0), (torch.median, 1)))
    ratio = float(processor["textbook"] / processor["ours"])
    print(f"{name:28}" + "".join(f"{float(table[w]):10.2f}" for table in (best, processor) for w in times)
          + f"{cost.peak_mib(ours):9.1f}{cost.peak_mib(textbook):9.1f}   {ratio:5.2f}"
          + ("   SLOWER" if ratio < SAME else ""), flush=True)


def keep_freed_memory() -> None:
    """Tell glibc neither to map large blocks one by one nor to hand freed ones back; elsewhere nothing is done."""
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        for option, size in ((-3, 2**30), (-1, 2**31 - 1)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            ctypes.CDLL(None).mallopt(option, size)


def main() -> None:
    keep_freed_memory()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    print(f"B={B}, L={L}, width {M}, {H} heads, {V} variables: ms best, ms processor, peak MiB; ours and textbook")
    print(f"{'operator':28}{'best':>10}{'':10}{'processor':>10}{'':10}{'peak':>9}{'':9}   times as fast")
    with torch.no_grad():
        for name, (ours, textbook) in pairs().items():
            compare(name, ours, textbook)
    print(f"\nexponents fitted from {cost.FITTED[0]} to {cost.FITTED[-1]}, one thread")
    print(f"{'grows':7}{'operator':28}{'promise':14}{'formula':>9}{'time':>9}{'memory':>9}")
    for fit in cost.fits(Results(tuple(cost.rows()), {})):
        print(f"{fit['grows']:7}{fit['operator']:28}{fit['promise']:14}{fit['formula']:9.2f}{fit['time']:9.2f}"
              f"{fit['memory']:9.2f}", flush=True)


if __name__ == "__main__":
    main()
