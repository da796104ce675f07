"""FEDformer once more, straight from a state dict with the released names, without this package.

The layers around its blocks are Autoformer's; a table of positions is added to the embedding.
"""

import released_autoformer as autoformer
import torch
import torch.nn.functional as F
from released import table
from torch import Tensor

BLOCKS = {"encoder.attn_layers": "attention", "decoder.layers": "self_attention"}


def random_state(modes, H, M=10, e_layers=1, d_layers=2, seed=0, **sizes) -> dict[str, Tensor]:
    """A state dict as the released model would save it: every layer of a kind holds the same block."""
    state = autoformer.random_state(M=M, e_layers=e_layers, d_layers=d_layers, seed=seed, **sizes)
    g = torch.Generator().manual_seed(seed + 1)
    for layers, name, place, count in (("encoder.attn_layers", "attention", "enc", e_layers),
                                       ("decoder.layers", "self_attention", "dec_self", d_layers),
                                       ("decoder.layers", "cross_attention", "cross_q", d_layers)):
        shape = (H, M // H, M // H, len(modes[place]))
        weights = {f"weights{i}": torch.randn(shape, generator=g, dtype=state["decoder.projection.bias"].dtype)
                   for i in (1, 2)}
        state |= {f"{layers}.{i}.{name}.inner_correlation.{part}": w
                  for i in range(count) for part, w in weights.items()}
    return state


def block(q, W, modes):
    """(B, L, H, E) → (B, H, E, L): the n-th kept bin, multiplied by its matrix, goes to bin n."""
    X = torch.fft.fft(q, dim=1)
    out = torch.zeros(q.shape[0], q.shape[1] // 2 + 1, *q.shape[2:], dtype=X.dtype)
    for n, j in enumerate(modes):
        out[:, n] = torch.einsum("bhe,hed->bhd", X[:, j], W[..., n])
    return torch.fft.irfft(out, n=q.shape[1], dim=1).permute(0, 2, 3, 1)


def cross(q, k, W, modes_q, modes_kv, activation="tanh"):
    """The same for cross-attention: keys in the place of the values, own bins, divided by the width twice."""
    M = q.shape[2] * q.shape[3]
    Q, K = torch.fft.fft(q, dim=1)[:, list(modes_q)], torch.fft.fft(k, dim=1)[:, list(modes_kv)]
    QK = torch.einsum("bjhe,bihe->bhji", Q, K)
    A = torch.complex(QK.real.tanh(), QK.imag.tanh()) if activation == "tanh" else QK.abs().softmax(-1).to(QK.dtype)
    Y = torch.einsum("bhji,bihe,hedj->bjhd", A, K, W) / M**2
    out = torch.zeros(q.shape[0], q.shape[1] // 2 + 1, *q.shape[2:], dtype=Y.dtype)
    out[:, list(modes_q)] = Y
    return torch.fft.irfft(out, n=q.shape[1], dim=1).permute(0, 2, 3, 1)


def forecast(w, x, marks, future_marks, modes, *, H, label_len, pred_len, kernel=25, act=F.gelu) -> Tensor:
    """The released forecast; `w` is the state dict, `modes` the bins kept in each place."""
    M = w["decoder.projection.weight"].shape[1]
    counts = {place: len({name.split(".")[2] for name in w if name.startswith(place)}) for place in BLOCKS}
    calls = iter(["enc"] * counts["encoder.attn_layers"] + ["dec_self", "cross_q"] * counts["decoder.layers"])
    names = {"enc": "encoder.attn_layers.0.attention", "dec_self": "decoder.layers.0.self_attention",
             "cross_q": "decoder.layers.0.cross_attention"}

    def attend(q, k, v):
        place = next(calls)
        W = torch.complex(*(w[f"{names[place]}.inner_correlation.weights{i}"] for i in (1, 2)))
        y = cross(q, k, W, modes[place], modes["cross_kv"]) if place == "cross_q" else block(q, W, modes[place])
        return y.reshape(q.shape)

    w = dict(w)
    for side in ("enc", "dec"):  # a position is one more mark, which the embedding adds as it is
        time = f"{side}_embedding.temporal_embedding.embed.weight"
        w[time] = torch.cat([w[time], torch.eye(M, dtype=x.dtype)], 1)
    marks, future_marks = (torch.cat([m, table(m.shape[1], M).to(m).expand(len(m), -1, -1)], 2)
                           for m in (marks, future_marks))
    return autoformer.forecast(w, x, marks, future_marks, H=H, label_len=label_len, pred_len=pred_len, kernel=kernel,
                               act=act, attend=attend)
