"""The history source: where KITE's flow starts, a Gaussian around a first guess made from the past.

Y₀ = μ_h + σ_h δ_h                        μ_h = f(x), σ_h = softplus(g(x)) + σ_min, x the standardised past
δ_h = a structured draw M z, mixed with an isotropic draw ε by α = structure_max · sigmoid(a)

Source: KITE, history-conditioned module (HCM), and the released code. Every series has its own draws; the paper's
M has N·F rows and couples the series. Left out: the released `noise_dropout`, whose result is thrown away.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from tsattn_mini import checks
from tsattn_mini.trace import meaning, step

FORMS = {"unit": "(α · structured + (1-α) ε) / √(α² + (1-α)²)", "released": "mixed / std(mixed)",
         "paper": "α · structured + (1-α) ε"}
TINY = 1e-6  # added to a draw's own deviation, and to the variance of the likelihood, as in the released code


def mix_noise(Mz: Float[Tensor, "B F"], eps: Float[Tensor, "B F"], alpha: Float[Tensor, "B 1"], size: Float[Tensor, ""],
              form: str = "unit") -> Float[Tensor, "B F"]:
    """δ_h: one structured and one isotropic draw, mixed by α. `size` is ‖M‖, the expected length of M z.

    unit       (α √F M z / ‖M‖ + (1-α) ε) / √(α² + (1-α)²): Gaussian, with variance 1 on average over the horizon
    released   both M z and the mix are divided by their own standard deviation over the horizon: every draw has
               deviation 1, none is Gaussian, and a horizon of 1 has no deviation
    paper      α M z / ‖M z‖ + (1-α) ε: the structured part has length 1 whatever F is, so the mix shrinks

    Raises:
        ValueError: another form, the released one for a horizon of 1, shapes that do not fit, numbers that are none,
            an α outside [0, 1], a ‖M‖ below 0, or a mix that leaves the number range.
    """
    checks.real(Mz=(Mz, "B F"), eps=(eps, "B F"))
    checks.shapes(Mz=(Mz, "B F"), alpha=(alpha, "B 1"), size=(size, ""))
    checks.required(alpha=alpha, size=size)
    checks.floating(alpha=alpha)
    checks.floating(size=size)
    checks.finite(alpha=alpha, size=size)
    _check_shares(alpha, size)
    check_form(form, eps.shape[-1])
    if form == "released":
        structured = step("structured", _own_deviation(Mz, "Mz"), axes="B F", eq="M z / std(M z)",
                          note="The structured draw, at deviation 1.")
        mixed = step("mixed", alpha * structured + (1 - alpha) * eps, axes="B F", eq="α M z / std + (1-α) ε")
        return _own_deviation(mixed, "eps")
    if form == "paper":
        tiny = torch.finfo(Mz.dtype).tiny
        unit = Mz / Mz.abs().amax(-1, keepdim=True).clamp(min=tiny)  # its squares stay in the number range
        structured = step("structured", unit / unit.norm(dim=-1, keepdim=True).clamp(min=tiny), axes="B F",
                          eq="M z / ‖M z‖", note="The structured draw, at length 1.")
        return alpha * structured + (1 - alpha) * eps
    relative = Mz / torch.where(size > 0, size, 1.0)  # an M of zeros draws zeros
    structured = step("structured", relative * Mz.shape[-1] ** 0.5, axes="B F", eq="√F M z / ‖M‖",
                      note="The structured draw, with variance 1 on average over the horizon.")
    delta = (alpha * structured + (1 - alpha) * eps) / (alpha.square() + (1 - alpha).square()).sqrt()
    checks.overflow("Mz, eps, size", delta)
    return delta


def _own_deviation(x: Float[Tensor, "B F"], name: str) -> Float[Tensor, "B F"]:
    """Each row over its own standard deviation."""
    deviation = x.std(-1, keepdim=True)
    checks.overflow(name, deviation)
    return x / (deviation + TINY)


def _check_shares(alpha: Tensor, size: Tensor) -> None:
    if torch.compiler.is_compiling():
        return
    if not bool(((alpha >= 0) & (alpha <= 1)).all()):
        raise ValueError(f"alpha: expected shares between 0 and 1, got {alpha.min().item():g} to "
                         f"{alpha.max().item():g}")
    if bool(size < 0):
        raise ValueError(f"size: expected a length of at least 0, got {size.item():g}")


def check_form(form: str, horizon: int) -> None:
    """Check the form of the source for a horizon of so many steps.

    Raises:
        ValueError: a form that is not known, or "released" for one step.
    """
    if not isinstance(form, str) or form not in FORMS:
        raise ValueError(f"form: expected one of {tuple(FORMS)}, got {form!r}")
    if form == "released" and horizon == 1:
        raise ValueError("form: 'released' divides by a deviation over the horizon, so it needs at least 2 steps, "
                         "got 1; take 'unit'")


def coverage(y: Float[Tensor, "B F"], mu: Float[Tensor, "B F"],
             sigma: Float[Tensor, "B 1"]) -> Float[Tensor, "B F"]:
    """½ log σ² + ½ (y - μ)² / σ² with σ² = σ_h² + 10⁻⁶: how badly the source covers the truth.

    No gradient reaches μ: this term widens or narrows the source, it does not move it.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite, a miss whose square leaves the number range.

    >>> y, mu = torch.tensor([[2.0]]), torch.tensor([[0.0]])
    >>> [round(coverage(y, mu, torch.tensor([[sigma]])).item(), 2) for sigma in (0.5, 2.0, 8.0)]  # best: σ = miss
    [7.31, 1.19, 2.11]
    """
    checks.real(y=(y, "B F"), mu=(mu, "B F"), sigma=(sigma, "B 1"))
    var = sigma.square() + TINY
    nll = step("nll", 0.5 * var.log() + 0.5 * (y - mu).detach().square() / var, axes="B F",
               eq="½ log σ² + ½ (Y - μ_h)² / σ²", note="Small when σ_h is the size of the miss.")
    checks.overflow("y, mu, sigma", nll)
    return nll


class HistorySource(nn.Module):
    """A distribution over the next F steps, made from T past steps, from which the flow starts.

    Args:
        T: past steps; F: future steps; rank: columns of M, the directions of the structured draw. From F on,
            M z is as isotropic as ε.
        sigma_min: what σ_h never goes below, in standardised units.
        structure_max: what α never goes above.
        hidden: width of the hidden layer of f, Linear–ReLU–Linear; 0 for one linear map. The released MLP has 2T.
        form: how the two draws are mixed, see `mix_noise`.
        dropout: in training, the share of rows whose draw has no structure.
        one_coin: drop the structure of all rows of a batch together, as the released code does.
    Raises:
        ValueError: a size below 1, a share or bound outside its range, or a `form` that is unknown or needs more steps.
    """

    def __init__(self, T: int, F: int, rank: int = 8, *, sigma_min: float = 0.15, structure_max: float = 0.9,
                 hidden: int = 0, form: str = "unit", dropout: float = 0.2, one_coin: bool = False) -> None:
        super().__init__()
        checks.counts(T=T, F=F, rank=rank)
        checks.number(sigma_min=sigma_min, structure_max=structure_max, dropout=dropout)
        for name, value in (("structure_max", structure_max), ("dropout", dropout)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name}: expected a share between 0 and 1, got {value}")
        if not 0 < sigma_min < math.inf:
            raise ValueError(f"sigma_min: expected a positive number, got {sigma_min}")
        checks.counts(0, hidden=hidden)
        check_form(form, F)
        self.T, self.F, self.rank = T, F, rank
        self.sigma_min, self.structure_max, self.form = sigma_min, structure_max, form
        self.dropout, self.one_coin = dropout, one_coin
        self.barycentre = nn.Linear(T, F) if not hidden else nn.Sequential(
            nn.Linear(T, hidden), nn.ReLU(), nn.Linear(hidden, F))
        self.spread = nn.Sequential(nn.LayerNorm(T), nn.Linear(T, 16), nn.ReLU(), nn.Linear(16, 1))
        nn.init.constant_(self.spread[-1].bias, -2.5)
        self.M = nn.Parameter(nn.init.orthogonal_(torch.empty(F, rank)))
        self.mix = nn.Parameter(torch.zeros(1))

    def draw(self, rows: int, generator: torch.Generator | None = None
             ) -> tuple[Float[Tensor, "B r"], Float[Tensor, "B F"]]:
        """Fresh normal draws z and ε for `rows` starting points."""
        like = {"generator": generator, "dtype": self.M.dtype, "device": self.M.device}
        return torch.randn(rows, self.rank, **like), torch.randn(rows, self.F, **like)

    def coins(self, rows: int) -> Float[Tensor, "B 1"]:
        """1 where a row keeps its structure: everywhere outside of training."""
        if not self.training:
            return self.M.new_ones(rows, 1)
        return self.M.new_full((1 if self.one_coin else rows, 1), 1 - self.dropout).bernoulli().expand(rows, 1)

    @meaning("start from history")
    def forward(self, x: Float[Tensor, "B T"], z: Float[Tensor, "B r"], eps: Float[Tensor, "B F"],
                keep: Float[Tensor, "B 1"] | None = None
                ) -> tuple[Float[Tensor, "B F"], Float[Tensor, "B F"], Float[Tensor, "B 1"]]:
        """Y₀, μ_h and σ_h of every row.

        Args:
            x: standardised pasts, one series a row; z, eps: normal draws, see `draw`.
            keep: factor on α, see `coins`; drawn afresh when left out.
        Raises:
            ValueError: shapes that do not fit, another dtype than that of the weights, or entries that are not finite.
        """
        checks.required(x=x, z=z, eps=eps)
        checks.shapes(x=(x, f"B {self.T}"), z=(z, f"B {self.rank}"), eps=(eps, f"B {self.F}"), keep=(keep, "B 1"))
        checks.floating(self.M.dtype, x=x, z=z, eps=eps, keep=keep)
        checks.finite(x=x, z=z, eps=eps, keep=keep)
        keep = self.coins(x.shape[0]) if keep is None else keep
        mu = step("mu_h", self.barycentre(x), axes="B F", eq="μ_h = f(x)",
                  note="The first guess: one path from the past.")
        raw = step("sigma_raw", self.spread(x), axes="B 1", eq="g(x)", note="One number per row; it starts near -2.5.")
        sigma = step("sigma_h", softplus(raw) + self.sigma_min, axes="B 1", eq="σ_h = softplus(g(x)) + σ_min",
                     note="How wide the flow starts; never 0.")
        alpha = step("alpha", self.structure_max * torch.sigmoid(self.mix) * keep, axes="B 1",
                     eq="α = structure_max · sigmoid(a)", note="The share of the structured draw.")
        Mz = step("Mz", z @ self.M.T, axes="B F", eq="M z",
                  note="A draw along few directions: whole curves, not single points.")
        delta = step("delta_h", mix_noise(Mz, eps, alpha, self.M.norm(), self.form), axes="B F",
                     eq=FORMS[self.form], note="The draw that spreads the starting points.")
        y0 = step("Y0", mu + sigma * delta, axes="B F", eq="Y₀ = μ_h + σ_h δ_h", note="Where this trajectory starts.")
        checks.overflow("x, z, eps", y0, sigma)
        return y0, mu, sigma
