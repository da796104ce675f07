"""iTransformer: a token is a variable's whole past, and attention runs between the variables.

Source: Y. Liu et al., "iTransformer: Inverted Transformers Are Effective for Time Series Forecasting" (ICLR 2024,
arXiv 2310.06625), section 3. The layers are those of `blocks`; what is inverted is what they stand on. Left out:
dropout.
"""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.blocks import Encoder, EncoderLayer, check_sizes
from tsattn_mini.embedding import ROOM, finite_rows
from tsattn_mini.nonstationary import EPS, stationarize
from tsattn_mini.trace import meaning, scope, step


class InvertedEmbedding(nn.Module):
    """Every column becomes one token: its T numbers, through one matrix that all columns share.

    Columns of time marks, if they are given, become tokens too, behind the variables. No position is added: a token
    is known by its numbers alone.

    Args:
        T: length of a column; M: model width; called: what the model that reads the marks calls them.

    >>> InvertedEmbedding(T=24, M=8)(torch.zeros(1, 24, 3)).shape  # a token a variable
    torch.Size([1, 3, 8])
    """

    def __init__(self, T: int, M: int, called: str = "marks") -> None:
        super().__init__()
        checks.counts(T=T, M=M)
        self.T, self.value, self.called = T, nn.Linear(T, M), called

    @meaning("embed")
    def forward(self, x: Float[Tensor, "B T V"],
                marks: Shaped[Tensor, "B T K"] | None = None) -> Float[Tensor, "B N M"]:
        """N = V + K tokens.

        Raises:
            ValueError: columns of another length, entries that are not finite (row and column are named), or marks so
                large that no norm can be taken of their tokens.
        """
        checks.shapes(x=(x, f"B {self.T} V"), marks=(marks, f"B {self.T} K"))
        checks.required(x=x)
        checks.floating(self.value.weight.dtype, x=x)
        finite_rows(x=x, marks=marks)
        count = "V" if marks is None else "V+K"
        rows = x if marks is None else torch.cat([x, marks.to(x.dtype)], dim=-1)
        rows = step("columns", rows.mT, axes=f"B {count} T", eq="xᵀ" if marks is None else "[x ; marks]ᵀ",
                    note="The table turned on its side: a row is one column's past.")
        tokens = step("tokens", self.value(rows), axes=f"B {count} M", eq="W_e xᵀ + b_e",
                      note="One token per column, made by one matrix for all.")
        checks.overflow("x", tokens[:, :x.shape[-1]])
        if marks is not None and not torch.compiler.is_compiling():
            checks.squares(self.called, tokens[:, x.shape[-1]:], ROOM)
        return tokens


class ITransformer(nn.Module):
    """Normalise, make a token of every variable, let the variables attend to each other, forecast each token.

    Attention mixes variables; the feed-forward part, which works on each token alone, is what looks along time.
    There is no decoder: one matrix turns every variable's token into its F future steps.

    Args:
        seq_len: past steps T; pred_len: future steps F; V: variables.
        M: model width; H: heads, a divisor of M; d_ff: inner width of the feed-forward part; e_layers: layers.
        marks: columns of time features; they become tokens, and are dropped before the forecast.
        calendar: None; calendar numbers would enter a token as they are, since no table is looked up.
        activation: "gelu" or "relu".
        released_statistics: statistics as in the released code, see `normalise`.
    Raises:
        ValueError: sizes that do not fit.

    >>> net = ITransformer(24, 6, V=3, M=8, H=2, d_ff=8, marks=0)
    >>> net(torch.zeros(1, 24, 3)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, seq_len: int, pred_len: int, V: int, M: int = 512, H: int = 8, d_ff: int = 2048,
                 e_layers: int = 2, *, marks: int = 4, calendar: str | None = None, activation: str = "gelu",
                 released_statistics: bool = False) -> None:
        super().__init__()
        check_sizes(seq_len, 0, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=e_layers)
        checks.counts(0, marks=marks)
        refuse_calendar(calendar)
        self.seq_len, self.pred_len, self.V, self.marks = seq_len, pred_len, V, marks
        self.released_statistics = released_statistics
        layers = [EncoderLayer(AttentionLayer(scaled_dot_product, M, H), M, d_ff, activation) for _ in range(e_layers)]
        self.embedding = InvertedEmbedding(seq_len, M, called="x_mark_enc")
        self.encoder = Encoder(layers, nn.LayerNorm(M))
        self.projection = nn.Linear(M, pred_len)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """The next `pred_len` steps. `x_dec` and `x_mark_dec` are checked, and not read: there is no decoder.

        Raises:
            ValueError: shapes that do not fit, marks of the future alone, NaN or infinite entries.
        """
        check_window(self, x_enc, x_mark_enc, x_dec, x_mark_dec)
        x_norm, mu, sigma = normalise(step("x", x_enc, axes="B T V", note="The window as it came."),
                                      self.released_statistics)
        with scope("embedding"):
            tokens = self.embedding(x_norm, x_mark_enc)
        enc_out = self.encoder(tokens)
        with meaning("project"):
            count = "V" if x_mark_enc is None else "V+K"
            projection = step("projection", self.projection(enc_out), axes=f"B {count} F", eq="W_p h + b_p",
                              note="Every token says its own future, the marks included.")
            y_norm = step("y_norm", projection[:, :self.V].mT, axes="B F V", eq="(first V rows)ᵀ",
                          note="The marks have had their say, and are dropped.")
        with meaning("restore"):
            y = (y_norm * sigma + mu).to(y_norm.dtype)
            checks.overflow("x_enc", y)
            return step("forecast", y, axes="B F V", eq="y ⊙ σ + μ",
                        note="The level and scale of the past are lent to the future.")


@meaning("save statistics")
def normalise(x: Float[Tensor, "B T V"], released_statistics: bool = False
              ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 1 V"], Float[Tensor, "B 1 V"]]:
    """x' = (x - μ) / σ with μ and σ, as `stationarize` makes them.

    `released_statistics` computes the same numbers as the released code does: μ is detached, σ is not, and x - μ is
    divided in place. If something that trains made `x`, the backward pass then stops with a RuntimeError, as σ
    needs the numbers that were overwritten; with plain data nothing shows.

    Raises:
        ValueError: as `stationarize`.

    >>> x = torch.tensor([1.0, 2.0, 3.0])[None, :, None]
    >>> normalise(x)[0].flatten()
    tensor([-1.2247,  0.0000,  1.2247])
    """
    if not released_statistics:
        return stationarize(x)
    checks.floating(x=x)
    mu = step("mu", x.mean(1, keepdim=True).detach(), axes="B 1 V", eq="μ = mean_t x, detached",
              note="The level, put aside; no gradient passes.")
    x_norm = x - mu
    sigma = step("sigma", (x_norm.var(1, keepdim=True, correction=0) + EPS).sqrt(), axes="B 1 V",
                 eq="σ = sqrt(mean_t (x - μ)² + 1e-5)", note="The scale, put aside; not detached.")
    checks.overflow("x", sigma)
    x_norm /= sigma
    return step("x_norm", x_norm, axes="B T V", eq="x' = (x - μ) / σ, in place",
                note="The numbers that σ was made of are overwritten."), mu, sigma


def refuse_calendar(calendar: str | None) -> None:
    """Raise ValueError unless `calendar` is None."""
    if calendar is not None:
        raise ValueError("calendar: expected None, as a column of marks becomes a token and no table is looked up, "
                         f"got {calendar!r}")


def check_window(net: nn.Module, x_enc: Tensor, x_mark_enc: Tensor | None, x_dec: Tensor | None,
                 x_mark_dec: Tensor | None) -> None:
    """Raise the ValueErrors of `forward` for a model with `seq_len`, `pred_len`, `V`, `marks` and no decoder."""
    if x_mark_enc is None and x_mark_dec is not None:
        raise ValueError("x_mark_enc: expected marks of the past beside x_mark_dec, which is not read, got None")
    if x_mark_enc is not None and not net.marks:
        raise ValueError("x_mark_enc: expected None, as the model was built with marks=0, "
                         f"got shape {tuple(x_mark_enc.shape)}")
    checks.required(x_enc=x_enc)
    checks.floating(next(net.parameters()).dtype, x_enc=x_enc)
    checks.shapes(x_enc=(x_enc, f"B {net.seq_len} {net.V}"), x_mark_enc=(x_mark_enc, f"B {net.seq_len} {net.marks}"),
                  x_dec=(x_dec, f"B L {net.V}"), x_mark_dec=(x_mark_dec, f"B L {net.marks}"))
    for name, given in (("x_dec", x_dec), ("x_mark_dec", x_mark_dec)):
        if given is not None and given.shape[1] < net.pred_len:
            raise ValueError(f"{name}: expected at least pred_len={net.pred_len} rows, got {given.shape[1]}")
    finite_rows(x_enc=x_enc, x_mark_enc=x_mark_enc, x_mark_dec=x_mark_dec)
