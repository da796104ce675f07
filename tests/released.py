"""The Non-stationary Transformer once more, straight from a state dict with the released names.

Random weights at any sizes, and the equations in plain functions of the state dict, without this package.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def random_state(V=3, M=10, d_ff=7, T=11, e_layers=1, d_layers=2, hidden=(5, 13), marks=4, rows=64, calendar=None,
                 dtype=torch.float32, seed=0) -> dict[str, Tensor]:
    """A state dict as the released model would save it, the table of sinusoids cut to `rows`."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=g, dtype=dtype) * 0.4

    def linear(name, out, inner, bias=True):
        return {f"{name}.weight": draw(out, inner)} | ({f"{name}.bias": draw(out)} if bias else {})

    state = {}
    for side in ("enc", "dec"):
        state[f"{side}_embedding.value_embedding.tokenConv.weight"] = draw(M, V, 3)
        state[f"{side}_embedding.position_embedding.pe"] = table(rows, M).to(dtype)[None]
        if calendar is None:
            state |= linear(f"{side}_embedding.temporal_embedding.embed", M, marks, bias=False)
        else:
            for name, size in {"minute": 4, "hour": 24, "weekday": 7, "day": 32, "month": 13}.items():
                end = "_embed.weight" if calendar == "learned" else "_embed.emb.weight"
                if name != "minute" or marks == 5:
                    state[f"{side}_embedding.temporal_embedding.{name}{end}"] = draw(size, M)
    layers = [(f"encoder.attn_layers.{i}", ["attention"]) for i in range(e_layers)]
    layers += [(f"decoder.layers.{i}", ["self_attention", "cross_attention"]) for i in range(d_layers)]
    for layer, attentions in layers:
        for attention in attentions:
            for part in ("query", "key", "value", "out"):
                state |= linear(f"{layer}.{attention}.{part}_projection", M, M)
        state |= {f"{layer}.conv1.weight": draw(d_ff, M, 1), f"{layer}.conv1.bias": draw(d_ff),
                  f"{layer}.conv2.weight": draw(M, d_ff, 1), f"{layer}.conv2.bias": draw(M)}
        for i in range(1, len(attentions) + 2):
            state |= {f"{layer}.norm{i}.weight": 1 + draw(M), f"{layer}.norm{i}.bias": draw(M)}
    for norm in ("encoder.norm", "decoder.norm"):
        state |= {f"{norm}.weight": 1 + draw(M), f"{norm}.bias": draw(M)}
    state |= linear("decoder.projection", V, M)
    for name, out in (("tau_learner", 1), ("delta_learner", T)):
        state[f"{name}.series_conv.weight"] = draw(1, T, 3)
        for i, (a, b) in enumerate(zip([2 * V, *hidden], [*hidden, out], strict=True)):
            state |= linear(f"{name}.backbone.{2 * i}", b, a, bias=i < len(hidden))
    return state


def table(rows, M):
    row = [[(math.cos if m % 2 else math.sin)(t / 10000 ** ((m - m % 2) / M)) for m in range(M)] for t in range(rows)]
    return torch.tensor(row)


def forecast(w, x, marks, future_marks, *, H, label_len, pred_len, act=F.gelu) -> Tensor:
    """The released forecast, log τ cut at 80 from above."""
    B, T, _ = x.shape

    def linear(name, z):
        return z @ w[f"{name}.weight"].reshape(w[f"{name}.weight"].shape[:2]).T + w.get(f"{name}.bias", 0)

    def norm(name, z):
        return F.layer_norm(z, z.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    def learner(name, s):
        taps = w[f"{name}.series_conv.weight"][0]
        c = sum(torch.einsum("t,btv->bv", taps[:, j], x.roll(1 - j, 2)) for j in range(3))
        z = torch.cat([c, s[:, 0]], 1)
        last = max(int(key.split(".")[2]) for key in w if key.startswith(f"{name}.backbone."))
        for i in range(0, last, 2):
            z = linear(f"{name}.backbone.{i}", z).relu()
        return linear(f"{name}.backbone.{last}", z)

    def embed(side, z, m):
        taps = w[f"{side}_embedding.value_embedding.tokenConv.weight"]
        h = sum(z.roll(1 - j, 1) @ taps[:, :, j].T for j in range(3))
        h = h + w[f"{side}_embedding.position_embedding.pe"][:, :z.shape[1]]
        time = f"{side}_embedding.temporal_embedding"
        if m is not None and f"{time}.embed.weight" in w:
            return h + linear(f"{time}.embed", m)
        for i, column in enumerate(["month", "day", "weekday", "hour", "minute"][:0 if m is None else m.shape[-1]]):
            rows = w.get(f"{time}.{column}_embed.weight", w.get(f"{time}.{column}_embed.emb.weight"))
            h = h + rows[m[..., i].long()]
        return h

    def attention(name, a, b, d, causal=False):
        q, k, v = (linear(f"{name}.{part}_projection", z).unflatten(-1, (H, -1)).transpose(1, 2)
                   for part, z in (("query", a), ("key", b), ("value", b)))
        scores = q @ k.mT * tau[:, :, None, None] + (0 if d is None else d[:, None, None, :])
        if causal:
            scores = scores + torch.full(scores.shape[-2:], -math.inf, dtype=x.dtype).triu(1)
        A = (scores / math.sqrt(q.shape[-1])).softmax(-1)
        return linear(f"{name}.out_projection", (A @ v).transpose(1, 2).flatten(2))

    def feed(layer, z):
        return linear(f"{layer}.conv2", act(linear(f"{layer}.conv1", z)))

    mu = x.mean(1, keepdim=True)
    sigma = (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    tau, delta = learner("tau_learner", sigma).clamp(max=80).exp(), learner("delta_learner", mu)
    z = (x - mu) / sigma
    start = torch.cat([z[:, T - label_len:], torch.zeros_like(x[:, :1]).expand(B, pred_len, -1)], 1)
    h = embed("enc", z, marks)
    for layer in sorted({".".join(key.split(".")[:3]) for key in w if key.startswith("encoder.attn_layers")}):
        h = norm(f"{layer}.norm1", h + attention(f"{layer}.attention", h, h, delta))
        h = norm(f"{layer}.norm2", h + feed(layer, h))
    h, g = norm("encoder.norm", h), embed("dec", start, future_marks)
    for layer in sorted({".".join(key.split(".")[:3]) for key in w if key.startswith("decoder.layers")}):
        g = norm(f"{layer}.norm1", g + attention(f"{layer}.self_attention", g, g, None, causal=True))
        g = norm(f"{layer}.norm2", g + attention(f"{layer}.cross_attention", g, h, delta))
        g = norm(f"{layer}.norm3", g + feed(layer, g))
    return (linear("decoder.projection", norm("decoder.norm", g)) * sigma + mu)[:, -pred_len:]
