"""Series decomposition inside the layers: the encoder–decoder that Autoformer and FEDformer share.

Sources: H. Wu et al., "Autoformer: Decomposition Transformers with Auto-Correlation for Long-Term Series
Forecasting" (NeurIPS 2021), section 3.1, equations 1 to 4; T. Zhou et al., "FEDformer" (ICML 2022), section 3.1.
The layers take their attention ready made. Left out: dropout.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.blocks import Encoder, FeedForward, check_sizes, check_windows
from tsattn_mini.embedding import DataEmbedding
from tsattn_mini.trace import meaning, scope, step


def series_decomp(x: Float[Tensor, "B L V"], kernel: int, axes: str = "B L V"
                  ) -> tuple[Float[Tensor, "B L V"], Float[Tensor, "B L V"]]:
    """trend = mean of `kernel` neighbouring steps, seasonal = x - trend; returns (seasonal, trend).

    The first and the last row are repeated, kernel - 1 times in total, so the length stays. An odd kernel looks as
    far back as ahead; an even one looks one step further back. In half precision the mean is taken in float32.

    Args:
        kernel: steps in one mean, at least 1; it may be longer than the series.
        axes: what the axes of `x` are called where it is used.
    Raises:
        ValueError: a kernel that is no whole number of at least 1, a series of integers, entries that are not finite,
            or sums that leave the number range.

    >>> x = torch.tensor([0.0, 3.0, 0.0, 3.0, 0.0, 3.0])[None, :, None]
    >>> seasonal, trend = series_decomp(x, kernel=3)
    >>> trend.flatten().tolist(), (seasonal + trend == x).all().item()
    ([1.0, 1.0, 2.0, 1.0, 2.0, 2.0], True)
    """
    check_kernel(kernel)
    checks.required(x=x)
    checks.shapes(x=(x, "B L V"))
    checks.floating(x=x)
    L = x.shape[1]
    rows = torch.arange(-(kernel // 2), L + (kernel - 1) // 2, device=x.device).clamp(0, L - 1)
    padded = x.index_select(1, rows).to(torch.promote_types(x.dtype, torch.float32))
    trend = F.avg_pool1d(padded.mT, kernel, stride=1).mT.contiguous().to(x.dtype)
    seasonal = x - trend
    if not torch.compiler.is_compiling() and not checks.all_finite(seasonal):  # as it is if x or the trend is not
        checks.finite(x=x)
        checks.overflow("x", seasonal)
    trend = step("trend", trend, axes=axes, eq=f"mean of {kernel} neighbours",
                 note="What moves slowly; beyond the ends the end value is repeated.")
    seasonal = step("seasonal", seasonal, axes=axes, eq="x - trend",
                    note="What is left. Together the two are x again: nothing is thrown away or rescaled.")
    return seasonal, trend


def check_kernel(kernel: int) -> None:
    """Check the steps of a moving average. Raises ValueError unless they are a whole number of at least 1."""
    checks.counts(kernel=kernel)


class SeasonalNorm(nn.Module):
    """LayerNorm at every position, minus its mean over time: no channel keeps a level of its own."""

    def __init__(self, M: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(M)

    def forward(self, x: Float[Tensor, "B L M"]) -> Float[Tensor, "B L M"]:
        """`x`, normed at every position, without its mean over time."""
        scaled = self.norm(x)
        return scaled - scaled.mean(1, keepdim=True)


class DecompositionEncoderLayer(nn.Module):
    """x ← seasonal(x + attention(x, x)), then x ← seasonal(x + ffn(x)); both trends are dropped."""

    def __init__(self, attention: nn.Module, M: int, d_ff: int, kernel: int, activation: str = "gelu") -> None:
        super().__init__()
        self.attention, self.kernel = attention, kernel
        self.ffn = FeedForward(M, d_ff, activation, bias=False)

    def forward(self, x: Float[Tensor, "B L M"]) -> Float[Tensor, "B L M"]:
        """The seasonal part after attention and feed-forward; both trends are dropped."""
        y = self.attention(x, x)
        with scope("decomp1"):
            x, _ = series_decomp(x + y, self.kernel, "B L M")
        y = self.ffn(x)
        with scope("decomp2"):
            return series_decomp(x + y, self.kernel, "B L M")[0]


class DecompositionDecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward, each followed by a decomposition.

    The seasonal part goes on; the three trends are added, brought to V variables by a convolution over three
    neighbouring steps (circular), and returned beside it.
    """

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, V: int, M: int, d_ff: int, kernel: int,
                 activation: str = "gelu") -> None:
        super().__init__()
        self.self_attention, self.cross_attention, self.kernel = self_attention, cross_attention, kernel
        self.ffn = FeedForward(M, d_ff, activation, bias=False)
        self.to_trend = nn.Conv1d(M, V, kernel_size=3, padding=1, padding_mode="circular", bias=False)

    def forward(self, x: Float[Tensor, "B L M"],
                past: Float[Tensor, "B S M"]) -> tuple[Float[Tensor, "B L M"], Float[Tensor, "B L V"]]:
        """Returns the seasonal part, and what this layer adds to the trend."""
        with scope("self"):
            y = self.self_attention(x, x)
        with scope("decomp1"):
            x, trend1 = series_decomp(x + y, self.kernel, "B L M")
        with scope("cross"):
            y = self.cross_attention(x, past)
        with scope("decomp2"):
            x, trend2 = series_decomp(x + y, self.kernel, "B L M")
        y = self.ffn(x)
        with scope("decomp3"):
            x, trend3 = series_decomp(x + y, self.kernel, "B L M")
        trends = step("trends", trend1 + trend2 + trend3, axes="B L M", eq="trend₁ + trend₂ + trend₃",
                      note="What the three decompositions took out of this layer.")
        added = step("added_trend", self.to_trend(trends.mT).mT.contiguous(), axes="B L V",
                     eq="Σ_j W_j trends_{t+j},  j = -1, 0, 1",
                     note="In the series' own variables; the two ends count as neighbours.")
        return x, added


class DecompositionForecaster(nn.Module):
    """Decompose, let attention work on the seasonal part, gather the trend beside it, add the two at the end.

    The encoder reads the window as it came. The decoder's seasonal input is the tail of the seasonal part followed
    by zeros; its trend starts as the tail of the trend followed by the window's mean.

    Args:
        seq_len, label_len, pred_len, V, M, d_ff, marks, calendar, activation: see `tsattn_mini.blocks.Transformer`.
        encoder: one attention per layer, called as `attention(x, x)`; a shared one may be listed again.
        decoder: per layer the pair (self-attention, cross-attention), called as `(x, x)` and `(x, past)`.
        kernel: steps in every moving average.
        position: True adds the table of sinusoids to the embedding. FEDformer does; Autoformer knows the order by
            its delays.
    Raises:
        ValueError: sizes that do not fit.
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, M: int, d_ff: int,
                 encoder: Sequence[nn.Module], decoder: Sequence[tuple[nn.Module, nn.Module]], *, kernel: int = 25,
                 marks: int = 4, calendar: str | None = None, activation: str = "gelu",
                 position: bool = False) -> None:
        super().__init__()
        check_sizes(seq_len, label_len, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=len(encoder),
                    d_layers=len(decoder), kernel=kernel)
        self.seq_len, self.label_len, self.pred_len, self.V, self.kernel = seq_len, label_len, pred_len, V, kernel
        self.enc_embedding = DataEmbedding(V, M, marks, calendar, position, called="x_mark_enc")
        self.encoder = Encoder([DecompositionEncoderLayer(attention, M, d_ff, kernel, activation)
                                for attention in encoder], SeasonalNorm(M))
        self.dec_embedding = DataEmbedding(V, M, marks, calendar, position, called="x_mark_dec")
        self.decoder = nn.ModuleList(DecompositionDecoderLayer(own, cross, V, M, d_ff, kernel, activation)
                                     for own, cross in decoder)
        self.decoder_norm = SeasonalNorm(M)
        self.projection = nn.Linear(M, V)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """The next `pred_len` steps. The arguments are the released ones; of `x_dec` only the shape matters.

        Raises:
            ValueError: shapes that do not fit, marks for one side only, NaN or infinite entries, another dtype than
                the weights'.
        """
        checks.required(x_enc=x_enc)
        checks.floating(self.projection.weight.dtype, x_enc=x_enc)
        check_windows(x_enc, x_mark_enc, x_dec, x_mark_dec, T=self.seq_len, L=self.label_len + self.pred_len,
                      V=self.V, marks=self.enc_embedding.marks)
        x = step("x", x_enc, axes="B T V", note="The window as it came.")
        seasonal, trend = self.start(x)
        with scope("enc_embedding"):
            h = self.enc_embedding(x, x_mark_enc)
        past = self.encoder(h)
        with scope("dec_embedding"):
            h = self.dec_embedding(seasonal, x_mark_dec)
        return self.decode(h, past, trend)

    @meaning("decompose")
    def start(self, x: Float[Tensor, "B T V"]) -> tuple[Float[Tensor, "B L V"], Float[Tensor, "B L V"]]:
        """The decoder's two inputs: seasonal part and trend of the window's tail, continued by 0 and by its mean."""
        with scope("decomp"):
            seasonal, trend = series_decomp(x, self.kernel, "B T V")
        tail = slice(self.seq_len - self.label_len, None)
        mean = step("mean", x.mean(1, keepdim=True), axes="B 1 V", eq="mean_t x", note="The level of the window.")
        seasonal = step("seasonal_init", F.pad(seasonal[:, tail], (0, 0, 0, self.pred_len)), axes="B L V",
                        eq="[last label_len rows ; 0]", note="The season is asked for where the zeros stand.")
        trend = step("trend_init", torch.cat([trend[:, tail], mean.expand(-1, self.pred_len, -1)], 1), axes="B L V",
                     eq="[last label_len rows ; mean]", note="Before anything is learnt, the trend stays at the mean.")
        return seasonal, trend

    @meaning("decode")
    def decode(self, h: Float[Tensor, "B L M"], past: Float[Tensor, "B T M"],
               trend: Float[Tensor, "B L V"]) -> Float[Tensor, "B F V"]:
        """Through the layers, adding up the trend; then seasonal part + trend, of which the last F rows count."""
        for i, layer in enumerate(self.decoder):
            with scope(f"dec{i}"):
                h, added = layer(h, past)
                trend = step("trend", trend + added, axes="B L V", eq="trend + added", note="The trend so far.")
        seasonal = step("seasonal_part", self.projection(self.decoder_norm(h)), axes="B L V", eq="W_p norm(x) + b_p",
                        note="From width M back to the variables.")
        y = step("y", seasonal + trend, axes="B L V", eq="seasonal part + trend",
                 note="The level comes back here: it travelled in the trend, untouched.")
        return step("forecast", y[:, -self.pred_len:], axes="B F V", eq="last F rows",
                    note="The label rows are dropped.")
