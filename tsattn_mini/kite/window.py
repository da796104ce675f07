"""Windows as KITE's network reads them: standardised rows, one per endogenous series, each with its condition."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tsattn_mini import checks
from tsattn_mini.trace import meaning, step

EPS = 1e-5  # added to the variance: a constant series gets σ = 0.00316


class Condition(NamedTuple):
    """What the network is told, one line a row: prior (not normalised yet), exogenous pasts and futures."""

    S: Float[Tensor, "rows 1 D"]
    x_exo: Float[Tensor, "rows D T"]
    y_exo: Float[Tensor, "rows D F"] | None

    def times(self, keep: Float[Tensor, "rows 1 1"] | float) -> "Condition":
        """The same, times `keep`: with 0 there is nothing left to be told, and the network sees zeros."""
        return Condition(*(None if part is None else part * keep for part in tuple(self)))

    def repeat(self, P: int) -> "Condition":
        """Every row P times, one after the other."""
        return Condition(*(None if part is None else part.repeat_interleave(P, dim=0) for part in tuple(self)))


class Window(NamedTuple):
    """Standardised windows as B·N rows, in the order b·N + n, with the level and scale of every row."""

    x: Float[Tensor, "rows T"]
    condition: Condition
    mu: Float[Tensor, "rows 1"]
    sigma: Float[Tensor, "rows 1"]


@meaning("save statistics")
def standardise(x: Float[Tensor, "B T V"]
                ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 1 V"], Float[Tensor, "B 1 V"]]:
    """x' = (x - μ) / σ for every variable of every window, and μ, σ = sqrt(Σ (x - μ)² / (T - 1) + 10⁻⁵).

    Lesson 03's `stationarize` divides by T instead; here it is T - 1, as in the released KITE.

    Raises:
        ValueError: fewer than two steps, integers, a series whose squares leave the number range.

    >>> x = torch.tensor([1.0, 2.0, 3.0])[None, :, None]
    >>> x_norm, mu, sigma = standardise(x)
    >>> x_norm.flatten().round(decimals=3).tolist()  # divided by T - 1: three steps reach ±1
    [-1.0, 0.0, 1.0]
    """
    checks.required(x=x)
    checks.shapes(x=(x, "B T V"))
    checks.floating(x=x)
    if x.shape[1] < 2:
        raise ValueError(f"x: expected at least 2 steps of the past, whose spread is measured, got {x.shape[1]}")
    mu = x.mean(1, keepdim=True)
    mu = step("mu", mu + (x - mu).mean(1, keepdim=True), axes="B 1 V", eq="μ = mean_t x", note="The level.")
    off = (x - mu).to(torch.promote_types(x.dtype, torch.float32))  # half precision is squared in float32
    var = off.square().sum(1, keepdim=True) / (x.shape[1] - 1)
    sigma = step("sigma", (var + EPS).sqrt().to(x.dtype), axes="B 1 V", eq="σ = sqrt(Σ (x - μ)² / (T-1) + 1e-5)",
                 note="The scale; never 0.")
    checks.overflow("x", mu, sigma)
    return step("x_norm", (x - mu) / sigma, axes="B T V", eq="(x - μ) / σ", note="The past around zero."), mu, sigma
