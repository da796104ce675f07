"""Every array of every golden file that `replay` knows, and the same replay at sizes no file has."""

import json
from pathlib import Path

import numpy as np
import pytest
import released
import torch

from tsattn_mini.official import REPLAYS, replay

FOLDER = Path(__file__).parent / "golden"
TOLERANCE = 2e-6  # of the array's largest finite number
LOOSER = {"mid/time_freq": 5e-5, "out/granger_raw_lag4": 1e-3}  # the last is ill-conditioned in the released float32
ODE = 1e-5  # along a whole flow of KITE, where rounding adds up over the steps
MARGINS = {"topk_gap", "gumbel_margin"}  # how far a choice was from flipping; not computed here


def load(name):
    with np.load(FOLDER / name) as file:
        return dict(file)


def known(path):
    official = json.loads(str(load(path.name)["config"]))["official"]
    return (official["file"], official["cls"]) in REPLAYS


CASES = [path.name for path in sorted(FOLDER.glob("*.npz")) if known(path)]


def worst(want, got):
    """The largest difference as a share of the largest number, after the infinities were found in the same places."""
    finite = np.isfinite(want)
    assert np.array_equal(want[~finite], got[~finite])
    off, size = np.abs(want[finite].astype(float) - got[finite].astype(float)), np.abs(want[finite]).max()
    return float(off.max() / size) if size else float(off.max())


def without_each(name, keys):
    """The golden file `name` without one of `keys` at a time, arrays or parameters that it must have."""
    arrays = load(f"{name}.npz")
    config = json.loads(str(arrays["config"]))
    for key in keys:
        assert key in arrays or key in config["params"]
        params = {k: v for k, v in config["params"].items() if k != key}
        given = {**arrays, "config": np.array(json.dumps({**config, "params": params}))}
        yield key, {k: a for k, a in given.items() if k != key}


def tolerance(name, key):
    kind = ODE if name.startswith(("kite_cfg_", "kite_inference_")) else TOLERANCE
    return LOOSER.get(key, kind)


@pytest.mark.parametrize("name", CASES)
def test_replay_gives_every_array_of_the_file(name):
    arrays = load(name)
    expected = {key: a for key, a in arrays.items()
                if key.startswith(("mid/", "out/")) and key.partition("/")[2] not in MARGINS}
    got = replay(arrays)
    assert set(expected) - set(got) == set()
    for key, want in expected.items():
        assert got[key].shape == want.shape, key
        assert got[key].dtype == want.dtype, key
        if want.dtype == np.int64:
            assert np.array_equal(got[key], want), key
        else:
            assert worst(want, got[key]) <= tolerance(name, key), key


def test_every_file_of_the_non_stationary_transformer_is_replayed():
    wanted = {path.name for kind in ("ds", "ns") for path in FOLDER.glob(f"{kind}_*.npz")}
    assert len(wanted) == 8
    assert wanted - set(CASES) == set()


def test_every_file_of_kite_is_replayed():
    wanted = {path.name for path in FOLDER.glob("kite_*.npz")}
    assert len(wanted) == 10
    assert wanted - set(CASES) == set()


@pytest.mark.parametrize("name", ["ns_forecast_long.npz", "ns_projector_delta.npz"])
def test_one_weight_a_little_off_is_noticed(name):
    arrays = load(name)
    weight = next(key for key in arrays if key.endswith("series_conv.weight"))
    arrays[weight] = arrays[weight] + np.float32(1e-4)
    got = replay(arrays)
    assert max(worst(a, got[key]) for key, a in arrays.items() if key.startswith("out/")) > TOLERANCE


@pytest.mark.parametrize("sizes", [
    {"B": 1, "V": 1, "M": 2, "H": 1, "T": 1, "label_len": 1, "pred_len": 1, "e_layers": 1, "d_layers": 1},
    {"B": 3, "V": 2, "M": 15, "H": 5, "T": 7, "label_len": 7, "pred_len": 13, "e_layers": 3, "d_layers": 2},
    {"B": 2, "V": 11, "M": 14, "H": 7, "T": 29, "label_len": 3, "pred_len": 2, "e_layers": 2, "d_layers": 3},
])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_replay_at_other_sizes_gives_what_the_equations_give(sizes, activation):
    B, V, M, H, T, label_len, pred_len, e_layers, d_layers = sizes.values()
    state = released.random_state(V, M, 17, T, e_layers, d_layers, hidden=(5,), marks=3, seed=B)
    g = torch.Generator().manual_seed(B)
    x = torch.randn(B, T, V, generator=g)
    marks = [torch.rand(B, n, 3, generator=g) - 0.5 for n in (T, label_len + pred_len)]
    params = {"d_model": M, "n_heads": H, "label_len": label_len, "pred_len": pred_len, "activation": activation,
              "e_layers": e_layers, "d_layers": d_layers}
    official = {"file": "models/Nonstationary_Transformer.py", "cls": "Model"}
    arrays = {"config": np.array(json.dumps({"official": official, "params": params})),
              **{f"w/{name}": t.numpy() for name, t in state.items()},
              "in/x_enc": x.numpy(), "in/x_mark_enc": marks[0].numpy(), "in/x_mark_dec": marks[1].numpy(),
              "in/x_dec": np.full((B, label_len + pred_len, V), 100, dtype=np.float32)}
    double = {name: t.double() for name, t in state.items()}
    want = released.forecast(double, x.double(), *(m.double() for m in marks), H=H, label_len=label_len,
                             pred_len=pred_len, act=getattr(torch.nn.functional, activation))
    assert worst(want.numpy(), replay(arrays)["out/forecast"]) <= 10 * TOLERANCE


@pytest.mark.bad_input
def test_replay_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="arrays: expected a 'config' entry, got in/x"):
        replay({"in/x": np.zeros(3)})
    config = {"official": {"file": "models/Reformer.py", "cls": "Model"}, "params": {}}
    with pytest.raises(ValueError, match=r"no module here replays Model of models/Reformer\.py; known: DSAttention"):
        replay({"config": np.array(json.dumps(config))})


@pytest.mark.bad_input
def test_replay_names_a_weight_that_is_missing():
    arrays = load("ns_forecast_short.npz")
    del arrays["w/decoder.norm.bias"]
    with pytest.raises(ValueError, match=r"missing key 'decoder\.norm\.bias'"):
        replay(arrays)


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "keys"), [
    ("ds_attention_a_tau_delta", ("in/queries", "in/keys", "in/values", "mask_flag")),
    ("ns_projector_tau", ("in/x_raw", "in/stats")), ("ns_forecast_short", ("in/x_enc", "in/x_mark_enc", "n_heads")),
    ("engram_hash", ("layer_ids", "engram_vocab_size", "pad_id")), ("engram_forward_layer1", ("in/ids", "layer_id")),
    ("kite_kgc", ("in/x_q", "in/x_kv", "in/w_ij", "n_heads")),
    ("kite_prior", ("in/x_endo", "in/x_exo_granger", "lags")),
    ("kite_vector_field_future", ("in/x0", "in/t", "in/x_exo", "in/prior", "in/y_exo", "n_heads")),
    ("kite_hcm", ("in/origin", "in/noise_z", "in/noise_eps", "n_heads")),
    ("kite_cfg_sample_nofuture", ("in/origin", "in/prior", "in/noise_z", "n_samples", "steps", "omegas")),
    ("kite_cfm_loss", ("in/origin", "in/target", "in/prior", "in/x_exo", "in/t", "in/noise_eps")),
    ("kite_inference_nofuture", ("in/x_endo", "in/x_exo", "in/noise_z", "n_samples", "steps", "omega"))])
def test_replay_names_an_input_or_a_parameter_that_is_missing(name, keys):
    for key, lacking in without_each(name, keys):
        with pytest.raises(ValueError, match=key.removeprefix("in/")):
            replay(lacking)


@pytest.mark.bad_input
@pytest.mark.parametrize("part", ["official", "params"])
def test_replay_names_a_part_of_the_config_that_is_missing(part):
    arrays = load(CASES[0])
    config = {k: v for k, v in json.loads(str(arrays["config"])).items() if k != part}
    with pytest.raises(ValueError, match=f"config: expected '{part}', got"):
        replay({**arrays, "config": np.array(json.dumps(config))})


@pytest.mark.bad_input
@pytest.mark.parametrize(("arrays", "message"), [
    (None, "arrays: expected the arrays of one golden file by name, got NoneType"),
    ({"config": "{"}, "config: expected JSON, got '{': "), ({"config": 3}, "config: expected settings by name, got 3"),
    ({"config": '{"official": 3}'}, "config, official: expected settings by name, got 3"),
    ({"config": '{"official": {"file": [], "cls": 1}}'}, "arrays: no module here replays 1 of \\[\\]; known: ")])
def test_arrays_of_no_golden_file_are_refused(arrays, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        replay(arrays)
