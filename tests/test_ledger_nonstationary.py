"""What the ledger says of the Non-stationary Transformer and no other test proves yet. Numbers are claim ids."""

import json

import numpy as np
import torch
from forecasters import TOY, build, draw, inputs, traced
from test_golden import load
from torch import nn
from torch.testing import assert_close

from tsattn_mini.blocks import Transformer
from tsattn_mini.nonstationary import Projector, StationarizedTransformer, stationarize
from tsattn_mini.official import replay


def test_claim_1_the_released_runs_of_both_tasks_go_through_one_chain():
    """The short-term run, told that it was a long-term one, gives what the released short-term task gave."""
    arrays = load("ns_forecast_short.npz")
    config, other = (json.loads(str(a["config"])) for a in (arrays, load("ns_forecast_long.npz")))
    tasks = [c["params"]["task_name"] for c in (config, other)]
    assert tasks == ["short_term_forecast", "long_term_forecast"]
    config["params"]["task_name"] = tasks[1]
    got = replay({**arrays, "config": np.array(json.dumps(config))})
    outputs = [key for key in arrays if key.startswith("out/")]
    assert outputs
    for key in outputs:
        assert_close(torch.as_tensor(got[key]), torch.as_tensor(arrays[key]), rtol=0, atol=1e-5)


def test_claim_8_a_projector_listens_to_the_window_and_to_the_statistic():
    net = build(Projector, T=12, V=5, hidden=(16, 16), O=12).requires_grad_(False)
    x = draw(2, 12, 5)
    mu = stationarize(x)[1]
    turned = x.flip(1)
    assert_close(stationarize(turned)[1], mu)
    assert float((net(turned, mu) - net(x, mu)).abs().max()) > 0.01
    assert float((net(x, mu + 1) - net(x, mu)).abs().max()) > 0.01


def test_claim_16_tau_is_made_from_the_spread_and_delta_from_the_level():
    trace = traced(build(**TOY), *inputs()).pick("x_raw", "mu", "sigma", "log_tau", "delta")
    assert set(trace["log_tau"].sources) == {"x_raw", "sigma"}
    assert set(trace["delta"].sources) == {"x_raw", "mu"}


def test_claim_23_the_decoder_ends_in_a_layer_norm_and_a_matrix_with_bias():
    net = build(**TOY)
    trace = traced(net, *inputs())
    last, norm, out = (trace[name].tensor for name in ("dec0/norm3", "dec_norm", "dec_out"))
    assert (norm.shape, out.shape) == ((2, 10, 8), (2, 10, 5))
    weight, bias = net.transformer.projection.weight.detach(), net.transformer.projection.bias.detach()
    assert weight.shape == (5, 8)
    assert_close(norm, nn.functional.layer_norm(last, (8,)))
    assert_close(out, norm @ weight.T + bias)


def test_claim_31_the_loaders_label_rows_are_the_end_of_the_past_and_nothing_else():
    series, T, label, F = draw(30, 5), 12, 6, 4
    past, target = series[None, 3:3 + T], series[None, 3 + T - label:3 + T + F]
    loaded = torch.cat([target[:, :label], torch.zeros(1, F, 5, dtype=series.dtype)], dim=1)
    assert torch.equal(loaded[:, :label], past[:, -label:])
    x_norm, mu, sigma = stationarize(past)
    start = traced(build(**TOY, marks=0), past, None, loaded)["x_dec"].tensor
    assert_close(start[:, :label], (loaded[:, :label] - mu) / sigma)
    assert torch.equal(start[:, :label], x_norm[:, -label:])
    assert not start[:, label:].any()


def test_claim_33_one_linear_over_time_serves_any_number_of_variables_in_any_order():
    linear = build(nn.Linear, in_features=12, out_features=1).requires_grad_(False)
    assert (linear.weight.numel(), linear.bias.numel()) == (12, 1)
    x, order = draw(2, 5, 12), [3, 0, 4, 1, 2]
    assert_close(linear(x[:, order]), linear(x)[:, order])
    assert linear(draw(2, 321, 12)).shape == (2, 321, 1)
    assert nn.Conv1d(5, 5, 12, groups=5, bias=False).weight.numel() == 60  # five Linears, one for each variable
    assert nn.Linear(60, 1, bias=False).weight.numel() == 60


def test_claim_50_normalising_has_no_parameters_and_the_projectors_hold_all_the_new_ones():
    plain, normalised, full = build(Transformer, **TOY), build(StationarizedTransformer, **TOY), build(**TOY)
    assert set(normalised.state_dict()) == {f"transformer.{name}" for name in plain.state_dict()}
    new = set(full.state_dict()) - set(normalised.state_dict())
    assert {name.partition(".")[0] for name in new} == {"tau_projector", "delta_projector"}
