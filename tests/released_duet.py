"""DUET once more, straight from a state dict with the released names: plain float64 code without this package."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

EPS = 1e-10


def random_state(V=3, M=6, d_ff=7, T=11, F=4, N=3, hidden=5, e_layers=2, seed=0, dtype=torch.float32):
    """A state dict as the released model would save it."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape, scale=0.4):
        return torch.randn(*shape, generator=g, dtype=dtype) * scale

    def linear(name, out, inner, bias=True):
        return {f"{name}.weight": draw(out, inner)} | ({f"{name}.bias": draw(out)} if bias else {})

    state = {"cluster.W_h": torch.eye(N, dtype=dtype) + draw(N, N), "cluster.mean": torch.zeros(1, dtype=dtype),
             "cluster.std": torch.ones(1, dtype=dtype), "mask_generator.A": draw(T // 2 + 1, T // 2 + 1),
             "cluster.revin.affine_weight": 1 + draw(V), "cluster.revin.affine_bias": draw(V)}
    for n in range(N):
        for part in ("Seasonal", "Trend"):
            state |= linear(f"cluster.experts.{n}.Linear_{part}", M, T)
    for net in ("gate", "noise"):
        state |= linear(f"cluster.{net}.distribution_fit.0", hidden, T, bias=False)
        state |= linear(f"cluster.{net}.distribution_fit.2", N, hidden, bias=False)
    for i in range(e_layers):
        layer = f"Channel_transformer.attn_layers.{i}"
        for part in ("query", "key", "value", "out"):
            state |= linear(f"{layer}.attention.{part}_projection", M, M)
        state |= {f"{layer}.conv1.weight": draw(d_ff, M, 1), f"{layer}.conv1.bias": draw(d_ff),
                  f"{layer}.conv2.weight": draw(M, d_ff, 1), f"{layer}.conv2.bias": draw(M)}
        for norm in ("norm1", "norm2"):
            state |= {f"{layer}.{norm}.weight": 1 + draw(M), f"{layer}.{norm}.bias": draw(M)}
    state |= {"Channel_transformer.norm.weight": 1 + draw(M), "Channel_transformer.norm.bias": draw(M)}
    return state | linear("linear_head.0", F, M)


def forecast(w: dict[str, Tensor], x: Tensor, e: Tensor, *, H: int, k: int, kernel: int, per_variable: bool = True,
             act=F.gelu) -> tuple[Tensor, Tensor, Tensor]:
    """The released forecast in evaluation mode, its balance loss and its gates, rows in the order (b, v)."""
    B, T, V = x.shape
    M, N = w["linear_head.0.weight"].shape[1], w["cluster.W_h"].shape[0]
    windows = x.mT.reshape(B * V, T) if per_variable else x.mean(2)
    gate = "cluster.gate.distribution_fit"
    p = ((windows @ w[f"{gate}.0.weight"].T).relu() @ w[f"{gate}.2.weight"].T).softmax(-1)
    gates = torch.zeros_like(p)
    for row, line in enumerate(p):
        chosen = sorted(range(N), key=lambda n: -float(line[n]))[:k]
        for n in chosen:
            gates[row, n] = line[n] / (line[chosen].sum() + 1e-6)
    balance = sum(s.var() / (s.mean() ** 2 + EPS) for s in (gates.sum(0), (gates > 0).sum(0).to(x))) if N > 1 else 0.0

    mu, sigma = x.mean(1, keepdim=True), (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    a, b = w["cluster.revin.affine_weight"], w["cluster.revin.affine_bias"]
    z = (x - mu) / sigma * a + b
    h = torch.zeros(B, V, M, dtype=x.dtype)
    half = (kernel - 1) // 2
    for i in range(B):
        for v in range(V):
            long = torch.cat([z[i, :1, v].expand(half), z[i, :, v], z[i, -1:, v].expand(half)])
            trend = torch.stack([long[t:t + kernel].mean() for t in range(T)])
            for n in range(N):
                said = w[f"cluster.experts.{n}.Linear_Seasonal.bias"] + w[f"cluster.experts.{n}.Linear_Trend.bias"]
                said = said + w[f"cluster.experts.{n}.Linear_Seasonal.weight"] @ (z[i, :, v] - trend)
                said = said + w[f"cluster.experts.{n}.Linear_Trend.weight"] @ trend
                h[i, v] += gates[i * V + v if per_variable else i, n] * said
    if V > 1:
        h = _relate(w, h, _mask(w["mask_generator.A"], x.mT, e), H, act)
    y = (h @ w["linear_head.0.weight"].T + w["linear_head.0.bias"]).mT
    return (y - b) / (a + EPS) * sigma + mu, torch.as_tensor(balance), gates


def _mask(A: Tensor, series: Tensor, e: Tensor) -> Tensor:
    B, V, _ = series.shape
    spectrum = torch.fft.rfft(series).abs()
    mask = torch.zeros(B, V, V, dtype=series.dtype)
    e = e.reshape(B, V, V, 2)
    for b in range(B):
        for i in range(V):
            near = [0.0 if i == j else 1 / (float((A @ (spectrum[b, i] - spectrum[b, j])).square().sum()) + EPS)
                    for j in range(V)]
            for j in range(V):
                p = 0.99 * (1.0 if i == j else near[j] / max(near))
                logit = math.log(p / (1 - p))
                mask[b, i, j] = float(logit - math.log(e[b, i, j, 0]) > -logit - math.log(e[b, i, j, 1]))
    return mask


def _relate(w, h, mask, H, act):
    def linear(name, z):
        return z @ w[f"{name}.weight"].reshape(w[f"{name}.weight"].shape[:2]).T + w[f"{name}.bias"]

    def norm(name, z):
        return F.layer_norm(z, z.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    for layer in sorted({".".join(name.split(".")[:3]) for name in w if name.startswith("Channel_transformer.attn")}):
        q, k, v = (linear(f"{layer}.attention.{part}_projection", h).unflatten(-1, (H, -1)).transpose(1, 2)
                   for part in ("query", "key", "value"))
        scores = q @ k.mT * mask[:, None] - math.log(1e10) * (1 - mask[:, None])
        A = (scores / math.sqrt(q.shape[-1])).softmax(-1)
        h = norm(f"{layer}.norm1", h + linear(f"{layer}.attention.out_projection", (A @ v).transpose(1, 2).flatten(2)))
        h = norm(f"{layer}.norm2", h + linear(f"{layer}.conv2", act(linear(f"{layer}.conv1", h))))
    return norm("Channel_transformer.norm", h)
