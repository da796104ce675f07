"""The temporal half of DUET: normalise, let the routed linear extractors speak, put the statistics back at the end.

Sources: X. Qiu et al., "DUET" (KDD 2025), temporal clustering; T. Kim et al., "Reversible Instance Normalization"
(ICLR 2022), for the affine pair around the model.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tsattn_mini import checks
from tsattn_mini.nonstationary import destationarize, stationarize
from tsattn_mini.trace import meaning, scope, step
from tsattn_mini.zoo.decomposition import check_kernel, series_decomp
from tsattn_mini.zoo.duet.router import Router

LEAST_WEIGHT = 1e-10  # what a smaller RevIN weight counts as when it is divided by


class RevIN(nn.Module):
    """x' ⊙ w + b on the way in, (y - b) / w on the way out; x' is the stationarized window, w and b are learned."""

    def __init__(self, V: int, detach: bool = False) -> None:
        super().__init__()
        checks.counts(V=V)
        self.weight, self.bias = nn.Parameter(torch.ones(V)), nn.Parameter(torch.zeros(V))
        self.detach = detach

    @meaning("save statistics")
    def forward(self, x: Float[Tensor, "B T V"]
                ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 1 V"], Float[Tensor, "B 1 V"]]:
        """x' ⊙ w + b, and the μ and σ that were taken away.

        Raises:
            ValueError: shapes or dtypes that do not fit, and what `stationarize` refuses.
        """
        checks.shapes(x=(x, f"B T {len(self.weight)}"))
        checks.required(x=x)
        checks.floating(self.weight.dtype, x=x)
        x_norm, mu, sigma = stationarize(x, self.detach)
        x_affine = step("x_affine", x_norm * self.weight + self.bias, axes="B T V", eq="x' ⊙ w + b",
                        note="What the extractors see: no level and no scale but the learned ones.")
        return x_affine, mu, sigma

    @meaning("restore")
    def restore(self, y: Float[Tensor, "B F V"], mu: Float[Tensor, "B 1 V"],
                sigma: Float[Tensor, "B 1 V"]) -> Float[Tensor, "B F V"]:
        """The way back: (y - b) / w ⊙ σ + μ; a w near 0 counts as `LEAST_WEIGHT`."""
        weight = torch.where(self.weight.abs() < LEAST_WEIGHT, LEAST_WEIGHT, self.weight)
        y_plain = step("y_plain", (y - self.bias) / weight, axes="B L V", eq="(y - b) / w",
                       note="The learned pair is taken off again.")
        return destationarize(y_plain, mu, sigma)


class PatternExtractor(nn.Module):
    """One expert: W_s seasonal + b_s + W_t trend + b_t, from T steps to M numbers.

    >>> net = PatternExtractor(T=24, M=8)
    >>> net(torch.zeros(1, 3, 24), torch.zeros(1, 3, 24)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, T: int, M: int) -> None:
        super().__init__()
        self.seasonal, self.trend = nn.Linear(T, M), nn.Linear(T, M)

    def forward(self, seasonal: Float[Tensor, "B V T"], trend: Float[Tensor, "B V T"]) -> Float[Tensor, "B V M"]:
        """W_s seasonal + W_t trend + b, every variable by itself."""
        return self.seasonal(seasonal) + self.trend(trend)


class TemporalClusters(nn.Module):
    """Raw windows to the router, normalised windows to the extractors; features = Σ_n gates_n · extractor_n(x').

    Args:
        T: steps of a window; V: variables; M: width of the features; N, k, hidden: see `Router`.
        kernel: steps of the moving average that splits a window into seasonal part and trend.
        per_variable: each variable is routed by its own window; False routes the mean of all variables, so that
            a window's variables share their experts.
        detach: no gradient through the statistics of the window.
        switches: the departures of the released router, see `Router`.
    """

    def __init__(self, T: int, V: int, M: int, N: int = 4, k: int = 2, hidden: int = 256, kernel: int = 25, *,
                 per_variable: bool = True, detach: bool = False, **switches: bool | float) -> None:
        super().__init__()
        check_kernel(kernel)
        checks.counts(M=M)
        self.router = Router(T, N, k, hidden, **switches)
        self.experts = nn.ModuleList(PatternExtractor(T, M) for _ in range(N))
        self.revin = RevIN(V, detach)
        self.kernel, self.per_variable = kernel, per_variable

    def routed(self, x: Float[Tensor, "B T V"]) -> Float[Tensor, "B R T"]:
        """What the router is asked about: V windows or, with `per_variable=False`, one."""
        return x.mT if self.per_variable else x.mT.mean(1, keepdim=True)

    def forward(self, x: Float[Tensor, "B T V"], noise: Float[Tensor, "B R N"] | None = None
                ) -> tuple[Float[Tensor, "B V M"], Float[Tensor, "B 1 V"], Float[Tensor, "B 1 V"],
                           Float[Tensor, ""]]:
        """Features, μ, σ and the router's balance. `noise` goes to the router, a row for each of its windows.

        Raises:
            ValueError: shapes or dtypes that do not fit, and what the router refuses.
        """
        checks.required(x=x)
        checks.floating(self.revin.weight.dtype, x=x)
        checks.shapes(x=(x, f"B {self.router.T} {len(self.revin.weight)}"))
        with scope("router"):
            gates, balance = self.router(self.routed(x), noise)
        x_affine, mu, sigma = self.revin(x)
        return self.extract(x_affine, gates.to(x.dtype)), mu, sigma, balance

    @meaning("extract")
    def extract(self, x: Float[Tensor, "B T V"], gates: Float[Tensor, "B R N"]) -> Float[Tensor, "B V M"]:
        """What the chosen experts say, weighted by their gates: one row for every variable."""
        seasonal, trend = series_decomp(x, self.kernel, "B T V")
        answers = torch.stack([expert(seasonal.mT, trend.mT) for expert in self.experts], dim=2)
        answers = step("answers", answers, axes="B V N M", eq="W_s seasonal + W_t trend + b",
                       note="What every expert would say.")
        return step("features", (gates[:, :, None] @ answers)[:, :, 0], axes="B V M", eq="Σ_n gates_n answers_n",
                    note="What the chosen ones say together.")
