"""TimeXer: patches and one global token per target; only the global token reads the exogenous variables.

Source: Y. Wang et al., "TimeXer: Empowering Transformers for Time Series Forecasting with Exogenous Variables"
(NeurIPS 2024, arXiv 2402.19072), section 3. Left out: dropout.

The targets are N endogenous variables; every one is cut into P patches of p steps, and its positions L = P + 1 are
the patches and, last, its global token.
"""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.blocks import FeedForward, check_sizes
from tsattn_mini.embedding import ROOM, sinusoids
from tsattn_mini.trace import meaning, scope, step
from tsattn_mini.zoo.itransformer import InvertedEmbedding, check_window, normalise, refuse_calendar

FEATURES = {"M": "every column is a target, and a token that all targets read",
            "MS": "the last column is the target, the others are exogenous",
            "S": "one column, the target, and nothing exogenous"}


class PatchEmbedding(nn.Module):
    """Cut each target into patches, one token each, and put its learned global token behind them.

    Args:
        T: length of the window; p: steps in a patch, 1 to T; M: model width; N: targets, one global token each.
        released_patches: where p does not divide T, leave out the newest T mod p steps as the released code does;
            otherwise the oldest are left out, so that the last patch ends where the future begins.
    Raises:
        ValueError: a patch longer than the window, or shorter than one step.

    >>> PatchEmbedding(T=24, p=8, M=4)(torch.zeros(1, 1, 24)).shape  # three patches and the global token
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, T: int, p: int, M: int, N: int = 1, released_patches: bool = False) -> None:
        super().__init__()
        checks.counts(T=T, M=M, N=N)
        checks.counts(-1, patch_len=p)
        if not 1 <= p <= T:
            raise ValueError(f"patch_len: expected 1 <= patch_len <= seq_len={T}, got {p}")
        self.T, self.p, self.P, self.N = T, p, T // p, N
        self.first = 0 if released_patches else T % p
        self.value = nn.Linear(p, M, bias=False)
        self.global_token = nn.Parameter(torch.randn(1, N, 1, M))

    @meaning("embed")
    def forward(self, x: Float[Tensor, "B N T"]) -> Float[Tensor, "B N L M"]:
        """Raises ValueError for another number of targets or steps."""
        checks.real(self.value.weight.dtype, x=(x, f"B {self.N} {self.T}"))
        cut = x[..., self.first:self.first + self.P * self.p].unflatten(-1, (self.P, self.p))
        cut = step("patches", cut, axes="B N P p", eq="x cut into P pieces",
                   note="Neighbours in time, taken together.")
        h = step("patch_tokens", self.value(cut), axes="B N P M", eq="W_p patch", note="One token per patch.")
        table = sinusoids(self.P, h.shape[-1], torch.promote_types(h.dtype, torch.float32)).to(h)
        h = h + step("position", table, axes="P M", eq="sin(i ω), cos(i ω)", note="Which patch it is.")
        own = self.global_token.expand(len(x), -1, -1, -1)
        return step("tokens", torch.cat([h, own], dim=2), axes="B N L M", eq="[patches + position ; global]",
                    note="L = P + 1: the last token stands for the whole series, and is the same in every window.")


class TimeXerLayer(nn.Module):
    """x ← LN(x + self(x)), global ← LN(global + cross(global, exogenous)), x ← LN(x + ffn(x)).

    Self-attention runs along the tokens of each target by itself. Patches never ask the exogenous tokens; what
    these say reaches them through the global token, in the next layer.
    """

    def __init__(self, M: int, H: int, d_ff: int, activation: str = "gelu") -> None:
        super().__init__()
        self.self_attention, self.cross_attention = (AttentionLayer(scaled_dot_product, M, H) for _ in range(2))
        self.ffn = FeedForward(M, d_ff, activation)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(M), nn.LayerNorm(M), nn.LayerNorm(M)

    def forward(self, x: Float[Tensor, "B N L M"],
                exogenous: Float[Tensor, "B S M"] | None) -> Float[Tensor, "B N L M"]:
        """With `exogenous=None` there is nothing to ask, and cross-attention adds nothing to the global token."""
        with scope("self"):
            y = self.self_attention(x.flatten(0, 1), x.flatten(0, 1)).view_as(x)
        x = step("norm1", self.norm1(x + y), axes="B N L M", eq="LN(x + self)",
                 note="Patches and global token have looked at each other.")
        token = x[:, :, -1]
        if exogenous is not None:
            with scope("cross"):
                token = token + self.cross_attention(token, exogenous)
        token = step("global", self.norm2(token), axes="B N M", eq="LN(global + cross)",
                     note="The one place where the exogenous variables come in.")
        x = torch.cat([x[:, :, :-1], token[:, :, None]], dim=2)
        return step("norm3", self.norm3(x + self.ffn(x, axes="B N L M")), axes="B N L M", eq="LN(x + ffn)",
                    note="The layer's output.")


class TimeXer(nn.Module):
    """Normalise, cut the targets into patches, read the exogenous variables through global tokens, forecast.

    Which columns are targets and which are exogenous is `features`: "M", "MS" or "S", see `FEATURES`. Columns of
    time marks are exogenous tokens as well. If there is neither an exogenous column nor a mark, cross-attention is
    left out.

    Args:
        seq_len: past steps T; pred_len: future steps F; V: variables, 1 with features="S".
        M: model width; H: heads, a divisor of M; d_ff: inner width of the feed-forward part; e_layers: layers.
        patch_len: steps in a patch, at most seq_len.
        features: "M", "MS" or "S".
        marks, calendar, activation, released_statistics: as for `ITransformer`.
        released_patches: see `PatchEmbedding`.
        use_norm: False leaves the normalisation out.
    Raises:
        ValueError: sizes that do not fit, an unknown `features`, or "S" with more than one variable.

    >>> net = TimeXer(24, 6, V=3, M=8, H=2, d_ff=8, patch_len=8, marks=0)
    >>> net(torch.zeros(1, 24, 3)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, seq_len: int, pred_len: int, V: int, M: int = 512, H: int = 8, d_ff: int = 2048,
                 e_layers: int = 2, *, patch_len: int = 16, features: str = "M", marks: int = 4,
                 calendar: str | None = None, activation: str = "gelu", released_statistics: bool = False,
                 released_patches: bool = False, use_norm: bool = True) -> None:
        super().__init__()
        check_sizes(seq_len, 0, pred_len=pred_len, V=V, M=M, d_ff=d_ff, e_layers=e_layers)
        checks.counts(0, marks=marks)
        refuse_calendar(calendar)
        if not isinstance(features, str) or features not in FEATURES:
            raise ValueError(f"features: expected one of {list(FEATURES)}, got {features!r}")
        if features == "S" and V > 1:
            raise ValueError('V: expected 1 with features="S", which has no use for other columns; take "MS" to '
                             f"forecast the last column from all, got {V}")
        self.seq_len, self.pred_len, self.V, self.marks = seq_len, pred_len, V, marks
        self.features, self.released_statistics, self.use_norm = features, released_statistics, use_norm
        N = V if features == "M" else 1
        self.patch_embedding = PatchEmbedding(seq_len, patch_len, M, N, released_patches)
        self.exogenous_embedding = InvertedEmbedding(seq_len, M, called="x_mark_enc")
        self.layers = nn.ModuleList(TimeXerLayer(M, H, d_ff, activation) for _ in range(e_layers))
        self.norm = nn.LayerNorm(M)
        self.head = nn.Linear(M * (self.patch_embedding.P + 1), pred_len)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F N"]:
        """The next `pred_len` steps of the N targets: all V variables with "M", otherwise the last one.

        `x_dec` and `x_mark_dec` are checked, and not read: there is no decoder.

        Raises:
            ValueError: shapes that do not fit, marks of the future alone, NaN or infinite entries.
        """
        check_window(self, x_enc, x_mark_enc, x_dec, x_mark_dec)
        x = step("x", x_enc, axes="B T V", note="The window as it came.")
        x_norm, mu, sigma = normalise(x, self.released_statistics) if self.use_norm else (x, None, None)
        targets = slice(None) if self.features == "M" else slice(-1, None)
        exogenous = self.read_exogenous(x_norm, x_mark_enc)
        with meaning("embed"):
            endogenous = step("endogenous", x_norm[..., targets].mT, axes="B N T", eq="target columnsᵀ",
                              note="What is to be forecast.")
        h = self.patch_embedding(endogenous)
        with meaning("attend"):
            for i, layer in enumerate(self.layers):
                with scope(f"enc{i}"):
                    h = layer(h, exogenous)
            enc_out = step("enc_out", self.norm(h), axes="B N L M", eq="LN(x)", note="The past, encoded.")
        with meaning("project"):
            rows = step("head_in", enc_out.mT, axes="B N M L", eq="enc_outᵀ", note="Laid side by side for the head.")
            y = step("head_out", self.head(rows.flatten(-2)), axes="B N F", eq="W_h [all tokens] + b_h",
                     note="All tokens of a target speak to every future step.")
            y_norm = step("y_norm", y.mT, axes="B F N", eq="head_outᵀ")
        if not self.use_norm:
            return step("forecast", y_norm, axes="B F N", eq="y_norm")
        with meaning("restore"):
            y = (y_norm * sigma[..., targets] + mu[..., targets]).to(y_norm.dtype)
            return step("forecast", y, axes="B F N", eq="y ⊙ σ + μ", note="In the units of the targets.")

    def read_exogenous(self, x_norm: Float[Tensor, "B T V"],
                       marks: Shaped[Tensor, "B T K"] | None) -> Float[Tensor, "B S M"] | None:
        """The tokens that global tokens may ask: exogenous columns, then marks; None if there are neither.

        Raises:
            ValueError: marks so large that no norm can be taken of their tokens.
        """
        columns = x_norm if self.features == "M" else x_norm[..., :-1]
        if columns.shape[-1]:
            with scope("exogenous_embedding"):
                return self.exogenous_embedding(columns.to(x_norm.dtype), marks)
        if marks is None:
            return None
        checks.overflow("x_mark_enc", marks.to(x_norm.dtype))
        with scope("exogenous_embedding"):
            exogenous = self.exogenous_embedding(marks.to(x_norm.dtype))
        checks.squares("x_mark_enc", exogenous, ROOM)
        return exogenous
