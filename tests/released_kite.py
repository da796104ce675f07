"""KITE once more, straight from arrays with the released names, in float64 and without this package.

Random weights at any sizes, and the conventions of `golden/README.md` in plain functions of those arrays.
"""

import math

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def silu(z):
    return z * sigmoid(z)


def gelu(z):
    return 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


def norm(z, eps):
    return (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + eps)


def lin(w, name, z):
    return z @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0)


# Random weights


def _linear(draw, name, out, inner, bias=True):
    return {f"{name}.weight": draw(out, inner)} | ({f"{name}.bias": draw(out)} if bias else {})


def attention_state(draw, M, D, prefix=""):
    w = {f"{prefix}pos_emb": draw(1, D, M), f"{prefix}prior_bias": draw(1)}
    for name in ("w1", "w2", "wk", "wv"):
        w |= _linear(draw, f"{prefix}{name}", M, M, bias=False)
    return w | _linear(draw, f"{prefix}proj.0", M, M) | _linear(draw, f"{prefix}proj.2", M, M)


def field_state(draw, *, T, F, D, M, depth, ratio, future, prefix=""):
    w = _linear(draw, "time_embed.mlp.0", M, 256) | _linear(draw, "time_embed.mlp.2", M, M)
    w |= _linear(draw, "input_proj", M, F) | _linear(draw, "x_exo_embedding", M, T)
    for side in "xy" if future else "x":
        for i in range(depth):
            block = f"cond_embed_{side}.{i}"
            w |= attention_state(draw, M, D, f"{block}.attn.") | _linear(draw, f"{block}.mlp.0", ratio * M, M)
            w |= _linear(draw, f"{block}.mlp.2", M, ratio * M) | _linear(draw, f"{block}.adaLN_modulation.1", 6 * M, M)
    for i in range(depth):  # stored and never read
        block = f"res_blocks.{i}"
        w |= {f"{block}.in_ln.weight": draw(M), f"{block}.in_ln.bias": draw(M)}
        w |= _linear(draw, f"{block}.mlp.0", M, M) | _linear(draw, f"{block}.adaLN_modulation.1", 3 * M, M)
    w |= _linear(draw, "final_layer.fc2", F, M) | _linear(draw, "final_layer.adaLN_modulation.1", 2 * M, M)
    if future:
        w |= _linear(draw, "y_exo_embedding", M, F) | _linear(draw, "final_layer.fc1.0", 2 * (1 + D), 1 + D)
        w |= _linear(draw, "final_layer.fc1.2", 1, 2 * (1 + D))
    return {prefix + name: a for name, a in w.items()}


def source_state(draw, *, T, F, rank, mlp):
    w = {"manifold_basis": draw(F, rank), "mix_param": draw(1)}
    w |= {"uncertainty_estimator.0.weight": 1 + draw(T), "uncertainty_estimator.0.bias": draw(T)}
    w |= _linear(draw, "uncertainty_estimator.1", 16, T) | _linear(draw, "uncertainty_estimator.3", 1, 16)
    if mlp:
        return w | _linear(draw, "barycenter_mapper.0", 2 * T, T) | _linear(draw, "barycenter_mapper.2", F, 2 * T)
    return w | _linear(draw, "barycenter_mapper", F, T)


def within(w, prefix):
    """The arrays below `prefix`, without it."""
    return {name.removeprefix(prefix): a for name, a in w.items() if name.startswith(prefix)}


# What the released code computes


def pearson(x, z, eps=1e-8):
    """Rows (b, n): |r| with every exogenous series."""
    a, c = x - x.mean(1, keepdims=True), z - z.mean(1, keepdims=True)
    size = np.sqrt((a**2).sum(1))[:, :, None] * np.sqrt((c**2).sum(1))[:, None] + eps
    return np.abs(np.einsum("btn,btd->bnd", a, c) / size).reshape(-1, 1, z.shape[2])


def ridge(x, z, lag, weight=1e-4):
    """|b| of one regression on everything `lag` steps back, row by row."""
    rows = []
    for b in range(x.shape[0]):
        for n in range(x.shape[2]):
            X, y = np.c_[x[b, :-lag, n], z[b, :-lag]], x[b, lag:, n]
            rows.append(np.abs(np.linalg.solve(X.T @ X + weight * np.eye(X.shape[1]), X.T @ y))[1:])
    return np.array(rows)[:, None]


def standardise(x):
    mu, sd = x.mean(1, keepdims=True), np.sqrt(x.var(1, ddof=1, keepdims=True) + 1e-5)
    return (x - mu) / sd, mu, sd


def attention(w, x_q, x_kv, prior, H):
    def heads(z):
        return z.reshape(*z.shape[:2], H, -1).transpose(0, 2, 1, 3)

    named = x_kv + w["pos_emb"]
    q1, q2, k, v = (heads(lin(w, n, z)) for n, z in (("w1", x_q), ("w2", x_q), ("wk", named), ("wv", named)))
    base, guided = (q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1]) for q in (q1, q2))
    gate = np.log(prior + 1e-6)[:, None]
    logits = base + guided * prior[:, None] + gate
    A = softmax(logits)
    ctx = (A @ v).transpose(0, 2, 1, 3).reshape(x_q.shape)
    y = lin(w, "proj.2", silu(lin(w, "proj.0", ctx)))
    return {"q1": q1, "q2": q2, "k": k, "v": v, "attn_base": base, "attn_prior": guided, "log_prior": gate,
            "logits": logits, "A": A, "ctx": ctx, "y": y}


def velocity(w, x, t, x_exo, prior, y_exo, H):
    """v, and how the state looks before and after every block."""
    depth = len({name.split(".")[1] for name in w if name.startswith("cond_embed_x.")})
    omega = np.exp(-math.log(10000) * np.arange(128) / 128)
    waves = np.concatenate([np.cos(t[:, None] * omega), np.sin(t[:, None] * omega)], 1)
    time = silu(lin(w, "time_embed.mlp.2", silu(lin(w, "time_embed.mlp.0", waves))))
    tokens = {"x": lin(w, "x_exo_embedding", x_exo)}
    if y_exo is not None:
        tokens["y"] = lin(w, "y_exo_embedding", y_exo)
    S, h = softmax(prior), lin(w, "input_proj", x)
    seen = {"input_proj": h, "prior_softmax": S, "x_exo_emb": tokens["x"]}
    for i in range(depth):
        for side, exo in tokens.items():
            block = within(w, f"cond_embed_{side}.{i}.")
            shift1, scale1, gate1, shift2, scale2, gate2 = np.split(lin(block, "adaLN_modulation.1", time), 6, axis=1)
            asks = (norm(h, 1e-6) * (1 + scale1) + shift1)[:, None]
            h = h + gate1 * attention(within(block, "attn."), asks, exo, S, H)["y"][:, 0]
            asks = norm(h, 1e-6) * (1 + scale2) + shift2
            h = h + gate2 * lin(block, "mlp.2", gelu(lin(block, "mlp.0", asks)))
            seen[f"block{i}_{side}_out"] = h
    if y_exo is not None:
        mixed = np.concatenate([h[:, None], tokens["y"]], 1).swapaxes(1, 2)
        h = lin(w, "final_layer.fc1.2", np.maximum(lin(w, "final_layer.fc1.0", mixed), 0))[..., 0]
    shift, scale = np.split(lin(w, "final_layer.adaLN_modulation.1", time), 2, axis=1)
    read = norm(h, 1e-6) * (1 + scale) + shift
    return {**seen, "final_mixed": h, "final_modulated": read, "v": lin(w, "final_layer.fc2", read)}


def source(w, origin, z, eps, min_sigma, structure_max, keep=1.0):
    centre = lin(w, "barycenter_mapper", origin) if "barycenter_mapper.weight" in w else lin(
        w, "barycenter_mapper.2", np.maximum(lin(w, "barycenter_mapper.0", origin), 0))
    raw = z @ w["manifold_basis"].T
    structured = raw / (raw.std(1, ddof=1, keepdims=True) + 1e-6)
    alpha = structure_max * sigmoid(w["mix_param"]) * keep
    hybrid = alpha * structured + (1 - alpha) * eps
    epsilon = hybrid / (hybrid.std(1, ddof=1, keepdims=True) + 1e-6)
    h = norm(origin, 1e-5) * w["uncertainty_estimator.0.weight"] + w["uncertainty_estimator.0.bias"]
    h = lin(w, "uncertainty_estimator.3", np.maximum(lin(w, "uncertainty_estimator.1", h), 0))
    scale = np.log1p(np.exp(h)) + min_sigma
    return {"barycentre": centre, "raw_struct": raw, "epsilon_struct": structured, "alpha": alpha, "epsilon": epsilon,
            "scale": scale, "x0": centre + epsilon * scale}


def sample(w, origin, x_exo, prior, y_exo, z, eps, omega, *, H, steps, n_samples, **sizes):
    """Every state of the flow, and both velocities at every step."""
    origin, x_exo, prior, y_exo = (None if a is None else a.repeat(n_samples, 0)
                                   for a in (origin, x_exo, prior, y_exo))
    net, x = within(w, "net."), source(w, origin, z, eps, **sizes)["x0"]
    states, told, untold = [x], [], []
    for i in range(steps):
        t = np.full(len(x), 1000 * i / steps)
        told.append(velocity(net, x, t, x_exo, prior, y_exo, H)["v"])
        untold.append(velocity(net, x, t, 0 * x_exo, 0 * prior, None if y_exo is None else 0 * y_exo, H)["v"])
        x = x + (untold[-1] + omega * (told[-1] - untold[-1])) / steps
        states.append(x)
    return {"states": np.array(states), "v_cond": np.array(told), "v_uncond": np.array(untold),
            "samples": x.reshape(-1, n_samples, x.shape[1])}


def loss(w, origin, target, x_exo, prior, y_exo, z, eps, t, *, H, **sizes):
    made = source(w, origin, z, eps, **sizes)
    x = t[:, None] * target + (1 - t[:, None]) * made["x0"]
    v = velocity(within(w, "net."), x, 1000 * t, x_exo, prior, y_exo, H)["v"]
    var = made["scale"]**2 + 1e-6
    nll = 0.5 * np.log(var) + 0.5 * (target - made["barycentre"])**2 / var
    total = np.abs(v - (target - made["x0"])).mean() + 0.1 * nll.mean()
    return {"x_t": x, "v_pred": v, "nll": nll, "loss": total[None]}
