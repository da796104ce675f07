"""What was done to KITE to make it say something wrong, and what it says instead."""

import math

import pytest
import torch

from tsattn_mini.datasets import load_bikes
from tsattn_mini.kite import exact, flow
from tsattn_mini.kite.conditioning import (
    ExogenousCrossAttention,
    InputConcatenation,
    KnowledgeGuidedAttention,
    KnowledgeGuidedConditioning,
    bilinear_scores,
)
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.gate import knowledge_guided
from tsattn_mini.kite.network import VectorField
from tsattn_mini.kite.prior import NORMS, f_statistic, normalise, pearson, ridge_shortcut
from tsattn_mini.kite.source import HistorySource, coverage, mix_noise
from tsattn_mini.kite.window import standardise
from tsattn_mini.results import kite as results

B, N, D, T, F = 2, 3, 5, 13, 7  # all different, so that no swap of axes goes unnoticed
HUGE = 3e38  # close to the largest float32


def randn(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def shaken(module, seed=0):
    """The module with weights that are nowhere 0."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.2 * torch.randn(p.shape, generator=g))
    return module.eval()


def model(**options):
    torch.manual_seed(0)
    return shaken(KITE(T, F, D, **{"M": 8, "H": 2, "depth": 1, **options}))


def windows(rows=B, n=N):
    return randn(rows, T, n), randn(rows, T, D, seed=1), randn(rows, F, D, seed=2)


def refuse(message, fn, *args, **given):
    with pytest.raises(ValueError, match=message):
        fn(*args, **given)


S, Y, X = torch.rand(B, N, D, generator=torch.Generator().manual_seed(3)), randn(B, N, F), randn(B, D, T)
W = randn(F, T)


# Numbers of another kind


@pytest.mark.bad_input
@pytest.mark.parametrize(("dtype", "words"), [(torch.float64, "float32 like the weights, got float64"),
                                              (torch.int64, "floating-point numbers, got int64"),
                                              (torch.bool, "floating-point numbers, got bool")])
def test_numbers_that_are_not_of_the_weights_kind_are_refused_by_name(dtype, words):
    net, field, source = KnowledgeGuidedConditioning(T, F, 3), VectorField(T, F, D, M=8), HistorySource(T, F, 2)
    attention = KnowledgeGuidedAttention(6, 2, D)
    x, e, y = windows()
    z, eps, times = randn(B, 2), randn(B, F), torch.rand(B)
    cases = [
        ("X_exo", net, (Y, X.to(dtype), S)), ("Y_s", ExogenousCrossAttention(T, F, 3), (Y.to(dtype), X)),
        ("Y_s", InputConcatenation(T, F, 3), (Y.to(dtype), X, S)),
        ("exo", attention, (randn(B, 4, 6), randn(B, D, 6).to(dtype), S[:, :1])),
        ("z", source, (x[..., 0], z.to(dtype), eps)), ("x", source, (x[..., 0].to(dtype), z, eps)),
        ("t", field, (randn(B, F), times.to(dtype), e.mT, S[:, :1], y.mT)),
    ]
    for name, fn, args in cases:
        refuse(f"^{name}: expected {words}", fn, *args)


@pytest.mark.bad_input
def test_two_arguments_of_different_kinds_are_refused():
    x, e, _ = windows()
    for measure in (pearson, f_statistic, ridge_shortcut):
        refuse("^x_exo: expected float64 like x_endo, got float32", measure, x.double(), e)
    refuse("^v_u: expected floating-point numbers, got int64", flow.guide, torch.ones(2).long(), torch.ones(2), 0.5)
    refuse("^samples: expected floating-point numbers, got int64", flow.point_forecast, torch.ones(2, 3, 4).long())
    refuse("^A_b: expected floating-point numbers, got int64", knowledge_guided, S.long(), S, S)
    for norm in NORMS:
        refuse("^S: expected floating-point numbers, got int64", normalise, torch.ones(B, N, D).long(), norm)


@pytest.mark.bad_input
def test_what_is_left_out_is_named():
    x, e, _ = windows()
    refuse("^x_endo: expected a tensor, got NoneType", pearson, None, e)
    refuse("^S: expected a tensor, got list", normalise, [0.1, 0.2], "none")
    refuse("^A_g: expected a tensor, got NoneType", knowledge_guided, S, None, S)
    refuse("^Y_s: expected a tensor, got NoneType", KnowledgeGuidedConditioning(T, F, 3).branches, None, X)
    refuse("^z: expected a tensor, got NoneType", HistorySource(T, F, 2), x[..., 0], None, randn(B, F))


@pytest.mark.bad_input
@pytest.mark.parametrize(("given", "message"), [
    ({"gate_weight": math.nan}, "gate_weight: expected a finite number, got nan"),
    ({"gate_weight": None}, "gate_weight: expected one number, got None"),
    ({"gate_weight": torch.ones(3, 1)}, r"gate_weight: expected axes '', got shape \(3, 1\)"),
    ({"delta": torch.ones(D)}, r"delta: expected axes '', got shape \(5,\)"),
    ({"delta": "small"}, "delta: expected one number, got 'small'"),
    ({"mask": torch.ones(B, N, D)}, "mask: expected True/False, got dtype float32"),
])
def test_the_gate_names_what_is_no_number_or_no_mask(given, message):
    refuse(message, knowledge_guided, S, S, S, **given)


@pytest.mark.bad_input
@pytest.mark.parametrize("omega", [None, "1", [1.0, 2.0]])
def test_guidance_takes_one_number(omega):
    refuse("omega: expected one number, got", flow.guide, torch.ones(2), torch.zeros(2), omega)
    refuse("omega: expected one number, got", model(), *windows(), omega=omega, n_samples=1, steps=1)


@pytest.mark.bad_input
@pytest.mark.parametrize("omega", [1e38, -1e20, torch.tensor(1e38)])
def test_guidance_that_exaggerates_nothing_but_rounding_is_refused_by_name(omega):
    words = r"omega: expected at most 8\.4e\+06 in size, where the rounding of float32 is"
    refuse(words, model(), *windows(), omega=omega, n_samples=1, steps=2)


# Numbers that are too large


@pytest.mark.bad_input
@pytest.mark.parametrize(("names", "fn"), [
    ("q, k, W1, W2", lambda: bilinear_scores(1e20 * Y, 1e20 * X, W, W, S)),
    ("Y_s, X_exo", lambda: KnowledgeGuidedConditioning(T, F, 3)(1e25 * Y, 1e25 * X, S)),
    ("Y_s, X_exo", lambda: ExogenousCrossAttention(T, F, 3)(1e25 * Y, 1e25 * X)),
    ("Y_s, X_exo", lambda: InputConcatenation(T, F, 3)(1e25 * Y, 1e25 * X, S)),
    ("x, exo", lambda: KnowledgeGuidedAttention(6, 2, D)(1e25 * randn(B, 4, 6), 1e25 * randn(B, D, 6), S[:, :1])),
    ("y0, y", lambda: flow.target_velocity(torch.full((3,), -HUGE), torch.full((3,), HUGE))),
    ("v, y0, y", lambda: flow.flow_loss(torch.full((3,), 1e25), torch.zeros(3), torch.zeros(3))),
    ("v_u, v_c, omega", lambda: flow.guide(torch.zeros(3), torch.ones(3) + 1, HUGE)),
    ("velocity in round 1", lambda: flow.euler(lambda y, s: 0 * y + HUGE * s[0], torch.full((3,), HUGE), 2)),
    ("samples", lambda: flow.point_forecast(torch.full((1, 3, 2), HUGE))),
    ("y, mu, sigma", lambda: coverage(torch.full((1, 2), 1e25), torch.zeros(1, 2), torch.ones(1, 1))),
    ("y", lambda: shaken(VectorField(T, F, D, M=8, conditioning="none"))(
        1e25 * randn(B, F), torch.rand(B), windows()[1].mT, S[:, :1], windows()[2].mT)),
])
def test_an_overflow_names_the_arguments_and_never_comes_out(names, fn):
    with torch.no_grad():
        refuse(f"^{names}: expected numbers that stay within the range of float32, got an overflow", fn)


def test_a_source_without_directions_draws_noise_alone():
    size, alpha, eps = torch.tensor(0.0), torch.tensor([[0.4]]), randn(1, F)
    wanted = 0.6 * eps / math.sqrt(0.4**2 + 0.6**2)
    torch.testing.assert_close(mix_noise(torch.zeros(1, F), eps, alpha, size), wanted)


@pytest.mark.bad_input
def test_the_likelihood_refuses_what_is_not_finite():
    refuse("^y: expected finite numbers, got nan at index", coverage, torch.full((1, 2), math.nan), torch.ones(1, 2),
           torch.ones(1, 1))


# A prior outside of 0 to 1, sizes that cannot be


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [-0.5, 1.5, math.nan])
@pytest.mark.parametrize("conditioning", ["kgc", "plain", "concat", "none"])
def test_every_way_in_wants_a_prior_between_0_and_1(bad, conditioning):
    broken = torch.where(S[1, 2, 3] == S, bad, S)
    words = f"got {bad} at index \\(1, 2, 3\\)"
    refuse(words, bilinear_scores, Y, X, W, W, broken)
    refuse(words, InputConcatenation(T, F, 3), Y, X, broken)
    field, (_, e, y) = VectorField(T, F, D, M=8, conditioning=conditioning), windows()
    refuse("at index \\(0, 0, 2\\)", field, randn(B, F), torch.rand(B), e.mT,
           torch.where(S[0, 0, 2] == S, bad, S)[:, :1], y.mT)


@pytest.mark.bad_input
@pytest.mark.parametrize(("options", "message"), [
    ({"mlp_ratio": 0.01}, r"mlp_ratio: expected at least one hidden unit for M=8, got 0\.01"),
    ({"mlp_ratio": -1.0}, r"mlp_ratio: expected at least one hidden unit for M=8, got -1\.0"),
    ({"second_door": True, "door_width": 0}, "door_width: expected at least 1, got 0"),
    ({"source": {"sigma_min": math.inf}}, "sigma_min: expected a finite number, got inf"),
    ({"source": {"hidden": -1}}, "hidden: expected at least 0, got -1"),
])
def test_sizes_that_cannot_be_are_refused(options, message):
    refuse(message, model, **options)


# The whole forecaster


@pytest.mark.bad_input
@pytest.mark.parametrize("scale", [1e20, 1e30])
def test_windows_too_large_to_square_are_refused(scale):
    x, e, y = windows()
    refuse("^x: expected numbers that stay within the range of float32", model(), scale * x, e, y)


@pytest.mark.parametrize("scale", [1e8, 1.0, 1e-8])
def test_huge_and_tiny_windows_are_forecast_in_their_own_units(scale):
    x, e, y = windows()
    with torch.no_grad():
        samples = model().sample(scale * x, e / scale, y / scale, n_samples=3, steps=2)
    assert bool(samples.isfinite().all())
    assert samples.shape == (B, 3, F, N)


def test_half_precision_is_standardised_as_well_as_it_can_be():
    x = 3000 * randn(B, T, N)
    for part, want in zip(standardise(x.half()), standardise(x), strict=True):
        assert part.dtype == torch.float16
        torch.testing.assert_close(part.float(), want, rtol=2e-2, atol=1e-2)


@pytest.mark.bad_input
def test_the_forecaster_names_windows_of_another_kind():
    net, (x, e, y) = model(), windows()
    refuse("^x_endo: expected floating-point numbers, got int64", net, x.long(), e, y)
    refuse("^y_exo: expected float32 like the weights, got float64", net, x, e, y.double())
    refuse("^x_endo: expected a tensor, got NoneType", net, None, e, y)
    truth = randn(B, F, N)
    refuse("^y_endo: expected a tensor, got NoneType", net.loss, x, e, y, None)
    refuse(r"^told: expected axes '6 1 1', got shape \(2,\)", net.loss, x, e, y, truth, told=torch.ones(2))
    refuse("^s: expected float32 like the weights, got float64", net.loss, x, e, y, truth, s=torch.ones(6).double())
    for weight in (-1.0, math.nan, math.inf):
        refuse(r"nll_weight: expected a (number of at least 0|finite number), got", model, nll_weight=weight)


@pytest.mark.parametrize("options", [{}, {"future": False}, {"conditioning": "concat"}, {"second_door": True},
                                     {"norm": "softmax"}, {"norm": "minmax"}, {"source": {"form": "released"}}])
@pytest.mark.parametrize("n", [1, N])
def test_a_window_is_forecast_alike_alone_and_in_a_batch(options, n):
    net, (x, e, y) = model(**options).double(), (a.double() for a in windows(n=n))
    y = None if options.get("future") is False else y
    z, eps = randn(B * n * 2, 8).double(), randn(B * n * 2, F).double()

    def forecast(rows, draws):
        with torch.no_grad():
            return net.sample(x[rows], e[rows], None if y is None else y[rows], n_samples=2, steps=3, omega=1.7,
                              z=z[draws], eps=eps[draws])

    together = forecast(slice(None), slice(None))
    for b in range(B):
        alone = forecast(slice(b, b + 1), slice(b * n * 2, (b + 1) * n * 2))
        torch.testing.assert_close(alone, together[b:b + 1], rtol=1e-10, atol=1e-10)


def test_one_seed_gives_one_forecast_one_loss_and_finite_gradients():
    net, (x, e, y), found = model().train(), windows(), []
    for _ in range(2):
        torch.manual_seed(5)
        net.zero_grad()
        loss = net.loss(x, e, y, randn(B, F, N, seed=4))
        loss.backward()
        found.append([loss.detach(), net.sample(x, e, y, n_samples=2, steps=2).detach(),
                      *(p.grad.clone() for p in net.parameters())])
    assert all(torch.equal(a, b) and bool(a.isfinite().all()) for a, b in zip(*found, strict=True))


def test_gradients_stay_finite_where_the_window_is_constant():
    net, (x, e, y) = model().train(), windows()
    x, e = torch.zeros_like(x).requires_grad_(), torch.zeros_like(e).requires_grad_()
    with pytest.warns(RuntimeWarning, match="constant"):
        net.loss(x, e, y, randn(B, F, N, seed=4)).backward()
    assert all(bool(a.grad.isfinite().all()) for a in (x, e, *net.parameters()))


@pytest.mark.bad_input
@pytest.mark.parametrize(("training", "test"), [("often", "kept"), ("true", "gone")])
def test_a_decoy_is_planted_in_ways_that_have_a_name(training, test):
    refuse(f"training, test: expected one of .* got '{training}', '{test}'", results.planted, load_bikes(), training,
           test)


@pytest.mark.parametrize("kind", ["l1", "l2"])
@pytest.mark.parametrize("size", [-1e30, -1e19, -1e10, 1e10, 1e19, 1e30])
def test_a_state_far_out_goes_back_to_where_the_exponential_is(kind, size):
    y, s = torch.tensor([size, 1.0]), torch.tensor([0.5, 0.5])
    v = exact.exponential_velocity(y, s, kind)
    assert v[1] == exact.exponential_velocity(y[1:], s[1:], kind)
    assert v[0].item() == pytest.approx(-2 * size if size < 0 else 2 * size, rel=1e-3)
