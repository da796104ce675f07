"""KITE, whole: standardise, measure the prior, start from the history, flow under guidance, restore.

Source: KITE and the released code (decisionintelligence/KITE). Every endogenous series is forecast as a row of its
own, with all exogenous series beside it, so N of them fold into the batch as B·N rows; the released code runs for
N = 1 only.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.embedding import finite_rows
from tsattn_mini.kite.flow import euler, flow_loss, guide, path, point_forecast
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import NORMS, normalise, pearson
from tsattn_mini.kite.source import HistorySource, coverage
from tsattn_mini.kite.window import Condition, Window, standardise
from tsattn_mini.trace import scope, step

CLOCK = 1000.0  # the network's clock runs from 0 to here


class KITE(nn.Module):
    """A distribution over the next F steps of N series, given their past and D other series.

    Args:
        T: past steps; F: future steps; D: exogenous variables.
        norm: how the prior is brought to 0 … 1, one of `prior.NORMS`. The released code has "softmax".
        loss: "l2", whose flow ends at the target, or "l1", as in the released code.
        nll_weight: weight of the coverage of the source in the loss.
        p_uncond: in training, the share of rows that are told nothing, so that guidance has something to compare with.
        one_coin: tell nothing to all rows of a batch together, and drop structure together, as the released code does.
        source: the other arguments of `HistorySource`.
        network: the other arguments of `VectorField`: sizes, `future`, `conditioning`, `gate`, `second_door`.
    Raises:
        ValueError: an unknown norm or loss, a weight below 0, a share outside 0 … 1, or what the two parts refuse.
    """

    def __init__(self, T: int, F: int, D: int, *, norm: str = "none", loss: str = "l2", nll_weight: float = 0.1,
                 p_uncond: float = 0.1, one_coin: bool = False, source: dict | None = None, **network: Any) -> None:
        super().__init__()
        for name, value, known in (("norm", norm, NORMS), ("loss", loss, ("l2", "l1"))):
            if value not in known:
                raise ValueError(f"{name}: expected one of {known}, got {value!r}")
        checks.counts(T=T, F=F, D=D)
        checks.number(nll_weight=nll_weight, p_uncond=p_uncond)
        if not 0 <= nll_weight < math.inf:
            raise ValueError(f"nll_weight: expected a number of at least 0, got {nll_weight}")
        if not 0 <= p_uncond <= 1:
            raise ValueError(f"p_uncond: expected a share between 0 and 1, got {p_uncond}")
        self.T, self.F, self.D = T, F, D
        self.norm, self.kind, self.nll_weight = norm, loss, nll_weight
        self.p_uncond, self.one_coin = p_uncond, one_coin
        self.source = HistorySource(T, F, **{"one_coin": one_coin, **(source or {})})
        self.field = VectorField(T, F, D, **network)

    def forward(self, x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"],
                y_exo: Float[Tensor, "B F D"] | None = None, *, point: str = "mean",
                **sampling: Any) -> Float[Tensor, "B F N"]:
        """One path: the "mean" or the step-by-step "median" of what `sample` draws; `sampling` goes there."""
        samples = self.sample(x_endo, x_exo, y_exo, **sampling)
        return point_forecast(samples.transpose(2, 3), point).mT

    def sample(self, x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"],
               y_exo: Float[Tensor, "B F D"] | None = None, *, n_samples: int = 10, steps: int | Float[Tensor, ""] = 10,
               at_most: int | None = None, omega: float | Float[Tensor, ""] = 1.0,
               S: Float[Tensor, "B N D"] | None = None, z: Float[Tensor, "rows r"] | None = None,
               eps: Float[Tensor, "rows F"] | None = None) -> Float[Tensor, "B P F N"]:
        """P = `n_samples` trajectories per window and series, in the units of the data.

        Args:
            steps, at_most: rounds of Euler's method, see `flow.euler`.
            omega: 0 ignores the exogenous series, 1 listens, beyond 1 exaggerates what they say. Negative values are
                allowed: the flow then runs away from the condition. Given as the numbers 0 or 1, the branch that
                would not count is left out. Beyond 1/ε of the dtype it would exaggerate nothing but rounding.
            S: a prior of your own in place of |Pearson|.
            z, eps: the normal draws, one line for every one of the B·N·P trajectories, in the order of (b, n, p);
                see `HistorySource.draw`. Fresh ones when left out.
        Raises:
            ValueError: shapes that do not fit, another dtype than that of the weights, entries that are not finite or
                whose squares leave the number range, an ω beyond 1/ε, exogenous futures missing where the model was
                built with them, or given where it was not.
        Warns:
            RuntimeWarning: a constant series, which has no correlation; the prior is 0 there.
        """
        checks.counts(n_samples=n_samples)
        w = self.prepare(x_endo, x_exo, y_exo, S)
        with scope("told"):
            told = self.normalised(w.condition).repeat(n_samples)
        with scope("untold"):
            untold = self.normalised(w.condition.times(0.0)).repeat(n_samples)
        x = w.x.repeat_interleave(n_samples, dim=0)
        if z is None or eps is None:
            fresh = self.source.draw(len(x))
            z, eps = fresh[0] if z is None else z, fresh[1] if eps is None else eps
        with scope("source"):
            y0, _, _ = self.source(x, z, eps)
        checks.squares("z, eps", y0)
        y = self.flow(y0, told, untold, steps, at_most, omega)
        y = y * w.sigma.repeat_interleave(n_samples, dim=0) + w.mu.repeat_interleave(n_samples, dim=0)
        checks.overflow("x_endo", y)
        samples = y.reshape(x_endo.shape[0], x_endo.shape[2], n_samples, self.F).permute(0, 2, 3, 1)
        return step("samples", samples, axes="B P F N", eq="Y σ + μ",
                    note="Possible futures, in the units of the data.")

    def flow(self, y0: Float[Tensor, "rows F"], told: Condition, untold: Condition, steps: int | Float[Tensor, ""],
             at_most: int | None = None, omega: float | Float[Tensor, ""] = 1.0) -> Float[Tensor, "rows F"]:
        """From the source to the end, in standardised units; both conditions are normalised already."""
        _check_omega(omega, y0.dtype)
        return euler(lambda y, s: self.guided(y, s, told, untold, omega), y0, steps, at_most)

    def guided(self, y: Float[Tensor, "rows F"], s: Float[Tensor, " rows"], told: Condition, untold: Condition,
               omega: float | Float[Tensor, ""]) -> Float[Tensor, "rows F"]:
        """v_u + ω (v_c - v_u) at the states y and times s, for conditions that are normalised already."""
        if not isinstance(omega, Tensor) and omega in (0, 1):
            return self.velocity(y, s, told if omega else untold)
        both = Condition(*(None if a is None else torch.cat([a, b]) for a, b in zip(untold, told, strict=True)))
        v_u, v_c = self.velocity(torch.cat([y, y]), torch.cat([s, s]), both).chunk(2)  # one pass, twice the rows
        v_u = step("v_u", v_u, axes="rows F", eq="v(Y, s, nothing)", note="Where the state goes when nothing is told.")
        v_c = step("v_c", v_c, axes="rows F", eq="v(Y, s, condition)", note="Where it goes when it is told.")
        return guide(v_u, v_c, omega)

    def velocity(self, y: Float[Tensor, "rows F"], s: Float[Tensor, " rows"],
                 condition: Condition) -> Float[Tensor, "rows F"]:
        """The network's velocity; `condition` is normalised."""
        with scope("net"):
            t = step("t", CLOCK * s, axes="B", eq="1000 s", note="The network's clock.")
            return self.field(y, t, condition.x_exo, condition.S, condition.y_exo)

    def loss(self, x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"], y_exo: Float[Tensor, "B F D"] | None,
             y_endo: Float[Tensor, "B F N"], *, s: Float[Tensor, " rows"] | None = None,
             z: Float[Tensor, "rows r"] | None = None, eps: Float[Tensor, "rows F"] | None = None,
             told: Float[Tensor, "rows 1 1"] | None = None) -> Float[Tensor, ""]:
        """What training makes small: the flow's error plus `nll_weight` times the source's coverage, per row and step.

        Args:
            y_endo: the truth.
            s: flow times in [0, 1]; z, eps: normal draws; told: 1 where a row is told of the exogenous series, 0 where
                not. One line for each of the B·N rows; fresh draws when left out, and `told` is 1 outside training.
        Raises:
            ValueError: shapes or dtypes that do not fit, and what `prepare` refuses.
        """
        checks.shapes(x_endo=(x_endo, f"B {self.T} N"), y_endo=(y_endo, f"B {self.F} N"))
        checks.required(y_endo=y_endo)
        checks.floating(self.source.M.dtype, y_endo=y_endo, s=s, told=told)
        finite_rows(y_endo=y_endo)
        w = self.prepare(x_endo, x_exo, y_exo)
        rows = w.x.shape[0]
        checks.shapes(told=(told, f"{rows} 1 1"))
        y = step("Y", (y_endo.mT.flatten(0, 1) - w.mu) / w.sigma, axes="rows F", eq="(y - μ) / σ",
                 note="The truth, in units of the past.")
        checks.squares("y_endo", y)
        fresh = self.source.draw(rows)
        z, eps = fresh[0] if z is None else z, fresh[1] if eps is None else eps
        s = torch.rand(rows, dtype=y.dtype, device=y.device) if s is None else s
        condition = self.normalised(w.condition.times(self.coins(rows) if told is None else told))
        return self.row_loss(w.x, y, condition, s, z, eps)

    def row_loss(self, x: Float[Tensor, "rows T"], y: Float[Tensor, "rows F"], condition: Condition,
                 s: Float[Tensor, " rows"], z: Float[Tensor, "rows r"],
                 eps: Float[Tensor, "rows F"]) -> Float[Tensor, ""]:
        """The loss of standardised rows, whose condition is normalised."""
        with scope("source"):
            y0, mu_h, sigma_h = self.source(x, z, eps)
            checks.squares("z, eps", y0)
            nll = coverage(y, mu_h, sigma_h).mean()
        with scope("flow"):
            v = self.velocity(path(y0, y, s), s, condition)
            error = flow_loss(v, y0, y, self.kind)
        return step("total", error + self.nll_weight * nll, axes="", eq="flow + weight · mean nll",
                    note="Follow the line; cover the truth.")

    def coins(self, rows: int) -> Float[Tensor, "rows 1 1"]:
        """1 where a row is told of the exogenous series: everywhere outside of training."""
        like = self.source.M
        if not self.training:
            return like.new_ones(rows, 1, 1)
        return like.new_full((1 if self.one_coin else rows, 1, 1), 1 - self.p_uncond).bernoulli().expand(rows, 1, 1)

    def prepare(self, x_endo: Float[Tensor, "B T N"], x_exo: Float[Tensor, "B T D"],
                y_exo: Float[Tensor, "B F D"] | None, S: Float[Tensor, "B N D"] | None = None) -> Window:
        """Windows as standardised rows. Exogenous futures are measured by level and scale of their own past.

        Raises:
            ValueError: shapes or dtypes that do not fit, entries that are not finite.
        """
        checks.required(x_endo=x_endo, x_exo=x_exo)
        checks.shapes(x_endo=(x_endo, f"B {self.T} N"), x_exo=(x_exo, f"B {self.T} {self.D}"),
                      y_exo=(y_exo, f"B {self.F} {self.D}"), S=(S, f"B N {self.D}"))
        self.field.check_future(y_exo)
        checks.floating(self.source.M.dtype, x_endo=x_endo, x_exo=x_exo, y_exo=y_exo, S=S)
        finite_rows(x_endo=x_endo, x_exo=x_exo, y_exo=y_exo)
        N = x_endo.shape[2]
        with scope("endo"):
            x, mu, sigma = standardise(x_endo)
        with scope("exo"):
            past, level, scale = standardise(x_exo)
            ahead = None if y_exo is None else step("ahead", (y_exo - level) / scale, axes="B F D", eq="(y - μ) / σ",
                                                    note="The future, in units of its own past.")
        with scope("prior"):
            S = pearson(x, past) if S is None else S
        told = Condition(S.flatten(0, 1)[:, None], *(None if part is None else
                                                     part.mT.repeat_interleave(N, dim=0) for part in (past, ahead)))
        return Window(x.mT.flatten(0, 1), told, mu.mT.flatten(0, 1), sigma.mT.flatten(0, 1))

    def normalised(self, condition: Condition) -> Condition:
        """The same with S̃ = Norm(|S|). Where nothing is told, S is 0, of which the softmax makes 1/D each."""
        return condition._replace(S=normalise(condition.S, self.norm))


def _check_omega(omega: float | Tensor, dtype: torch.dtype) -> None:
    """Check that ω leaves digits of v_c - v_u: their rounding, ε of their size, is multiplied by it as well."""
    checks.number(omega=omega)
    if torch.compiler.is_compiling():
        return
    limit, size = 1 / torch.finfo(dtype).eps, abs(checks.scalar(omega))
    if size > limit:
        raise ValueError(f"omega: expected at most {limit:.1e} in size, where the rounding of "
                         f"{checks.dtype_name(dtype)} is as large as a velocity, got {size:g}")
