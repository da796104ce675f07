"""iTransformer and TimeXer as released: every file, other sizes beside plain float64 code, checkpoints."""

import json
import re

import numpy as np
import pytest
import released_inverted as released
import torch
import torch.nn.functional as F
from test_golden import CASES, FOLDER, TOLERANCE, load, without_each, worst
from torch.testing import assert_close

from tsattn_mini.official import load_checkpoint, replay

SIZES = [  # B, V, T, F, M, H, d_ff, layers, p, marks
    {"B": 1, "V": 1, "T": 1, "F": 1, "M": 2, "H": 1, "d_ff": 3, "layers": 1, "p": 1, "marks": 1},
    {"B": 3, "V": 2, "T": 7, "F": 13, "M": 15, "H": 5, "d_ff": 4, "layers": 3, "p": 7, "marks": 3},
    {"B": 2, "V": 5, "T": 29, "F": 2, "M": 14, "H": 7, "d_ff": 17, "layers": 2, "p": 6, "marks": 0},
]
TIMEXER = {"features": "MS", "n_heads": 5, "enc_in": 3}
ITRANSFORMER = {"n_heads": 5, "enc_in": 3}


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def window(s, dtype=torch.float32):
    x = draw(s["B"], s["T"], s["V"], seed=1, dtype=dtype) * 2 + 3
    return x, draw(s["B"], s["T"], s["marks"], seed=2, dtype=dtype) if s["marks"] else None


def replayed(file, params, state, x, marks):
    arrays = {"config": np.array(json.dumps({"official": {"file": file, "cls": "Model"}, "params": params})),
              **{f"w/{name}": t.numpy() for name, t in state.items()}, "in/x_enc": x.numpy()}
    return replay(arrays if marks is None else arrays | {"in/x_mark_enc": marks.numpy()})["out/forecast"]


def double(state):
    return {name: t.double() for name, t in state.items()}


@pytest.mark.parametrize(("kind", "files"), [("itransformer", 3), ("timexer", 2)])
def test_every_file_is_replayed(kind, files):
    wanted = {path.name for path in FOLDER.glob(f"{kind}_*.npz")}
    assert len(wanted) == files
    assert wanted - set(CASES) == set()


@pytest.mark.parametrize("s", SIZES)
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_itransformer_at_other_sizes_gives_what_the_equations_give(s, activation):
    state = released.itransformer_state(s["T"], s["F"], s["M"], s["d_ff"], s["layers"], seed=s["B"])
    x, marks = window(s)
    got = replayed("models/iTransformer.py", {"enc_in": s["V"], "n_heads": s["H"], "activation": activation},
                   state, x, marks)
    want = released.itransformer(double(state), x.double(), None if marks is None else marks.double(), H=s["H"],
                                 act=getattr(F, activation))
    assert worst(want.numpy(), got) <= 10 * TOLERANCE


@pytest.mark.parametrize("s", SIZES)
@pytest.mark.parametrize(("features", "use_norm"), [("M", 1), ("MS", 1), ("MS", 0), ("M", 0)])
def test_timexer_at_other_sizes_gives_what_the_equations_give(s, features, use_norm):
    N = s["V"] if features == "M" else 1
    state = released.timexer_state(s["T"], s["F"], s["M"], s["d_ff"], s["layers"], s["p"], N, seed=s["B"])
    x, marks = window(s)
    params = {"enc_in": s["V"], "n_heads": s["H"], "features": features, "patch_len": s["p"], "use_norm": use_norm}
    got = replayed("models/TimeXer.py", params, state, x, marks)
    want = released.timexer(double(state), x.double(), None if marks is None else marks.double(), H=s["H"],
                            features=features, use_norm=bool(use_norm))
    assert worst(want.numpy(), got) <= 10 * TOLERANCE


@pytest.mark.parametrize(("name", "side"), [("itransformer_forecast_long", "enc"), ("timexer_forecast_MS", "ex")])
def test_one_weight_a_little_off_is_noticed(name, side):
    arrays, weight = load(f"{name}.npz"), f"w/{side}_embedding.value_embedding.bias"
    arrays[weight] = arrays[weight] + 1e-3 * np.arange(8, dtype=np.float32)
    assert worst(arrays["out/forecast"], replay(arrays)["out/forecast"]) > TOLERANCE


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "keys"), [
    ("itransformer_embedding", ("in/x", "in/x_mark")),
    ("itransformer_forecast_long", ("in/x_enc", "enc_in", "n_heads")),
    ("timexer_forecast_MS", ("in/x_enc", "enc_in", "n_heads", "features"))])
def test_replay_names_an_input_or_a_parameter_that_is_missing(name, keys):
    for key, lacking in without_each(name, keys):
        with pytest.raises(ValueError, match=key.removeprefix("in/")):
            replay(lacking)


# Checkpoints


def test_a_loaded_itransformer_forecasts_what_the_state_dict_says():
    state = released.itransformer_state(dtype=torch.float64)
    x, marks = draw(2, 7, 3, seed=1), draw(2, 7, 4, seed=2)
    net = load_checkpoint(state, "itransformer", **ITRANSFORMER)
    assert_close(net(x, marks), released.itransformer(state, x, marks, H=5))
    assert_close(net(x), released.itransformer(state, x, H=5))
    assert not net.training


@pytest.mark.parametrize(("features", "N"), [("MS", 1), ("M", 3)])
def test_a_loaded_timexer_forecasts_what_the_state_dict_says_though_its_patches_leave_a_step_out(features, N):
    state = released.timexer_state(dtype=torch.float64, N=N)
    x, marks = draw(2, 7, 3, seed=1), draw(2, 7, 4, seed=2)
    config = TIMEXER | {"features": features}
    want = released.timexer(state, x, marks, H=5, features=features)
    assert_close(load_checkpoint(state, "timexer", **config)(x, marks), want)
    other = load_checkpoint(state, "timexer", released_patches=False, **config)(x, marks)
    assert float((other - want).detach().abs().max()) > 0.01


@pytest.mark.parametrize("model", ["itransformer", "timexer"])
def test_every_weight_arrives_bit_by_bit_and_a_whole_released_configuration_may_be_passed(model):
    state = getattr(released, f"{model}_state")()
    config = {"task_name": "long_term_forecast", "seq_len": 7, "label_len": 3, "pred_len": 5, "enc_in": 3, "dec_in": 3,
              "c_out": 1, "d_model": 10, "e_layers": 2, "d_layers": 1, "d_ff": 11, "factor": 1, "activation": "gelu",
              "n_heads": 5, "features": "MS", "patch_len": 3, "use_norm": 1, "learning_rate": 1e-4, "freq": "h",
              "embed": "timeF", "top_k": 5, "moving_avg": 25, "distil": True, "seg_len": 96, "mask_rate": 0.25}
    net = load_checkpoint({f"module.{name}": t for name, t in state.items()}, model, **config)
    want = sorted(t.flatten().tolist() for name, t in state.items() if not name.endswith(".pe"))
    assert sorted(p.flatten().tolist() for p in net.parameters()) == want


@pytest.mark.parametrize("rows", [2, 5000])
def test_the_table_of_sinusoids_may_be_cut_whole_or_absent(rows):
    state, x = released.timexer_state(rows=rows), draw(2, 7, 3, dtype=torch.float32)
    bare = {name: t for name, t in state.items() if not name.endswith(".pe")}
    assert torch.equal(*(load_checkpoint(s, "timexer", **TIMEXER)(x) for s in (state, bare)))


@pytest.mark.bad_input
@pytest.mark.parametrize(("model", "name"), [
    ("itransformer", "projection.weight"), ("itransformer", "encoder.attn_layers.1.norm2.bias"),
    ("timexer", "en_embedding.glb_token"), ("timexer", "head.linear.weight"),
    ("timexer", "encoder.layers.0.conv1.weight")])
def test_a_missing_key_names_itself(model, name):
    state = getattr(released, f"{model}_state")()
    del state[name]
    with pytest.raises(ValueError, match=f"missing key '{re.escape(name)}'"):
        load_checkpoint(state, model, **TIMEXER)


@pytest.mark.bad_input
@pytest.mark.parametrize(("model", "config", "message"), [
    ("itransformer", {"d_model": 16}, "d_model: the weights say 10, got 16"),
    ("itransformer", {"n_heads": 3}, "n_heads: expected a divisor of the model width M=10, got 3"),
    ("timexer", {"patch_len": 4}, "patch_len: the weights say 3, got 4"),
    ("timexer", {"features": "MX"}, r"features: expected one of \['M', 'MS', 'S'\], got 'MX'"),
    ("timexer", {"features": "M"}, r"'en_embedding\.glb_token' has shape \(1, 1, 1, 10\) instead of \(1, 3, 1, 10\)"),
    ("timexer", {"features": "S"}, 'enc_in: expected 1 with features="S"'),
    ("timexer", {"seq_len": 96}, "seq_len: the weights say 7, got 96")])
def test_a_setting_that_contradicts_the_weights_or_the_model_is_refused(model, config, message):
    with pytest.raises(ValueError, match=message):
        load_checkpoint(getattr(released, f"{model}_state")(), model, **TIMEXER | config)


@pytest.mark.bad_input
@pytest.mark.parametrize(("model", "missing"), [("itransformer", "V"), ("itransformer", "H"), ("timexer", "features")])
def test_a_setting_that_no_weight_tells_must_be_given(model, missing):
    released_name = {"V": "enc_in", "H": "n_heads"}.get(missing, missing)
    config = {name: value for name, value in TIMEXER.items() if name != released_name}
    with pytest.raises(ValueError, match=f"{missing}: no weight tells it"):
        load_checkpoint(getattr(released, f"{model}_state")(), model, **config)
