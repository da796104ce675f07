"""iTransformer and TimeXer once more, straight from a state dict with the released names.

Random weights at any sizes, and the equations in plain functions of the state dict, without this package.
"""

import math

import torch
import torch.nn.functional as F
from released import table
from torch import Tensor


def _draws(seed, dtype):
    g = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=g, dtype=dtype) * 0.4

    def linear(name, out, inner, bias=True):
        return {f"{name}.weight": draw(out, inner)} | ({f"{name}.bias": draw(out)} if bias else {})

    return draw, linear


def _layer(draw, linear, name, attentions, M, d_ff):
    state = {f"{name}.conv1.weight": draw(d_ff, M, 1), f"{name}.conv1.bias": draw(d_ff),
             f"{name}.conv2.weight": draw(M, d_ff, 1), f"{name}.conv2.bias": draw(M)}
    for attention in attentions:
        for part in ("query", "key", "value", "out"):
            state |= linear(f"{name}.{attention}.{part}_projection", M, M)
    for i in range(1, len(attentions) + 2):
        state |= {f"{name}.norm{i}.weight": 1 + draw(M), f"{name}.norm{i}.bias": draw(M)}
    return state


def itransformer_state(T=7, pred_len=5, M=10, d_ff=11, e_layers=2, dtype=torch.float32, seed=0) -> dict[str, Tensor]:
    draw, linear = _draws(seed, dtype)
    state = linear("enc_embedding.value_embedding", M, T)
    for i in range(e_layers):
        state |= _layer(draw, linear, f"encoder.attn_layers.{i}", ["attention"], M, d_ff)
    state |= {"encoder.norm.weight": 1 + draw(M), "encoder.norm.bias": draw(M)}
    return state | linear("projection", pred_len, M)


def timexer_state(T=7, pred_len=5, M=10, d_ff=11, e_layers=2, p=3, N=1, rows=64, dtype=torch.float32,
                  seed=0) -> dict[str, Tensor]:
    """`N` targets with patches of `p` steps, the table of sinusoids cut to `rows`."""
    draw, linear = _draws(seed, dtype)
    state = {"en_embedding.glb_token": draw(1, N, 1, M)} | linear("en_embedding.value_embedding", M, p, bias=False)
    state["en_embedding.position_embedding.pe"] = table(rows, M).to(dtype)[None]
    state |= linear("ex_embedding.value_embedding", M, T)
    for i in range(e_layers):
        state |= _layer(draw, linear, f"encoder.layers.{i}", ["self_attention", "cross_attention"], M, d_ff)
    state |= {"encoder.norm.weight": 1 + draw(M), "encoder.norm.bias": draw(M)}
    return state | linear("head.linear", pred_len, M * (T // p + 1))


def itransformer(w, x, marks=None, *, H, act=F.gelu) -> Tensor:
    """The released forecast; `w` is the state dict."""
    z, mu, sigma = _normalised(x)
    h = _linear(w, "enc_embedding.value_embedding", _columns(z, marks))
    for name in _layers(w, "encoder.attn_layers"):
        h = _norm(w, f"{name}.norm1", h + _attention(w, f"{name}.attention", h, h, H))
        h = _norm(w, f"{name}.norm2", h + _feed(w, name, h, act))
    y = _linear(w, "projection", _norm(w, "encoder.norm", h))[:, :x.shape[2]]
    return y.mT * sigma + mu


def timexer(w, x, marks=None, *, H, features, use_norm=True, act=F.gelu) -> Tensor:
    """The released forecast; where the patches do not divide the window, its newest steps are left out."""
    z, mu, sigma = _normalised(x) if use_norm else (x, torch.zeros(()), torch.ones(()))
    targets = z if features == "M" else z[..., -1:]
    (B, T, N), (M, p) = targets.shape, w["en_embedding.value_embedding.weight"].shape
    outside = _linear(w, "ex_embedding.value_embedding", _columns(z if features == "M" else z[..., :-1], marks))
    rows = []
    for n in range(N):
        patches = torch.stack([targets[:, i * p:(i + 1) * p, n] for i in range(T // p)], 1)
        h = _linear(w, "en_embedding.value_embedding", patches) + w["en_embedding.position_embedding.pe"][:, :T // p]
        h = torch.cat([h, w["en_embedding.glb_token"][:, n].expand(B, 1, M)], 1)
        for name in _layers(w, "encoder.layers"):
            h = _norm(w, f"{name}.norm1", h + _attention(w, f"{name}.self_attention", h, h, H))
            last = h[:, -1:]
            last = _norm(w, f"{name}.norm2", last + _attention(w, f"{name}.cross_attention", last, outside, H))
            h = torch.cat([h[:, :-1], last], 1)
            h = _norm(w, f"{name}.norm3", h + _feed(w, name, h, act))
        rows.append(_linear(w, "head.linear", _norm(w, "encoder.norm", h).mT.flatten(1)))
    last = slice(None) if features == "M" or not use_norm else slice(-1, None)
    return torch.stack(rows, 2) * (sigma[..., last] if use_norm else 1) + (mu[..., last] if use_norm else 0)


def _normalised(x):
    mu, sigma = x.mean(1, keepdim=True), (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return (x - mu) / sigma, mu, sigma


def _columns(z, marks):
    return (z if marks is None else torch.cat([z, marks], 2)).mT


def _layers(w, prefix):
    depth = prefix.count(".") + 2
    return sorted({".".join(name.split(".")[:depth]) for name in w if name.startswith(f"{prefix}.")})


def _linear(w, name, z):
    return z @ w[f"{name}.weight"].reshape(w[f"{name}.weight"].shape[:2]).T + w.get(f"{name}.bias", 0)


def _norm(w, name, z):
    return F.layer_norm(z, z.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])


def _feed(w, name, z, act):
    return _linear(w, f"{name}.conv2", act(_linear(w, f"{name}.conv1", z)))


def _attention(w, name, a, b, H):
    q, k, v = (_linear(w, f"{name}.{part}_projection", z).unflatten(-1, (H, -1)).transpose(1, 2)
               for part, z in (("query", a), ("key", b), ("value", b)))
    A = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return _linear(w, f"{name}.out_projection", (A @ v).transpose(1, 2).flatten(2))
