"""Autoformer as released: every golden file, the same at sizes no file has, and released checkpoints."""

import json

import numpy as np
import pytest
import released_autoformer as released
import torch
from test_golden import CASES, FOLDER, load, without_each, worst
from torch.testing import assert_close

from tsattn_mini.official import autoformer, load_checkpoint, replay

TOLERANCE = 5e-5  # of the array's largest number; float32, summed in any order, against float64
MODEL = {"file": "models/Autoformer.py", "cls": "Model"}
OPERATOR = {"file": "layers/AutoCorrelation.py", "cls": "AutoCorrelation"}


def run(official, params, weights, inputs, mode="eval"):
    """What `replay` makes of the float32 arrays."""
    config = json.dumps({"official": official, "params": params, "mode": mode})
    arrays = {f"w/{name}": t.float().numpy() for name, t in weights.items()}
    arrays |= {f"in/{name}": t.float().numpy() for name, t in inputs.items()}
    return replay({**arrays, "config": np.array(config)})


def windows(B, T, L, V, marks, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(B, T, V, generator=g) + 2
    return x, *(torch.rand(B, n, marks, generator=g) - 0.5 for n in (T, L))


def test_every_file_of_autoformer_is_replayed():
    wanted = {path.name for path in FOLDER.glob("autoformer_*.npz")}
    assert len(wanted) == 9
    assert wanted - set(CASES) == set()


@pytest.mark.parametrize("sizes", [  # B, V, M, H, T, label_len, pred_len, e_layers, d_layers, kernel
    (1, 1, 2, 1, 2, 0, 2, 1, 1, 5), (3, 2, 15, 5, 7, 7, 13, 3, 2, 3), (2, 11, 14, 7, 29, 3, 2, 2, 3, 25)])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_replay_at_other_sizes_gives_what_the_equations_give(sizes, activation, mode):
    B, V, M, H, T, label_len, pred_len, e_layers, d_layers, kernel = sizes
    state = released.random_state(V, M, 17, e_layers, d_layers, marks=3, seed=B)
    x, marks, future = windows(B, T, label_len + pred_len, V, 3, seed=B)
    params = {"d_model": M, "n_heads": H, "seq_len": T, "label_len": label_len, "pred_len": pred_len, "factor": 3,
              "activation": activation, "moving_avg": kernel, "e_layers": e_layers, "d_layers": d_layers}
    got = run(MODEL, params, state, {"x_enc": x, "x_mark_enc": marks, "x_mark_dec": future}, mode)["out/forecast"]

    def attend(q, k, v):
        return released.auto_correlation(q, k, v, factor=3, training=mode == "train")
    double = {name: t.double() for name, t in state.items()}
    want = released.forecast(double, x.double(), marks.double(), future.double(), H=H, label_len=label_len,
                             pred_len=pred_len, kernel=kernel, act=getattr(torch.nn.functional, activation),
                             attend=attend)
    assert worst(want.numpy(), got) <= TOLERANCE


@pytest.mark.parametrize(("L", "S", "factor"), [(2, 2, 1), (2, 3, 1), (3, 3, 1), (9, 4, 2), (17, 30, 1), (64, 64, 3)])
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_the_operator_at_other_sizes_no_delay_at_all_included(L, S, factor, mode):
    g = torch.Generator().manual_seed(L)
    q, k, v = (torch.randn(3, n, 5, 3, generator=g) for n in (L, S, S))
    got = run(OPERATOR, {"factor": factor}, {}, {"queries": q, "keys": k, "values": v}, mode)
    want = released.auto_correlation(q.double(), k.double(), v.double(), factor, training=mode == "train")
    assert worst(want.numpy(), got["out/V"]) <= TOLERANCE
    assert got["out/corr"].shape == (3, 2 * (L // 2), 5, 3)
    assert_close(got["out/corr"].mean((2, 3)), got["mid/mean_corr"], rtol=1e-5, atol=1e-5)
    assert got["mid/delays"].ndim == (1 if mode == "train" else 2)


@pytest.mark.parametrize("calendar", [None, "fixed", "learned"])
def test_a_loaded_model_forecasts_what_the_state_dict_says(calendar):
    state = released.random_state(dtype=torch.float64, calendar=calendar)
    if calendar == "fixed":
        state = {name: released.table(*t.shape).double() if name.endswith("_embed.emb.weight") else t
                 for name, t in state.items()}
    x, marks, future = (t.double() for t in windows(2, 12, 8, 3, 4))
    if calendar:
        marks, future = (torch.tensor([3, 30, 6, 23]).expand_as(m) - torch.arange(m.shape[1])[:, None] % 3
                         for m in (marks, future))
    net = load_checkpoint(state, "autoformer", seq_len=12, label_len=3, pred_len=5, n_heads=2, moving_avg=5, factor=1)
    want = released.forecast(state, x, marks, future, H=2, label_len=3, pred_len=5, kernel=5)
    assert not net.training
    with torch.no_grad():
        assert_close(net(x, marks, None, future), want, rtol=1e-6, atol=1e-6)


def test_a_loaded_model_is_right_at_odd_lengths_unless_told_to_do_as_released():
    state = released.random_state(dtype=torch.float64)
    x, marks, future = (t.double() for t in windows(2, 13, 8, 3, 4))
    sizes = {"seq_len": 13, "label_len": 3, "pred_len": 5, "n_heads": 2, "moving_avg": 5, "factor": 1}
    answers = []
    for switches in ({}, autoformer.RELEASED):
        net = load_checkpoint(state, "autoformer", **sizes, **switches)
        want = released.forecast(state, x, marks, future, H=2, label_len=3, pred_len=5, kernel=5,
                                 attend=lambda q, k, v, old=bool(switches): released.auto_correlation(
                                     q, k, v, released=old))
        with torch.no_grad():
            answers.append(net(x, marks, None, future))
        assert_close(answers[-1], want, rtol=1e-6, atol=1e-6)
    assert float((answers[0] - answers[1]).abs().max()) > 1e-3


def test_one_weight_a_little_off_is_noticed():
    arrays = load("autoformer_forecast_long.npz")
    name = "w/decoder.layers.0.projection.weight"
    got = replay({**arrays, name: arrays[name] + np.float32(1e-4)})
    assert worst(arrays["out/forecast"], got["out/forecast"]) > 2e-6


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "keys"), [
    ("autoformer_autocorrelation_infer", ("in/queries", "in/keys", "in/values", "factor")),
    ("autoformer_autocorrelation_layer", ("in/queries", "in/keys", "factor", "n_heads")),
    ("autoformer_series_decomp_k5", ("in/x", "kernel")),
    ("autoformer_forecast_long", ("in/x_enc", "in/x_mark_enc", "n_heads", "seq_len", "label_len", "pred_len"))])
def test_replay_names_an_input_or_a_parameter_that_is_missing(name, keys):
    for key, lacking in without_each(name, keys):
        with pytest.raises(ValueError, match=key.removeprefix("in/").replace("n_heads", "n_heads|H:")):
            replay(lacking)


@pytest.mark.bad_input
def test_load_checkpoint_names_what_does_not_fit():
    state, sizes = released.random_state(), {"seq_len": 12, "label_len": 3, "pred_len": 5, "n_heads": 2,
                                            "moving_avg": 5, "factor": 1}
    with pytest.raises(ValueError, match=r"missing key 'decoder\.norm\.layernorm\.bias'"):
        load_checkpoint({k: t for k, t in state.items() if k != "decoder.norm.layernorm.bias"}, "autoformer", **sizes)
    with pytest.raises(ValueError, match="unknown key 'tau_learner"):
        load_checkpoint({**state, "tau_learner.x": torch.zeros(1)}, "autoformer", **sizes)
    with pytest.raises(ValueError, match="seq_len: no weight tells it"):
        load_checkpoint(state, "autoformer", label_len=3, pred_len=5, n_heads=2)
    with pytest.raises(ValueError, match="d_model: the weights say 10, got 12"):
        load_checkpoint(state, "autoformer", d_model=12, **sizes)
