"""The statistical prior of KITE: how closely driver j and target i are related within one window, S (N × D).

Nothing here is learned. KITE's lecture note names two measures, Pearson correlation (`pearson`) and Granger
causality (`granger`, the F-test as in J. Hamilton, "Time Series Analysis", 1994, section 11.2). The released code
(decisionintelligence/KITE) calls another regression by the second name, `ridge_shortcut`. `normalise` brings S to
0 … 1, S̃ = Norm(|S|), in the four ways the note and the code allow.

Regressions are computed in float64 whatever comes in: they square the condition number of the window.
"""

import warnings

import torch
from jaxtyping import Bool, Float
from scipy.stats import f as f_distribution
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.embedding import finite_rows
from tsattn_mini.trace import meaning, step

NORMS = ("none", "max", "minmax", "softmax")
ROUNDING = 8  # a spread below so many roundings of the largest entry is no spread
DEPENDENT = 1e-10  # of a regressor's size must be left when those before it are taken off


@meaning("measure the relation")
def pearson(x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"], eps: float = 0.0) -> Float[Tensor, "B N D"]:
    """|r| of every target with every driver over the window: linear, at lag 0, without its sign.

    Neither level nor unit of a series matters. A constant series has no correlation with anything; it gets 0.

    Args:
        eps: added to the product of the two root sums of squares. The released code has 1e-8, which makes |r| of
            series in small units too small.
    Raises:
        ValueError: no driver, windows of different length, integers, entries that are not finite, eps below 0.
    Warns:
        RuntimeWarning: naming the first constant series.

    >>> t = torch.arange(8.0)[None, :, None]
    >>> round(pearson(t, 3 - 2 * t).item(), 4), round(pearson(t, (t - 3.5) ** 2).item(), 4)  # a line, a parabola
    (1.0, 0.0)
    """
    _check(x_endo, x_exo)
    checks.number(eps=eps)
    if not eps >= 0:
        raise ValueError(f"eps: expected a number of at least 0, got {eps}")
    u_endo, size_endo = _unit(x_endo, "x_endo")
    u_exo, size_exo = _unit(x_exo, "x_exo")
    u_endo = step("u_endo", u_endo, axes="B T N", eq="(x - mean_t x) / ‖x - mean_t x‖",
                  note="Level and unit are gone; each series has length 1.")
    u_exo = step("u_exo", u_exo, axes="B T D", eq="(x - mean_t x) / ‖x - mean_t x‖", note="The same for the drivers.")
    r = u_endo.mT @ u_exo
    if eps:
        r = r / (1 + eps / (size_endo.mT * size_exo).clamp(min=torch.finfo(r.dtype).tiny))
    r = step("r", r.clamp(-1, 1), axes="B N D", eq="r = u_endoᵀ u_exo", note="Who moves with whom in the same step.")
    return step("S", r.abs().to(x_endo.dtype), axes="B N D", eq="|r|", note="The sign is dropped.")


def _unit(x: Float[Tensor, "B T V"], name: str) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 1 V"]]:
    """Each series centred and divided by its length over time, and that length; a constant series is all 0."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    constant = _constant(x)
    _warn_constant(constant[:, 0], name)
    scale = _largest(x).clamp(min=torch.finfo(x.dtype).tiny)
    centred = x / scale - (x / scale).mean(1, keepdim=True)
    centred = torch.where(constant, 0.0, centred - centred.mean(1, keepdim=True))
    size = centred.square().sum(1, keepdim=True).sqrt()
    return centred / torch.where(constant, 1.0, size), size * scale


def _largest(x: Float[Tensor, "B T V"]) -> Float[Tensor, "B 1 V"]:
    return torch.maximum(x.amax(1, keepdim=True), -x.amin(1, keepdim=True))


def _constant(x: Float[Tensor, "B T V"]) -> Bool[Tensor, "B 1 V"]:
    """True for a series whose spread is nothing but rounding."""
    spread = x.amax(1, keepdim=True) - x.amin(1, keepdim=True)
    return spread <= ROUNDING * torch.finfo(x.dtype).eps * _largest(x)


@meaning("measure the relation")
def f_statistic(x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"], lags: int = 4) -> Float[Tensor, "B N D"]:
    """F of every pair: does the driver's past improve on what the target's own past says about it?

    own:   x_t = c + Σ_k a_k x_{t-k}                   with residual sum of squares RSS_own
    both:  x_t = c + Σ_k a_k x_{t-k} + Σ_k b_k e_{t-k}    with RSS_both,  k = 1 … lags
    F = (RSS_own - RSS_both) / lags · dof / RSS_both,  dof = T - 3 lags - 1;  0 where the past adds nothing

    Every pair is tested alone: other drivers are not held fixed. F is infinite where the driver leaves no error.

    Raises:
        ValueError: as `pearson`; fewer than 3 lags + 2 steps; a constant series; a target that its own past
            predicts without error; a lag that is a linear function of the lags before it; squares that leave float64.
    """
    _check(x_endo, x_exo)
    checks.counts(lags=lags)
    T, dof = x_endo.shape[1], x_endo.shape[1] - 3 * lags - 1
    if dof < 1:
        raise ValueError(f"x_endo: expected at least 3 · lags + 2 = {3 * lags + 2} steps, got {T}")
    _refuse_constant(x_endo=x_endo, x_exo=x_exo)
    y, *own = _lagged(lags, x_endo=x_endo)
    _, *driver = _lagged(lags, x_exo=x_exo)
    left = _take_off([c[:, :, None] for c in own] + [c[:, None] for c in driver], y[:, :, None])
    e_own = step("e_own", left[lags - 1][:, :, 0], axes="B N R", eq="x_t - c - Σ a_k x_{t-k}",
                 note="What the target's own past does not explain.")
    rss_own = step("RSS_own", e_own.square().sum(-1), axes="B N", eq="Σ_t e_own²")
    rss_both = step("RSS_both", left[-1].square().sum(-1), axes="B N D", eq="Σ_t e_both²",
                    note="What is left when the driver's past has spoken, too.")
    _check_own_error(rss_own, y)
    gain = (e_own[:, :, None] - left[-1]).square().sum(-1)
    F = (gain / lags / (rss_both / dof)).to(x_endo.dtype)
    return step("F", F, axes="B N D", eq="(RSS_own - RSS_both) / lags · dof / RSS_both",
                note=f"About 1 if the past of the driver adds nothing; {lags} and {dof} degrees of freedom.")


def granger(x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"],
            lags: int = 4) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
    """The Granger test: F as in `f_statistic`, and p, how often a useless driver would reach that F.

    p comes from SciPy and therefore stays out of exported graphs; F does not. Raises as `f_statistic`.

    >>> e = torch.sin(torch.arange(40.0, dtype=torch.float64) ** 2)[None, :, None]
    >>> x = e.roll(1, 1) + 0.1 * torch.cos(torch.arange(40.0) ** 3)[None, :, None]
    >>> F, p = granger(x, e, lags=1)
    >>> F.item() > 100, p.item() < 1e-9  # yesterday's driver is today's target
    (True, True)
    """
    F = f_statistic(x_endo, x_exo, lags)
    p = f_distribution.sf(F.detach().double().cpu().numpy(), lags, x_endo.shape[1] - 3 * lags - 1)
    p = torch.as_tensor(p, dtype=F.dtype, device=F.device)
    return F, step("p", p, axes="B N D", eq="P(F(lags, dof) > F)", note="Small: hardly a useless driver.")


def _lagged(lags: int, **series: Float[Tensor, "B T V"]) -> list[Float[Tensor, "B V R"]]:
    """One series at lag 0, 1, …, `lags`, over the R = T - lags steps that have them all, each around its mean."""
    (name, x), = series.items()
    T = x.shape[1]
    shifted = [x[:, lags - k:T - k].double().mT for k in range(lags + 1)]
    centred = [s - s.mean(-1, keepdim=True) for s in shifted]
    checks.overflow(name, *(s.square().sum(-1) for s in centred))
    return centred


def _take_off(columns: list[Tensor], y: Float[Tensor, "B N 1 R"]) -> list[Float[Tensor, "B N D R"]]:
    """What least squares leaves of y after the first column, the first two, …, all of them.

    One after another: a column takes its share of y and of every later column (Gram–Schmidt).
    """
    left, half = [], len(columns) // 2
    before = [c.square().sum(-1).sqrt() for c in columns]
    for i in range(len(columns)):
        size = columns[i].square().sum(-1, keepdim=True).sqrt()
        _check_independent(size[..., 0], before[i], *(("x_endo", i) if i < half else ("x_exo", i - half)))
        u = columns[i] / size
        y = y - (y * u).sum(-1, keepdim=True) * u
        columns = [c - (c * u).sum(-1, keepdim=True) * u if j > i else c for j, c in enumerate(columns)]
        left.append(y)
    return left


@meaning("measure the relation")
def ridge_shortcut(x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"], lag: int = 4,
                   ridge: float = 1e-4) -> Float[Tensor, "B N D"]:
    """|b| of ONE regression, x_t = a x_{t-lag} + Σ_j b_j e_{j,t-lag}, which the released code calls Granger.

    It sees the single step `lag` back, for all drivers together, without an intercept: the released code
    standardises the window first. There is no comparison with a model that lacks the driver, and no test. A series
    that is constantly 0 gets 0.

    Args:
        ridge: λ, added to the diagonal of XᵀX, where X has T - lag rows. It is absolute, in the squared units of the
            series: beside series of size 1e-8 it is all there is, so that each of them gets 0.
    Raises:
        ValueError: as `pearson`; a lag outside 1 … T - 1; a ridge that is not above 0, or that rounding swallows.
    """
    _check(x_endo, x_exo)
    checks.counts(lag=lag)
    if not lag < x_endo.shape[1]:
        raise ValueError(f"lag: expected fewer than the window's {x_endo.shape[1]} steps, got {lag}")
    checks.number(ridge=ridge)
    if not ridge > 0:
        raise ValueError(f"ridge: expected a number above 0, got {ridge}")
    endo, exo = x_endo.double(), x_exo.double()
    past = [endo[:, :-lag].mT[..., None], exo[:, None, :-lag].expand(-1, endo.shape[2], -1, -1)]
    X = torch.cat(past, -1)
    G = step("G", X.mT @ X + ridge * torch.eye(X.shape[-1], dtype=X.dtype, device=X.device), axes="B N 1+D 1+D",
             eq="XᵀX + λ I", note="X holds the target and all drivers, `lag` steps back.")
    checks.overflow("x_endo, x_exo", G)
    b = step("b", _solve(G, X.mT @ endo[:, lag:].mT[..., None])[..., 0], axes="B N 1+D", eq="G⁻¹ Xᵀ x_t",
             note="Entry 0 belongs to the target itself.")
    return step("S", b[..., 1:].abs().to(x_endo.dtype), axes="B N D", eq="|b_j|", note="The released \"Granger\".")


def _solve(G: Float[Tensor, "*B n n"], b: Float[Tensor, "*B n 1"]) -> Float[Tensor, "*B n 1"]:
    """G⁻¹ b for a symmetric positive definite G, by elimination; a page's graph has no solver of its own."""
    M, n = torch.cat([G, b], -1), G.shape[-1]
    for i in range(n):
        _check_pivot(M[..., i, i], G[..., i, i], n)
        row = M[..., i:i + 1, :] / M[..., i:i + 1, i:i + 1]
        others = M - M[..., i:i + 1] * row
        M = torch.cat([others[..., :i, :], row, others[..., i + 1:, :]], -2)
    return M[..., n:]


@meaning("normalise")
def normalise(S: Float[Tensor, "*B D"], norm: str) -> Float[Tensor, "*B D"]:
    """S̃ = Norm(|S|) in 0 … 1, along the drivers of each target.

    none      S itself, which must not exceed 1
    max       S / max S; a row of zeros stays
    minmax    (S - min S) / (max S - min S): the weakest driver gets exactly 0, however strong it is; a row of
              equal entries has no weakest and is treated as by "none"
    softmax   exp(S) / Σ exp(S), as in the released code: the shares sum to 1

    A single driver (D = 1) gets 1 from "max" and "softmax", whatever S says.

    Raises:
        ValueError: another norm, entries that are not finite or below 0, entries above 1 that no norm brings down.

    >>> S = torch.tensor([0.2, 0.4, 0.8])
    >>> normalise(S, "max")
    tensor([0.2500, 0.5000, 1.0000])
    >>> normalise(S, "softmax")  # four times as strong, not twice the share
    tensor([0.2473, 0.3021, 0.4506])
    """
    if norm not in NORMS:
        raise ValueError(f"norm: expected one of {', '.join(map(repr, NORMS))}, got {norm!r}")
    checks.required(S=S)
    axes = " ".join(["B", "N", "D"][-S.ndim:]) if S.ndim <= 3 else " ".join(f"X{i}" for i in range(S.ndim))
    checks.real(S=(S, axes))
    _check_range(S, norm)
    low, high = S.amin(-1, keepdim=True), S.amax(-1, keepdim=True)
    if norm == "max":
        S = S / torch.where(high > 0, high, 1.0)
    elif norm == "minmax":
        S = torch.where(high == low, S, (S - low) / torch.where(high == low, 1.0, high - low))
    elif norm == "softmax":
        S = torch.softmax(S, -1)
    return step("S_norm", S.view_as(S), axes=axes, eq="S̃ = Norm(|S|)", note="How far to trust each driver, 0 … 1.")


def _check(x_endo: Tensor, x_exo: Tensor) -> None:
    checks.shapes(x_endo=(x_endo, "B T N"), x_exo=(x_exo, "B T D"))
    checks.required(x_endo=x_endo, x_exo=x_exo)
    checks.floating(x_endo=x_endo, x_exo=x_exo)
    finite_rows(x_endo=x_endo, x_exo=x_exo)


def _warn_constant(constant: Tensor, name: str) -> None:
    if not torch.compiler.is_compiling() and bool(constant.any()):
        window, series = constant.nonzero()[0].tolist()
        warnings.warn(f"{name}: series {series} of window {window} is constant ({int(constant.sum())} such in all); "
                      "its correlations are 0 by definition", RuntimeWarning, stacklevel=4)


def _refuse_constant(**windows: Tensor) -> None:
    if torch.compiler.is_compiling():
        return
    for name, x in windows.items():
        constant = _constant(x)[:, 0]
        if bool(constant.any()):
            window, series = constant.nonzero()[0].tolist()
            raise ValueError(f"{name}: expected series that vary, got series {series} of window {window} constant at "
                             f"{x[window, 0, series].item()}")


def _check_independent(size: Tensor, before: Tensor, name: str, lag: int) -> None:
    if torch.compiler.is_compiling():
        return
    gone = size <= DEPENDENT * before
    if bool(gone.any()):
        window, i, j = gone.nonzero()[0].tolist()
        raise ValueError(f"{name}: expected lags that are no linear function of each other, got lag {lag + 1} of "
                         f"series {i if name == 'x_endo' else j} in window {window}, which is one")


def _check_pivot(left: Tensor, size: Tensor, n: int) -> None:
    if not torch.compiler.is_compiling() and not bool((left > ROUNDING * n * torch.finfo(left.dtype).eps * size).all()):
        raise ValueError("x_endo, x_exo: expected independent series, or a ridge that float64 resolves beside their "
                         f"sums of squares, got sums up to {size.max():.1e}")


def _check_own_error(rss_own: Tensor, y: Tensor) -> None:
    if torch.compiler.is_compiling():
        return
    exact = rss_own <= DEPENDENT**2 * y.square().sum(-1)
    if bool(exact.any()):
        window, series = exact.nonzero()[0].tolist()
        raise ValueError(f"x_endo: expected an error that a driver could reduce, but its own past predicts series "
                         f"{series} of window {window} exactly")


def _check_range(S: Tensor, norm: str) -> None:
    if torch.compiler.is_compiling():
        return
    bad = (S < 0) | (S > 1) if norm == "none" else S < 0
    if bool(bad.any()):
        at = tuple(bad.nonzero()[0].tolist())
        wanted = "between 0 and 1, as norm='none' leaves them" if norm == "none" else "of at least 0"
        raise ValueError(f"S: expected entries {wanted}, got {S[at].item()} at index {at}")
