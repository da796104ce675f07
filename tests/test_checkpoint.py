"""A released state dict becomes our module bit by bit, or an error that names what is wrong with it."""

import re
from pathlib import Path

import numpy as np
import pytest
import released
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tsattn_mini.official import load_checkpoint, settings

GOLDEN = Path(__file__).parent / "golden"

SIZES = {"label_len": 3, "pred_len": 5, "n_heads": 2}


def inputs(state, B=2, L=8, marks=4, dtype=torch.float32):
    T, V = state["tau_learner.series_conv.weight"].shape[1], state["decoder.projection.bias"].shape[0]
    g = torch.Generator().manual_seed(7)
    x = torch.randn(B, T, V, generator=g, dtype=dtype) * 2 + 3
    return x, torch.rand(B, T, marks, generator=g, dtype=dtype), torch.rand(B, L, marks, generator=g, dtype=dtype)


def answer(net, x, marks, future_marks):
    with torch.no_grad():
        return net(x, marks, None, future_marks)


# What is loaded


@pytest.mark.parametrize("sizes", [{}, {"e_layers": 3, "d_layers": 1, "hidden": (17,)}, {"marks": 1, "V": 1, "M": 6}])
def test_a_loaded_model_forecasts_what_the_state_dict_says(sizes):
    state = released.random_state(dtype=torch.float64, **sizes)
    x, marks, future = inputs(state, marks=sizes.get("marks", 4), dtype=torch.float64)
    want = released.forecast(state, x, marks, future, H=2, label_len=3, pred_len=5)
    assert_close(answer(load_checkpoint(state, **SIZES), x, marks, future), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_weight_arrives_bit_by_bit_in_its_own_dtype(dtype):
    state = released.random_state(dtype=dtype)
    net = load_checkpoint(state, **SIZES)
    want = sorted(t.flatten().tolist() for name, t in state.items() if not name.endswith(".pe"))
    assert sorted(p.flatten().tolist() for p in net.parameters()) == want
    assert {p.dtype for p in net.parameters()} == {dtype}


def test_a_file_a_dict_and_a_data_parallel_dict_give_the_same_model_in_evaluation_mode(tmp_path):
    state = released.random_state()
    torch.save(state, tmp_path / "checkpoint.pth")
    nets = [load_checkpoint(tmp_path / "checkpoint.pth", "nonstationary", **SIZES),
            load_checkpoint(str(tmp_path / "checkpoint.pth"), **SIZES), load_checkpoint(state, **SIZES),
            load_checkpoint({f"module.{name}": t for name, t in state.items()}, **SIZES)]
    forecasts = [answer(net, *inputs(state)) for net in nets]
    assert all(torch.equal(forecasts[0], f) for f in forecasts[1:])
    assert not any(net.training for net in nets)


def test_the_activation_is_a_setting_because_no_weight_tells_it():
    state = released.random_state(dtype=torch.float64)
    x = inputs(state, dtype=torch.float64)
    gelu, relu = (answer(load_checkpoint(state, activation=a, **SIZES), *x) for a in ("gelu", "relu"))
    assert_close(relu, released.forecast(state, *x, H=2, label_len=3, pred_len=5, act=F.relu), rtol=1e-6, atol=1e-6)
    assert float((gelu - relu).abs().max()) > 1e-3


@pytest.mark.parametrize(("calendar", "columns"), [("fixed", 4), ("fixed", 5), ("learned", 4), ("learned", 5)])
def test_calendar_tables_are_recognised_and_loaded(calendar, columns):
    state = released.random_state(dtype=torch.float64, calendar=calendar, marks=columns)
    x, _, _ = inputs(state, dtype=torch.float64)
    marks = torch.tensor([[12, 31, 6, 23, 3], [1, 1, 0, 0, 0]])[:, :columns]
    past, future = marks[:, None].expand(2, 11, -1), marks.flip(0)[:, None].expand(2, 8, -1)
    want = released.forecast(state, x, past, future, H=2, label_len=3, pred_len=5)
    assert_close(answer(load_checkpoint(state, **SIZES), x, past, future), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 19, 5000])
def test_the_table_of_sinusoids_may_be_cut_whole_or_absent(rows):
    state = released.random_state(rows=rows)
    bare = {name: t for name, t in state.items() if not name.endswith(".pe")}
    x = inputs(state)
    assert torch.equal(answer(load_checkpoint(state, **SIZES), *x), answer(load_checkpoint(bare, **SIZES), *x))


def test_a_whole_released_configuration_may_be_passed():
    config = {"task_name": "long_term_forecast", "seq_len": 11, "enc_in": 3, "dec_in": 3, "c_out": 3, "d_model": 10,
              "e_layers": 1, "d_layers": 2, "d_ff": 7, "factor": 1, "p_hidden_dims": [5, 13], "p_hidden_layers": 2,
              "activation": "gelu", "seg_len": 96, "learning_rate": 1e-4, "freq": "h", "embed": "timeF", **SIZES}
    state = released.random_state()
    x = inputs(state)
    assert torch.equal(answer(load_checkpoint(state, **config), *x), answer(load_checkpoint(state, **SIZES), *x))


# What is refused


def refuse(state, message, model="nonstationary", **config):
    with pytest.raises(ValueError, match=message):
        load_checkpoint(state, model, **{**SIZES, **config})


@pytest.mark.bad_input
@pytest.mark.parametrize("name", ["tau_learner.backbone.2.weight", "decoder.layers.1.norm3.bias", "encoder.norm.weight",
                                  "enc_embedding.value_embedding.tokenConv.weight", "delta_learner.series_conv.weight",
                                  "encoder.attn_layers.0.conv1.weight", "tau_learner.series_conv.weight"])
def test_a_missing_key_names_itself(name):
    state = released.random_state()
    del state[name]
    refuse(state, f"missing key '{re.escape(name)}'")


@pytest.mark.bad_input
def test_an_unknown_key_names_itself():
    refuse(released.random_state() | {"encoder.conv_layers.0.norm.weight": torch.ones(3)},
           r"unknown key 'encoder\.conv_layers\.0\.norm\.weight'")


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "shape", "message"), [
    ("decoder.layers.0.conv2.weight", (10, 5, 1), r"0\.conv2\.weight' has shape \(10, 5, 1\) instead of \(10, 7\)"),
    ("decoder.projection.bias", (1,), r"'decoder\.projection\.bias' has shape \(1,\) instead of \(3,\)"),
    ("delta_learner.backbone.4.weight", (12, 13), r"has shape \(12, 13\) instead of \(11, 13\)"),
    ("tau_learner.series_conv.weight", (11, 3),
     r"expected 3 axes under 'tau_learner\.series_conv\.weight', got \(11, 3\)"),
])
def test_a_tensor_of_the_wrong_shape_names_itself(name, shape, message):
    refuse(released.random_state() | {name: torch.ones(shape)}, message)


@pytest.mark.bad_input
@pytest.mark.parametrize(("config", "message"), [
    ({"d_model": 16}, "d_model: the weights say 10, got 16"), ({"M": 16}, "M: the weights say 10, got 16"),
    ({"seq_len": 96}, "seq_len: the weights say 11, got 96"), ({"c_out": 1}, "c_out: the weights say 3, got 1"),
    ({"p_hidden_dims": [5]}, r"p_hidden_dims: the weights say \[5, 13\], got \[5\]"),
    ({"e_layers": 2}, "e_layers: the weights say 1, got 2"),
    ({"n_heads": 3}, "n_heads: expected a divisor of the model width M=10, got 3"),
    ({"label_len": 12}, "label_len: expected 0 <= label_len <= seq_len=11"),
    ({"activaton": "relu"}, r"activaton: not a setting of this model; did you mean activation\?"),
    ({"activation": "tanh"}, "activation: expected one of"),
])
def test_a_setting_that_contradicts_the_weights_or_the_model_is_refused(config, message):
    refuse(released.random_state(), message, **config)


@pytest.mark.bad_input
@pytest.mark.parametrize(("missing", "message"), [("n_heads", "H: no weight tells it.*released name n_heads"),
                                                  ("label_len", "label_len: no weight tells it"),
                                                  ("pred_len", "pred_len: no weight tells it")])
def test_a_setting_that_no_weight_tells_must_be_given(missing, message):
    with pytest.raises(ValueError, match=message):
        load_checkpoint(released.random_state(), **{name: n for name, n in SIZES.items() if name != missing})


@pytest.mark.bad_input
def test_a_table_that_is_not_the_sinusoids_is_refused():
    state = released.random_state()
    refuse(state | {"dec_embedding.position_embedding.pe": state["dec_embedding.position_embedding.pe"] + 0.125},
           r"'dec_embedding\.position_embedding\.pe' is not the table of fixed sinusoids, it is off by 1\.[23]e-01")
    for table in (torch.zeros(1, 64, 12), torch.zeros(1, 64, 10).long(), torch.zeros(())):
        refuse(state | {"enc_embedding.position_embedding.pe": table}, "rows of width 10.*got")


@pytest.mark.bad_input
@pytest.mark.parametrize(("state", "message"), [
    ({}, "expected names with tensors, got dict without entries"),
    ([torch.ones(1)], "expected names with tensors, got list"),
    ({"model": {"weight": 3}, "epoch": 2}, "expected names with tensors, got dict under 'model', int under 'epoch'"),
    ({"a": torch.ones(1), "b": torch.ones(1).double()},
     r"one floating dtype, got \['torch.float32', 'torch.float64'\]"),
])
def test_what_is_no_state_dict_is_refused(state, message):
    refuse(state, message)


@pytest.mark.bad_input
def test_an_unknown_model_is_refused_with_the_known_ones():
    refuse(released.random_state(), r"model: expected one of \['nonstationary'.*got 'stationary'", model="stationary")


@pytest.mark.bad_input
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_is_named(number):
    state = released.random_state()
    state["decoder.projection.bias"][1] = number
    with pytest.raises(ValueError, match=rf"state dict: 'decoder\.projection\.bias': expected finite numbers, "
                                         rf"got {number} at index \(1,\)"):
        load_checkpoint(state, **SIZES)


@pytest.mark.parametrize(("case", "switch", "on"), [
    ("autoformer_forecast_long", "released_lags", True), ("duet_forecast", "mix_in_eval", False)])
def test_switches_that_no_weight_tells_are_listed_until_they_are_given(case, switch, on):
    state = {name[2:]: torch.from_numpy(a) for name, a in np.load(GOLDEN / f"{case}.npz").items() if name[:2] == "w/"}
    listed = dict(row[:2] for row in settings(state).table.rows)
    assert listed[switch] == str(not on)
    given = {row[0]: row[2] for row in settings(state, **{switch: on}).table.rows}
    assert given[switch] == "given"


def test_tables_of_positions_are_no_weights():
    state = {name[2:]: torch.from_numpy(a) for name, a in np.load(GOLDEN / "ns_forecast_long.npz").items()
             if name[:2] == "w/"}
    rows = dict(row[:2] for row in settings(state).table.rows)
    tables = sum(t.numel() for name, t in state.items() if name.endswith("position_embedding.pe"))
    assert rows["weights"].startswith(f"{sum(t.numel() for t in state.values()) - tables} numbers")
    assert rows.get("fixed tables", "0 numbers").startswith(f"{tables} numbers")
