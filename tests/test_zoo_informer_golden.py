"""Informer as released: every golden file, replay at sizes no file has, what is missing, and checkpoints."""

import json

import numpy as np
import pytest
import released_informer as released
import torch
from test_golden import CASES, FOLDER, TOLERANCE, load, without_each, worst

from tsattn_mini.official import load_checkpoint, replay

NAMES = ("B", "V", "M", "H", "T", "label_len", "pred_len", "e_layers", "d_layers", "factor")
SIZES = [dict(zip(NAMES, sizes, strict=True))
         for sizes in ((1, 1, 2, 1, 2, 1, 1, 1, 1, 9), (3, 2, 5, 1, 7, 2, 3, 2, 1, 1), (3, 2, 15, 5, 7, 0, 13, 3, 2, 1),
                       (2, 11, 14, 7, 29, 3, 2, 4, 3, 2))]


def test_every_file_of_informer_is_replayed():
    wanted = {path.name for path in FOLDER.glob("informer_*.npz")}
    assert len(wanted) == 6
    assert wanted - set(CASES) == set()


def run(s, distil, short, activation="gelu"):
    """Arrays of a golden file at the sizes `s`, and the forecast that plain code makes of them in float64."""
    g = torch.Generator().manual_seed(s["T"])
    L, factor = s["label_len"] + s["pred_len"], s["factor"]
    state = released.random_state(s["V"], s["M"], 17, s["e_layers"], s["d_layers"], distil, marks=3, seed=s["B"])
    x = torch.randn(s["B"], s["T"], s["V"], generator=g) * 2 + 3
    marks = [torch.rand(s["B"], n, 3, generator=g) - 0.5 for n in (s["T"], L)]
    x_dec = torch.randn(s["B"], L, s["V"], generator=g)
    reads = released.lengths(s["T"], s["e_layers"], distil)
    pairs = [(n, n) for n in reads] + [(L, L), (L, reads[-1])] * s["d_layers"]
    samples = [torch.randint(n, (m, released.size(factor, n)), generator=g) for m, n in pairs]
    params = {"d_model": s["M"], "n_heads": s["H"], "seq_len": s["T"], "label_len": s["label_len"], "distil": distil,
              "pred_len": s["pred_len"], "activation": activation, "e_layers": s["e_layers"], "factor": factor,
              "d_layers": s["d_layers"], "task_name": "short_term_forecast" if short else "long_term_forecast"}
    official = {"file": "models/Informer.py", "cls": "Model"}
    arrays = {"config": np.array(json.dumps({"official": official, "params": params})),
              **{f"w/{name}": t.numpy() for name, t in state.items()},
              **{f"in/index_sample_{i}": t.numpy() for i, t in enumerate(samples)},
              "in/x_enc": x.numpy(), "in/x_mark_enc": marks[0].numpy(), "in/x_mark_dec": marks[1].numpy(),
              "in/x_dec": x_dec.numpy()}
    double = {name: t.double() for name, t in state.items()}
    want = released.forecast(double, x.double(), marks[0].double(), x_dec.double(), marks[1].double(), samples,
                             H=s["H"], factor=factor, pred_len=s["pred_len"], short=short,
                             act=getattr(torch.nn.functional, activation))
    return arrays, want.numpy(), state, params


@pytest.mark.parametrize("s", SIZES)
@pytest.mark.parametrize(("distil", "short", "activation"), [(True, False, "gelu"), (False, True, "relu")])
def test_replay_at_other_sizes_gives_what_plain_code_gives(s, distil, short, activation):
    arrays, want, _, _ = run(s, distil, short, activation)
    assert worst(want, replay(arrays)["out/forecast"]) <= 20 * TOLERANCE


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("B", "L", "H", "factor"), [(3, 5, 1, 1), (1, 13, 3, 2), (2, 7, 2, 5)])
def test_one_attention_at_other_sizes_gives_what_plain_code_gives(causal, B, L, H, factor):
    g = torch.Generator().manual_seed(L)
    q, k, v = (torch.randn(B, L, H, 3, generator=g) for _ in range(3))
    u = released.size(factor, L)
    index = torch.randint(L, (L, u), generator=g)
    official = {"file": "layers/SelfAttention_Family.py", "cls": "ProbAttention"}
    config = {"official": official, "params": {"factor": factor, "mask_flag": causal}}
    got = replay({"config": np.array(json.dumps(config)), "in/queries": q.numpy(), "in/keys": k.numpy(),
                  "in/values": v.numpy(), "in/index_sample": index.numpy()})
    heads = [z.double().transpose(1, 2) for z in (q, k, v)]
    rows, M = released.choose(*heads[:2], index, u)
    assert worst(released.attend(*heads, index, u, causal).numpy(), got["out/context"]) <= 10 * TOLERANCE
    assert worst(M.numpy(), got["mid/sparsity_M"]) <= 10 * TOLERANCE
    if H > 1:
        assert [[set(row) for row in heads] for heads in got["mid/M_top"].tolist()] == rows


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "keys"), [
    ("informer_probsparse_mask", ("in/queries", "in/keys", "in/values", "in/index_sample", "mask_flag", "factor")),
    ("informer_probsparse_layer", ("in/queries", "in/keys", "in/index_sample", "n_heads", "w/query_projection.weight")),
    ("informer_forecast_long", ("in/x_enc", "in/x_dec", "in/index_sample_2", "n_heads", "factor", "task_name",
                                "seq_len", "w/encoder.conv_layers.0.downConv.weight"))])
def test_replay_names_what_is_missing(name, keys):
    for key, lacking in without_each(name, keys):
        with pytest.raises(ValueError, match=key.removeprefix("in/").removeprefix("w/")):
            replay(lacking)


def test_a_weight_a_little_off_is_noticed():
    arrays = load("informer_forecast_long.npz")
    key = "w/encoder.conv_layers.0.downConv.weight"
    got = replay({**arrays, key: arrays[key] + np.float32(1e-4)})
    assert worst(arrays["out/forecast"], got["out/forecast"]) > TOLERANCE


@pytest.mark.parametrize("short", [False, True])
def test_a_checkpoint_forecasts_what_the_released_code_does(short):
    s = SIZES[1]
    arrays, want, state, params = run(s, True, short)
    net = load_checkpoint({f"module.{name}": t for name, t in state.items()}, "informer", **params)
    x = [torch.from_numpy(arrays[f"in/{name}"]) for name in ("x_enc", "x_mark_enc", "x_dec", "x_mark_dec")]
    samples = [torch.from_numpy(arrays[f"in/index_sample_{i}"]) for i in range(4)]
    with torch.no_grad():
        got = net(*x, index_samples=samples)
    assert worst(want, got.numpy()) <= 20 * TOLERANCE


def test_a_checkpoint_whose_queries_are_all_chosen_needs_no_keys_and_can_be_read_right():
    s = {**SIZES[2], "factor": 9, "label_len": 7}
    arrays, want, state, params = run(s, True, False)
    x = [torch.from_numpy(arrays[f"in/{name}"]) for name in ("x_enc", "x_mark_enc", "x_dec", "x_mark_dec")]
    with torch.no_grad():
        released_net = load_checkpoint(state, "informer", **params)
        assert worst(want, released_net(*x).numpy()) <= 20 * TOLERANCE
        right = load_checkpoint(state, "informer", **params, released_view=False)
        assert (right(*x) - released_net(*x)).abs().max() > 0.01


@pytest.mark.bad_input
def test_a_checkpoint_that_contradicts_its_settings_is_refused():
    _, _, state, params = run(SIZES[3], True, False)
    for change, message in (
            ({"e_layers": 2}, "e_layers: the weights say 4, got 2"),
            ({"enc_in": 3}, "enc_in: the weights say 11, got 3"),
            ({"distil": False}, "distil: the weights say True, got False"),
            ({"released_vew": True}, "released_vew: not a setting of this model; did you mean released_view")):
        with pytest.raises(ValueError, match=message):
            load_checkpoint(state, "informer", **{**params, **change})
    for name in ("factor", "seq_len", "n_heads"):
        with pytest.raises(ValueError, match="no weight tells it"):
            load_checkpoint(state, "informer", **{k: v for k, v in params.items() if k != name})
    del state["encoder.conv_layers.1.norm.running_mean"]
    with pytest.raises(ValueError, match=r"missing key 'encoder\.conv_layers\.1\.norm\.running_mean'"):
        load_checkpoint(state, "informer", **params)
