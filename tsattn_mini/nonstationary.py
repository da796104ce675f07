"""Non-stationary Transformer: normalise each window, then give attention back what that took away.

Source: Y. Liu, H. Wu, J. Wang, M. Long, "Non-stationary Transformers: Exploring the Stationarity in Time
Series Forecasting" (NeurIPS 2022, arXiv 2205.14415). Two modules by its own account: series stationarization
(`stationarize`, `destationarize`) and de-stationary attention (`destationary_attention`, with one `Projector`
each for τ and δ). The paper's d_k is `E` here. Left out: dropout.

In half precision the statistics, τ, δ, the scores and the softmax are computed in float32.
"""

import math
import warnings
from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from reprlib import repr as short
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, einsum, nn

from tsattn_mini import checks
from tsattn_mini.attention import by_head, mix
from tsattn_mini.blocks import Transformer
from tsattn_mini.embedding import finite_rows
from tsattn_mini.trace import meaning, scope, step

EPS = 1e-5  # added to the variance: a constant series gets σ = 0.00316


@meaning("save statistics")
def stationarize(x: Float[Tensor, "B T V"], detach: bool = False
                 ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 1 V"], Float[Tensor, "B 1 V"]]:
    """x' = (x - μ) / σ for every variable of every window; returns x', μ, σ.

    μ is the mean over the window, σ = sqrt(mean((x - μ)²) + 10⁻⁵): the biased variance, ε inside the root.
    No |x'| exceeds √(T-1).

    Args:
        detach: let no gradient through μ and σ, as the released code does. It matters only if something that
            trains made `x`.
    Raises:
        ValueError: a tensor of integers, which would round x'; entries that are not finite (row and column are
            named), or whose squares are not.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])[None, :, None]
    >>> stationarize(1000 * x + 7)[0].flatten()  # what x itself gives: level and scale are gone
    tensor([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    checks.shapes(x=(x, "B T V"))
    checks.required(x=x)
    checks.floating(x=x)
    finite_rows(x=x)
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    mu = wide.mean(1, keepdim=True)
    mu = mu + (wide - mu).mean(1, keepdim=True)  # what rounding lost: a constant series centres to exactly 0
    mu = step("mu", mu.detach() if detach else mu, axes="B 1 V", eq="μ = mean_t x", note="The level, put aside.")
    x_centred = step("x_centred", wide - mu, axes="B T V", eq="x - μ", note="The window around zero.")
    sigma = (x_centred.square().mean(1, keepdim=True) + EPS).sqrt()
    if not torch.compiler.is_compiling() and not bool(torch.isfinite(sigma).all()):
        raise ValueError(f"x: expected numbers with squares in {sigma.dtype}, got {x.abs().max().item():.1e}")
    sigma = step("sigma", sigma.detach() if detach else sigma, axes="B 1 V",
                 eq="σ = sqrt(mean_t (x - μ)² + 1e-5)", note="The scale, put aside; never 0.")
    x_norm = step("x_norm", (x_centred / sigma).to(x.dtype), axes="B T V", eq="x' = (x - μ) / σ",
                  note="Windows that differ in level and scale alone are now the same.")
    return x_norm, mu, sigma


@meaning("restore")
def destationarize(y: Float[Tensor, "B L V"], mu: Float[Tensor, "B 1 V"],
                   sigma: Float[Tensor, "B 1 V"]) -> Float[Tensor, "B L V"]:
    """y ⊙ σ + μ: back to the units of the window, on every row.

    Raises:
        ValueError: shapes that do not fit, integers, entries that are not finite, or that are not in those units.
    """
    checks.shapes(y=(y, "B L V"), mu=(mu, "B 1 V"), sigma=(sigma, "B 1 V"))
    checks.real(y=(y, "B L V"))
    checks.real(mu=(mu, "B 1 V"), sigma=(sigma, "B 1 V"))
    restored = (y * sigma + mu).to(y.dtype)
    checks.overflow("y, mu, sigma", restored)
    return step("y", restored, axes="B L V", eq="y ⊙ σ + μ",
                note="The level and scale of the past are lent to the future.")


class Projector(nn.Module):
    """From a raw window and one statistic of it to `O` numbers: log τ (O = 1) or δ (O = T).

    c = Σ_t Σ_j w_tj x_{t,v+j},  j = -1, 0, 1    time steps are channels, the taps slide over the variables
    z = [c ; s]                                  with s = σ for τ, s = μ for δ
    h₁ = relu(W₁ z + b₁), …, out = W_o h

    The variables stand in a circle, so turning all columns round turns c. In any other order of the columns
    it is another function.

    Args:
        T: window length; V: variables; hidden: widths of the hidden layers; O: how many numbers come out.
    Raises:
        ValueError: no hidden layer, or one without width.
    """

    def __init__(self, T: int, V: int, hidden: Sequence[int], O: int) -> None:  # noqa: E741
        super().__init__()
        checks.counts(T=T, V=V, O=O)
        widths = list(hidden) if isinstance(hidden, Sequence) else [None]
        if not widths or any(not checks.whole(width) or width < 1 for width in widths):
            raise ValueError(f"hidden: expected at least one width, each at least 1, got {widths}")
        self.T, self.V = T, V
        self.conv = nn.Conv1d(T, 1, kernel_size=3, padding=1, padding_mode="circular", bias=False)
        self.mlp = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise([2 * V, *widths]))
        self.mlp.append(nn.Linear(widths[-1], O, bias=False))

    def forward(self, x: Float[Tensor, "B T V"], s: Float[Tensor, "B 1 V"]) -> Float[Tensor, "B O"]:
        """`x` is the window before it was stationarized, `s` its σ or μ. Raises ValueError for what does not fit."""
        checks.shapes(x=(x, f"B {self.T} {self.V}"), s=(s, f"B 1 {self.V}"))
        checks.real(x=(x, "B T V"))
        checks.real(s=(s, "B 1 V"))
        dtype = torch.promote_types(x.dtype, torch.float32)
        circle = F.pad(x.to(dtype), (1, 1), mode="circular")
        conv = step("conv", F.conv1d(circle, self.conv.weight.to(dtype)), axes="B 1 V",
                    eq="c = Σ_t Σ_j w_tj x_{t,v+j}",
                    note="All time steps weighed, three neighbouring variables at a time.")
        h = step("z", torch.cat([conv, s.to(dtype)], dim=1).flatten(1), axes="B 2V", eq="z = [c ; s]",
                 note="Two numbers per variable: one from the window, one statistic.")
        for i, layer in enumerate(self.mlp[:-1], start=1):
            a = F.linear(h, layer.weight.to(dtype), layer.bias.to(dtype))
            a = step(f"a{i}", a, axes=f"B P{i}", eq=f"W_{i} {f'h{i - 1}' if i > 1 else 'z'} + b_{i}")
            h = step(f"h{i}", torch.relu(a), axes=f"B P{i}", eq=f"relu(a{i})")
        out = F.linear(h, self.mlp[-1].weight.to(dtype))
        checks.overflow("x, s", out)
        return out


def temperature(log_tau: Float[Tensor, "B 1"],
                bounds: tuple[float, float] | None = None) -> Float[Tensor, "B 1"]:
    """τ = exp(log τ), which is positive: a negative factor would turn the ranking of the keys round.

    log τ is kept between ±½ log(largest number of the dtype), ±44.4 in float32, so that τ is neither 0 nor
    infinite and leaves room for the scores. `bounds` replaces these limits; the released code has (-∞, 80),
    and its first version none.

    Raises:
        ValueError: another shape, integers, entries that are not finite, or bounds that are not two numbers in order.
    Warns:
        RuntimeWarning: when log τ is so far from 0 that attention is uniform or one-hot up to rounding, as it
            happens when the series were not standardised.
    """
    checks.real(log_tau=(log_tau, "B 1"))
    limits = torch.finfo(log_tau.dtype)
    half = math.log(limits.max) / 2
    low, high = (-half, half) if bounds is None else _two_in_order(bounds)
    if not torch.compiler.is_compiling():
        _warn_saturated(log_tau.detach()[:, 0], edge=-math.log(limits.eps))
    return log_tau.clamp(low, high).exp()


def _two_in_order(bounds: tuple[float, float]) -> tuple[float, float]:
    pair = isinstance(bounds, tuple | list) and len(bounds) == 2 and all(
        isinstance(b, Real) and not isinstance(b, bool) for b in bounds)
    if not pair or not bounds[0] <= bounds[1]:
        raise ValueError(f"bounds: expected two numbers, the lower first, got {short(bounds)}")
    return bounds[0], bounds[1]


def _warn_saturated(log_tau: Float[Tensor, " B"], edge: float) -> None:
    far = log_tau.abs() > edge
    if bool(far.any()):
        window = int(log_tau.abs().argmax())
        what = "one-hot" if log_tau[window] > 0 else "uniform"
        warnings.warn(f"log_tau: {log_tau[window].item():.1f} in window {window} ({int(far.sum())} of "
                      f"{len(far)} windows are beyond ±{edge:.1f}): attention there is {what} up to "
                      "rounding. Are the series standardised?", RuntimeWarning, stacklevel=3)


def destationary_attention(
        q: Float[Tensor, "B L H E"], k: Float[Tensor, "B S H E"], v: Float[Tensor, "B S H W"],
        tau: Float[Tensor, "B 1"] | None = None, delta: Float[Tensor, "B S"] | None = None,
        mask: Bool[Tensor, "L S"] | None = None) -> Float[Tensor, "B L H W"]:
    """softmax((τ Q Kᵀ + 1 δᵀ) / √E) V: one τ per window, one δ per key, the same for all heads.

    Both act before the scale, so δ is divided by √E as well. Left out, τ is 1 and δ is 0: plain attention.
    `mask` is True where a query must not see a key. In decoder self-attention leave δ out: its entries belong
    to the encoder's positions, even where the lengths happen to agree.

    Raises:
        ValueError: shapes that do not fit (a δ of length 1 included), entries that are not finite, or
            products that leave the number range.
    Warns:
        RuntimeWarning: when `mask` leaves a query without any key, or τ is cut to keep the scores finite.

    >>> one, values = torch.ones(1, 2, 1, 1), torch.tensor([0.0, 1.0])[None, :, None, None]
    >>> destationary_attention(one, one, values, delta=torch.tensor([[0.0, 3.0]]).log1p())[0, 0]  # e^δ = 1, 4
    tensor([[0.8000]])
    """
    checks.shapes(q=(q, "B L H E"), k=(k, "B S H E"), v=(v, "B S H W"),
                  tau=(tau, "B 1"), delta=(delta, "B S"), mask=(mask, "L S"))
    checks.required(q=q, k=k, v=v)
    checks.floating(q=q, k=k, v=v)
    checks.finite(v=v, tau=tau, delta=delta)
    dtype = torch.promote_types(q.dtype, torch.float32)
    tau = torch.ones_like(q[:, :1, 0, 0], dtype=dtype) if tau is None else tau.to(dtype)
    delta = torch.zeros_like(k[:, :, 0, 0], dtype=dtype) if delta is None else delta.to(dtype)
    QK = step("QK", einsum("blhe,bshe->bhls", q.to(dtype), by_head(k.to(dtype))), axes="B H L S", eq="Q Kᵀ",
              note="Every query meets every key: one dot product per pair.")
    tau = _keep_finite(q, k, tau, delta, QK)
    tau = step("tau_4d", tau[:, :, None, None], axes="B 1 1 1", eq="τ", note="One factor per window.")
    delta = step("delta_4d", delta[:, None, None, :], axes="B 1 1 S", eq="1 δᵀ", note="One shift per key.")
    scores = step("scores", torch.addcmul(delta, tau, QK), axes="B H L S", eq="τ Q Kᵀ + 1 δᵀ",
                  note="τ stretches all scores of the window, δ lifts or lowers whole columns.")
    return mix(scores / q.shape[-1] ** 0.5, v.to(dtype), mask, eq="(τ Q Kᵀ + 1 δᵀ) / √E").to(v.dtype)


def _keep_finite(q: Tensor, k: Tensor, tau: Tensor, delta: Tensor, QK: Tensor) -> Tensor:
    """τ, cut where τ Q Kᵀ would pass a quarter of the number range; |δ| stays below it too: no overflow.

    NaN and infinities of `q` and `k` are found here, in their products, which have to be looked at anyway.
    """
    room = torch.finfo(QK.dtype).max / 4
    QK, size = QK.detach(), tau.detach().abs()
    largest = torch.maximum(QK.amax((1, 2, 3)), -QK.amin((1, 2, 3)))[:, None]
    limit = room / largest.clamp(min=1)
    if not torch.compiler.is_compiling():
        if not bool(torch.isfinite(largest).all()):
            checks.finite(q=q, k=k)
            raise ValueError(f"q, k: expected dot products within the range of {QK.dtype}, got an overflow")
        if bool((delta.abs() > room).any()):
            raise ValueError(f"delta: expected sizes up to {room:.1e}, got {delta.abs().max().item():.1e}")
        if not bool((size > limit).any()):
            return tau
        window = int((size > limit).nonzero()[0, 0])
        warnings.warn(f"tau: {tau[window].item():.1e} in window {window} would make the scores overflow "
                      f"{QK.dtype}; it is cut to {limit[window].item():.1e}", RuntimeWarning, stacklevel=3)
    return torch.minimum(torch.maximum(tau, -limit), limit)


class StationarizedTransformer(nn.Module):
    """Series stationarization around a plain `Transformer`, without τ and δ: the over-stationarized model.

    Its forecast of a x + b (a > 0 and b per variable) is a times that of x, plus b, up to the ε in σ.
    Arguments as for `Transformer`.
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, **sizes: Any) -> None:
        super().__init__()
        self.transformer = Transformer(seq_len, label_len, pred_len, V, **sizes)

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """As `Transformer.forward`."""
        self.transformer.check(x_enc, x_mark_enc, x_dec, x_mark_dec)
        with meaning("save statistics"):
            x = step("x", x_enc, axes="B T V", note="The window as it came.")
            x_norm, mu, sigma = stationarize(x)
        y = destationarize(self.transformer.fill(x_norm, x_mark_enc, x_mark_dec), mu, sigma)
        return self.transformer.future(y)


class NonstationaryTransformer(nn.Module):
    """Stationarize, forecast with de-stationary attention, restore.

    τ = exp(P_τ(x, σ)) and δ = P_δ(x, μ) come from the window as it was. Encoder and cross-attention get both,
    as their keys are the past. Decoder self-attention gets τ alone. Short-term and long-term forecasting are
    this same computation; the released code only names the task.

    Args:
        p_hidden: hidden widths of the two Projectors.
        log_tau_bounds: limits of log τ in place of those of `temperature`; the released code has (-∞, 80).
        detach: no gradient through the statistics and the raw window, as in the released code.
        sizes: the other arguments of `Transformer`.
    """

    def __init__(self, seq_len: int, label_len: int, pred_len: int, V: int, *,
                 p_hidden: Sequence[int] = (128, 128), log_tau_bounds: tuple[float, float] | None = None,
                 detach: bool = False, **sizes: Any) -> None:
        super().__init__()
        self.transformer = Transformer(seq_len, label_len, pred_len, V, attend=destationary_attention,
                                       **sizes)
        self.tau_projector = Projector(seq_len, V, p_hidden, 1)
        self.delta_projector = Projector(seq_len, V, p_hidden, seq_len)
        self.log_tau_bounds, self.detach = log_tau_bounds, detach

    def forward(self, x_enc: Float[Tensor, "B T V"], x_mark_enc: Shaped[Tensor, "B T K"] | None = None,
                x_dec: Float[Tensor, "B L V"] | None = None,
                x_mark_dec: Shaped[Tensor, "B L K"] | None = None) -> Float[Tensor, "B F V"]:
        """The next `pred_len` steps. The arguments are the released ones; of `x_dec` only the shape matters.

        Raises:
            ValueError: shapes that do not fit, marks for one side only, entries that are not finite.
        Warns:
            RuntimeWarning: see `temperature`.
        """
        self.transformer.check(x_enc, x_mark_enc, x_dec, x_mark_dec)
        with meaning("save statistics"):
            x = step("x", x_enc, axes="B T V", note="The window as it came.")
            x_raw = step("x_raw", x.detach() if self.detach else x.view_as(x), axes="B T V", eq="x",
                         note="Kept for τ and δ; nothing below changes it.")
            x_norm, mu, sigma = stationarize(x, self.detach)
        tau, delta = self.handles(x_raw, mu, sigma)
        dec_out = self.transformer.fill(x_norm, x_mark_enc, x_mark_dec, past={"tau": tau, "delta": delta},
                                        own={"tau": tau})
        return self.transformer.future(destationarize(dec_out, mu, sigma))

    @meaning("make τ and δ")
    def handles(self, x_raw: Float[Tensor, "B T V"], mu: Float[Tensor, "B 1 V"],
                sigma: Float[Tensor, "B 1 V"]) -> tuple[Float[Tensor, "B 1"], Float[Tensor, "B T"]]:
        """τ and δ of every window."""
        with scope("tau_projector"):
            log_tau = self.tau_projector(x_raw, sigma)
        log_tau = step("log_tau", log_tau, axes="B 1", eq="log τ = P_τ(x, σ)", note="Any real number.")
        tau = step("tau", temperature(log_tau, self.log_tau_bounds), axes="B 1", eq="τ = exp(log τ)",
                   note="One positive factor for all scores of the window.")
        with scope("delta_projector"):
            delta = self.delta_projector(x_raw, mu)
        return tau, step("delta", delta, axes="B S", eq="δ = P_δ(x, μ)", note="One shift per step of the past.")
