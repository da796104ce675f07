"""Engram once more, straight from arrays with the released names, in Python integers and float64.

The conventions of `golden/README.md` in plain functions, without this package.
"""

import unicodedata
from math import sqrt

import numpy as np


def spelling(text, raw):
    if "\ufffd" in text:
        return raw
    bare = "".join(c.lower() for c in unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
                   if unicodedata.category(c) != "Mn")
    for c in "\t\r\n":
        bare = bare.replace(c, " ")
    while "  " in bare:
        bare = bare.replace("  ", " ")
    return " " if bare == " " else bare.strip() or text


def lookup(vocab):
    """The compressed id of every token, and how many there are."""
    found = {}
    return [found.setdefault(spelling(*pair), len(found)) for pair in vocab], len(found)


def prime(n):
    return n > 1 and all(n % d for d in range(2, n) if d * d <= n)


def plan(vocab, layer_ids, sizes, heads, seed):
    """Multipliers and primes of every layer."""
    size, N, used, made = lookup(vocab)[1], len(sizes) + 1, set(), {}
    for layer in layer_ids:
        half = (2**63 - 1) // size // 2
        odd = [2 * int(m) + 1 for m in np.random.default_rng(seed + 10007 * layer).integers(0, half, N)]
        primes = []
        for start in sizes:
            primes.append([])
            for _ in range(heads):
                p = start
                while p in used or not prime(p):
                    p += 1
                used.add(p)
                primes[-1].append(p)
        made[layer] = odd, primes
    return made


def hashes(ids, vocab, pad, multipliers, primes):
    """Compressed ids (B, L), mixes (B, L, orders) and rows of every head (B, L, orders · heads)."""
    table = lookup(vocab)[0]
    squeezed = [[table[i] if i >= 0 else i for i in row] for row in ids.tolist()]
    mixes, rows = [], []
    for row in squeezed:
        mixes.append([])
        rows.append([])
        for t in range(len(row)):
            mix, orders, heads = 0, [], []
            for back, m in enumerate(multipliers):
                mix ^= (row[t - back] if t >= back else table[pad]) * m
                if back:
                    orders.append(mix)
                    heads += [mix % p for p in primes[back - 1]]
            mixes[-1].append(orders)
            rows[-1].append(heads)
    return tuple(np.array(a, dtype=np.int64) for a in (squeezed, mixes, rows))


def norm(x, eps):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def forward(w, h, rows, primes, dilation):
    """The layer's output and what it passes through, given the rows of every head."""
    B, L, C, M = h.shape
    starts = np.cumsum([0, *(p for order in primes for p in order)])[:-1]
    e = w["multi_head_embedding.embedding.weight"][rows + starts].reshape(B, L, -1)
    v = e @ w["value_proj.weight"].T + w["value_proj.bias"]
    made = {"embeddings": e, "value_proj": v, "hash_ids": rows}
    keys, normed_key, normed_query, score, rooted, gated, conv_in, conv_raw = ([] for _ in range(8))
    taps = w["short_conv.conv.weight"][:, 0].reshape(C, M, -1)
    for c in range(C):
        keys.append(e @ w[f"key_projs.{c}.weight"].T + w[f"key_projs.{c}.bias"])
        normed_key.append(norm(keys[c], 2.0**-23) * w[f"norm1.{c}.weight"])
        normed_query.append(norm(h[:, :, c], 2.0**-23) * w[f"norm2.{c}.weight"])
        score.append((normed_key[c] * normed_query[c]).sum(-1) / sqrt(M))
        rooted.append(np.sign(score[c]) * np.sqrt(np.maximum(np.abs(score[c]), 1e-6)))
        gated.append(sigmoid(rooted[c])[..., None] * v)
        conv_in.append(norm(gated[c], 1e-5) * w[f"short_conv.norms.{c}.weight"])
        raw = np.zeros((B, L, M))
        for t in range(L):
            for tap in range(taps.shape[-1]):
                back = t - tap * dilation
                if back >= 0:
                    raw[:, t] += conv_in[c][:, back] * taps[c, :, -1 - tap]
        conv_raw.append(raw)
    for name, parts in (("keys", keys), ("normed_key", normed_key), ("normed_query", normed_query), ("score", score),
                        ("signed_sqrt", rooted), ("gated_value", gated)):
        made[name] = np.stack(parts, 2)
    for name, parts in (("conv_in", conv_in), ("conv_raw", conv_raw)):
        made[name] = np.stack(parts, 2).reshape(B, L, C * M).swapaxes(1, 2)
    raw = np.stack(conv_raw, 2)
    made["gates"] = sigmoid(made["signed_sqrt"])[..., None]
    made["conv_out"] = raw * sigmoid(raw)
    return {**made, "y": made["gated_value"] + made["conv_out"]}
