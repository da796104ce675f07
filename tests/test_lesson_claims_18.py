"""Claims of lesson 18: the numbers it prints about Fourier blocks, kept bins and FEDformer.

The numbers in the names are those of the claims about the comparison table of the lecture notes.
"""

import math

import pytest
import torch
from forecasters import build, draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.attention import AttentionLayer, scaled_dot_product
from tsattn_mini.datasets import load_bikes
from tsattn_mini.zoo.decomposition import SeasonalNorm, series_decomp
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention, keep_modes, to_modes

SIZES = {"seq_len": 12, "label_len": 6, "pred_len": 4, "V": 5, "M": 8, "H": 4, "d_ff": 16, "kernel": 5, "modes": 4,
         "marks": 0}


def made(cls, *sizes, **more):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return cls(*sizes, **more).double().requires_grad_(False)


def column(x):
    return x[None, :, None, None]


def plain(L, modes, **more):
    block = made(FourierBlock, 1, 1, L, modes, **more)
    block.real.fill_(1)
    block.imag.zero_()
    return block


def moved(f, q, change):
    """How many steps of the output move, and how many of its kept bins."""
    y = f(q + change) - f(q)
    at_bins = torch.stack(to_modes(y, f.modes)).abs().amax((0, 1, 3, 4)) > 1e-9
    return int((y.abs().amax((0, 2, 3)) > 1e-9).sum()), int(at_bins.sum())


def test_47_one_step_reaches_the_whole_window_and_an_average_of_25_reaches_25():
    block, spike = made(FourierBlock, 1, 1, 96, [1, 2, 3, 5]), torch.zeros(96, dtype=torch.float64)
    spike[48] = 1
    assert int((block(column(spike)).abs() > 1e-9).sum()) == 96
    assert int((series_decomp(spike[None, :, None], 25)[1].abs() > 1e-9).sum()) == 25
    x, nudged = draw(1, 96, 1, 1), draw(1, 96, 1, 1) + column(spike)
    pairs = scaled_dot_product(nudged, nudged, nudged) - scaled_dot_product(x, x, x)
    assert int((pairs.abs() > 1e-9).sum()) == 96


def test_48_the_block_is_a_linear_filter_of_the_queries_alone():
    layer, x = made(AttentionLayer, made(FourierBlock, 8, 4, 12, [1, 2, 3, 5]), 8, 4), draw(2, 12, 8)
    with record() as trace:
        layer(x, x)
    q, f = trace["q"].tensor, layer.attend
    assert_close(f(2 * q + q.flip(0)), 2 * f(q) + f(q.flip(0)), rtol=0, atol=1e-12)
    assert torch.equal(f(q, trace["k"].tensor, trace["v"].tensor), f(q))


def test_45_a_changed_step_moves_every_bin_and_a_changed_wave_only_its_own():
    f, q = made(FourierBlock, 8, 4, 12, [1, 2, 3, 5]), draw(2, 12, 4, 2)
    spike = torch.zeros_like(q).index_fill(1, torch.tensor([4]), 1.0)
    tone = column(torch.cos(2 * torch.pi * 3 * torch.arange(12).double() / 12)).expand_as(q)
    assert moved(f, q, spike) == (12, 4)
    assert moved(f, q, tone) == (12, 1)


def test_one_bin_of_four_numbers_on_paper():
    re, im = to_modes(column(torch.tensor([1.0, 2, 3, 4], dtype=torch.float64)), torch.arange(3))
    assert_close(re.flatten(), torch.tensor([10.0, -2, -2], dtype=torch.float64))
    assert_close(im.flatten(), torch.tensor([0.0, 2, 0], dtype=torch.float64), rtol=0, atol=1e-14)


def test_minus_two_i_doubles_a_wave_and_delays_it_by_a_quarter_period():
    block = plain(96, [4])
    block.real.zero_()
    block.imag.fill_(-2)
    clock = 2 * torch.pi * torch.arange(96).double() / 24
    assert_close(block(column(clock.cos())).flatten(), 2 * (clock - torch.pi / 2).cos())


@pytest.mark.parametrize(("L", "below", "kept", "different"), [
    (12, 6, 6, 1), (96, 48, 48, 1), (97, 49, 49, 1), (144, 72, 64, 20), (168, 84, 64, 20), (720, 360, 64, 20)])
def test_48_sixty_four_of_a_window_of_96_steps_is_everything(L, below, kept, different):
    draws = [tuple(keep_modes(L, None, "random", seed).tolist()) for seed in range(20)]
    assert ((L + 1) // 2, len(draws[0]), len(set(draws))) == (below, kept, different)


def test_a_list_that_was_not_stored_changes_the_output_by_more_than_itself():
    first, second = (made(FourierBlock, 64, 8, 96, 8, seed=seed) for seed in (0, 1))
    x = draw(4, 96, 8, 8)
    assert float((second(x) - first(x)).norm() / first(x).norm()) == pytest.approx(math.sqrt(2), abs=0.02)
    second.load_state_dict(first.state_dict())
    assert torch.equal(second(x), first(x))


@pytest.mark.parametrize(("kept", "bin", "released"), [
    ([5, 9], 5, 0), ([5, 20, 40], 5, 0), ([5, 20, 40], 20, 1), ([5, 20, 40], 40, 2), ([0, 1, 2], 2, 2)])
def test_5_20_40_leave_as_0_1_2(kept, bin, released):
    x = column(torch.cos(2 * torch.pi * bin * torch.arange(96).double() / 96))
    for switch, want in ((False, bin), (True, released)):
        found = torch.fft.rfft(plain(96, kept, released_slots=switch)(x), dim=1).abs()
        assert int(found.flatten().argmax()) == want


@pytest.mark.parametrize(("L", "H", "E", "stay"), [(12, 4, 2, 2), (96, 8, 64, 2), (96, 1, 1, 96)])
def test_the_released_view_leaves_two_numbers_in_their_place(L, H, E, stay):
    places = torch.arange(L * H * E).reshape(1, L, H, E)
    assert int((places.permute(0, 2, 3, 1).reshape(places.shape) == places).sum()) == stay
    q = draw(1, 5, 3, 2)
    right, viewed = (made(FourierBlock, 6, 3, 5, released_view=s)(q) for s in (False, True))
    assert torch.equal(right.permute(0, 2, 3, 1).flatten(), viewed.flatten())


def test_values_are_never_read_where_the_keys_stand_in_their_place():
    q, k = draw(2, 10, 4, 2), draw(2, 12, 4, 2, seed=1)
    for released in (False, True):
        v = draw(2, 12, 4, 2, seed=2).requires_grad_()
        net = made(FourierCrossAttention, 8, 4, 10, 12, 4, 4, released_values=released).requires_grad_(True)
        net(q, k, v).square().sum().backward()
        assert (v.grad is None) is released
        assert torch.equal(net(q, k, 2 * v), net(q, k, v)) is released


@pytest.mark.parametrize(("loud", "tanh", "softmax"), [
    (0.01, 0.0, 0.023), (0.03, 0.0, 0.045), (0.1, 0.632, 0.632), (0.3, 0.959, 0.954), (1.0, 0.997, 1.0)])
def test_nothing_divides_so_tanh_becomes_signs_and_softmax_one_bin(loud, tanh, softmax):
    found = {}
    for activation in ("tanh", "softmax"):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            q, k = (loud * torch.randn(1, 96, 1, 64, dtype=torch.float64) for _ in range(2))
            with record() as trace:
                made(FourierCrossAttention, 64, 1, 96, 96, activation=activation)(q, k, k)
        found[activation] = trace["A_re"].tensor
    assert float(trace["QK_re"].tensor.abs().median()) == pytest.approx(375 * loud ** 2, rel=0.002)
    assert float((found["tanh"].abs() > 0.99).double().mean()) == pytest.approx(tanh, abs=0.001)
    assert float(found["softmax"].amax(-1).mean()) == pytest.approx(softmax, abs=0.001)


@pytest.mark.parametrize("M", [8, 64, 512])
def test_the_released_scale_is_a_whisper(M):
    q, k = draw(1, 10, 8, M // 8), draw(1, 12, 8, M // 8, seed=1)
    with record() as trace:
        made(FourierCrossAttention, M, 8, 10, 12, 4, 4, released_scale=True)(q, k, k)
    assert float(trace["Y_re"].tensor.norm() / trace["Y_scaled_re"].tensor.norm()) == pytest.approx(M * M)


def test_a_week_of_bikes_is_sparse_and_a_random_list_does_not_know_where():
    rides = load_bikes().tensor(["rentals"], dtype=torch.float64)[:168 * 52, 0].reshape(52, 168)
    energy = torch.fft.rfft(rides - rides.mean(1, keepdim=True)).abs().square()[:, :84]
    share = energy / energy.sum(1, keepdim=True)
    top = share.mean(0).topk(4)
    assert top.indices.tolist() == [7, 14, 13, 21]
    assert_close(top.values, torch.tensor([0.451, 0.099, 0.052, 0.048], dtype=torch.float64), rtol=0, atol=0.0005)
    assert float(share[:, :8].sum(1).mean()) == pytest.approx(0.535, abs=0.0005)
    assert float(share.topk(8).values.sum(1).mean()) == pytest.approx(0.813, abs=0.0005)
    lists = [keep_modes(168, 8, "random", seed) for seed in range(200)]
    lots = torch.stack([share[:, bins].sum(1).mean() for bins in lists])
    assert [round(float(z), 3) for z in (lots.median(), lots.min(), lots.max())] == [0.042, 0.006, 0.576]
    assert sum(7 in bins for bins in lists) == 15


def test_43_decomposition_keeps_the_spread_and_the_norm_takes_the_mean_over_time():
    noise = draw(1000, 96, 1)
    seasonal, trend = series_decomp(noise, 25)
    assert float(seasonal.std() / noise.std()) == pytest.approx(0.982, abs=0.001)
    assert_close(seasonal + trend, noise, rtol=0, atol=1e-14)
    assert float(made(SeasonalNorm, 8)(draw(4, 96, 8) + 5).mean(1).abs().max()) < 1e-14


def test_44_a_level_is_followed_exactly_a_scale_is_not_and_the_released_view_loses_both():
    x = draw(2, 12, 5)
    for released, follows in ((False, True), (True, False)):
        net = build(FEDformer, **SIZES, released_view=released).requires_grad_(False)
        y = net(x)
        shift, scale = (net(x + 7) - (y + 7)).abs().max(), (net(3 * x) - 3 * y).abs().max()
        assert bool(shift < 1e-13) is follows
        assert bool(shift > 0.01) is not follows
        assert float(scale) > 1


def test_every_input_has_a_gradient_and_432_parameters_have_none():
    net, x = build(FEDformer, **SIZES), draw(2, 12, 5).requires_grad_()
    with record() as trace:
        net(x).square().sum().backward()
    assert [name for name in trace if name.endswith(("mu", "sigma"))] == []
    assert int((x.grad != 0).sum()) == 120
    assert sum(p.numel() for p in net.parameters() if p.grad is None) == 3 * 2 * (64 + 8) == 432


def test_48_the_frequencies_own_most_of_a_layer():
    layer = AttentionLayer(FourierBlock(512, 8, 96), 512, 8)
    assert sum(p.numel() for p in layer.attend.parameters()) == 2 * 48 * 8 * 64 * 64 == 3_145_728
    assert sum(p.numel() for p in FourierCrossAttention(512, 8, 96, 96).parameters()) == 3_145_728
    assert sum(p.numel() for part in (layer.key, layer.value) for p in part.parameters()) == 525_312


def test_a_fixed_number_of_bins_costs_products_in_proportion_to_the_length():
    for L in (96, 384, 1536):
        products = 4 * L * len(keep_modes(L, 32, "random", 0))
        assert products == 128 * L
    assert 4 * 96 * len(keep_modes(96, None, "random", 0)) == 2 * 96 ** 2
