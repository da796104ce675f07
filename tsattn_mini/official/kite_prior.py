"""The priors of KITE as released in decisionintelligence/KITE (ts_benchmark/baselines/kite/models/KITEModel.py).

The released arrays hold one row per target, (B·N, 1, D) in the order b·N + n, where this package has (B, N, D).
"""

from typing import Any

from torch import Tensor

from tsattn_mini.kite.prior import normalise, pearson, ridge_shortcut

EPS = 1e-8  # released departure: added to the product of the root sums of squares


def _prior(params: dict[str, Any], state: dict[str, Tensor], x: dict[str, Tensor]) -> dict[str, Tensor]:
    z = {name: _standardise(series) for name, series in x.items()}
    raw, S = pearson(x["x_endo"], x["x_exo"], EPS), pearson(z["x_endo"], z["x_exo"], EPS)
    answer = {"out/pearson_raw": raw, "out/pearson_standardised": S, "mid/pearson_softmax": normalise(S, "softmax")}
    for lag in params["lags"]:
        for kind, series in (("granger_raw", x), ("granger", z)):
            answer[f"out/{kind}_lag{lag}"] = ridge_shortcut(series["x_endo"], series["x_exo_granger"], lag)
    rows = {name: S.reshape(-1, 1, S.shape[-1]) for name, S in answer.items()}
    return {**rows, **{f"mid/{name}_standardised": series for name, series in z.items()}}


def _standardise(x: Tensor) -> Tensor:
    """Over time, with the unbiased variance and 10⁻⁵ inside the root, as the released forecaster prepares a window."""
    return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True) + 1e-5).sqrt()


REPLAYS = {
    ("ts_benchmark/baselines/kite/models/KITEModel.py", "cal_pearson_martix, cal_granger_matrix"): _prior,
}
