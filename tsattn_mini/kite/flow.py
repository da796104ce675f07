"""Flow matching: learn a velocity along straight lines from a source to the target, then follow it.

Sources: Y. Lipman et al., "Flow Matching for Generative Modeling" (arXiv 2210.02747), the straight path; J. Ho,
T. Salimans, "Classifier-Free Diffusion Guidance" (arXiv 2207.12598), guidance. KITE uses both: its source `y0`
comes from the history, its velocity is a network, and its loss is the absolute error ("l1").

A state may have the axes `B`, `B F` or `B N F`. The flow time s runs from 0 (source) to 1 (target).
"""

import math
from collections.abc import Callable
from reprlib import repr as short

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.trace import scope, step

Velocity = Callable[[Float[Tensor, "B ..."], Float[Tensor, " B"]], Float[Tensor, "B ..."]]
AXES = {1: "B", 2: "B F", 3: "B N F"}


def path(y0: Float[Tensor, "B ..."], y: Float[Tensor, "B ..."], s: Float[Tensor, " B"]
         ) -> Float[Tensor, "B ..."]:
    """Y_s = s Y + (1 - s) Y_0: the straight line from `y0` to `y`, at one time s in [0, 1] per row.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite, a time outside [0, 1].

    >>> y0, y = torch.zeros(1, 2), torch.tensor([[4.0, 8.0]])
    >>> path(y0, y, torch.tensor([0.25])).tolist()
    [[1.0, 2.0]]
    """
    axes = _axes(y0=y0)
    checks.real(y0=(y0, axes), y=(y, axes))
    checks.shapes(y0=(y0, axes), s=(s, "B"))
    checks.floating(s=s)
    checks.finite(s=s)
    check_time(s)
    s = along(s, y0)
    return step("Y_s", s * y + (1 - s) * y0, axes=axes, eq="Y_s = s Y + (1 - s) Y_0",
                note="A mixture of a source draw and the truth.")


def check_time(s: Tensor) -> None:
    """Check that every flow time lies in [0, 1].

    Raises:
        ValueError: naming the range that came.
    """
    if not torch.compiler.is_compiling() and not bool(((s >= 0) & (s <= 1)).all()):
        raise ValueError(f"s: expected times between 0 and 1, got {s.min().item():g} to {s.max().item():g}")


def along(s: Float[Tensor, " B"], y: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
    """`s` with axes of size 1 behind it, as many as `y` has.

    >>> along(torch.tensor([0.5]), torch.zeros(1, 2, 3)).shape
    torch.Size([1, 1, 1])
    """
    return s.reshape(-1, *[1] * (y.ndim - 1))


def target_velocity(y0: Float[Tensor, "B ..."], y: Float[Tensor, "B ..."]) -> Float[Tensor, "B ..."]:
    """u = Y - Y_0, what the velocity should say: the same all along the line.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite.

    >>> target_velocity(torch.tensor([1.0]), torch.tensor([4.0])).item()  # the same all along the line
    3.0
    """
    axes = _axes(y0=y0)
    checks.real(y0=(y0, axes), y=(y, axes))
    u = step("u", y - y0, axes=axes, eq="u = Y - Y_0", note="One straight line, one constant velocity.")
    checks.overflow("y0, y", u)
    return u


def flow_loss(v: Float[Tensor, "B ..."], y0: Float[Tensor, "B ..."], y: Float[Tensor, "B ..."],
              kind: str = "l2") -> Float[Tensor, ""]:
    """How far the velocity `v` is from Y - Y_0, on average over all entries.

    "l2", mean (v - u)², is smallest at the conditional mean of u, and the flow of that velocity carries the source
    to the target exactly. "l1", mean |v - u|, as in the released KITE, is smallest at the conditional median, whose
    flow ends elsewhere unless the two agree.

    Raises:
        ValueError: another `kind`, shapes that do not fit, entries that are not finite.

    >>> y0, y = torch.zeros(2), torch.tensor([1.0, 3.0])
    >>> v = torch.full((2,), 2.0)  # the mean of the two velocities
    >>> flow_loss(v, y0, y).item(), flow_loss(v, y0, y, "l1").item()
    (1.0, 1.0)
    """
    if kind not in ("l2", "l1"):
        raise ValueError(f"kind: expected 'l2' or 'l1', got {kind!r}")
    axes = _axes(v=v)
    checks.real(v=(v, axes), y0=(y0, axes), y=(y, axes))
    error = v - target_velocity(y0, y)
    if kind == "l2":
        loss = step("loss", (error ** 2).mean(), axes="", eq="mean (v - u)²", note="Its minimiser is a mean.")
    else:
        loss = step("loss", error.abs().mean(), axes="", eq="mean |v - u|", note="Its minimiser is a median.")
    checks.overflow("v, y0, y", loss)
    return loss


def guide(v_u: Float[Tensor, "B ..."], v_c: Float[Tensor, "B ..."], omega: int | float | Float[Tensor, ""]
          ) -> Float[Tensor, "B ..."]:
    """Classifier-free guidance: v̂ = v_u + ω (v_c - v_u), from the velocities without and with the condition.

    ω = 0 returns `v_u` and ω = 1 returns `v_c`, bit for bit. Between them ω interpolates, above 1 it extrapolates
    past the condition, below 0 away from it. Others write ω = 1 + γ, or v_c + w (v_c - v_u) with w = γ = ω - 1.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite, an ω that is not one finite number.

    >>> v_u, v_c = torch.tensor([1.0]), torch.tensor([3.0])
    >>> [guide(v_u, v_c, omega).item() for omega in (0, 1, 2)]  # without, with, and past the condition
    [1.0, 3.0, 5.0]
    """
    axes = _axes(v_u=v_u)
    checks.number(omega=omega)
    checks.shapes(v_u=(v_u, axes), v_c=(v_c, axes))
    omega = torch.as_tensor(omega, dtype=v_u.dtype, device=v_u.device)
    checks.shapes(omega=(omega, ""))
    checks.required(v_c=v_c)
    checks.floating(v_u=v_u, v_c=v_c)
    checks.finite(v_u=v_u, v_c=v_c, omega=omega)
    v_hat = v_u + omega * (v_c - v_u)
    v_hat = torch.where(omega == 0, v_u, torch.where(omega == 1, v_c, v_hat))  # rounding would miss the two ends
    checks.overflow("v_u, v_c, omega", v_hat)
    return step("v_hat", v_hat, axes=axes, eq="v̂ = v_u + ω (v_c - v_u)",
                note="Along the line through the two answers.")


def euler(velocity: Velocity, y0: Float[Tensor, "B ..."], steps: int | Shaped[Tensor, ""],
          at_most: int | None = None) -> Float[Tensor, "B ..."]:
    """Follow the velocity from s = 0 to 1 in K equal steps: Y ← Y + v(Y, i/K) / K.

    Round i names its steps `ode{i}/…`. The velocity gets one time per row. A velocity that changes along the way is
    followed only roughly: for Gaussians, K steps lose spread (see `exact.gaussian_velocity`).

    Args:
        velocity: (state, times) → velocity of the state's shape; what it names lies in the round's scope.
        steps: K. A tensor (a slider's value) needs `at_most`: that many rounds are laid out, and those after
            the K-th move nothing.
    Raises:
        ValueError: K below 1 or above `at_most`, a velocity of another shape or not finite (the round is named).

    >>> y = torch.tensor([1.0], dtype=torch.float64)
    >>> [round(euler(lambda y, s: y, y, K).item(), 3) for K in (1, 10, 100)]  # (1 + 1/K)^K, towards e
    [2.0, 2.594, 2.705]
    """
    axes = _axes(y0=y0)
    checks.real(y0=(y0, axes))
    rounds = _rounds(steps, at_most)
    K = torch.as_tensor(steps, dtype=y0.dtype, device=y0.device)
    y = y0
    for i in range(rounds):
        with scope(f"ode{i}"):
            s, ds = torch.where(i < K, torch.stack([i / K, 1 / K]), 0.0)
            v = velocity(y, s.expand(len(y)))
            _check_velocity(v, y, i)
            y = step("Y", y + ds * v, axes=axes, eq="Y ← Y + v(Y, s) / K", note=f"After round {i + 1}.")
            checks.overflow(f"velocity in round {i}", y)
    return y


def point_forecast(samples: Float[Tensor, "B P ..."], kind: str = "mean") -> Float[Tensor, "B ..."]:
    """One forecast from P sampled trajectories: their "mean", or their "median" step by step.

    For an even P the median is the lower of the two middle values, as torch has it; it is a value that was drawn.

    Raises:
        ValueError: another `kind`, no axis of samples, entries that are not finite.

    >>> samples = torch.tensor([[1.0, 2.0, 9.0]])
    >>> point_forecast(samples).item(), point_forecast(samples, "median").item()
    (4.0, 2.0)
    """
    if kind not in ("mean", "median"):
        raise ValueError(f"kind: expected 'mean' or 'median', got {kind!r}")
    checks.required(samples=samples)
    axes = {n + 1: ("B P" + words[1:]) for n, words in AXES.items()}.get(samples.ndim, "B P N F")
    checks.shapes(samples=(samples, axes))
    checks.floating(samples=samples)
    checks.finite(samples=samples)
    lower_middle = (samples.shape[1] - 1) // 2
    point = samples.mean(1) if kind == "mean" else samples.sort(1).values[:, lower_middle]
    checks.overflow("samples", point)
    return step("point", point, axes=axes.replace(" P", ""), eq=f"{kind} over P", note="One line out of many.")


def _axes(**argument: Tensor) -> str:
    """The axes of the one argument, by its rank."""
    (name, y), = argument.items()
    if not isinstance(y, Tensor) or y.ndim not in AXES:
        got = f"shape {tuple(y.shape)}" if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(f"{name}: expected a tensor with axes 'B', 'B F' or 'B N F', got {got}")
    return AXES[y.ndim]


def _rounds(steps: int | Tensor, at_most: int | None) -> int:
    """How many rounds to lay out."""
    for name, count in (("steps", steps), ("at_most", at_most)):
        if not isinstance(count, Tensor) and count is not None and (
                not checks.whole(count) or not 1 <= count <= checks.MOST):
            raise ValueError(f"{name}: expected a whole number of at least 1, got {short(count)}")
    if isinstance(at_most, Tensor):
        raise ValueError("at_most: expected a whole number of at least 1, got a tensor")
    if not isinstance(steps, Tensor):
        if steps is None or (at_most is not None and steps > at_most):
            raise ValueError(f"steps: expected at most at_most={at_most}, got {steps}")
        return at_most or steps
    checks.shapes(steps=(steps, ""))
    if at_most is None:
        raise ValueError("at_most: expected the largest number of steps, as steps is a tensor, got None")
    if not torch.compiler.is_compiling() and not (1 <= steps.item() <= at_most and math.fmod(steps.item(), 1) == 0):
        raise ValueError(f"steps: expected a whole number from 1 to at_most={at_most}, got {steps.item():g}")
    return at_most


def _check_velocity(v: Tensor, y: Tensor, i: int) -> None:
    if not isinstance(v, Tensor) or v.shape != y.shape:
        got = f"shape {tuple(v.shape)}" if isinstance(v, Tensor) else type(v).__name__
        raise ValueError(f"velocity in round {i}: expected the state's shape {tuple(y.shape)}, got {got}")
    checks.finite(**{f"velocity in round {i}": v})
