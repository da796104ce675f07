"""Flows in one dimension whose velocity is known exactly: what a perfectly trained network would say.

The source is independent of the target, and the path is straight (`flow.path`). Given that a particle is at y at
time s, its velocity Y - Y_0 still has a spread; a network trained with the squared error learns its mean, one
trained with the absolute error its median. Lessons 10 and 11 watch particles follow both.
"""

import math
from collections.abc import Callable, Sequence
from numbers import Real

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.kite.flow import Velocity, check_time, euler
from tsattn_mini.trace import step

Number = int | float | Float[Tensor, ""]
Numbers = int | float | Float[Tensor, "..."]
Gaussian = tuple[Numbers, Numbers]  # mean, standard deviation
ACCURACY = 1e-5  # of the sizes at hand, by which two quadratures of `guided_gaussian` may differ


def gaussian_velocity(y: Float[Tensor, "..."], s: Float[Tensor, "..."], target: Gaussian,
                      source: Gaussian = (0.0, 1.0)) -> Float[Tensor, "..."]:
    """E[Y - Y_0 | Y_s = y] between N(m_0, σ_0²) and N(m_1, σ_1²), each given as (mean, standard deviation).

    Y_s has mean m = s m_1 + (1-s) m_0 and variance s² σ_1² + (1-s)² σ_0²; the velocity is
    m_1 - m_0 + (s σ_1² - (1-s) σ_0²) / variance · (y - m). A width of 0 is a point.

    Raises:
        ValueError: a time outside 0 … 1, a width below 0, a moment where Y_s has no width, such as s = 1 on the way
            to a point, or a velocity that leaves the number range.

    >>> y, s = torch.tensor([0.0]), torch.tensor([0.5])
    >>> gaussian_velocity(y, s, target=(2.0, 0.0)).item()  # half way to the point 2, and 2 to go in half the time
    4.0
    """
    _check_state(y, s)
    _check_laws(target=target, source=source)
    velocity = _towards(y, s, target, source)
    checks.overflow("y, target, source", velocity)
    return velocity


def _towards(y: Float[Tensor, "..."], s: Float[Tensor, "..."], target: Gaussian, source: Gaussian
             ) -> Float[Tensor, "..."]:
    (m0, sd0), (m1, sd1) = source, target
    variance = (s * sd1) ** 2 + ((1 - s) * sd0) ** 2
    _above_zero(variance=variance)
    return m1 - m0 + (s * sd1 ** 2 - (1 - s) * sd0 ** 2) / variance * (y - s * m1 - (1 - s) * m0)


def mixture_velocity(y: Float[Tensor, " B"], s: Float[Tensor, " B"], weights: Float[Tensor, " K"],
                     means: Float[Tensor, " K"], stds: Float[Tensor, " K"], source: Gaussian = (0.0, 1.0)
                     ) -> Float[Tensor, " B"]:
    """E[Y - Y_0 | Y_s = y] towards a mixture of Gaussians: each component's velocity, weighted by its odds at y.

    Standard deviations of 0 are points; the velocity is then defined for s < 1. Weights need not add up to 1.

    Raises:
        ValueError: as `gaussian_velocity`; a weight or a standard deviation below 0, weights that are all 0, a y so far
            away that its square leaves the number range, or means whose velocity does.
    """
    checks.shapes(y=(y, "B"), s=(s, "B"))
    _check_state(y, s)
    checks.real(weights=(weights, "K"), means=(means, "K"), stds=(stds, "K"))
    _check_laws(source=source)
    _at_least_zero(weights=weights, stds=stds)
    _above_zero(**{"sum of weights": weights.sum()})
    y, s = y[:, None], s[:, None]
    m0, sd0 = source
    sd = ((s * stds) ** 2 + ((1 - s) * sd0) ** 2).sqrt()
    z = (y - s * means - (1 - s) * m0) / sd
    odds = torch.softmax(weights.log() - sd.log() - z ** 2 / 2, dim=-1)
    _check_laws(means=(means, stds))
    checks.overflow("y", odds)
    velocity = (odds * _towards(y, s, (means, stds), source)).sum(-1)
    checks.overflow("y, means", velocity)
    return velocity


def error_growth(source_std: Float[Tensor, ""], target_std: Float[Tensor, ""]) -> Float[Tensor, ""]:
    """Where a constant velocity error of 1 ends: how far the exact flow between two Gaussians carries it.

    An error made at time s is multiplied by σ_1 / sqrt((s σ_1)² + ((1-s) σ_0)²) until s = 1. The integral over s is
    (asinh r + asinh 1/r) / sqrt(1 + r²) with r = σ_0 / σ_1: 1.25 at r = 1, large for a narrow source, small for a
    wide one.

    Raises:
        ValueError: a width that is not above 0.

    >>> one = torch.tensor(1.0, dtype=torch.float64)
    >>> round(error_growth(one, one).item(), 3), round(error_growth(one, 0.1 * one).item(), 3)  # forgiven
    (1.246, 0.308)
    """
    checks.required(source_std=source_std, target_std=target_std)
    checks.floating(source_std=source_std, target_std=target_std)
    axes = " ".join(f"X{i}" for i in range(source_std.ndim))
    checks.shapes(source_std=(source_std, axes), target_std=(target_std, axes))
    _above_zero(source_std=source_std, target_std=target_std)
    wide, narrow = torch.maximum(source_std, target_std), torch.minimum(source_std, target_std)
    q = narrow / wide  # r or 1/r, whichever no number range is too small for
    root = (1 + q ** 2).sqrt()
    return target_std / wide / root * (torch.asinh(q) + (1 + root).log() + wide.log() - narrow.log())


def guided_gaussian(omega: Number, conditional: Gaussian, marginal: Gaussian, source: Gaussian = (0.0, 1.0)
                    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Mean and standard deviation of what v̂ = v_u + ω (v_c - v_u) makes of the source, without any step error.

    Both velocities are straight lines in y, so the result is Gaussian. Its width is the geometric mixture
    σ_u^(1-ω) σ_c^ω, which rounds to 0 for a large ω. Its mean is an integral over s, taken with 64 Gauss-Legendre
    nodes; 96 must agree. With |ω| up to 1000 they do unless one width is a small part of another.

    Raises:
        ValueError: a width that is not above 0, an ω that is not finite or whose result is wider than float64 can say,
            or one for which the two quadratures differ by more than `ACCURACY`.

    >>> mean, std = guided_gaussian(3, (1.0, 0.5), (0.0, 1.0))
    >>> round(mean.item(), 2), round(std.item(), 3)  # beyond the condition's mean 1, and narrower than 0.5
    (1.5, 0.125)
    """
    _check_laws(conditional=conditional, marginal=marginal, source=source)
    checks.number(omega=omega)
    _above_zero(conditional=conditional[1], marginal=marginal[1], source=source[1])
    omega = torch.as_tensor(omega, dtype=torch.float64)
    weights = torch.stack([1 - omega, omega])[:, None]
    means, stds = (torch.stack([torch.as_tensor(g[i], dtype=torch.float64) for g in (marginal, conditional)])[:, None]
                   for i in (0, 1))
    end = (weights * stds.log()).sum().exp()
    mean, again = (_guided_mean(weights, means, stds, source, nodes) for nodes in (64, 96))
    _check_guided(omega, weights, stds, (mean, again))
    return mean, end


def _guided_mean(weights: Float[Tensor, "2 1"], means: Float[Tensor, "2 1"], stds: Float[Tensor, "2 1"],
                 source: Gaussian, nodes: int) -> Float[Tensor, ""]:
    """m_0 and every push along the way, each times ∏ (σ / width)^weight: how much the cloud still widens by."""
    m0, sd0 = source
    s, node_weights = legendre(nodes)
    widths = ((s * stds) ** 2 + ((1 - s) * sd0) ** 2).sqrt()
    growth = (weights * (stds.log() - widths.log())).sum(0).exp()
    at_zero = gaussian_velocity(torch.zeros_like(s), s, (means, stds), source)  # where each line meets y = 0
    start = m0 * (weights * (stds / sd0).log()).sum().exp()
    return start + (node_weights * (weights * at_zero).sum(0) * growth).sum()


def _check_guided(omega: Tensor, weights: Tensor, stds: Tensor, means: tuple[Tensor, Tensor]) -> None:
    log_end, most = float((weights * stds.log()).sum()), math.log(torch.finfo(torch.float64).max)
    if log_end > most:
        raise ValueError(f"omega: expected a guidance that ends with a width below e^{most:.0f}, got e^{log_end:.0f} "
                         f"from omega={float(omega):g}")
    mean, again = map(float, means)
    if not abs(mean - again) <= ACCURACY * (abs(mean) + math.exp(log_end) + float(stds.max())):
        raise ValueError(f"omega: expected a guidance whose mean 64 and 96 nodes give alike to {ACCURACY:g}, got "
                         f"{float(omega):g} with means of {mean:g} and {again:g}; nearer to 0 they agree")


def legendre(nodes: int = 64) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"]]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1], float64.

    >>> nodes, weights = legendre(3)
    >>> round((weights * nodes**5).sum().item(), 6)  # exact for a polynomial: ∫ x⁵ = 1/6
    0.166667
    """
    checks.counts(nodes=nodes)
    i = torch.arange(1, nodes, dtype=torch.float64)
    off = i / (4 * i ** 2 - 1).sqrt()
    x, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
    return (x + 1) / 2, vectors[0] ** 2


def gaussian_crps(forecast: Gaussian, truth: Gaussian) -> Float[Tensor, "..."]:
    """The continuous ranked probability score that a Gaussian forecast earns on average over a Gaussian truth.

    E|X - Y| - ½ E|X - X'| with X, X' from the forecast, Y from the truth, in their unit; smaller is better, and
    over one truth it is smallest where forecast and truth agree, at σ/√π. Between two points, both of width 0, it is
    their distance.

    Raises:
        ValueError: a width below 0.

    >>> zero = torch.tensor(0.0)
    >>> round(gaussian_crps((zero, zero), (zero, 1.0)).item(), 3)  # a point forecast: the mean distance, √(2/π)
    0.798
    >>> round(gaussian_crps((zero, 1.0), (zero, 1.0)).item(), 3)  # the truth's own spread does better
    0.564
    """
    _check_laws(forecast=forecast, truth=truth)
    (m, sd), (mu, sigma) = map(torch.as_tensor, forecast), truth
    d, width = m - mu, (sd ** 2 + sigma ** 2).sqrt()
    z = d / torch.where(width > 0, width, 1.0)
    apart = torch.where(width > 0, d * torch.erf(z / math.sqrt(2)) + 2 * width * normal_density(z), d.abs())
    return apart - sd / math.sqrt(math.pi)


def normal_density(z: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """exp(-z²/2) / √(2π)."""
    return torch.exp(-z ** 2 / 2) / math.sqrt(2 * math.pi)


def watch(velocity: Velocity, y0: Float[Tensor, " P"], steps: int | Shaped[Tensor, ""], at_most: int, points: int = 21
          ) -> Float[Tensor, "P s"]:
    """Where the particles of `flow.euler` are at `points` equal times s from 0 to 1: between steps they go straight."""
    checks.real(y0=(y0, "P"))
    checks.counts(points=points)
    states = []

    def seen(y, s):
        states.append(y)
        return velocity(y, s)

    end = euler(seen, y0, steps, at_most)
    states, K = torch.stack([*states, end]), torch.as_tensor(steps, dtype=y0.dtype)
    at = torch.linspace(0, 1, points, dtype=y0.dtype) * K
    i = torch.minimum(at.floor(), K - 1)
    left, right = states[i.long()], states[i.long() + 1]
    return step("particles", (left + (at - i)[:, None] * (right - left)).T, axes="P s",
                eq="straight lines between the steps", note="s runs from 0 to 1 in 20 parts; one curve per particle.")


def two_point_velocity(y: Float[Tensor, " B"], s: Float[Tensor, " B"], p: Number, kind: str = "l2"
                       ) -> Float[Tensor, " B"]:
    """The mean ("l2") or median ("l1") of Y - Y_0 given Y_s = y, for Y = +1 with probability p, else -1.

    The source is N(0, 1). The mean weighs both points by their odds at y, the median is the likelier point:
    (point - y) / (1 - s).

    Raises:
        ValueError: another `kind`, p not between 0 and 1, a time outside 0 … 1, s = 1, or a velocity that leaves the
            number range.

    >>> y, s = torch.tensor([0.0]), torch.tensor([0.0])
    >>> two_point_velocity(y, s, p=0.75).item()  # the mean: 0.75 - 0.25
    0.5
    >>> two_point_velocity(y, s, p=0.75, kind="l1").item()  # the median: all the way to +1
    1.0
    """
    _check_kind(kind)
    _check_state(y, s)
    checks.number(**({} if isinstance(p, Tensor) else {"p": p}))
    _above_zero(p=p, **{"1 - p": 1 - p, "1 - s": 1 - s})
    log_odds = torch.logit(torch.as_tensor(p, dtype=y.dtype)) + 2 * s * y / (1 - s) ** 2
    point = torch.tanh(log_odds / 2) if kind == "l2" else torch.where(log_odds >= 0, 1.0, -1.0).to(y.dtype)
    velocity = (point - y) / (1 - s)
    checks.overflow("y", velocity)
    return velocity


def two_point_share(p: Number) -> Float[Tensor, ""]:
    """The share of particles that the median `two_point_velocity` brings to +1: Φ(√(2 logit p)) for p ≥ ½, not p.

    A particle that started at y_0 and heads for +1 is at (1-s) y_0 + s; it stays the likelier side for all s unless
    y_0 < -√(2 logit p). For p < ½ the other point wins by the same rule.

    Raises:
        ValueError: p not between 0 and 1.

    >>> round(two_point_share(0.75).item(), 3)  # the median sends more than 75 % there
    0.931
    """
    checks.number(**({} if isinstance(p, Tensor) else {"p": p}))
    _above_zero(p=p, **{"1 - p": 1 - p})
    p = p if isinstance(p, Tensor) else torch.tensor(p, dtype=torch.float64)
    log_odds = (p / (1 - p)).log()
    return torch.special.ndtr(log_odds.sign() * (2 * log_odds.abs()).sqrt())


def exponential_velocity(y: Float[Tensor, " B"], s: Float[Tensor, " B"], kind: str = "l2") -> Float[Tensor, " B"]:
    """The mean ("l2") or median ("l1") of Y - Y_0 given Y_s = y, 0 ≤ s < 1, for Y ~ Exp(1) and source N(0, 1).

    Y given Y_s = y is a normal with mean y/s - t² and width t = (1-s)/s, cut off below 0; at s = 0 it is Exp(1).

    Raises:
        ValueError: another `kind`, a time outside 0 … 1, s = 1, or a velocity that leaves the number range.
    """
    _check_kind(kind)
    _check_state(y, s)
    wide = torch.promote_types(y.dtype, torch.float32)
    if y.dtype != wide:  # half precision has no tail of a normal
        v = exponential_velocity(y.to(wide), s.to(wide), kind).to(y.dtype)
        checks.overflow("y, s", v)
        return v
    _above_zero(**{"1 - s": 1 - s})
    t = (1 - s) / s.clamp(min=1e-3)
    a = t - y / (1 - s)  # the cut, in widths above the normal's mean
    beyond = _hazard(a) - a if kind == "l2" else _median_beyond(a)
    inner = torch.where(s < 1e-3, math.log(2) if kind == "l1" else 1.0, t * beyond)
    v = (inner - y) / (1 - s)
    checks.overflow("y, s", v)
    return v


def _hazard(a: Float[Tensor, " B"]) -> Float[Tensor, " B"]:
    """Density over tail of a standard normal at `a`: the mean of what lies beyond `a`."""
    return math.sqrt(2 / math.pi) / torch.special.erfcx(a / math.sqrt(2))


def _median_beyond(a: Float[Tensor, " B"]) -> Float[Tensor, " B"]:
    """How far above `a` the median of a standard normal's tail beyond `a` lies: log tail(z) = log tail(a) - log 2.

    Newton's rule; the logarithm of the tail is nearly a straight line where the normal itself would underflow.
    """
    a = a.clamp(max=torch.finfo(a.dtype).max ** 0.5 / 2)  # of which the square is finite
    half = torch.special.log_ndtr(-a) - math.log(2)
    z = torch.where(a > 0, a + math.log(2) / a.clamp(min=1.0), 0.0)
    for _ in range(6):
        z = z + (torch.special.log_ndtr(-z) - half) / _hazard(z)
    return z - a


def _check_kind(kind: str) -> None:
    if kind not in ("l2", "l1"):
        raise ValueError(f"kind: expected 'l2' or 'l1', got {kind!r}")


def _check_state(y: Tensor, s: Tensor) -> None:
    checks.required(y=y, s=s)
    checks.floating(y=y, s=s)
    checks.finite(y=y)
    if not torch.compiler.is_compiling() and s.ndim and s.shape != y.shape:
        raise ValueError(f"s: expected one time, or one for each state of shape {tuple(y.shape)}, "
                         f"got shape {tuple(s.shape)}")
    check_time(s)


def _check_laws(**laws: Gaussian) -> None:
    for name, law in laws.items():
        if not isinstance(law, Sequence) or len(law) != 2 or not all(
                isinstance(x, Real | Tensor) and not isinstance(x, bool) for x in law):
            raise ValueError(f"{name}: expected (mean, standard deviation), got {law!r}")
        checks.finite(**{name: torch.as_tensor(law[0])})
        _at_least_zero(**{name: law[1]})


def _above_zero(**arguments: Numbers) -> None:
    _check_least(torch.gt, "numbers above 0", arguments)


def _at_least_zero(**arguments: Numbers) -> None:
    _check_least(torch.ge, "numbers of at least 0", arguments)


def _check_least(holds: Callable[[Tensor, int], Tensor], wanted: str, arguments: dict[str, Numbers]) -> None:
    if torch.compiler.is_compiling():
        return
    for name, value in arguments.items():
        x = torch.as_tensor(value)
        if not bool((holds(x, 0) & x.isfinite()).all()):
            raise ValueError(f"{name}: expected {wanted}, got {x.min().item():g}")
