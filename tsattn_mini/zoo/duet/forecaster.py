"""DUET: route and extract along time, link and attend across variables, forecast with one matrix.

Source: X. Qiu et al., "DUET: Dual Clustering Enhanced Multivariate Time Series Forecasting" (KDD 2025).
"""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer
from tsattn_mini.blocks import Encoder, EncoderLayer, check_sizes, check_windows
from tsattn_mini.trace import meaning, scope, step
from tsattn_mini.training import Cut
from tsattn_mini.zoo.duet.channels import ChannelMask, channel_attention
from tsattn_mini.zoo.duet.extractor import TemporalClusters


class Draws(nn.Module):
    """Uniform numbers from a generator of its own: the n-th draw depends on `seed` and n alone, both stored."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seed", torch.randint(2**31, ()))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, *shape: int, like: Tensor) -> Tensor:
        """The next uniform numbers between 0 and 1 of `shape`, on the device of `like`; each call goes on counting."""
        generator = torch.Generator().manual_seed(int(self.seed) * 2**31 + int(self.count))
        self.count += 1
        u = torch.rand(shape, generator=generator, dtype=torch.float64)
        return u.clamp(1e-9, 1 - 1e-9).to(like.device, torch.promote_types(like.dtype, torch.float32))


class DUET(nn.Module):
    """forecast = restore(head(attention across variables(features))), features = Σ gates · extractors.

    The router and the links read the raw window, the extractors the normalised one. Time marks are accepted and
    checked, but not read: DUET knows no calendar. A model of one variable has nobody to look at: its features go
    straight to the head.

    Args:
        seq_len: past steps T; pred_len: future steps F; V: variables; M: width of the features; H: heads, a divisor
            of M; d_ff: inner width of the feed-forward part; e_layers: layers of attention across variables.
        marks: columns of the time marks; calendar: what they hold. Neither is read.
        N: experts; k: experts per window; hidden: width inside the router; kernel: see `series_decomp`.
        per_variable, detach: see `TemporalClusters`.
        soft: the released attention, in which a hidden variable keeps some weight, see `channel_attention`.
        sample_in_eval: the released evaluation, in which links are drawn anew on every call.
        sharpened, keep_self: see `ChannelMask`; mix_in_eval, one_scale, eps: see `Router`.
    Raises:
        ValueError: sizes that do not fit.

    >>> net = DUET(24, 6, V=3, M=8, H=2, d_ff=8).eval()
    >>> net(torch.zeros(1, 24, 3)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, seq_len: int, pred_len: int, V: int, M: int = 512, H: int = 8, d_ff: int = 2048,
                 e_layers: int = 2, *, marks: int = 4, calendar: str | None = None, activation: str = "gelu",
                 N: int = 4, k: int = 2, hidden: int = 256, kernel: int = 25, per_variable: bool = True,
                 detach: bool = False, soft: bool = False, sample_in_eval: bool = False, sharpened: bool = False,
                 keep_self: bool = True, **router: Any) -> None:
        super().__init__()
        check_sizes(seq_len, 0, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=e_layers)
        checks.counts(0, marks=marks)
        if calendar not in (None, "fixed", "learned"):
            raise ValueError(f"calendar: expected None, 'fixed' or 'learned', got {calendar!r}")
        self.seq_len, self.V, self.marks, self.sample_in_eval = seq_len, V, marks, sample_in_eval
        self.clusters = TemporalClusters(seq_len, V, M, N, k, hidden, kernel, per_variable=per_variable,
                                         detach=detach, **router)
        self.mask = ChannelMask(seq_len, sharpened=sharpened, keep_self=keep_self)
        attend = partial(channel_attention, soft=soft)
        layers = [EncoderLayer(AttentionLayer(attend, M, H), M, d_ff, activation) for _ in range(e_layers)]
        self.encoder = Encoder(layers, nn.LayerNorm(M))
        self.head = nn.Linear(M, pred_len)
        self.draws = Draws()

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None, x_mark_dec: Shaped[Tensor, "B L K"] | None = None, *,
                router_noise: Float[Tensor, "B R N"] | None = None,
                u: Float[Tensor, "B V V"] | None = None) -> Float[Tensor, "B F V"]:
        """The next `pred_len` steps. Of `x_dec` and the marks only the shape matters.

        In training both kinds of noise are drawn from the model's own generator, in evaluation there is none;
        noise that is passed is used in both.

        Args:
            router_noise: standard normal, see `Router`; u: uniform on 0 … 1, see `ChannelMask`.
        Raises:
            ValueError: shapes that do not fit, marks for one side only, NaN or infinite entries, another dtype than
                the weights'.
        """
        return self.forecast_and_balance(x_enc, x_mark_enc, x_dec, x_mark_dec, router_noise=router_noise, u=u)[0]

    def forecast_and_balance(self, x_enc: Tensor, x_mark_enc: Tensor | None = None, x_dec: Tensor | None = None,
                             x_mark_dec: Tensor | None = None, *, router_noise: Tensor | None = None,
                             u: Tensor | None = None) -> tuple[Float[Tensor, "B F V"], Float[Tensor, ""]]:
        """As `forward`, and beside it the router's balance, which training adds to the error.

        Raises:
            ValueError: as `forward`.
        """
        checks.required(x_enc=x_enc)
        checks.floating(self.head.weight.dtype, x_enc=x_enc)
        rows = next((t.shape[1] for t in (x_dec, x_mark_dec) if isinstance(t, Tensor) and t.ndim == 3), 1)
        check_windows(x_enc, x_mark_enc, x_dec, x_mark_dec, T=self.seq_len, L=rows, V=self.V, marks=self.marks)
        x = step("x", x_enc, axes="B T V", note="The window as it came.")
        router_noise, u = self.noise(x, router_noise, u)
        features, mu, sigma, balance = self.clusters(x, router_noise)
        if self.V > 1:
            with scope("links"):
                keep = self.mask(x.mT, u)
            features = self.encoder(features, keep=keep)
        with meaning("restore"):
            y = step("head", self.head(features), axes="B V F", eq="W_p x + b_p",
                     note="From width M to the steps to come.")
            y = self.clusters.revin.restore(y.mT, mu, sigma)
            return step("forecast", y, axes="B F V", note="In the units of the window."), balance

    def noise(self, x: Float[Tensor, "B T V"], router_noise: Float[Tensor, "B R N"] | None,
              u: Float[Tensor, "B V V"] | None
              ) -> tuple[Float[Tensor, "B R N"] | None, Float[Tensor, "B V V"] | None]:
        """What was passed, or what this mode draws in its place."""
        B, _, V = x.shape
        if router_noise is None and self.training:
            rows = V if self.clusters.per_variable else 1
            router_noise = torch.special.ndtri(self.draws(B, rows, self.clusters.router.N, like=x))
        if u is None and V > 1 and (self.training or self.sample_in_eval):
            u = self.draws(B, V, V, like=x)
        return router_noise, u


def balanced_error(model: DUET, cut: Cut, weight: float = 1.0) -> Float[Tensor, ""]:
    """The mean squared error of the forecasts plus `weight` times the router's balance: a `loss` for `train`."""
    forecast, balance = model.forecast_and_balance(cut.past, cut.past_marks, None, cut.decoder_marks)
    return (forecast - cut.future).square().mean() + weight * balance
