"""What knowledge-guided conditioning refuses, and how it says so."""

import math

import pytest
import torch
from forecasters import build, draw

from tsattn_mini.kite.conditioning import (
    HistoryThenFuture,
    InputConcatenation,
    KnowledgeGuidedAttention,
    KnowledgeGuidedConditioning,
    bilinear_scores,
    knowledge_guided,
)

pytestmark = pytest.mark.bad_input
B, N, D, T, F, d = 2, 3, 5, 7, 11, 13


@pytest.mark.parametrize(("change", "message"), [
    ({"S": [[0.5, 1.5]]}, r"S: expected a prior between 0 and 1, got 1\.5 at index \(0, 1\); normalise it first"),
    ({"S": [[-0.1, 0.5]]}, r"S: expected a prior between 0 and 1, got -0\.1 at index \(0, 0\)"),
    ({"S": [[math.nan, 0.5]]}, r"S: expected finite numbers, got nan at index \(0, 0\)"),
    ({"S": [[0.5]]}, r"S: expected the scores' shape \(1, 2\), or 1 where an axis is shared, got shape \(1, 1\)"),
    ({"S": [0.5, 0.5]}, r"S: expected the scores' shape \(1, 2\), .* got shape \(2,\)"),
    ({"S": [[0.5, 0.5]] * 2}, r"S: expected the scores' shape \(1, 2\), .* got shape \(2, 2\)"),
    ({"A_b": [[math.inf, 0.0]]}, r"A_b: expected finite numbers, got inf at index \(0, 0\)"),
    ({"A_g": [[0.0, 0.0, 0.0]]}, r"A_g: expected axes 'N D' with N=1, D=2, got shape \(1, 3\)"),
    ({"mask": [[True, False, False]]}, r"mask: expected the scores' shape \(1, 2\), .* got shape \(1, 3\)"),
    ({"delta": 0.0}, r"delta: expected at least 4\.9e-324, the smallest number of float64 above 0, .* got 0\.0"),
    ({"delta": -1e-6}, r"delta: expected at least .* got -1e-06"), ({"delta": math.nan}, r"delta: .* got nan"),
    ({"delta": math.inf}, "delta: expected a finite number, got inf"),
])
def test_what_does_not_fit_eq_13_is_refused(change, message):
    given = {"A_b": [[0.0, 0.0]], "A_g": [[0.0, 0.0]], "S": [[0.5, 0.5]], **change}
    tensors = {name: v if name == "delta" else torch.tensor(v, dtype=torch.bool if name == "mask" else torch.float64)
               for name, v in given.items()}
    with pytest.raises(ValueError, match=message):
        knowledge_guided(**tensors)


@pytest.mark.parametrize(("dtype", "delta", "floor"), [
    (torch.float32, 1e-46, r"1\.4e-45, the smallest number of float32"),
    (torch.float16, 1e-8, r"6\.0e-08, the smallest number of float16")])
def test_delta_below_the_floor_of_its_dtype_is_refused_and_the_floor_named(dtype, delta, floor):
    zero = torch.zeros(1, 2, dtype=dtype)
    with pytest.raises(ValueError, match=f"delta: expected at least {floor}"):
        knowledge_guided(zero, zero, zero, delta)


def test_scores_that_leave_the_number_range_are_refused():
    large = torch.full((1, 2), 6e4, dtype=torch.float16)
    with pytest.raises(ValueError, match="A_b, A_g: expected scores within the range of float16, got an overflow"):
        knowledge_guided(large, large, torch.ones_like(large))


def test_the_modules_refuse_what_they_were_not_built_for():
    Y, X, S = draw(B, N, F), draw(B, D, T), torch.linspace(0, 1, B * N * D, dtype=torch.float64).reshape(B, N, D)
    kgc = build(KnowledgeGuidedConditioning, T=T, F=F, d=d)
    for call, message in [
        (lambda: KnowledgeGuidedConditioning(T, F, 0), "d: expected at least 1, got 0"),
        (lambda: KnowledgeGuidedAttention(6, 4, D), "H: expected a divisor of the model width M=6, got 4"),
        (lambda: KnowledgeGuidedAttention(6, 2, 0), "D: expected at least 1, got 0"),
        (lambda: kgc(Y[..., :4], X, S), r"Y_s: expected axes 'B N 11', got shape \(2, 3, 4\)"),
        (lambda: kgc(Y, X[:, :0], S[..., :0]), r"X_exo: expected at least one entry along every axis"),
        (lambda: kgc(Y, X, S[:, :1]), r"S: expected axes 'B N D' with B=2, N=3, D=5, got shape \(2, 1, 5\)"),
        (lambda: kgc(Y, X, 1.01 * S.round()), r"S: expected a prior between 0 and 1, got 1\.01 at index"),
        (lambda: kgc(Y / 0, X, S), r"Y_s: expected finite numbers"),
        (lambda: HistoryThenFuture(T, F, d).double()(Y, X, None, S),
         "Y_exo: expected future covariates, as the model was built with future=True, got None"),
        (lambda: HistoryThenFuture(T, F, d, future=False).double()(Y, X, draw(B, D, F), S),
         r"Y_exo: expected None, as the model was built with future=False, got shape \(2, 5, 11\)"),
        (lambda: KnowledgeGuidedAttention(6, 2, 4)(Y[..., :6], X[..., :6], S[:, :1]),
         r"exo: expected axes 'B 4 6' with B=2, got shape \(2, 5, 6\)"),
        (lambda: KnowledgeGuidedAttention(6, 2, D).double()(Y[..., :6], X[..., :6], S[:, :2]),
         r"w: expected axes 'B L 5' with B=2, L=3, got shape \(2, 2, 5\)"),
        (lambda: bilinear_scores(Y, X, draw(F, T), draw(T, F), S), r"W2: expected axes 'F T' with F=11, T=7"),
        (lambda: InputConcatenation(T, F, d).double()(Y, X, S[..., :2]), r"S: expected axes 'B N D' with"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
