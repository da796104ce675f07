"""Informer once more, straight from a state dict with the released names and in plain loops, without this package."""

import math

import torch
import torch.nn.functional as F
from released import random_state as nonstationary_state
from torch import Tensor


def random_state(V, M, d_ff, e_layers, d_layers, distil=True, marks=4, seed=0) -> dict[str, Tensor]:
    """A state dict as the released model would save it."""
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=g) * 0.4

    whole = nonstationary_state(V, M, d_ff, 3, e_layers, d_layers, marks=marks, seed=seed)
    state = {name: t for name, t in whole.items() if "_learner." not in name}
    for i in range(e_layers - 1 if distil else 0):
        layer = f"encoder.conv_layers.{i}"
        state |= {f"{layer}.downConv.weight": draw(M, M, 3), f"{layer}.downConv.bias": draw(M),
                  f"{layer}.norm.weight": 1 + draw(M), f"{layer}.norm.bias": draw(M),
                  f"{layer}.norm.running_mean": draw(M), f"{layer}.norm.running_var": draw(M).square() + 0.1,
                  f"{layer}.norm.num_batches_tracked": torch.tensor(7)}
    return state


def size(factor, n):
    return min(factor * math.ceil(math.log(n)), n)


def halved(L):
    """Circular padding of 2, a kernel of 3, then every second step."""
    return (L + 1) // 2 + 1


def lengths(T, e_layers, distil=True):
    """Steps that every encoder layer reads, and those the decoder reads."""
    found = [T]
    for _ in range(e_layers - 1):
        found.append(halved(found[-1]) if distil else found[-1])
    return found


def choose(q, k, index, u):
    """For every window and head the u rows of largest M, M itself, for (B, H, L, E)."""
    B, H, L, _ = q.shape
    M = torch.zeros(B, H, L, dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            for i in range(L):
                met = [float(q[b, h, i] @ k[b, h, j]) for j in index[i].tolist()]
                M[b, h, i] = max(met) - sum(met) / k.shape[2]
    rows = [[set(M[b, h].topk(u).indices.tolist()) for h in range(H)] for b in range(B)]
    if H == 1:  # the released squeeze takes the batch for the heads
        rows = [[set().union(*(row[0] for row in rows))]] * B
    return rows, M


def attend(q, k, v, index, u, causal) -> Tensor:
    """(B, H, L, E) from (B, H, ·, E)."""
    rows, _ = choose(q, k, index, u)
    out = torch.zeros(*q.shape[:3], v.shape[-1], dtype=v.dtype)
    for b, heads in enumerate(rows):
        for h, chosen in enumerate(heads):
            for i in range(q.shape[2]):
                seen = i + 1 if causal else k.shape[2]
                if i in chosen:
                    A = (k[b, h, :seen] @ q[b, h, i] / math.sqrt(q.shape[-1])).softmax(0)
                    out[b, h, i] = sum(a * value for a, value in zip(A, v[b, h], strict=False))
                else:
                    out[b, h, i] = v[b, h, :seen].sum(0) if causal else v[b, h].mean(0)
    return out


def forecast(w, x, marks, x_dec, future_marks, samples, *, H, factor, pred_len, short=False, act=F.gelu) -> Tensor:
    """The released forecast; `samples` in the order of the computation."""
    samples = iter(samples)

    def linear(name, z):
        return z @ w[f"{name}.weight"].reshape(w[f"{name}.weight"].shape[:2]).T + w.get(f"{name}.bias", 0)

    def norm(name, z):
        return F.layer_norm(z, z.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    def embed(side, z, m):
        taps = w[f"{side}_embedding.value_embedding.tokenConv.weight"]
        h = sum(z.roll(1 - j, 1) @ taps[:, :, j].T for j in range(3))
        h = h + w[f"{side}_embedding.position_embedding.pe"][:, :z.shape[1]]
        return h if m is None else h + linear(f"{side}_embedding.temporal_embedding.embed", m)

    def attention(name, a, b, causal=False):
        q, k, v = (linear(f"{name}.{part}_projection", z).unflatten(-1, (H, -1)).transpose(1, 2)
                   for part, z in (("query", a), ("key", b), ("value", b)))
        heads = attend(q, k, v, next(samples), size(factor, a.shape[1]), causal)
        return linear(f"{name}.out_projection", heads.reshape(*a.shape))  # heads first, read as if time were

    def feed(layer, z):
        return linear(f"{layer}.conv2", act(linear(f"{layer}.conv1", z)))

    def distil(layer, z):
        L, taps = z.shape[1], w[f"{layer}.downConv.weight"]
        rows = [sum(z[:, (t + j - 2) % L] @ taps[:, :, j].T for j in range(3)) + w[f"{layer}.downConv.bias"]
                for t in range(L + 2)]
        scale = w[f"{layer}.norm.weight"] / (w[f"{layer}.norm.running_var"] + 1e-5).sqrt()
        rows = [F.elu((row - w[f"{layer}.norm.running_mean"]) * scale + w[f"{layer}.norm.bias"]) for row in rows]
        return torch.stack([torch.stack(rows[max(t - 1, 0):t + 2]).amax(0) for t in range(0, L + 2, 2)], 1)

    mu, sigma = 0, 1
    if short:
        mu, sigma = x.mean(1, keepdim=True), (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    h = embed("enc", (x - mu) / sigma, marks)
    layers = sorted({".".join(key.split(".")[:3]) for key in w if key.startswith("encoder.attn_layers")})
    for i, layer in enumerate(layers):
        h = norm(f"{layer}.norm1", h + attention(f"{layer}.attention", h, h))
        h = norm(f"{layer}.norm2", h + feed(layer, h))
        if f"encoder.conv_layers.{i}.norm.weight" in w:
            h = distil(f"encoder.conv_layers.{i}", h)
    h, g = norm("encoder.norm", h), embed("dec", x_dec, future_marks)
    for layer in sorted({".".join(key.split(".")[:3]) for key in w if key.startswith("decoder.layers")}):
        g = norm(f"{layer}.norm1", g + attention(f"{layer}.self_attention", g, g, causal=True))
        g = norm(f"{layer}.norm2", g + attention(f"{layer}.cross_attention", g, h))
        g = norm(f"{layer}.norm3", g + feed(layer, g))
    return (linear("decoder.projection", norm("decoder.norm", g)) * sigma + mu)[:, -pred_len:]
