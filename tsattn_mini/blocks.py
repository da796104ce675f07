"""The encoder–decoder around an attention: layers, stacks, and the plain forecaster made of them.

Sources: A. Vaswani et al., "Attention Is All You Need" (2017), section 3.1, with the norm after each sum;
H. Zhou et al., "Informer" (AAAI 2021), section 3.3, for a decoder that fills a whole horizon in one pass.
Every layer takes its attention ready made, so the other models bring theirs. Left out: dropout.
"""

from collections.abc import Callable, Iterable

import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer, causal, scaled_dot_product
from tsattn_mini.embedding import DataEmbedding, finite_rows
from tsattn_mini.trace import meaning, scope, step

Handles = dict[str, Tensor | None]  # arguments of an attention by name, such as tau= and mask=
ACTIVATIONS = {"gelu": F.gelu, "relu": F.relu}


class FeedForward(nn.Module):
    """W₂ gelu(W₁ x + b₁) + b₂ at every position by itself: wide inside, width M outside.

    `bias=False` leaves b₁ and b₂ out.

    Raises:
        ValueError: an activation that is neither "gelu" nor "relu".

    >>> net = FeedForward(M=8, d_ff=32)
    >>> sum(p.numel() for p in net.parameters())  # 8 · 32 + 32, and 32 · 8 + 8
    552
    """

    def __init__(self, M: int, d_ff: int, activation: str = "gelu", bias: bool = True) -> None:
        super().__init__()
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise ValueError(f"activation: expected one of {list(ACTIVATIONS)}, got {activation!r}")
        checks.counts(M=M, d_ff=d_ff)
        self.up, self.down = nn.Linear(M, d_ff, bias), nn.Linear(d_ff, M, bias)
        self.activation, self.bias = activation, bias

    def forward(self, x: Float[Tensor, "*rows M"], axes: str = "B L M") -> Float[Tensor, "*rows M"]:
        """`axes` are those of `x`: the positions may stand in more rows than one per window."""
        hidden = ACTIVATIONS[self.activation](self.up(x))
        b1, b2 = (" + b₁", " + b₂") if self.bias else ("", "")
        return step("ffn", self.down(hidden), axes=axes, eq=f"W₂ {self.activation}(W₁ x{b1}){b2}",
                    note="Each position is worked on alone.")


class EncoderLayer(nn.Module):
    """x ← LN(x + attention(x, x)), then x ← LN(x + ffn(x))."""

    def __init__(self, attention: nn.Module, M: int, d_ff: int, activation: str = "gelu") -> None:
        super().__init__()
        self.attention = attention
        self.ffn = FeedForward(M, d_ff, activation)
        self.norm1, self.norm2 = nn.LayerNorm(M), nn.LayerNorm(M)

    def forward(self, x: Float[Tensor, "B L M"], **handles: Tensor | None) -> Float[Tensor, "B L M"]:
        """`handles` go to the attention, such as `tau=` and `delta=`."""
        x = step("norm1", self.norm1(x + self.attention(x, x, **handles)), axes="B L M", eq="LN(x + y)",
                 note="What attention brought is added, and every position is scaled to unit spread.")
        return step("norm2", self.norm2(x + self.ffn(x)), axes="B L M", eq="LN(x + ffn)",
                    note="The layer's output.")


class Encoder(nn.Module):
    """The layers in turn, in the scopes enc0, enc1, …, and a last norm; all get the same handles."""

    def __init__(self, layers: Iterable[nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(layers), norm

    @meaning("attend")
    def forward(self, x: Float[Tensor, "B S M"], **handles: Tensor | None) -> Float[Tensor, "B S M"]:
        """The past `x`, encoded; `handles` go to every layer."""
        for i, layer in enumerate(self.layers):
            with scope(f"enc{i}"):
                x = layer(x, **handles)
        return step("enc_out", self.norm(x), axes="B S M", eq="LN(x)",
                    note="The past, encoded.")


class DecoderLayer(nn.Module):
    """x ← LN(x + self-attention(x, x)), x ← LN(x + cross-attention(x, past)), x ← LN(x + ffn(x))."""

    def __init__(self, self_attention: nn.Module, cross_attention: nn.Module, M: int, d_ff: int,
                 activation: str = "gelu") -> None:
        super().__init__()
        self.self_attention, self.cross_attention = self_attention, cross_attention
        self.ffn = FeedForward(M, d_ff, activation)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(M), nn.LayerNorm(M), nn.LayerNorm(M)

    def forward(self, x: Float[Tensor, "B L M"], past: Float[Tensor, "B S M"], own: Handles,
                cross: Handles) -> Float[Tensor, "B L M"]:
        """`own` are the handles of self-attention, `cross` those of cross-attention: their keys differ."""
        with scope("self"):
            y = self.self_attention(x, x, **own)
        x = step("norm1", self.norm1(x + y), axes="B L M", eq="LN(x + self)",
                 note="Brought to one scale: cross-attention never sees the scale of the decoder's input.")
        with scope("cross"):
            y = self.cross_attention(x, past, **cross)
        x = step("norm2", self.norm2(x + y), axes="B L M", eq="LN(x + cross)",
                 note="The past has been asked.")
        return step("norm3", self.norm3(x + self.ffn(x)), axes="B L M", eq="LN(x + ffn)",
                    note="The layer's output.")


class Decoder(nn.Module):
    """The layers in turn, in the scopes dec0, dec1, …, and a last norm."""

    def __init__(self, layers: Iterable[nn.Module], norm: nn.Module) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(layers), norm

    @meaning("decode")
    def forward(self, x: Float[Tensor, "B L M"], past: Float[Tensor, "B S M"], own: Handles,
                cross: Handles) -> Float[Tensor, "B L M"]:
        """`x`, filled in from the encoded `past`; `own` and `cross` as for `DecoderLayer.forward`."""
        for i, layer in enumerate(self.layers):
            with scope(f"dec{i}"):
                x = layer(x, past, own, cross)
        return step("dec_norm", self.norm(x), axes="B L M", eq="LN(x)",
                    note="One matrix is left to do.")


class Transformer(nn.Module):
    """The plain forecaster: encode the past, then fill in what follows its tail.

    Args:
        seq_len: past steps T; pred_len: future steps F.
        label_len: steps of the past that the decoder starts from, 0 to seq_len. The decoder has
            L = label_len + pred_len positions.
        V: variables; M: model width; H: heads, a divisor of M; d_ff: inner width of the feed-forward part.
        e_layers, d_layers: layers of encoder and decoder, at least 1.
        marks, calendar: the time marks, see `DataEmbedding`.
        activation: "gelu" or "relu".
        attend: the attention of all layers, see `AttentionLayer`.
        encoder, decoder: ready-made stacks in place of the plain ones, called as `Encoder` and `Decoder` are.
    Raises:
        ValueError: sizes that do not fit.

    >>> import torch
    >>> net = Transformer(24, 12, 6, V=3, M=16, H=2, d_ff=16)
    >>> net(torch.zeros(2, 24, 3)).shape  # 6 steps of 3 variables for each of 2 windows
    torch.Size([2, 6, 3])
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, M: int = 512, H: int = 8,
                 d_ff: int = 2048, e_layers: int = 2, d_layers: int = 1, *, marks: int = 4,
                 calendar: str | None = None, activation: str = "gelu",
                 attend: Callable[..., Tensor] = scaled_dot_product, encoder: nn.Module | None = None,
                 decoder: nn.Module | None = None) -> None:
        super().__init__()
        check_sizes(seq_len, label_len, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=e_layers, d_layers=d_layers)
        self.seq_len, self.label_len, self.pred_len, self.V = seq_len, label_len, pred_len, V

        attention = lambda: AttentionLayer(attend, M, H)  # noqa: E731
        if encoder is None:
            layers = [EncoderLayer(attention(), M, d_ff, activation) for _ in range(e_layers)]
            encoder = Encoder(layers, nn.LayerNorm(M))
        if decoder is None:
            layers = [DecoderLayer(attention(), attention(), M, d_ff, activation) for _ in range(d_layers)]
            decoder = Decoder(layers, nn.LayerNorm(M))
        self.enc_embedding, self.encoder = DataEmbedding(V, M, marks, calendar, called="x_mark_enc"), encoder
        self.dec_embedding, self.decoder = DataEmbedding(V, M, marks, calendar, called="x_mark_dec"), decoder
        self.projection = nn.Linear(M, V)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """The next `pred_len` steps. The arguments are the released ones; of `x_dec` only the shape matters.

        Raises:
            ValueError: shapes that do not fit, marks for one side only, NaN or infinite entries.
        """
        self.check(x_enc, x_mark_enc, x_dec, x_mark_dec)
        x = step("x", x_enc, axes="B T V", note="The window as it came.")
        return self.future(self.fill(x, x_mark_enc, x_mark_dec))

    def fill(self, x: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
             x_mark_dec: Shaped[Tensor, "B L K"] | None = None, *, past: Handles | None = None,
             own: Handles | None = None, start: Float[Tensor, "B L V"] | None = None) -> Float[Tensor, "B L V"]:
        """Encode `x`, then fill in the decoder's L rows, label part included.

        The decoder starts from the tail of `x` itself, followed by zeros.

        Args:
            past: handles for attention whose keys are the past (encoder, and cross-attention).
            own: handles for the decoder's self-attention, on top of the causal mask.
            start: what the decoder starts from instead; see `start_rows`.
        """
        past, own = past or {}, own or {}
        with meaning("embed"):
            x_dec = step("x_dec", self.start_rows(x) if start is None else start, axes="B L V",
                         eq="[last label_len rows ; 0]",
                         note="The end of the past, then a zero in the place of each step to come.")
        with scope("enc_embedding"):
            h = self.enc_embedding(x, x_mark_enc)
        enc_out = self.encoder(h, **past)
        with scope("dec_embedding"):
            h = self.dec_embedding(x_dec, x_mark_dec)
        mask = causal(x_dec.shape[1]).to(x.device)
        dec_norm = self.decoder(h, enc_out, {"mask": mask, **own}, past)
        with meaning("decode"):
            return step("dec_out", self.projection(dec_norm), axes="B L V", eq="W_p x + b_p",
                        note="From width M back to the variables.")

    def start_rows(self, x: Float[Tensor, "B T V"]) -> Float[Tensor, "B L V"]:
        """The last `label_len` rows of `x`, then `pred_len` rows of zeros."""
        return F.pad(x[:, self.seq_len - self.label_len:], (0, 0, 0, self.pred_len))

    @meaning("restore")
    def future(self, y: Float[Tensor, "B L V"]) -> Float[Tensor, "B F V"]:
        """The last `pred_len` rows of what `fill` filled in."""
        return step("forecast", y[:, -self.pred_len:], axes="B F V", eq="last F rows",
                    note="The label rows are dropped; the loss never sees them.")

    def check(self, x_enc: Tensor, x_mark_enc: Tensor | None, x_dec: Tensor | None,
              x_mark_dec: Tensor | None) -> None:
        """Raise the ValueErrors of `forward` before anything is computed."""
        checks.required(x_enc=x_enc)
        checks.floating(self.projection.weight.dtype, x_enc=x_enc)
        check_windows(x_enc, x_mark_enc, x_dec, x_mark_dec, T=self.seq_len, L=self.label_len + self.pred_len,
                      V=self.V, marks=self.enc_embedding.marks)


def check_sizes(seq_len: int, label_len: int, **sizes: int) -> None:
    """Check the sizes of an encoder–decoder: whole numbers of at least 1, and 0 <= label_len <= seq_len.

    Raises:
        ValueError: naming the size that does not fit.
    """
    checks.counts(seq_len=seq_len, **sizes)
    if not checks.whole(label_len) or not 0 <= label_len <= seq_len:
        raise ValueError(f"label_len: expected 0 <= label_len <= seq_len={seq_len}, as the decoder "
                         f"starts from the last label_len steps of the past, got {label_len!r}")


def check_windows(x_enc: Tensor, x_mark_enc: Tensor | None, x_dec: Tensor | None, x_mark_dec: Tensor | None, *,
                  T: int, L: int, V: int, marks: int) -> None:
    """Check what an encoder–decoder is called with: T past and L decoder rows of V variables and `marks` marks.

    Raises:
        ValueError: shapes that do not fit, marks for one side only, NaN or infinite entries.
    """
    if (x_mark_enc is None) != (x_mark_dec is None):
        missing = "x_mark_enc" if x_mark_enc is None else "x_mark_dec"
        raise ValueError(f"{missing}: expected marks for both past and decoder or for neither, got None")
    if x_mark_enc is not None and not marks:
        raise ValueError("x_mark_enc: expected None, as the model was built with marks=0, "
                         f"got shape {tuple(x_mark_enc.shape)}")
    checks.shapes(x_enc=(x_enc, f"B {T} {V}"), x_mark_enc=(x_mark_enc, f"B {T} {marks}"),
                  x_dec=(x_dec, f"B {L} {V}"), x_mark_dec=(x_mark_dec, f"B {L} {marks}"))
    finite_rows(x_enc=x_enc, x_mark_enc=x_mark_enc, x_mark_dec=x_mark_dec)
