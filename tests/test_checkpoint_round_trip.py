"""Golden weights of all nine models, saved as people save them, loaded again: the released forecasts come out."""

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from tsattn_mini.official import configuration, duet, load_checkpoint, settings
from tsattn_mini.official.autoformer import RELEASED as AUTOFORMER
from tsattn_mini.official.duet import RELEASED as DUET
from tsattn_mini.trace import record

FOLDER = Path(__file__).parent / "golden"
KINDS = {  # golden file: the model, and the switches of a released forecast that loading leaves alone
    "ns_forecast_long": ("nonstationary", {}), "ns_forecast_short": ("nonstationary", {}),
    "informer_forecast_long": ("informer", {}), "informer_forecast_short": ("informer", {}),
    "autoformer_forecast_long": ("autoformer", AUTOFORMER), "fedformer_forecast_long": ("fedformer", {}),
    "itransformer_forecast_long": ("itransformer", {}), "itransformer_forecast_short_nomark": ("itransformer", {}),
    "timexer_forecast_M": ("timexer", {}), "timexer_forecast_MS": ("timexer", {}),
    "duet_forecast": ("duet", DUET),
    "kite_inference_future": ("kite", {}), "kite_inference_nofuture": ("kite", {}),
    "engram_forward_layer1": ("engram", {}), "engram_forward_layer3": ("engram", {})}


def golden(name):
    """Weights, settings, inputs and the result of one released run."""
    with np.load(FOLDER / f"{name}.npz") as file:
        arrays = {key: torch.from_numpy(file[key]) if key != "config" else json.loads(str(file[key])) for key in file}
    config = arrays.pop("config")
    part = lambda kind: {key[len(kind):]: t for key, t in arrays.items() if key.startswith(kind)}  # noqa: E731
    params = config["params"] | ({"vocab": config["vocab"]} if "vocab" in config else {})
    params |= {key: t.tolist() for key, t in part("in/").items() if key.startswith("modes_")}
    out = part("out/")
    return part("w/"), params, part("in/"), out["y"] if "y" in out else out["forecast"]


def run(model, net, x, params):
    with torch.no_grad():
        if model == "engram":
            with record() as trace:
                net(x["ids"], x["hidden_states"])
            return trace["y"].tensor
        if model == "kite":
            return net(x["x_endo"], x["x_exo"], x.get("y_exo"), n_samples=params["n_samples"], steps=params["steps"],
                       omega=params["omega"], z=x["noise_z"], eps=x["noise_eps"])
        if model == "duet":
            return net(x["x"], u=duet._uniform(x["noise_exponential"], net.V).to(x["x"].dtype))
        more = [x[name] for name in sorted(x) if name.startswith("index_sample")]
        return net(x["x_enc"], x.get("x_mark_enc"), x.get("x_dec"), x.get("x_mark_dec"),
                   **({"index_samples": more} if more else {}))


def same(got, want):
    assert got.shape == want.shape
    assert float((got - want).abs().max()) <= 2e-6 * float(want.abs().max())


@pytest.mark.parametrize("name", KINDS)
def test_a_bare_state_dict_needs_exactly_what_settings_says_is_missing(name, tmp_path):
    model, switches = KINDS[name]
    w, params, x, want = golden(name)
    torch.save(w, tmp_path / "weights.pth")
    given = {"task_name": params["task_name"]} if model == "informer" else {}
    while missing := settings(tmp_path / "weights.pth", **given).missing:
        with pytest.raises(ValueError, match=r"(no weight tells|must be given)"):
            load_checkpoint(tmp_path / "weights.pth", **given)
        given |= {key: params[key] for key in missing}
    found = settings(tmp_path / "weights.pth", **given)
    assert found.model == model
    net = load_checkpoint(tmp_path / "weights.pth", **given, **switches)
    same(run(model, net, x, params), want)


@pytest.mark.parametrize("name", KINDS)
def test_a_checkpoint_with_its_settings_needs_nothing_else(name, tmp_path):
    model, switches = KINDS[name]
    w, params, x, want = golden(name)
    torch.save({"epoch": np.int64(3), "best": np.float32(0.25), "optimizer": {"state": {0: {"exp_avg": torch.ones(2)}}},
                "model": {f"module.{key}": t for key, t in w.items()}, "args": Namespace(**params)},
               tmp_path / "checkpoint.pth")
    assert settings(tmp_path / "checkpoint.pth").missing == {}
    net = load_checkpoint(tmp_path / "checkpoint.pth", **switches)
    assert not net.training
    same(run(model, net, x, params), want)


@pytest.mark.parametrize("name", ["ns_forecast_long", "informer_forecast_short", "autoformer_forecast_long",
                                  "itransformer_forecast_long", "timexer_forecast_MS"])
def test_the_folder_of_the_library_says_what_the_weights_do_not(name, tmp_path):
    model, switches = KINDS[name]
    w, params, x, want = golden(name)
    kind = {"nonstationary": "Nonstationary_Transformer", "informer": "Informer", "autoformer": "Autoformer",
            "itransformer": "iTransformer", "timexer": "TimeXer"}[model]
    folder = tmp_path / (f"{params['task_name']}_ETTh1_12_4_{kind}_ETTh1_ft{params.get('features', 'M')}_sl12_ll6_pl4_"
                         "dm8_nh4_el2_dl1_df16_expand2_dc4_fc1_ebtimeF_dtTrue_Exp_0")
    folder.mkdir()
    torch.save(w, folder / "checkpoint.pth")
    left = {"itransformer": {"enc_in"}, "timexer": {"enc_in"}, "autoformer": {"moving_avg"}}.get(model, set())
    assert set(settings(folder / "checkpoint.pth").missing) == left
    net = load_checkpoint(folder / "checkpoint.pth", **{key: params[key] for key in left}, **switches)
    same(run(model, net, x, params), want)
    net = load_checkpoint(w, **configuration(folder), **{key: params[key] for key in left}, **switches)
    same(run(model, net, x, params), want)
