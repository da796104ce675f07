"""The DUET forecaster: what must be true of it whatever its weights."""

import math
import warnings

import pytest
import torch
from forecasters import build, draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.datasets import load_macro
from tsattn_mini.explore.export import compare, export
from tsattn_mini.training import make_task, predict, train
from tsattn_mini.zoo.duet import DUET, balanced_error
from tsattn_mini.zoo.duet.extractor import RevIN, TemporalClusters

SIZES = {"seq_len": 11, "pred_len": 5, "V": 3, "M": 14, "H": 7, "d_ff": 13, "N": 4, "k": 2, "hidden": 6, "kernel": 3}
RELEASED = {"soft": True, "sample_in_eval": True, "sharpened": True, "keep_self": False, "mix_in_eval": False,
            "one_scale": False, "eps": 1e-6}


def duet(seed=0, dtype=torch.float64, **sizes):
    return build(DUET, seed=seed, dtype=dtype, **{**SIZES, **sizes}).eval()


def traced(net, *args, **noise):
    with torch.no_grad(), record() as trace:
        net(*args, **noise)
    return {name: s.tensor for name, s in trace.items()}


def test_the_features_are_the_gated_sum_of_the_experts():
    clusters, x = build(TemporalClusters, T=11, V=3, M=4, N=5, k=2, hidden=7, kernel=3), draw(2, 11, 3)
    got = traced(clusters, x)
    want = torch.zeros(2, 3, 4, dtype=torch.float64)
    with torch.no_grad():
        for b in range(2):
            for v in range(3):
                for n in got["router/kept"][b, v].nonzero()[:, 0].tolist():
                    expert = clusters.experts[n]
                    said = expert.seasonal(got["seasonal"][b, :, v]) + expert.trend(got["trend"][b, :, v])
                    want[b, v] += got["router/gates"][b, v, n] * said
    assert_close(got["features"], want)


def test_an_expert_that_nobody_asked_plays_no_part():
    net, x = duet(V=1), draw(1, 11, 1)
    gates = traced(net, x)["router/gates"]
    idle = int((gates.sum((0, 1)) == 0).nonzero()[0])
    y = net(x)
    with torch.no_grad():
        net.clusters.experts[idle].trend.weight += 100
    assert torch.equal(net(x), y)


def test_evaluation_gives_the_same_twice_and_is_independent_of_the_batch():
    net, x = duet(), draw(6, 11, 3)
    y = net(x)
    assert torch.equal(net(x), y)
    for i in range(6):
        assert_close(net(x[i:i + 1]), y[i:i + 1])


def test_noise_that_is_passed_decides_alone_in_training_and_in_evaluation():
    net, x = duet(), draw(2, 11, 3)
    noise = {"router_noise": draw(2, 3, 4, seed=5), "u": draw(2, 3, 3, seed=6).sigmoid()}
    y = net(x, **noise)
    assert torch.equal(net.train()(x, **noise), y)
    assert net.draws.count == 0


def test_training_draws_from_a_generator_of_its_own_and_a_reload_goes_on_where_it_stopped():
    net, x = duet(seed=0), draw(2, 11, 3)
    net.train()
    a, state = net(x), {name: t.clone() for name, t in net.state_dict().items()}
    torch.manual_seed(123)
    b = net(x)
    assert not torch.equal(a, b)
    other = duet(seed=7).train()
    other.load_state_dict(state)
    assert torch.equal(other(x), b)


def test_released_evaluation_draws_links_anew_on_every_call():
    net, x = duet(**RELEASED), draw(8, 11, 3)
    a, b = net(x), net(x)
    assert not torch.equal(a, b)
    assert_close(traced(net, x)["router/gates"], traced(net, x)["router/gates"])


def test_other_units_of_one_variable_change_experts_and_nothing_else_would():
    """Route by the normalised window instead, and the forecast of 3 x + 7 is 3 times that of x, plus 7."""
    net, x = duet(V=1), draw(300, 11, 1)
    a, b = traced(net, x), traced(net, 3 * x + 7)
    same = (a["router/kept"] == b["router/kept"]).all(-1)[:, 0]
    assert 0.2 < 1 - same.double().mean().item() < 0.9
    assert (3 * a["forecast"] + 7 - b["forecast"])[~same].abs().max() > 0.5
    net.clusters.routed = lambda x: ((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)).mT
    assert_close(net(3 * x + 7), 3 * net(x) + 7, atol=1e-3, rtol=1e-3)


def test_order_of_the_variables_is_only_a_name():
    net, x, order = duet(), draw(4, 11, 3), torch.tensor([2, 0, 1])
    assert_close(net(x[..., order]), net(x)[..., order])


def test_hidden_variables_do_not_reach_a_forecast_and_with_the_soft_mask_they_do():
    x = draw(1, 11, 3)
    only_itself = torch.ones(1, 3, 3, dtype=torch.float64)
    for soft in (False, True):
        net, moved = duet(soft=soft, H=1), x.clone()  # in a head of width 2 the soft mask would be hard
        moved[..., 2] += draw(1, 11, seed=9)
        off = (net(x, u=only_itself) - net(moved, u=only_itself)).abs().amax((0, 1))
        assert (off[:2].max() > 1e-4) == soft
        assert off[2] > 1e-4


@pytest.mark.parametrize("T", [1, 2, 3, 10])
@pytest.mark.parametrize("V", [1, 2, 5])
@pytest.mark.parametrize("per_variable", [True, False])
def test_any_length_and_number_of_variables_with_gradients(T, V, per_variable):
    net = duet(seq_len=T, V=V, per_variable=per_variable, kernel=25)
    for mode in (True, False):
        x = draw(2, T, V).requires_grad_()
        y, balance = net.train(mode).forecast_and_balance(x)
        (y.square().sum() + balance).backward()
        assert y.shape == (2, 5, V)
        assert bool(torch.isfinite(x.grad).all())
        assert all(bool(torch.isfinite(p.grad).all()) for p in net.parameters() if p.grad is not None)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e6])
def test_constant_windows_are_forecast_near_their_level(value):
    net, x = duet(), torch.full((2, 11, 3), value, dtype=torch.float64)
    assert (net(x) - value).abs().max() < 0.1


def test_one_expert_and_all_experts():
    x = draw(2, 11, 3)
    for N, k in ((1, 1), (3, 3)):
        assert bool(torch.isfinite(duet(N=N, k=k)(x)).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_at_any_length(dtype):
    for T in (11, 12):
        net = duet(seq_len=T, dtype=dtype)
        for mode in (True, False):
            y = net.train(mode)(draw(2, T, 3).to(dtype) * 10)
            assert y.dtype == dtype
            assert bool(torch.isfinite(y).all())


def test_the_whole_model_leaves_as_a_graph_with_its_noise_as_inputs():
    net = duet(dtype=torch.float32, seq_len=9)

    def run(x, noise, u):
        net(x, router_noise=noise, u=u)

    inputs = {"x": draw(2, 9, 3, dtype=torch.float32), "noise": draw(2, 3, 4, seed=1, dtype=torch.float32),
              "u": draw(2, 3, 3, seed=2, dtype=torch.float32).sigmoid()}
    shown = ["router/gates", "router/balance", "links/keep", "forecast"]
    graph = export(run, inputs, {}, shown)
    got = traced(net, inputs["x"], router_noise=inputs["noise"], u=inputs["u"])
    compare(graph, iter([("these inputs", inputs, {name: got[name] for name in shown})]))


def test_marks_are_checked_and_not_read():
    net, x = duet(), draw(2, 11, 3)
    y = net(x, draw(2, 11, 4), draw(2, 9, 3), draw(2, 9, 4))
    assert torch.equal(net(x), y)


def test_the_gradient_through_the_statistics_changes_no_parameter():
    gradients = []
    for detach in (False, True):
        net = duet(detach=detach)
        net(draw(2, 11, 3)).square().sum().backward()
        gradients.append([p.grad for p in net.parameters() if p.grad is not None])
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_revin_gives_back_what_it_took_even_where_a_weight_is_zero():
    revin, x = build(RevIN, V=3), draw(2, 11, 3)
    with torch.no_grad():
        revin.weight.copy_(torch.tensor([0.5, -2.0, 0.0]))
        revin.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
    z, mu, sigma = revin(x)
    back = revin.restore(z, mu, sigma)
    assert_close(back[..., :2], x[..., :2])
    assert bool(torch.isfinite(back).all())


def test_training_lowers_the_error_and_pays_for_the_balance():
    task = make_task(load_macro(), ["realgdp", "realcons", "realinv"], seq_len=12, label_len=6, pred_len=4, period=4,
                     stride=3)
    sizes = {"pred_len": 4, "marks": task.sizes["marks"], "M": 16, "H": 2, "d_ff": 32, "hidden": 16, "kernel": 5}
    build_one = lambda: DUET(12, V=3, e_layers=1, **sizes)  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short, longer = (train(build_one, task, 0, epochs=n, loss=balanced_error) for n in (1, 8))
    assert longer.validation < 0.9 * short.validation
    assert predict(longer.model, task.test).shape == task.test.future.shape


@pytest.mark.bad_input
@pytest.mark.parametrize(("sizes", "message"), [
    ({"k": 5}, "k: expected 1 to N=4 experts, got 5"), ({"H": 3}, "H: expected a divisor of the model width M=14"),
    ({"seq_len": 0}, "seq_len: expected at least 1"), ({"pred_len": 0}, "pred_len: expected at least 1"),
    ({"kernel": 0}, "kernel: expected at least 1"), ({"calendar": "moon"}, "calendar: expected None"),
    ({"activation": "tanh"}, "activation: expected one of"), ({"e_layers": 0}, "e_layers: expected at least 1")])
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        DUET(**{**SIZES, **sizes})


@pytest.mark.bad_input
def test_input_that_does_not_fit_is_refused_by_name():
    net, x = duet(), draw(2, 11, 3)
    with pytest.raises(ValueError, match="x_enc: expected axes 'B 11 3'"):
        net(x[:, 1:])
    with pytest.raises(ValueError, match="x_mark_dec: expected marks for both past and decoder"):
        net(x, draw(2, 11, 4))
    with pytest.raises(ValueError, match="x_mark_dec: expected axes 'B 9 4'"):
        net(x, draw(2, 11, 4), draw(2, 9, 3), draw(2, 8, 4))
    with pytest.raises(ValueError, match="noise: expected axes 'B V 4'"):
        net(x, router_noise=draw(2, 3, 3))
    with pytest.raises(ValueError, match="x_enc: expected float64 like the weights, got float32"):
        net(x.float())
    with pytest.raises(ValueError, match="x_enc: expected a tensor, got NoneType"):
        net(None)
    with pytest.raises(ValueError, match="x: expected float64 like the weights, got float32"):
        net.clusters(x.float())
    bad = x.clone()
    bad[1, 4, 2] = math.nan
    with pytest.raises(ValueError, match="x_enc: expected finite numbers, got nan at row 4, column 2 of window 1"):
        net(bad)
