"""DUET's golden files, the same replay at sizes no file has, and released checkpoints."""

import json

import numpy as np
import pytest
import released_duet
import torch
from forecasters import draw
from test_golden import CASES, FOLDER, TOLERANCE, load, without_each, worst

from tsattn_mini.official import load_checkpoint, replay
from tsattn_mini.official.duet import RELEASED

DUET_MODEL = {"file": "ts_benchmark/baselines/duet/models/duet_model.py", "cls": "DUETModel"}


def test_every_file_of_duet_is_replayed():
    wanted = {path.name for path in FOLDER.glob("duet_*.npz")}
    assert len(wanted) == 5
    assert wanted - set(CASES) == set()


@pytest.mark.parametrize("sizes", [
    {"B": 1, "V": 1, "M": 2, "H": 1, "T": 1, "F": 1, "N": 1, "k": 1, "kernel": 1, "e_layers": 1},
    {"B": 1, "V": 2, "M": 2, "H": 1, "T": 2, "F": 1, "N": 2, "k": 1, "kernel": 25, "e_layers": 1},
    {"B": 3, "V": 7, "M": 15, "H": 5, "T": 13, "F": 4, "N": 5, "k": 5, "kernel": 5, "e_layers": 3},
    {"B": 2, "V": 11, "M": 14, "H": 7, "T": 30, "F": 2, "N": 8, "k": 3, "kernel": 7, "e_layers": 2},
])
@pytest.mark.parametrize(("per_variable", "activation"), [(True, "gelu"), (False, "relu")])
def test_replay_at_other_sizes_gives_what_the_equations_give(sizes, per_variable, activation):
    B, V, M, H, T, steps, N, k, kernel, e_layers = sizes.values()
    state = released_duet.random_state(V, M, 17, T, steps, N, 5, e_layers, seed=B)
    x = draw(B, T, V, seed=B, dtype=torch.float32) * 2 + 1
    e = -torch.rand(B * V * V, 2, generator=torch.Generator().manual_seed(B)).clamp(min=1e-6).log()
    params = {"d_model": M, "n_heads": H, "k": k, "moving_avg": kernel, "activation": activation,
              "enc_in": V, "CI": per_variable, "seq_len": T, "num_experts": N}
    arrays = {"config": np.array(json.dumps({"official": DUET_MODEL, "params": params})),
              **{f"w/{name}": t.numpy() for name, t in state.items()},
              "in/x": x.numpy(), "in/noise_exponential": e.numpy()}
    want, balance, gates = released_duet.forecast(
        {name: t.double() for name, t in state.items()}, x.double(), e.double(), H=H, k=k, kernel=kernel,
        per_variable=per_variable, act=getattr(torch.nn.functional, activation))
    got = replay(arrays)
    assert worst(want.numpy(), got["out/forecast"]) <= 10 * TOLERANCE
    assert worst(gates.numpy(), got["mid/gates"]) <= TOLERANCE
    assert got["out/importance_loss"][0] == pytest.approx(float(balance), abs=1e-5)


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "keys"), [
    ("duet_forecast", ("in/x", "in/noise_exponential", "n_heads", "k", "moving_avg")),
    ("duet_gate_eval", ("in/x", "k", "moving_avg")), ("duet_gate_train_noise", ("in/x", "in/noise", "k")),
    ("duet_mahalanobis_mask", ("in/x", "in/noise_exponential")),
    ("duet_masked_attention", ("in/queries", "in/keys", "in/values", "in/mask"))])
def test_replay_names_an_input_or_a_parameter_that_is_missing(name, keys):
    for key, lacking in without_each(name, keys):
        with pytest.raises(ValueError, match=key.removeprefix("in/")):
            replay(lacking)


def released_state():
    return {name.removeprefix("w/"): torch.from_numpy(a) for name, a in load("duet_forecast.npz").items()
            if name.startswith("w/")}


def test_a_released_checkpoint_moves_bit_by_bit_and_is_right_by_default(tmp_path):
    state, arrays = released_state(), load("duet_forecast.npz")
    torch.save({f"module.{name}": t for name, t in state.items()}, tmp_path / "duet.pth")
    net = load_checkpoint(tmp_path / "duet.pth", model="duet", n_heads=4, k=2, moving_avg=5)
    ours = [t for name, t in net.state_dict().items() if not name.startswith("draws.")]
    assert sum(t.double().sum() for t in ours).item() == pytest.approx(
        sum(t.double().sum() for name, t in state.items() if name not in ("cluster.mean", "cluster.std")).item())
    x = torch.from_numpy(arrays["in/x"])
    assert torch.equal(net(x), net(x))
    off = (net(x) - torch.from_numpy(arrays["out/forecast"])).abs().max()
    assert off > 0.05


def test_a_whole_released_configuration_may_be_passed():
    params = json.loads(str(load("duet_forecast.npz")["config"]))["params"]
    net = load_checkpoint(released_state(), model="duet", **params, **RELEASED)
    x = torch.from_numpy(load("duet_forecast.npz")["in/x"])
    assert not torch.equal(net(x), net(x))


@pytest.mark.bad_input
@pytest.mark.parametrize(("config", "message"), [
    ({"k": 2, "moving_avg": 5}, "H: no weight tells it"), ({"n_heads": 4, "moving_avg": 5}, "k: no weight tells it"),
    ({"n_heads": 4, "k": 2}, "kernel: no weight tells it"),
    ({"n_heads": 4, "k": 2, "moving_avg": 5, "enc_in": 7}, "enc_in: the weights say 5, got 7"),
    ({"n_heads": 4, "k": 9, "moving_avg": 5}, "k: expected 1 to N=4 experts, got 9"),
    ({"n_heads": 4, "k": 2, "moving_avg": 5, "num_expert": 4}, "num_expert: not a setting of this model")])
def test_settings_that_are_missing_or_contradict_the_weights_are_named(config, message):
    with pytest.raises(ValueError, match=message):
        load_checkpoint(released_state(), model="duet", **config)


@pytest.mark.bad_input
def test_a_weight_that_is_missing_is_named():
    state = released_state()
    del state["cluster.experts.2.Linear_Trend.bias"]
    with pytest.raises(ValueError, match=r"missing key 'cluster\.experts\.2\.Linear_Trend\.bias'"):
        load_checkpoint(state, model="duet", n_heads=4, k=2, moving_avg=5)
