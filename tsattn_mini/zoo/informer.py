"""Informer: ProbSparse attention, layers that halve the length, and a whole horizon in one pass.

Source: H. Zhou, S. Zhang, J. Peng, S. Zhang, J. Li, H. Xiong, W. Zhang, "Informer: Beyond Efficient Transformer for
Long Sequence Time-Series Forecasting" (AAAI 2021, arXiv 2012.07436), section 3. The batch norm inside `Distilling` is
in the released code alone. Left out: dropout.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.blocks import Decoder, DecoderLayer, EncoderLayer, Transformer, check_sizes
from tsattn_mini.embedding import finite_rows
from tsattn_mini.nonstationary import destationarize, stationarize
from tsattn_mini.trace import meaning, scope, step
from tsattn_mini.zoo.prob_sparse import ProbSparse, prob_sparse, sample_keys, sample_size, sparsity

__all__ = ["Distilling", "Informer", "ProbSparse", "prob_sparse", "sample_keys", "sample_size", "sparsity"]


class Distilling(nn.Module):
    """Half as many steps: max-pool(elu(batch-norm(conv(x)))), windows of 3, every second one (section 3.2).

    In evaluation mode the batch norm uses stored statistics, so a window does not depend on its batch.

    Args:
        M: model width.
        released_padding: the circle is closed with two steps on each side instead of one, so that both ends are read
            twice and one step more comes out: 12 → 7 instead of 6.

    >>> Distilling(M=4).eval()(torch.zeros(1, 96, 4)).shape
    torch.Size([1, 48, 4])
    """

    def __init__(self, M: int, *, released_padding: bool = False) -> None:
        super().__init__()
        checks.counts(M=M)
        self.padding = 2 if released_padding else 1
        self.conv, self.norm = nn.Conv1d(M, M, kernel_size=3), nn.BatchNorm1d(M)

    def length(self, L: int) -> int:
        """How many steps come out of L."""
        return (L + 2 * self.padding - 3) // 2 + 1

    def forward(self, x: Float[Tensor, "B L M"]) -> Float[Tensor, "B S M"]:
        """Half as many positions, each the strongest of its neighbours; see the class.

        Raises:
            ValueError: shapes that do not fit, another dtype than the weights', entries that are not finite, or sums
                that leave the number range.
        """
        checks.real(self.conv.weight.dtype, x=(x, f"B L {self.conv.in_channels}"))
        circle = torch.arange(-self.padding, x.shape[1] + self.padding, device=x.device) % x.shape[1]
        h = self.norm(self.conv(x[:, circle].mT)).mT
        checks.overflow("x", h)
        h = step("conv", h, axes="B L M", eq="BN(Σ_j W_j x_{t+j} + b)",
                 note="Three neighbours at a time, in a circle; then every channel is normed.")
        pooled = nn.functional.max_pool1d(nn.functional.elu(h).mT, kernel_size=3, stride=2, padding=1).mT
        return step("distilled", pooled.contiguous(), axes="B S M", eq="max of 3 ELUs, every second",
                    note="The next layer has half as many keys to read.")


class DistillingEncoder(nn.Module):
    """The layers in turn, in the scopes enc0, enc1, …, a `Distilling` in distil0, … between them, and a last norm."""

    def __init__(self, layers: Sequence[nn.Module], distil: Sequence[nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.layers, self.distil, self.norm = nn.ModuleList(layers), nn.ModuleList(distil), norm

    @meaning("attend")
    def forward(self, x: Float[Tensor, "B L M"]) -> Float[Tensor, "B S M"]:
        """The layers in turn, positions halved after each but the last."""
        for i, layer in enumerate(self.layers):
            with scope(f"enc{i}"):
                x = layer(x)
            if i < len(self.distil):
                with scope(f"distil{i}"):
                    x = self.distil[i](x)
        return step("enc_out", self.norm(x), axes="B S M", eq="LN(x)", note="The past, as the decoder will read it.")


class Informer(nn.Module):
    """ProbSparse attention over steps, distilling between the encoder's layers, the whole future in one pass.

    Random keys are drawn once from `seed` and saved with the weights, so a reloaded model is the same model, and a
    forecast can be repeated. `draw` makes others, which `forward` takes; a training loop may pass fresh ones each time,
    as the paper does.

    Args:
        factor: c of `sample_size`; distil: whether the encoder halves the length between its layers.
        normalise: take the mean and deviation off every window and put them back at the end, as the short-term port
            in the Time-Series-Library does; the paper has no such step.
        seed: of the random keys.
        released_view, released_squeeze, released_mean, released_peek, released_sum: see `prob_sparse`.
        released_padding: see `Distilling`.
        released_cross: cross-attention is ProbSparse too; in the paper it is full attention.
        released_start: the decoder starts from `x_dec` as it is given (or from the raw tail of `x_enc`), which
            `normalise` does not touch.
        The others are those of `Transformer`.
    Raises:
        ValueError: sizes that do not fit.

    >>> net = Informer(24, 12, 6, V=3, M=8, H=2, d_ff=8)
    >>> net(torch.zeros(1, 24, 3)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, M: int = 512, H: int = 8,
                 d_ff: int = 2048, e_layers: int = 2, d_layers: int = 1, *, marks: int = 4,
                 calendar: str | None = None, activation: str = "gelu", factor: int = 5, distil: bool = True,
                 normalise: bool = False, seed: int = 0, released_view: bool = False, released_squeeze: bool = False,
                 released_mean: bool = False, released_peek: bool = False, released_sum: bool = False,
                 released_padding: bool = False, released_cross: bool = False, released_start: bool = False) -> None:
        super().__init__()
        check_sizes(seq_len, label_len, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=e_layers, d_layers=d_layers)
        self.normalise, self.released_start = normalise, released_start
        generator = torch.Generator().manual_seed(checks.seeded(seed))
        switches = {"released_view": released_view, "released_squeeze": released_squeeze,
                    "released_mean": released_mean, "released_peek": released_peek, "released_sum": released_sum}

        def sparse(L: int, S: int) -> nn.Module:
            return AttentionLayer(ProbSparse(L, S, factor, generator=generator, **switches), M, H)

        def cross(L: int, S: int) -> nn.Module:
            return sparse(L, S) if released_cross else AttentionLayer(scaled_dot_product, M, H)

        layers, halving, T, L = [], [], seq_len, label_len + pred_len
        for i in range(e_layers):
            layers.append(EncoderLayer(sparse(T, T), M, d_ff, activation))
            if distil and i < e_layers - 1:
                halving.append(Distilling(M, released_padding=released_padding))
                T = halving[-1].length(T)
        decoder = [DecoderLayer(sparse(L, L), cross(L, T), M, d_ff, activation) for _ in range(d_layers)]
        self.transformer = Transformer(seq_len, label_len, pred_len, V, M, marks=marks, calendar=calendar,
                                       encoder=DistillingEncoder(layers, halving, nn.LayerNorm(M)),
                                       decoder=Decoder(decoder, nn.LayerNorm(M)))

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None, x_mark_dec: Shaped[Tensor, "B L K"] | None = None,
                index_samples: Sequence[Int[Tensor, "_ _"]] | None = None) -> Float[Tensor, "B F V"]:
        """The next `pred_len` steps. Of `x_dec` only the shape matters, except with `released_start`.

        Args:
            index_samples: keys to sample in place of the stored ones, one tensor for every ProbSparse attention in the
                order of the computation: encoder, then self- and cross-attention of every decoder layer.
        Raises:
            ValueError: shapes that do not fit, marks for one side only, entries that are not finite.
        """
        if index_samples is not None:
            names = self._samples()
            if len(index_samples) != len(names):
                raise ValueError(f"index_samples: expected {len(names)} tensors, one for every ProbSparse attention, "
                                 f"got {len(index_samples)}")
            given = dict(zip(names, index_samples, strict=True))
            return torch.func.functional_call(self, given, (x_enc, x_mark_enc, x_dec, x_mark_dec))
        net = self.transformer
        net.check(x_enc, x_mark_enc, x_dec, x_mark_dec)
        finite_rows(x_dec=x_dec if self.released_start else None)
        x = step("x", x_enc, axes="B T V", note="The window as it came.")
        start = None
        if self.released_start:
            start = net.start_rows(x) if x_dec is None else x_dec
        if not self.normalise:
            return net.future(net.fill(x, x_mark_enc, x_mark_dec, start=start))
        x_norm, mu, sigma = stationarize(x)
        return net.future(destationarize(net.fill(x_norm, x_mark_enc, x_mark_dec, start=start), mu, sigma))

    def draw(self, seed: int) -> list[Int[Tensor, "_ _"]]:
        """Other random keys, for `index_samples`. Raises ValueError for a seed that is no whole number."""
        generator = torch.Generator().manual_seed(checks.seeded(seed))
        modules = [m for m in self.modules() if isinstance(m, ProbSparse)]
        return [m.draw(generator) for m in modules]

    def _samples(self) -> list[str]:
        return [name for name, _ in self.named_buffers() if name.endswith("index_sample")]
