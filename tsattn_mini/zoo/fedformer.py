"""FEDformer: decomposition in every layer, a few frequencies in the place of attention.

Source: T. Zhou et al., "FEDformer: Frequency Enhanced Decomposed Transformer for Long-term Series Forecasting"
(ICML 2022, arXiv 2201.12740), section 3, in its Fourier version. The encoder–decoder is Autoformer's, with a table
of positions. Left out: dropout, the wavelet version, and the mixture of several moving averages in a decomposition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer
from tsattn_mini.blocks import check_sizes
from tsattn_mini.zoo.decomposition import DecompositionForecaster
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention

PLACES = ("encoder", "decoder", "cross_q", "cross_kv")


class FEDformer(nn.Module):
    """`FourierBlock` for self-attention, `FourierCrossAttention` for cross-attention, no mask.

    Every block draws its own bins, from seeds that count up from `seed`, and keeps them with the weights.

    Args:
        seq_len, label_len, pred_len, V, M, H, d_ff, e_layers, d_layers: see `tsattn_mini.blocks.Transformer`.
        kernel: steps in every moving average.
        modes: bins that every block keeps; None for 64, or all below Nyquist where there are fewer; or the bins
            themselves, the same for all layers: lists under "encoder", "decoder" (its self-attention), "cross_q"
            and "cross_kv" (queries of the cross-attention, and its keys and values).
        draw, seed: how the bins are chosen, see `keep_modes`.
        cross: σ of the cross-attention, "tanh" or "softmax".
        released_slots, released_values, released_scale, released_view: see `FourierBlock` and
            `FourierCrossAttention`.
        released_sharing: the released code has one block for all encoder layers, one for all decoder
            self-attentions and one for all cross-attentions; only the projections around them differ.
        more: marks, calendar, activation.
    Raises:
        ValueError: sizes that do not fit, or modes that a length does not have.

    >>> import torch
    >>> net = FEDformer(24, 12, 6, V=3, M=8, H=2, d_ff=8, modes=4)
    >>> net(torch.zeros(1, 24, 3)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, M: int = 512, H: int = 8,
                 d_ff: int = 2048, e_layers: int = 2, d_layers: int = 1, *, kernel: int = 25,
                 modes: int | Mapping[str, Sequence[int]] | None = None, draw: str = "random", seed: int = 0,
                 cross: str = "tanh", released_slots: bool = False, released_values: bool = False,
                 released_scale: bool = False, released_view: bool = False, released_sharing: bool = False,
                 **more: Any) -> None:
        super().__init__()
        check_sizes(seq_len, label_len, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=e_layers, d_layers=d_layers,
                    kernel=kernel)
        seed = checks.seeded(seed)
        kept = _places(modes)
        L = label_len + pred_len
        seeds = iter(range(seed, seed + e_layers + 3 * d_layers))

        def own(place: str, L: int) -> FourierBlock:
            return FourierBlock(M, H, L, kept[place], draw=draw, seed=next(seeds), released_slots=released_slots,
                                released_view=released_view)

        def across() -> FourierCrossAttention:
            seed = next(seeds)
            next(seeds)
            return FourierCrossAttention(M, H, L, seq_len, kept["cross_q"], kept["cross_kv"], draw=draw, seed=seed,
                                         activation=cross, released_values=released_values,
                                         released_scale=released_scale, released_view=released_view)

        kinds = [[own("encoder", seq_len) for _ in range(e_layers)], [own("decoder", L) for _ in range(d_layers)],
                 [across() for _ in range(d_layers)]]
        if released_sharing:
            kinds = [blocks[:1] * len(blocks) for blocks in kinds]
        encoder, selves, crosses = ([AttentionLayer(block, M, H) for block in blocks] for blocks in kinds)
        self.forecaster = DecompositionForecaster(seq_len, label_len, pred_len, V, M, d_ff, encoder,
                                                  list(zip(selves, crosses, strict=True)), kernel=kernel,
                                                  position=True, **more)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """As `DecompositionForecaster.forward`."""
        return self.forecaster(x_enc, x_mark_enc, x_dec, x_mark_dec)


def _places(modes: int | Mapping[str, Sequence[int]] | None) -> Mapping[str, int | Sequence[int] | None]:
    if not isinstance(modes, Mapping):
        return dict.fromkeys(PLACES, modes)
    if set(modes) != set(PLACES):
        raise ValueError(f"modes: expected bins under {', '.join(PLACES)}, got {', '.join(map(str, modes)) or 'none'}")
    return modes
