"""The forecaster towards the outside: released checkpoints, graphs, and what it refuses."""

import math
import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from test_golden import load as golden
from test_kite_forecaster import SIZES, draws, model, sample, windows

from tsattn_mini.explore.export import export
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.kite.window import standardise
from tsattn_mini.official import load_checkpoint

# Checkpoints and graphs


@pytest.mark.parametrize("kind", ["inference_future", "inference_nofuture", "cfg_sample_future"])
def test_a_released_state_dict_is_loaded_dead_parameters_and_all(kind):
    arrays = golden(f"kite_{kind}.npz")
    state = {key[2:]: torch.from_numpy(a) for key, a in arrays.items() if key.startswith("w/")}
    net = load_checkpoint(state, "kite", n_heads=4)
    assert (net.T, net.F, net.D, net.field.second_door) == (12, 4, 3, not kind.endswith("nofuture"))
    assert not net.training
    assert net.norm == "softmax"
    dead = sum(t.numel() for name, t in state.items() if "res_blocks" in name or "prior_bias" in name)
    assert sum(p.numel() for p in net.parameters()) == sum(t.numel() for t in state.values()) - dead
    assert dead > 700


@pytest.mark.bad_input
def test_a_checkpoint_that_does_not_fit_is_refused():
    arrays = golden("kite_inference_future.npz")
    state = {key[2:]: torch.from_numpy(a) for key, a in arrays.items() if key.startswith("w/")}
    with pytest.raises(ValueError, match=r"H: no weight tells it.*released name n_heads"):
        load_checkpoint(state, "kite")
    with pytest.raises(ValueError, match="horizon: the weights say 4, got 9"):
        load_checkpoint(state, "kite", n_heads=4, horizon=9)
    with pytest.raises(ValueError, match=r"unknown key 'net\.more'"):
        load_checkpoint(state | {"flow_matching.net.more": torch.ones(1)}, "kite", n_heads=4)


def test_the_whole_sampler_leaves_as_a_graph():
    net = model(depth=1).float()
    x_endo, x_exo, y_exo = windows(net, B=1, dtype=torch.float32)
    given = draws(net, 3)

    def fn(x_endo, omega, steps):
        net.sample(x_endo, x_exo, y_exo, n_samples=3, steps=steps, at_most=3, omega=omega, **given)

    inputs = {"x_endo": x_endo, "omega": torch.tensor(0.7), "steps": torch.tensor(2.0)}
    session = onnxruntime.InferenceSession(export(fn, inputs, {}, ["samples"]))
    for omega, steps in ((0.7, 3), (0.0, 1), (1.0, 3), (-1.0, 2)):
        inputs |= {"omega": torch.tensor(omega), "steps": torch.tensor(float(steps))}
        (got,) = session.run(None, {f"in/{k}": v.numpy() for k, v in inputs.items()})
        want = sample(net, (x_endo, x_exo, y_exo), n_samples=3, steps=steps, omega=omega, **given).numpy()
        assert np.abs(got - want).max() < 1e-5 * np.abs(want).max()


# Bad input


@pytest.mark.bad_input
@pytest.mark.parametrize(("options", "message"), [
    ({"norm": "sum"}, r"norm: expected one of \('none', 'max', 'minmax', 'softmax'\), got 'sum'"),
    ({"loss": "mse"}, r"loss: expected one of \('l2', 'l1'\), got 'mse'"),
    ({"p_uncond": 1.5}, r"p_uncond: expected a share between 0 and 1, got 1\.5"),
    ({"F": 1, "source": {"form": "released"}}, "form: 'released' divides by a deviation over the horizon"),
    ({"D": 0}, "D: expected at least 1, got 0"),
])
def test_a_model_that_cannot_be_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KITE(**{**SIZES, **options})


@pytest.mark.bad_input
def test_what_does_not_fit_is_refused_before_anything_is_computed():
    net, bare = model(), model(future=False)
    x_endo, x_exo, y_exo = windows(net)
    huge = torch.tensor(1e200, dtype=torch.float64)
    cases = [
        (net, (x_endo, x_exo), {}, "y_exo: a model built with future=True needs exogenous futures, got None"),
        (bare, (x_endo, x_exo, y_exo), {}, "y_exo: a model built with future=False reads no exogenous futures"),
        (net, (x_endo[:, :-1], x_exo, y_exo), {}, r"x_endo: expected axes 'B 11 N', got shape \(2, 10, 1\)"),
        (net, (x_endo, x_exo[:1], y_exo), {}, "x_exo: expected axes 'B 11 3' with B=2"),
        (net, (x_endo, x_exo[..., :0], y_exo), {}, "x_exo: expected at least one entry along every axis"),
        (net, (x_endo, x_exo, y_exo + torch.nan), {}, "y_exo: expected finite numbers, got nan at row 0, column 0"),
        (net, (x_endo, x_exo, y_exo), {"n_samples": 0}, "n_samples: expected at least 1, got 0"),
        (net, (x_endo, x_exo, y_exo), {"steps": 0}, "steps: expected a whole number of at least 1, got 0"),
        (net, (x_endo, x_exo, y_exo), {"S": torch.full((2, 1, 3), 1.5).double()}, "S: expected entries between 0"),
        (net, (x_endo, x_exo, y_exo), {"omega": math.nan}, "omega: expected a finite number, got nan"),
        (net, (x_endo, x_exo, y_exo), {"eps": huge.expand(20, 5)}, "^z, eps: expected numbers that stay within"),
        (net, (x_endo, x_exo, y_exo), {"z": torch.zeros(3, 2).double()}, "z: expected axes 'B 2' with B=20, got shape"),
    ]
    for m, x, given, message in cases:
        with pytest.raises(ValueError, match=message), warnings.catch_warnings():
            warnings.simplefilter("error")
            m.sample(*x, **given)
    with pytest.raises(ValueError, match="y_endo: expected axes 'B 5 N' with B=2, N=1, got shape"):
        net.loss(x_endo, x_exo, y_exo, torch.ones(2, 4, 1, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"^z, eps: expected numbers that stay within the range of float64"):
        net.loss(x_endo, x_exo, y_exo, torch.ones(2, 5, 1).double(), z=huge.expand(2, 2))
    with pytest.raises(ValueError, match=r"^y_endo: expected numbers that stay within the range of float64"):
        net.loss(x_endo, x_exo, y_exo, huge.expand(2, 5, 1))
    with pytest.raises(ValueError, match="x: expected at least 2 steps of the past"):
        standardise(torch.ones(1, 1, 1))
