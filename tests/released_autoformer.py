"""Autoformer once more, straight from a state dict with the released names, without this package.

`forecast` takes the attention as a function of (q, k, v), so that the rest serves other models with the same layers.
"""

import math

import torch
import torch.nn.functional as F
from released import table
from torch import Tensor


def random_state(V=3, M=10, d_ff=7, e_layers=1, d_layers=2, marks=4, rows=64, calendar=None, dtype=torch.float32,
                 seed=0) -> dict[str, Tensor]:
    """A state dict as the released model would save it, the unused table of sinusoids cut to `rows`."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=g, dtype=dtype) * 0.4

    state = {}
    for side in ("enc", "dec"):
        state[f"{side}_embedding.value_embedding.tokenConv.weight"] = draw(M, V, 3)
        state[f"{side}_embedding.position_embedding.pe"] = table(rows, M).to(dtype)[None]
        if calendar is None:
            state[f"{side}_embedding.temporal_embedding.embed.weight"] = draw(M, marks)
        else:
            end = "_embed.weight" if calendar == "learned" else "_embed.emb.weight"
            for name, size in {"hour": 24, "weekday": 7, "day": 32, "month": 13}.items():
                state[f"{side}_embedding.temporal_embedding.{name}{end}"] = draw(size, M)
    layers = [(f"encoder.attn_layers.{i}", ["attention"]) for i in range(e_layers)]
    layers += [(f"decoder.layers.{i}", ["self_attention", "cross_attention"]) for i in range(d_layers)]
    for layer, attentions in layers:
        for attention in attentions:
            for part in ("query", "key", "value", "out"):
                state |= {f"{layer}.{attention}.{part}_projection.weight": draw(M, M),
                          f"{layer}.{attention}.{part}_projection.bias": draw(M)}
        state |= {f"{layer}.conv1.weight": draw(d_ff, M, 1), f"{layer}.conv2.weight": draw(M, d_ff, 1)}
        if layer.startswith("decoder"):
            state[f"{layer}.projection.weight"] = draw(V, M, 3)
    for norm in ("encoder.norm", "decoder.norm"):
        state |= {f"{norm}.layernorm.weight": 1 + draw(M), f"{norm}.layernorm.bias": draw(M)}
    return {**state, "decoder.projection.weight": draw(V, M), "decoder.projection.bias": draw(V)}


def auto_correlation(q, k, v, factor=1, training=False, released=True):
    """(B, L, H, E) each; in training the delays are those of the batch. `released` lags at odd L are one short."""
    L = q.shape[1]
    k, v = (torch.cat([x[:, :L], x.new_zeros(x.shape[0], max(L - x.shape[1], 0), *x.shape[2:])], 1) for x in (k, v))
    spectra = torch.fft.fft(q, dim=1) * torch.fft.fft(k, dim=1).conj()
    if released and L % 2:
        half = spectra[:, :L // 2 + 1]  # read as the spectrum of L - 1 points
        R = torch.stack([sum((1 if f in (0, L // 2) else 2) *
                             (half[:, f] * complex(math.cos(2 * math.pi * f * lag / (L - 1)),
                                                   math.sin(2 * math.pi * f * lag / (L - 1)))).real
                             for f in range(L // 2 + 1)) / (L - 1) for lag in range(L - 1)], 1)
    else:
        R = torch.fft.ifft(spectra, dim=1).real
    mean = R.mean((2, 3))
    kept = int(factor * math.log(L))
    out = torch.zeros_like(v)
    for b in range(len(q)):
        ranking = mean.mean(0) if training else mean[b]
        delays = ranking.argsort(descending=True)[:kept]
        for A, lag in zip(mean[b, delays].softmax(0), delays, strict=True):
            out[b] += A * v[b].roll(-int(lag), 0)
    return out


def decompose(x, kernel):
    """The moving average of an odd kernel, and what is left."""
    reach = (kernel - 1) // 2
    long = torch.cat([x[:, :1]] * reach + [x] + [x[:, -1:]] * reach, 1)
    trend = torch.stack([long[:, t:t + kernel].mean(1) for t in range(x.shape[1])], 1)
    return x - trend, trend


def forecast(w, x, marks, future_marks, *, H, label_len, pred_len, kernel=25, act=F.gelu,
             attend=auto_correlation) -> Tensor:
    """The released forecast; `w` is the state dict."""
    T = x.shape[1]

    def linear(name, z):
        return z @ w[f"{name}.weight"].reshape(w[f"{name}.weight"].shape[:2]).T + w.get(f"{name}.bias", 0)

    def norm(name, z):
        z = F.layer_norm(z, z.shape[-1:], w[f"{name}.layernorm.weight"], w[f"{name}.layernorm.bias"])
        return z - z.mean(1, keepdim=True)

    def circle(taps, z):
        return sum(z.roll(1 - j, 1) @ taps[:, :, j].T for j in range(3))

    def embed(side, z, m):
        h = circle(w[f"{side}_embedding.value_embedding.tokenConv.weight"], z)
        time = f"{side}_embedding.temporal_embedding"
        if f"{time}.embed.weight" in w:
            return h + linear(f"{time}.embed", m)
        for i, column in enumerate(["month", "day", "weekday", "hour"]):
            rows = w.get(f"{time}.{column}_embed.weight", w.get(f"{time}.{column}_embed.emb.weight"))
            h = h + rows[m[..., i].long()]
        return h

    def attention(name, a, b):
        q, k, v = (linear(f"{name}.{part}_projection", z).unflatten(-1, (H, -1))
                   for part, z in (("query", a), ("key", b), ("value", b)))
        return linear(f"{name}.out_projection", attend(q, k, v).flatten(2))

    def feed(layer, z):
        return linear(f"{layer}.conv2", act(linear(f"{layer}.conv1", z)))

    seasonal, trend = decompose(x, kernel)
    future = x.mean(1, keepdim=True).expand(-1, pred_len, -1)
    trend = torch.cat([trend[:, T - label_len:], future], 1)
    seasonal = torch.cat([seasonal[:, T - label_len:], torch.zeros_like(future)], 1)
    h = embed("enc", x, marks)
    for layer in sorted({".".join(key.split(".")[:3]) for key in w if key.startswith("encoder.attn_layers")}):
        h, _ = decompose(h + attention(f"{layer}.attention", h, h), kernel)
        h, _ = decompose(h + feed(layer, h), kernel)
    h, g = norm("encoder.norm", h), embed("dec", seasonal, future_marks)
    for layer in sorted({".".join(key.split(".")[:3]) for key in w if key.startswith("decoder.layers")}):
        g, t1 = decompose(g + attention(f"{layer}.self_attention", g, g), kernel)
        g, t2 = decompose(g + attention(f"{layer}.cross_attention", g, h), kernel)
        g, t3 = decompose(g + feed(layer, g), kernel)
        trend = trend + circle(w[f"{layer}.projection.weight"], t1 + t2 + t3)
    return (linear("decoder.projection", norm("decoder.norm", g)) + trend)[:, label_len:]
