"""What the table of lesson 21 says of all forecasters at once, each on the same small windows."""

import pytest
import torch
from forecasters import draw
from forecasters import inputs as windows
from torch.testing import assert_close

from tsattn_mini.nonstationary import StationarizedTransformer
from tsattn_mini.results.zoo import ENCODER_ONLY, MODELS

ALL = {**MODELS, "stationarized": StationarizedTransformer}
TOY = {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 5}
OWN = {"Non-stationary": {"p_hidden": (16,)}, "TimeXer": {"patch_len": 4}, "DUET": {"hidden": 16}}
FOLLOW = {"iTransformer", "TimeXer", "stationarized"}
CAUSAL = {"Transformer", "stationarized", "Non-stationary", "Informer"}
NO_MASK = {"Autoformer", "FEDformer"}


def build(name, seed=0, **sizes):
    arguments = {"M": 8, "H": 2, "d_ff": 16, **TOY, **OWN.get(name, {}), **sizes}
    if name in ENCODER_ONLY:
        del arguments["label_len"]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return ALL[name](**arguments).double().eval()


def forecast(model, x, args):
    with torch.no_grad():
        return model(x, *args[1:])


@pytest.mark.parametrize("name", ALL)
def test_units_are_followed_by_those_that_normalise_and_let_no_level_in_elsewhere(name):
    model, args = build(name), windows(B=4)
    x = args[0]
    gap = (forecast(model, 3 * x + 7, args) - (3 * forecast(model, x, args) + 7)).abs().max()
    assert (gap < 2e-3) if name in FOLLOW else (gap > 0.1), gap


def test_units_of_one_variable_alone_are_followed_too_where_windows_are_normalised_one_by_one():
    args, scale, level = windows(B=3), draw(5, seed=7).exp(), draw(5, seed=8)
    for name in FOLLOW:
        model = build(name)
        want = scale * forecast(model, args[0], args) + level
        assert_close(forecast(model, scale * args[0] + level, args), want, rtol=0, atol=2e-3)


def test_duet_follows_units_once_its_router_and_its_links_are_blind():
    model, args = build("DUET", V=1), windows(B=3, V=1)
    apart = lambda: (forecast(model, 3 * args[0] + 7, args) - 3 * forecast(model, args[0], args) - 7).abs().max()  # noqa: E731
    assert apart() > 0.01, "one variable has no links: this is the router"
    with torch.no_grad():
        model.clusters.router.scores.down.weight.zero_()
    assert apart() < 2e-3


def test_the_level_rides_through_decomposition_and_the_rest_does_not():
    for name in NO_MASK:
        model, args = build(name), windows(B=4)
        higher = forecast(model, args[0] + 1000, args) - forecast(model, args[0], args)
        assert (higher - 1000).abs().max() < 20, "the trend carries the level, whatever the weights do"
    for name in ("Transformer", "Informer"):
        model, args = build(name), windows(B=4)
        higher = forecast(model, args[0] + 1000, args) - forecast(model, args[0], args)
        assert higher.abs().max() < 20, "the layer norms hide the level, and the output never sees it"


@pytest.mark.parametrize("name", ALL)
def test_each_window_is_forecast_as_if_it_were_alone(name):
    model, args = build(name), windows(B=3)
    together = forecast(model, args[0], args)
    for b in range(3):
        alone = [a[b:b + 1] for a in args]
        assert_close(forecast(model, alone[0], alone), together[b:b + 1])


@pytest.mark.parametrize("name", ALL)
def test_a_forecast_is_the_same_twice_and_after_a_reload(name):
    model, other, args = build(name, seed=1), build(name, seed=2), windows()
    first = forecast(model, args[0], args)
    assert torch.equal(forecast(model, args[0], args), first)
    assert not torch.equal(forecast(other, args[0], args), first)
    other.load_state_dict(model.state_dict())
    assert torch.equal(forecast(other, args[0], args), first)


@pytest.mark.parametrize("name", ALL)
def test_a_step_hears_of_later_steps_only_where_nothing_promises_otherwise(name):
    model, (x, past, x_dec, marks) = build(name), windows()
    marks = marks.clone().requires_grad_()
    model(x, past, x_dec, marks)[:, 0].sum().backward()
    if name in ENCODER_ONLY:
        assert marks.grad is None, "there is no decoder to read them"
        return
    later = marks.grad[:, TOY["label_len"] + 1:].abs().max()
    assert (later == 0) if name in CAUSAL else (later > 1e-6)
    assert marks.grad[:, TOY["label_len"]].abs().max() > 1e-6, "its own marks are read"


@pytest.mark.parametrize("sizes", [
    {"H": 1}, {"V": 1}, {"H": 1, "V": 1}, {"seq_len": 1, "label_len": 1, "pred_len": 1},
    {"seq_len": 1, "label_len": 0, "pred_len": 2}, {"seq_len": 2, "label_len": 1, "pred_len": 1},
    {"seq_len": 2, "label_len": 0, "pred_len": 1, "V": 1, "H": 1}, {"seq_len": 7, "label_len": 3, "pred_len": 5}],
    ids=str)
@pytest.mark.parametrize("name", ALL)
def test_one_head_one_variable_and_the_shortest_windows_give_finite_forecasts(name, sizes):
    shape = {**TOY, **sizes}
    if name == "TimeXer":
        sizes = {**sizes, "patch_len": min(4, shape["seq_len"])}
    y = forecast(build(name, **sizes), *(lambda a: (a[0], a))(windows(**shape)))
    assert y.shape == (2, shape["pred_len"], shape["V"])
    assert torch.isfinite(y).all()


@pytest.mark.bad_input
@pytest.mark.parametrize("name", ALL)
def test_every_model_names_a_size_that_is_no_whole_number_and_a_window_of_another_kind(name):
    for size in ("seq_len", "pred_len", "V", "e_layers"):
        with pytest.raises(ValueError, match=rf"^{size}: expected a whole number, got 2\.0"):
            build(name, **{size: 2.0})
    model, (x, *args) = build(name), windows()
    for wrong, got in ((x.float(), "float32"), (x.half(), "float16"), (x.long(), "int64"), (x > 0, "bool")):
        with pytest.raises(ValueError, match=rf"^x_enc: expected .*, got {got}"):
            model(wrong, *args)
    with pytest.raises(ValueError, match=r"^x_enc: expected a tensor, got NoneType"):
        model(None, *args)
