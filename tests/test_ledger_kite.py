"""What the ledger says of the note on KITE and no lesson's test proves: the whole forecaster, and the released arrays.

The numbers in the names are those of the claims.
"""

import pytest
import torch
from forecasters import build, draw, traced
from test_golden import load as golden
from test_kite_forecaster import draws, model, windows
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.kite.conditioning import KnowledgeGuidedConditioning
from tsattn_mini.kite.prior import normalise, pearson, ridge_shortcut


def forecast(net, x, steps=3):
    with torch.no_grad(), record() as trace:
        net.sample(*x, n_samples=2, steps=steps, omega=1.3, **draws(net, 4))
    return trace


def test_claims_55_and_79_the_source_never_meets_an_exogenous_series_and_every_velocity_does():
    net = model()
    x_endo, x_exo, y_exo = windows(net)
    one, other = forecast(net, (x_endo, x_exo, y_exo)), forecast(net, (x_endo, x_exo.flip(1) ** 2, -y_exo))
    assert list(one).count("source/Y0") == 1
    assert torch.equal(one["source/Y0"].tensor, other["source/Y0"].tensor)
    assert_close(*(trace["ode0/Y"].tensor - trace["ode0/v_hat"].tensor / 3 for trace in (one, other)))
    for i in range(3):
        assert float((one[f"ode{i}/v_c"].tensor - other[f"ode{i}/v_c"].tensor).abs().max()) > 1e-2


def test_claim_55_the_query_is_the_endogenous_state_and_decides_who_is_listened_to():
    net = build(KnowledgeGuidedConditioning, T=6, F=4, d=3)
    X, S = draw(1, 3, 6), draw(1, 2, 3, seed=1).sigmoid()
    one, other = (traced(net, draw(1, 2, 4, seed=seed), X, S) for seed in (2, 3))
    assert torch.equal(one["k1"].tensor, other["k1"].tensor)
    assert float((one["A"].tensor - other["A"].tensor).abs().max()) > 0.01


def test_claim_60_no_weight_of_the_forecaster_moves_the_prior():
    net = model()
    x, S = windows(net), []
    for _ in range(2):
        S.append(forecast(net, x)["told/S_norm"].tensor)
        with torch.no_grad():
            for p in net.parameters():
                p.add_(0.1)
    assert torch.equal(*S)
    assert S[0].shape == (2, 1, 3)


@pytest.mark.parametrize("kind", ["future", "nofuture"])
def test_claim_61_the_prior_of_the_released_forecast_is_pearson_and_not_its_granger(kind):
    arrays = {name: torch.from_numpy(a) for name, a in golden(f"kite_inference_{kind}.npz").items() if "/" in name}
    x, e, S = arrays["in/x_endo"], arrays["in/x_exo"], arrays["mid/prior"]
    assert_close(pearson(x, e), S, rtol=1e-4, atol=1e-5)
    assert float((ridge_shortcut(x / x.std(1, keepdim=True), e / e.std(1, keepdim=True)) - S).abs().max()) > 0.1


def test_claim_65_the_released_norm_is_a_softmax_over_the_covariates():
    arrays = golden("kite_vector_field_future.npz")
    S, normed = (torch.from_numpy(arrays[name]) for name in ("in/prior", "mid/prior_softmax"))
    assert_close(normalise(S, "softmax"), normed)
    for other in ("none", "max", "minmax"):
        assert float((normalise(S, other) - normed).abs().max()) > 0.1


@pytest.mark.parametrize("zeros", [1, 2, 3])
def test_claim_67_eq_10_falls_back_to_w1_at_every_zero_and_the_gate_only_at_a_row_of_them(zeros):
    net = build(KnowledgeGuidedConditioning, T=6, F=4, d=3)
    Y, X, S = draw(1, 1, 4), draw(1, 3, 6), torch.ones(1, 1, 3, dtype=torch.float64)
    S[..., :zeros] = 0
    trace = traced(net, Y, X, S)
    added = trace["S_A_g"].tensor[..., :zeros]
    assert torch.equal(added, torch.zeros_like(added))
    plain = torch.softmax(trace["A_b"].tensor, -1)
    gap = float((trace["A"].tensor - plain).abs().max())
    assert gap < 1e-14 if zeros == 3 else gap > 0.1


def test_claim_80_the_next_state_is_the_last_one_and_a_step_and_attention_lives_in_hidden_width():
    net = model()
    trace = forecast(net, windows(net))
    state = trace["source/Y0"].tensor
    for i in range(3):
        state = state + trace[f"ode{i}/v_hat"].tensor / 3
        assert_close(trace[f"ode{i}/Y"].tensor, state)
    assert not [name for name in trace if name.endswith("Y_tilde")]
    assert {trace[name].shape[-1] for name in trace if name.endswith("/told")} == {8}, "M, where F is 5"


def test_claim_83_a_model_without_a_future_has_other_weights_than_one_with():
    with_future, without = model(), model(future=False)
    assert set(without.state_dict()) < set(with_future.state_dict())
    more = set(with_future.state_dict()) - set(without.state_dict())
    assert {name.split(".")[1] for name in more} == {"ahead", "y_exo"}
