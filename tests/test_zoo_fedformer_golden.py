"""FEDformer as released: every golden file, the same at sizes no file has, and state dicts as they are saved."""

import json

import numpy as np
import pytest
import released_fedformer as released
import torch
from test_golden import CASES, FOLDER, load, without_each, worst

from tsattn_mini.official import load_checkpoint, replay

TOLERANCE = 2e-5  # of the array's largest number; float32 against float64
NEAR = {"rtol": 1e-5, "atol": 1e-6}  # the table of positions of the plain code is float32
FILE = "layers/FourierCorrelation.py"


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def arrays(file, cls, params, weights, inputs):
    config = {"official": {"file": file, "cls": cls}, "params": params}
    parts = {**{f"w/{n}": a for n, a in weights.items()}, **{f"in/{n}": torch.as_tensor(a) for n, a in inputs.items()}}
    return {"config": np.array(json.dumps(config)),
            **{n: (a.float() if a.is_floating_point() else a).numpy() for n, a in parts.items()}}


def test_every_file_of_fedformer_is_replayed():
    wanted = {path.name for path in FOLDER.glob("fedformer_*.npz")}
    assert len(wanted) == 6
    assert wanted - set(CASES) == set()


@pytest.mark.parametrize(("B", "L", "H", "E", "modes"), [
    (1, 1, 1, 1, [0]), (3, 7, 5, 3, [1, 2]), (2, 97, 3, 2, [0, 5, 47]), (2, 192, 2, 7, list(range(0, 96, 5)))])
def test_the_block_at_other_sizes(B, L, H, E, modes):
    q, w = draw(B, L, H, E), {f"weights{i}": draw(H, E, E, len(modes), seed=i) for i in (1, 2)}
    got = replay(arrays(FILE, "FourierBlock", {"n_heads": H}, w, {"queries": q, "modes": modes}))
    want = released.block(q, torch.complex(w["weights1"], w["weights2"]), modes)
    assert worst(want.numpy(), got["out/y"]) <= TOLERANCE


@pytest.mark.parametrize("activation", ["tanh", "softmax"])
@pytest.mark.parametrize(("B", "L", "S", "H", "E", "modes_q", "modes_kv"), [
    (1, 1, 2, 1, 1, [0], [0]), (3, 7, 13, 5, 3, [1, 2], [0, 4, 5]), (2, 144, 96, 2, 7, [0, 30, 71], [3, 40])])
def test_the_cross_attention_at_other_sizes(B, L, S, H, E, modes_q, modes_kv, activation):
    q, k, v = (0.2 * draw(B, n, H, E, seed=s) for s, n in enumerate((L, S, S)))
    w = {f"weights{i}": draw(H, E, E, len(modes_q), seed=i) for i in (1, 2)}
    given = {"queries": q, "keys": k, "values": v, "modes_q": modes_q, "modes_kv": modes_kv}
    got = replay(arrays(FILE, "FourierCrossAttention", {"n_heads": H, "activation": activation}, w, given))
    want = released.cross(q, k, torch.complex(w["weights1"], w["weights2"]), modes_q, modes_kv, activation)
    assert worst(want.numpy(), got["out/y"]) <= TOLERANCE


SIZES = [  # B, V, M, H, T, label_len, pred_len, e_layers, d_layers, kernel, bins
    {"B": 1, "V": 1, "M": 2, "H": 1, "T": 2, "label_len": 1, "pred_len": 1, "e_layers": 1, "d_layers": 1,
     "kernel": 3, "modes": {"enc": [0], "dec_self": [0], "cross_q": [0], "cross_kv": [0]}},
    {"B": 3, "V": 2, "M": 15, "H": 5, "T": 13, "label_len": 6, "pred_len": 17, "e_layers": 3, "d_layers": 2,
     "kernel": 7, "modes": {"enc": [0, 5], "dec_self": [2, 3, 10], "cross_q": [1, 9, 10], "cross_kv": [2, 4]}},
    {"B": 2, "V": 11, "M": 14, "H": 7, "T": 28, "label_len": 14, "pred_len": 3, "e_layers": 2, "d_layers": 3,
     "kernel": 1, "modes": {"enc": [1, 3, 13], "dec_self": [0, 2, 7], "cross_q": [0, 1, 6], "cross_kv": [0, 8, 9]}},
]


def parts(s, activation="gelu"):
    """State, settings and inputs, released names, and the forecast in float64."""
    names = ("V", "M", "e_layers", "d_layers")
    state = released.random_state(s["modes"], s["H"], **{n: s[n] for n in names}, marks=3, seed=s["B"],
                                  dtype=torch.float64)
    params = {"d_model": s["M"], "n_heads": s["H"], "seq_len": s["T"], "label_len": s["label_len"],
              "pred_len": s["pred_len"], "moving_avg": s["kernel"], "activation": activation}
    L = s["label_len"] + s["pred_len"]
    x = {"x_enc": draw(s["B"], s["T"], s["V"]), "x_mark_enc": draw(s["B"], s["T"], 3, seed=1),
         "x_dec": torch.full((s["B"], L, s["V"]), 100.0), "x_mark_dec": draw(s["B"], L, 3, seed=2)}
    want = released.forecast(state, x["x_enc"], x["x_mark_enc"], x["x_mark_dec"], s["modes"], H=s["H"],
                             label_len=s["label_len"], pred_len=s["pred_len"], kernel=s["kernel"],
                             act=getattr(torch.nn.functional, activation))
    return state, params, x, want


@pytest.mark.parametrize("s", SIZES)
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_the_whole_forecast_at_other_sizes(s, activation):
    state, params, x, want = parts(s, activation)
    bins = {f"modes_{place}": bins for place, bins in s["modes"].items()}
    got = replay(arrays("models/FEDformer.py", "Model", params, state, {**x, **bins}))
    assert worst(want.numpy(), got["out/forecast"]) <= TOLERANCE


@pytest.mark.parametrize("s", SIZES)
def test_a_checkpoint_is_a_model_that_computes_as_released(s, tmp_path):
    state, params, x, want = parts(s)
    bins = {f"modes_{place}": bins for place, bins in s["modes"].items()}
    torch.save(state, tmp_path / "checkpoint.pth")
    net = load_checkpoint(tmp_path / "checkpoint.pth", model="fedformer", **params, **bins)
    assert not net.training
    with torch.no_grad():
        y = net(x["x_enc"], x["x_mark_enc"], x["x_dec"].double(), x["x_mark_dec"])
        torch.testing.assert_close(y, want, **NEAR)
        own = load_checkpoint(state, "fedformer", **params, **bins, released_values=False)
        assert not torch.allclose(own(x["x_enc"], x["x_mark_enc"], None, x["x_mark_dec"]), y)


def test_bins_need_no_list_where_the_released_draw_had_no_choice():
    s = {**SIZES[2], "T": 8, "label_len": 4, "pred_len": 2, "modes": {
        "enc": [0, 1, 2, 3], "dec_self": [0, 1, 2], "cross_q": [0, 1, 2], "cross_kv": [0, 1, 2, 3]}}
    state, params, x, want = parts(s)
    net = load_checkpoint(state, "fedformer", **params, modes=64)
    with torch.no_grad():
        y = net(x["x_enc"], x["x_mark_enc"], None, x["x_mark_dec"])
    torch.testing.assert_close(y, want, **NEAR)


def test_one_block_for_all_layers_is_seen_in_the_weights():
    state, params, *_ = parts(SIZES[1])
    bins = {f"modes_{place}": bins for place, bins in SIZES[1]["modes"].items()}
    name = "encoder.attn_layers.2.attention.inner_correlation.weights2"
    for other, shared in ((state, True), ({**state, name: state[name] + 1}, False)):
        layers = load_checkpoint(other, "fedformer", **params, **bins).forecaster.encoder.layers
        assert (layers[0].attention.attend is layers[2].attention.attend) is shared


@pytest.mark.bad_input
def test_what_no_weight_tells_must_be_given():
    state, params, *_ = parts(SIZES[1])
    bins = {f"modes_{place}": bins for place, bins in SIZES[1]["modes"].items()}
    with pytest.raises(ValueError, match="modes_enc: no weight tells which 2 of 6 bins were drawn"):
        load_checkpoint(state, "fedformer", **params)
    with pytest.raises(ValueError, match="modes_dec_self: the weights say 3 bins, got 2"):
        load_checkpoint(state, "fedformer", **params, **{**bins, "modes_dec_self": [1, 2]})
    with pytest.raises(ValueError, match="modes: the weights keep 2 bins of 6 in the encoder, got 4"):
        load_checkpoint(state, "fedformer", **params, **bins, modes=4)
    with pytest.raises(ValueError, match="n_heads: the weights say 5, got 3"):
        load_checkpoint(state, "fedformer", **{**params, "n_heads": 3}, **bins)
    with pytest.raises(ValueError, match="pred_len: no weight tells it"):
        load_checkpoint(state, "fedformer", **{k: v for k, v in params.items() if k != "pred_len"}, **bins)
    with pytest.raises(ValueError, match=r"bins from 0 to L // 2 = 6 .*got \[2, 7\]"):
        load_checkpoint(state, "fedformer", **params, **{**bins, "modes_cross_kv": [2, 7]})
    del state["decoder.layers.1.self_attention.inner_correlation.weights1"]
    with pytest.raises(ValueError, match=r"missing key 'decoder\.layers\.1\.self_.*\.weights1'"):
        load_checkpoint(state, "fedformer", **params, **bins)


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "keys"), [
    ("fourier_block_low", ("in/queries", "in/modes")), ("fourier_layer", ("in/x", "in/modes", "n_heads")),
    ("fourier_cross_tanh", ("in/queries", "in/keys", "in/values", "in/modes_q", "in/modes_kv", "activation")),
    ("forecast_long", ("in/x_enc", "in/modes_enc", "in/modes_cross_kv", "seq_len", "label_len"))])
def test_replay_names_an_input_or_a_parameter_that_is_missing(name, keys):
    for key, lacking in without_each(f"fedformer_{name}", keys):
        with pytest.raises(ValueError, match=key.removeprefix("in/")):
            replay(lacking)


def test_one_weight_a_little_off_is_noticed():
    for name in ("fourier_cross_softmax", "forecast_long"):
        given = load(f"fedformer_{name}.npz")
        weight = next(key for key in given if key.endswith("weights2"))
        given[weight] = given[weight] + np.float32(1e-2)
        key = "out/forecast" if name == "forecast_long" else "out/y"
        assert worst(given[key], replay(given)[key]) > 2e-6
