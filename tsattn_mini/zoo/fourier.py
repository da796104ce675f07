"""FEDformer's two blocks: mix a few frequencies in place of all pairs of steps.

Source: T. Zhou, Z. Ma, Q. Wen, X. Wang, L. Sun, R. Jin, "FEDformer: Frequency Enhanced Decomposed Transformer for
Long-term Series Forecasting" (ICML 2022, arXiv 2201.12740), section 3.2. Both are an `attend` of `AttentionLayer`.

A complex number is a pair of real tensors, `…_re` and `…_im`. With J kept bins the discrete Fourier transform is
two thin matrices, L × J: its cost grows like L, and it goes into a graph as it is. Left out: dropout, and the
paper's wavelet blocks.

In half precision everything between the projections is computed in float32.
"""

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.attention import by_head
from tsattn_mini.trace import step

Complex = tuple[Tensor, Tensor]
ACTIVATIONS = ("tanh", "softmax")


def check_count(**sizes: Any) -> None:
    """Check that every size is a whole number of at least 1.

    Raises:
        ValueError: naming the size.
    """
    for name, size in sizes.items():
        if not checks.whole(size) or size < 1:
            raise ValueError(f"{name}: expected a whole number of at least 1, got {size!r}")


def below_nyquist(L: int) -> int:
    """How many bins a series of L steps has whose wave is longer than two steps, the constant (bin 0) included.

    >>> below_nyquist(8), below_nyquist(9)
    (4, 5)
    """
    return (L + 1) // 2


def keep_modes(L: int, modes: int | Sequence[int] | Int[Tensor, "..."] | None, draw: str, seed: int
               ) -> Int[Tensor, " J"]:
    """Which bins of a series of L steps are kept, in rising order.

    Args:
        modes: how many of the bins below Nyquist; None for 64, or all if there are fewer; or the bins themselves.
        draw: "random" takes any, by a generator of its own that `seed` starts; "low" takes the lowest.
    Raises:
        ValueError: more modes than there are, bins outside 0 to L // 2 or not in rising order; no whole numbers.
    """
    check_count(L=L)
    most = below_nyquist(L)
    seed = checks.seeded(seed)
    if draw not in ("random", "low"):
        raise ValueError(f"draw: expected 'random' or 'low', got {draw!r}")
    if isinstance(modes, Tensor | np.ndarray):
        modes = modes.tolist()
    if modes is None or checks.whole(modes):
        count = min(64, most) if modes is None else modes
        if not 1 <= count <= most:
            raise ValueError(f"modes: expected 1 to {most}, the bins below Nyquist of L={L} steps, got {count}")
        if draw == "low":
            return torch.arange(count)
        return torch.randperm(most, generator=torch.Generator().manual_seed(seed))[:count].sort().values
    bins = list(modes) if isinstance(modes, Sequence) else [modes]
    rising = bins and all(map(checks.whole, bins)) and bins == sorted(set(bins))
    if not rising or not 0 <= bins[0] <= bins[-1] <= L // 2:
        raise ValueError(f"modes: expected different bins from 0 to L // 2 = {L // 2} in rising order, got {bins}")
    return torch.tensor(bins)


def waves(L: int, bins: Int[Tensor, " J"], dtype: torch.dtype) -> tuple[Float[Tensor, "L J"], Float[Tensor, "L J"]]:
    """cos and sin of 2π j t / L, one column per bin j; the angle is reduced in whole numbers, so it stays exact."""
    turns = torch.arange(L, device=bins.device)[:, None] * bins % L
    angle = turns.to(dtype) * (2 * pi / L)
    return angle.cos(), angle.sin()


def to_modes(x: Float[Tensor, "B L H E"], bins: Int[Tensor, " J"]
             ) -> tuple[Float[Tensor, "B J H E"], Float[Tensor, "B J H E"]]:
    """X_j = Σ_t x_t exp(-2πi j t / L) at the kept bins alone; returns its real and its imaginary part.

    >>> x = torch.cos(2 * torch.pi * torch.arange(8) / 8)[None, :, None, None]
    >>> re, im = to_modes(x, torch.tensor([0, 1, 2]))
    >>> re.flatten().round(decimals=3).abs().tolist()  # all of it in bin 1: L / 2
    [0.0, 4.0, 0.0]
    """
    cos, sin = waves(x.shape[1], bins, x.dtype)
    both = torch.cat([cos, -sin], 1).mT @ x.flatten(2)
    re, im = both.unflatten(-1, x.shape[2:]).chunk(2, 1)
    return re, im


def to_time(Y: tuple[Float[Tensor, "B J H E"], Float[Tensor, "B J H E"]], bins: Int[Tensor, " J"],
            L: int) -> Float[Tensor, "B L H E"]:
    """y_t = (1 / L) Σ_j c_j Re(Y_j exp(2πi j t / L)): the series that has Y_j at the bins and nothing elsewhere.

    c_j is 2, for the bin and its mirror image; 1 at the constant and at Nyquist, which are their own.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])[None, :, None, None]
    >>> every = torch.arange(3)
    >>> torch.allclose(to_time(to_modes(x, every), every, L=4), x)  # with all its bins a series is itself again
    True
    """
    re, im = Y
    cos, sin = waves(L, bins, re.dtype)
    c = torch.where(bins * 2 % L == 0, 1.0, 2.0).to(re.dtype) / L
    y = torch.cat([cos * c, -sin * c], 1) @ torch.cat([re, im], 1).flatten(2)
    return y.unflatten(-1, re.shape[2:])


def times(pairs: str, X: Complex, W: Complex) -> Complex:
    """The complex product of X and W; `pairs` says for `einsum` which entries meet.

    (a + ib)(c + id) takes three real products in place of four: (a + b) c - b (c + d) and (a + b) c + a (d - c).
    """
    (a, b), (c, d) = X, W
    shared = einsum(pairs, a + b, c)
    return shared - einsum(pairs, b, c + d), shared + einsum(pairs, a, d - c)


def select(name: str, x: Float[Tensor, "B L H E"], bins: Int[Tensor, " J"]
           ) -> tuple[Float[Tensor, "B J H E"], Float[Tensor, "B J H E"]]:
    """`to_modes` in at least float32. NaN or infinity in `x` is in every bin of it, and is looked for there.

    Raises:
        ValueError: naming `x`, with entries that are not finite, or with sums that leave the number range.
    """
    X = to_modes(x.to(torch.promote_types(x.dtype, torch.float32)), bins)
    if not bounded(*X):
        checks.finite(**{name: x})
        checks.overflow(name, *X)
    return X


def bounded(*computed: Tensor) -> bool:
    """Is everything finite? While a graph is exported nobody can tell, and it counts as yes."""
    return torch.compiler.is_compiling() or all(map(checks.all_finite, computed))


def named(name: str, X: Complex, axes: str, eq: str, note: str) -> Complex:
    """Name both parts of a complex tensor, `name_re` and `name_im`."""
    re = step(f"{name}_re", X[0], axes=axes, eq=f"Re {eq}", note=note)
    return re, step(f"{name}_im", X[1], axes=axes, eq=f"Im {eq}", note=note)


class _Modes(nn.Module):
    """What both blocks share: one complex matrix per kept bin and head, and the way back to time."""

    def __init__(self, M: int, H: int, modes: Int[Tensor, " J"], released_view: bool) -> None:
        super().__init__()
        check_count(M=M)
        if not checks.whole(H) or H < 1 or M % H:
            raise ValueError(f"H: expected a divisor of the model width M={M}, got {H!r}")
        shape = (len(modes), H, M // H, M // H)
        size = (2 * M / H) ** -0.5  # the output is as loud as the input
        self.real, self.imag = (nn.Parameter(torch.randn(shape) * size) for _ in range(2))
        self.register_buffer("modes", modes)
        self.released_view = released_view

    def weighted(self, X: Complex) -> Complex:
        parts, pairs = torch.stack(X), "pbjhe,jhed->pbjhd"  # both parts meet a matrix at once
        ac, bc = einsum(pairs, parts, self.real.to(parts.dtype))
        ad, bd = einsum(pairs, parts, self.imag.to(parts.dtype))
        return named("Y", (ac - bd, ad + bc), "B J H E", "X_j R_j",
                     "Each bin by its own matrix: amplitudes and phases change, bins do not meet.")

    def back(self, Y: Complex, bins: Tensor, L: int, like: Tensor) -> Float[Tensor, "B L H E"]:
        y = step("wave", to_time(Y, bins, L), axes="B L H E", eq="F⁻¹(pad(Y))",
                 note="Back in time; every bin that was not kept is silent.")
        if self.released_view:
            y = y.permute(0, 2, 3, 1).reshape(y.shape)
        y = y.to(like.dtype)
        if not bounded(y):
            checks.overflow("q, k, v", y)
        return step("out", y, axes="B L H E", eq="(B H E L) read as (B L H E)" if self.released_view else "F⁻¹(pad(Y))",
                    note="Steps and channels are mixed up." if self.released_view else "What the layer goes on with.")


class FourierBlock(_Modes):
    """F⁻¹(pad(select(F q) R)): keep J bins, multiply each by its own complex E × E matrix, go back (FEB-f).

    Takes the place of self-attention; of q, k and v only q is used. The bins are chosen once, when the module is
    made, and stored with its weights in the buffer `modes`.

    Args:
        M: model width; H: heads, a divisor of M; L: steps of the series.
        modes, draw, seed: which bins are kept, see `keep_modes`.
        released_slots: write the n-th kept bin to bin n instead of to its own, as the released code does: kept
            tones leave at another frequency, unless the kept bins are the lowest ones.
        released_view: the released code reads its (B, H, E, L) output as (B, L, H, E) without moving the axes.
    Raises:
        ValueError: H does not divide M, or modes that L steps do not have.
    """

    def __init__(self, M: int, H: int, L: int, modes: int | Sequence[int] | None = None, *, draw: str = "random",
                 seed: int = 0, released_slots: bool = False, released_view: bool = False) -> None:
        super().__init__(M, H, keep_modes(L, modes, draw, seed), released_view)
        self.L, self.released_slots = L, released_slots

    def forward(self, q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"] | None = None,
                v: Float[Tensor, "B S H E"] | None = None) -> Float[Tensor, "B L H E"]:
        """`k` and `v` are taken because `AttentionLayer` passes them; nothing depends on them.

        Raises:
            ValueError: another length, number of heads or width than the block was built for; integers; entries that
                are not finite, or sums that leave the number range.
        """
        _, H, E, _ = self.real.shape
        checks.required(q=q)
        checks.shapes(q=(q, f"B {self.L} {H} {E}"))
        checks.floating(q=q)
        X = named("X", select("q", q, self.modes), "B J H E", "select(F q)", "The kept bins of the spectrum over time.")
        slots = torch.arange(len(self.modes), device=q.device) if self.released_slots else self.modes
        return self.back(self.weighted(X), slots, self.L, q)


class FourierCrossAttention(_Modes):
    """F⁻¹(pad(σ(Q̃ K̃ᵀ) Ṽ R)): attention whose positions are kept bins, not steps (FEA-f).

    Q̃, K̃, Ṽ are the kept bins of queries, keys and values; the product has no conjugate and no scale. σ = "tanh"
    bends real and imaginary part apart; "softmax" turns the moduli of a row into real weights. The bins of the
    queries are where the result is written. The matrices R stand in the released code; R = 1 is without.

    Args:
        M: model width; H: heads, a divisor of M; L: steps of the queries; S: steps of the keys and values.
        modes, modes_kv: bins kept of the queries, and of keys and values; `draw` and `seed` as in `keep_modes`.
        activation: σ, "tanh" or "softmax".
        released_values: the released code uses K̃ in the place of Ṽ.
        released_scale: the released code divides the result by M twice.
        released_view: see `FourierBlock`.
    Raises:
        ValueError: H does not divide M, modes that the lengths do not have, or another σ.
    """

    def __init__(self, M: int, H: int, L: int, S: int, modes: int | Sequence[int] | None = None,
                 modes_kv: int | Sequence[int] | None = None, *, draw: str = "random", seed: int = 0,
                 activation: str = "tanh", released_values: bool = False, released_scale: bool = False,
                 released_view: bool = False) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation: expected one of {list(ACTIVATIONS)}, got {activation!r}")
        super().__init__(M, H, keep_modes(L, modes, draw, seed), released_view)
        check_count(S=S)
        self.register_buffer("modes_kv", keep_modes(S, modes_kv, draw, seed + 1))
        self.L, self.S, self.activation = L, S, activation
        self.released_values, self.released_scale = released_values, released_scale

    def forward(self, q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"],
                v: Float[Tensor, "B S H E"]) -> Float[Tensor, "B L H E"]:
        """Raises ValueError as `FourierBlock.forward` does, and for q, k and v of different dtypes."""
        _, H, E, _ = self.real.shape
        checks.required(q=q, k=k, v=v)
        checks.shapes(q=(q, f"B {self.L} {H} {E}"), k=(k, f"B {self.S} {H} {E}"), v=(v, f"B {self.S} {H} {E}"))
        checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H E"))
        checks.floating(q=q, k=k, v=v)
        Q = named("Q", select("q", q, self.modes), "B J H E", "select(F q)", "What each kept bin asks.")
        K = named("K", select("k", k, self.modes_kv), "B I H E", "select(F k)", "What each kept bin answers to.")
        V = K if self.released_values else select("v", v, self.modes_kv)
        V = named("V", V, "B I H E", "select(F k), again" if self.released_values else "select(F v)",
                  "What each kept bin gives.")
        QK = named("QK", times("bjhe,bihe->bhji", Q, (by_head(K[0]), by_head(K[1]))), "B H J I", "Q̃ K̃ᵀ",
                   "Every bin of the queries meets every bin of the keys.")
        A = named("A", self.bend(QK), "B H J I", "σ(Q̃ K̃ᵀ)", "The weights; under tanh a row need not sum to 1.")
        X = named("X", times("bhji,bihe->bjhe", A, V), "B J H E", "A Ṽ", "What each kept bin takes home.")
        re, im = self.weighted(X)
        if self.released_scale:
            M = H * E
            re, im = named("Y_scaled", (re / M / M, im / M / M), "B J H E", "Y / M²", "A whisper, as released.")
        return self.back((re, im), self.modes, self.L, q)

    def bend(self, QK: Complex) -> Complex:
        """σ, on the pair."""
        re, im = QK
        if self.activation == "tanh":
            return re.tanh(), im.tanh()
        return torch.stack([re, im]).norm(dim=0).softmax(-1), torch.zeros_like(im)
