"""Forward and backward of the Non-stationary Transformer beside a textbook version of the same equations.

    python tests/bench_nonstationary.py

prints the best time, the median processor time (all threads together) and the peak memory of one training step
of both, at B=32, 96 → 96, 7 variables and d_model 512. They take turns. On a busy machine compare processor time.
"""

import math
import time

import torch
import torch.nn.functional as F
from torch import Tensor, einsum, nn
from torch.profiler import ProfilerActivity, profile

from tsattn_mini.nonstationary import NonstationaryTransformer

B, T, LABEL, HORIZON, V = 32, 96, 48, 96, 7
M, H, D_FF, ENCODERS, DECODERS, P_HIDDEN, MARKS = 512, 8, 2048, 2, 1, (128, 128), 4
ROUNDS = 9


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(M, M) for _ in range(4))

    def forward(self, x: Tensor, y: Tensor, tau: Tensor, delta: Tensor | None,
                masked: bool = False) -> Tensor:
        q, k, v = (f(z).view(B, -1, H, M // H) for f, z in ((self.q, x), (self.k, y), (self.v, y)))
        scores = einsum("blhe,bshe->bhls", q, k) * tau.view(B, 1, 1, 1)
        if delta is not None:
            scores = scores + delta.view(B, 1, 1, -1)
        if masked:
            future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -torch.inf)
        A = torch.softmax(scores / math.sqrt(M // H), dim=-1)
        return self.o(einsum("bhls,bshe->blhe", A, v).reshape(B, -1, M))


class Layer(nn.Module):
    def __init__(self, attentions: int) -> None:
        super().__init__()
        self.attention = nn.ModuleList(Attention() for _ in range(attentions))
        self.norm = nn.ModuleList(nn.LayerNorm(M) for _ in range(attentions + 1))
        self.up, self.down = nn.Linear(M, D_FF), nn.Linear(D_FF, M)

    def feed(self, x: Tensor) -> Tensor:
        return self.norm[-1](x + self.down(F.gelu(self.up(x))))


class Embedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Conv1d(V, M, 3, padding=1, padding_mode="circular", bias=False)
        self.time = nn.Linear(MARKS, M, bias=False)
        t = torch.arange(T + HORIZON).float()[:, None]
        w = torch.exp(torch.arange(0, M, 2) * (-math.log(1e4) / M))
        self.register_buffer("table", torch.stack([torch.sin(t * w), torch.cos(t * w)], -1).flatten(1))

    def forward(self, x: Tensor, marks: Tensor) -> Tensor:
        return self.token(x.transpose(1, 2)).transpose(1, 2) + self.time(marks) + self.table[:x.shape[1]]


class Projector(nn.Module):
    def __init__(self, O: int) -> None:  # noqa: E741
        super().__init__()
        self.conv = nn.Conv1d(T, 1, 3, padding=1, padding_mode="circular", bias=False)
        a, b = P_HIDDEN
        self.mlp = nn.Sequential(nn.Linear(2 * V, a), nn.ReLU(), nn.Linear(a, b), nn.ReLU(),
                                 nn.Linear(b, O, bias=False))

    def forward(self, x: Tensor, s: Tensor) -> Tensor:
        return self.mlp(torch.cat([self.conv(x), s], 1).flatten(1))


class Textbook(nn.Module):
    """The equations, one line each, without names, checks or guards."""

    def __init__(self) -> None:
        super().__init__()
        self.tau, self.delta = Projector(1), Projector(T)
        self.embed_past, self.embed_future = Embedding(), Embedding()
        self.encoder, self.enc_norm = nn.ModuleList(Layer(1) for _ in range(ENCODERS)), nn.LayerNorm(M)
        self.decoder, self.dec_norm = nn.ModuleList(Layer(2) for _ in range(DECODERS)), nn.LayerNorm(M)
        self.out = nn.Linear(M, V)

    def forward(self, x: Tensor, marks: Tensor, _: None, future_marks: Tensor) -> Tensor:
        mu = x.mean(1, keepdim=True)
        sigma = ((x - mu).square().mean(1, keepdim=True) + 1e-5).sqrt()
        tau, delta = self.tau(x, sigma).clamp(max=80).exp(), self.delta(x, mu)
        x = (x - mu) / sigma
        start = torch.cat([x[:, T - LABEL:], torch.zeros(B, HORIZON, V)], 1)
        h = self.embed_past(x, marks)
        for layer in self.encoder:
            h = layer.feed(layer.norm[0](h + layer.attention[0](h, h, tau, delta)))
        h = self.enc_norm(h)
        g = self.embed_future(start, future_marks)
        for layer in self.decoder:
            g = layer.norm[0](g + layer.attention[0](g, g, tau, None, masked=True))
            g = layer.feed(layer.norm[1](g + layer.attention[1](g, h, tau, delta)))
        return (self.out(self.dec_norm(g)) * sigma + mu)[:, -HORIZON:]


def train_step(model: nn.Module, inputs: tuple, target: Tensor) -> None:
    model.zero_grad(set_to_none=True)
    F.mse_loss(model(*inputs), target).backward()


def peak_mib(model: nn.Module, inputs: tuple, target: Tensor) -> float:
    """The most that one step holds at once beyond what lives before it, from the allocator's own record."""
    model.zero_grad(set_to_none=True)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        train_step(model, inputs, target)
    events = sorted((e.start_ns(), e.nbytes()) for e in record.profiler.kineto_results.events()
                    if e.name() == "[memory]")
    held = torch.tensor([size for _, size in events]).cumsum(0)
    return int(held.max()) / 2**20


def main() -> None:
    torch.set_num_threads(2)
    torch.manual_seed(0)
    inputs = (torch.randn(B, T, V), torch.rand(B, T, MARKS) - 0.5, None,
              torch.rand(B, LABEL + HORIZON, MARKS) - 0.5)
    target = torch.randn(B, HORIZON, V)
    models = {"textbook": Textbook(), "tsattn_mini": NonstationaryTransformer(
        T, LABEL, HORIZON, V, M=M, H=H, d_ff=D_FF, e_layers=ENCODERS, d_layers=DECODERS, p_hidden=P_HIDDEN,
        marks=MARKS)}
    sizes = {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
    assert len(set(sizes.values())) == 1, sizes
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    for round_ in range(-1, ROUNDS):
        for name, model in list(models.items())[::1 if round_ % 2 else -1]:
            start = time.perf_counter(), time.process_time()
            train_step(model, inputs, target)
            if round_ >= 0:
                times[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    print(f"forward + backward, B={B}, {T} → {HORIZON}, {V} variables, d_model {M}, "
          f"{sizes['textbook']:,} parameters")
    for name, model in models.items():
        wall, processor = (1000 * torch.tensor(times[name])).T
        print(f"{name:12} best {float(wall.min()):6.0f} ms   processor {float(processor.median()):6.0f} ms"
              f"   peak {peak_mib(model, inputs, target):5.0f} MiB")


if __name__ == "__main__":
    main()
