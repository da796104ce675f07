"""Autoformer: attention asks which delay the series repeats at, and looks there.

Source: H. Wu, J. Xu, J. Wang, M. Long, "Autoformer: Decomposition Transformers with Auto-Correlation for Long-Term
Series Forecasting" (NeurIPS 2021, arXiv 2106.13008), section 3.2, equations 5 to 7. The encoder–decoder around it is
`tsattn_mini.zoo.decomposition`. Left out: dropout.

One weight per delay, for all positions, heads and channels: as an attention matrix it would be circulant, every row the
one above moved by one. In half precision the correlation and the sum of the values are computed in float32.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Shaped
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer
from tsattn_mini.blocks import check_sizes
from tsattn_mini.trace import step
from tsattn_mini.zoo.decomposition import DecompositionForecaster


def auto_correlation(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
                     factor: int | float = 1, *, shared: bool = False, released_lags: bool = False,
                     released_count: bool = False) -> Float[Tensor, "B L H W"]:
    """out_t = Σ_i A_i v_{t+τ_i}: the values at the strongest delays τ_i, weighted by A = softmax(R at these delays).

    R(τ) = Σ_t q_{t+τ} · k_t, circular, the mean over heads and channels. It is a sum over time, so the weights sharpen
    with the length and the scale of the series. Keys and values beyond L are cut; if there are fewer, zeros follow.

    Args:
        factor: ⌊factor · ln L⌋ delays are kept, but at least 1 and at most L.
        shared: False picks the delays of every window by its own R; True picks them once by the mean of R over the
            batch, as the released code does in training. The weights are the window's own either way.
        released_lags: the inverse transform is not told the length. For odd L that gives L - 1 lags of a correlation
            resampled to L - 1 points; for even L nothing changes.
        released_count: ⌊factor · ln L⌋ may be 0, and then all outputs are 0.
    Raises:
        ValueError: shapes that do not fit, a factor that is not a positive number, entries that are not finite or
            whose correlation is not, `released_lags` with a single position.
    """
    checks.required(q=q, k=k, v=v)
    checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H W"))
    checks.floating(q=q, k=k, v=v)
    checks.finite(q=q, k=k, v=v)
    dtype = torch.promote_types(q.dtype, torch.float32)
    L = q.shape[1]
    R = correlation(q.to(dtype), fit(k, L).to(dtype), released_lags)
    kept = number_of_delays(L, factor, least=0 if released_count else 1)
    delays, strength = strongest(R, min(kept, R.shape[1]), shared)
    A = step("A", torch.softmax(strength, dim=-1), axes="B D", eq="softmax(strength)",
             note="The delays share one unit of attention, the same for every position.")
    rolled = step("rolled", roll(fit(v, L).to(dtype), delays), axes="B D L H W", eq="v_{t+τ}",
                  note="The values, moved towards the past by each delay; what leaves in front comes in at the end.")
    out = einsum("bd,bdlhw->blhw", A, rolled)
    checks.overflow("v", out)
    return step("out", out.to(v.dtype), axes="B L H W", eq="Σ_i A_i v_{t+τ_i}",
                note="Each position takes home what stood τ steps after it.")


def fit(x: Float[Tensor, "B S H W"], L: int) -> Float[Tensor, "B L H W"]:
    """The first L rows; where there are fewer, zeros follow.

    >>> fit(torch.ones(1, 2, 1, 1), 3).flatten().tolist()
    [1.0, 1.0, 0.0]
    """
    return x if x.shape[1] == L else F.pad(x[:, :L], (0, 0, 0, 0, 0, max(L - x.shape[1], 0)))


def correlation(q: Float[Tensor, "B L H E"], k: Float[Tensor, "B L H E"],
                released_lags: bool = False) -> Float[Tensor, "B J"]:
    """R(τ) for τ = 0 … L-1 by Wiener and Khinchin: a product of spectra in place of a sum for every delay.

    The mean over heads and channels is taken of the spectra; the transform back is linear, so that is the same.

    Raises:
        ValueError: a sum that leaves the range of its dtype, or `released_lags` for a single position.

    >>> x = torch.cos(torch.arange(8) * torch.pi / 2)[None, :, None, None]  # a period of 4 steps
    >>> (correlation(x, x).flatten() > 0.4).nonzero().flatten().tolist()  # the delays that fit
    [0, 4]
    """
    L = q.shape[1]
    lags = 2 * (L // 2) if released_lags else L
    if lags < 1:
        raise ValueError("released_lags: expected at least 2 positions, as the released inverse transform has no "
                         f"lag for one, got {L}")
    product = torch.fft.rfft(q, dim=1) * torch.fft.rfft(k, dim=1).conj()
    spectrum = step("spectrum", torch.view_as_real(product), axes="B K H E 2", eq="rfft(q) · conj rfft(k)",
                    note="How much of each frequency the two have in common: real and imaginary part.")
    R = torch.fft.irfft(torch.view_as_complex(spectrum).mean((2, 3)), n=lags, dim=1)
    checks.overflow("q, k", R)
    return step("R", R, axes="B J", eq="R(τ) = Σ_t q_{t+τ} k_t",
                note="One number per delay: how well the queries fit the keys τ steps before them.")


def number_of_delays(L: int, factor: int | float, least: int = 1) -> int:
    """⌊factor · ln L⌋, but at least `least` and at most L.

    Raises:
        ValueError: a factor that is not a positive number.

    >>> number_of_delays(96, factor=1), number_of_delays(96, factor=3)  # ⌊c ln 96⌋
    (4, 13)
    """
    checks.counts(L=L)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise ValueError(f"factor: expected a positive number, got {factor!r}")
    return min(max(int(factor * math.log(L)), least), L)


def strongest(R: Float[Tensor, "B J"], kept: int,
              shared: bool = False) -> tuple[Int[Tensor, "B D"], Float[Tensor, "B D"]]:
    """The `kept` delays with the largest R, strongest first, and R there; `shared` ranks by the mean over the batch.

    >>> delays, R = strongest(torch.tensor([[0.1, 0.7, 0.2, 0.9]]), kept=2)
    >>> delays.tolist()
    [[3, 1]]
    """
    ranked = R.mean(0, keepdim=True) if shared else R
    delays = ranked.topk(kept, dim=-1).indices.expand(len(R), -1)
    delays = step("delays", delays, axes="B D", eq=f"the {kept} largest of {'mean_b R' if shared else 'R'}",
                  note="τ_i, in steps.")
    return delays, step("strength", R.gather(1, delays), axes="B D", eq="R(τ_i)", note="What the softmax sees.")


def roll(v: Float[Tensor, "B L H W"], delays: Int[Tensor, "B D"]) -> Float[Tensor, "B D L H W"]:
    """v_{t+τ} for every delay τ, round the end: one gather, no loop.

    >>> v = torch.arange(4.0)[None, :, None, None]
    >>> roll(v, torch.tensor([[1]])).flatten().tolist()
    [1.0, 2.0, 3.0, 0.0]
    """
    B, L = v.shape[:2]
    rows = (torch.arange(L, device=v.device) + delays[:, :, None]) % L
    rows = rows + L * torch.arange(B, device=v.device)[:, None, None]  # the windows one below the other
    return v.flatten(0, 1).index_select(0, rows.flatten()).unflatten(0, rows.shape)


class AutoCorrelation(nn.Module):
    """`auto_correlation` as the `attend` of an `AttentionLayer`.

    Args:
        shared_in_training: True is the released choice: delays shared by the batch in training, per window in
            evaluation, two different formulas. By default both modes are per window.
        factor, released_lags, released_count: see `auto_correlation`.
    """

    def __init__(self, factor: int | float = 1, *, shared_in_training: bool = False, released_lags: bool = False,
                 released_count: bool = False) -> None:
        super().__init__()
        number_of_delays(1, factor)
        self.factor, self.shared_in_training = factor, shared_in_training
        self.released_lags, self.released_count = released_lags, released_count

    def forward(self, q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"],
                v: Float[Tensor, "B S H W"]) -> Float[Tensor, "B L H W"]:
        """As `auto_correlation`; the delays are shared by the batch while training, where that is switched on."""
        return auto_correlation(q, k, v, self.factor, shared=self.training and self.shared_in_training,
                                released_lags=self.released_lags, released_count=self.released_count)


class Autoformer(nn.Module):
    """Decomposition in every layer, Auto-Correlation in the place of attention; no table of positions, no mask.

    Nothing is normalised, yet the forecast of x + c (c per variable) is that of x, plus c, whatever the weights: a
    constant adds the same number to R at every delay, and the encoder's first decomposition takes it out. The scale is
    not followed.

    Args:
        seq_len, label_len, pred_len, V, M, H, d_ff, e_layers, d_layers: see `tsattn_mini.blocks.Transformer`.
        kernel: steps in every moving average.
        factor, shared_in_training, released_lags, released_count: see `AutoCorrelation`.
        more: marks, calendar, activation.

    >>> net = Autoformer(24, 12, 6, V=3, M=8, H=2, d_ff=8)
    >>> net(torch.zeros(1, 24, 3)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, M: int = 512, H: int = 8,
                 d_ff: int = 2048, e_layers: int = 2, d_layers: int = 1, *, kernel: int = 25, factor: int | float = 1,
                 shared_in_training: bool = False, released_lags: bool = False, released_count: bool = False,
                 **more: Any) -> None:
        super().__init__()
        check_sizes(seq_len, label_len, e_layers=e_layers, d_layers=d_layers)

        def attention() -> AttentionLayer:
            return AttentionLayer(AutoCorrelation(factor, shared_in_training=shared_in_training,
                                                  released_lags=released_lags, released_count=released_count), M, H)

        self.forecaster = DecompositionForecaster(
            seq_len, label_len, pred_len, V, M, d_ff, [attention() for _ in range(e_layers)],
            [(attention(), attention()) for _ in range(d_layers)], kernel=kernel, **more)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """As `DecompositionForecaster.forward`."""
        return self.forecaster(x_enc, x_mark_enc, x_dec, x_mark_dec)
