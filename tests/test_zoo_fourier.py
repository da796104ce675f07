"""FEDformer's two blocks: plain loops, limits, the released placement, lengths, dtypes, export, refusals."""

import cmath
import math

import numpy as np
import onnxruntime
import pytest
import torch
from forecasters import draw
from torch.testing import assert_close

from tsattn_mini import record, scope
from tsattn_mini.attention import AttentionLayer
from tsattn_mini.explore.export import difference, export
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention, below_nyquist, keep_modes


def made(cls, *sizes, seed=0, dtype=torch.float64, **more):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return cls(*sizes, **more).to(dtype).requires_grad_(False)


def identity(block):
    """Give every kept bin the matrix 1."""
    block.real.copy_(torch.eye(block.real.shape[-1]).expand_as(block.real))
    block.imag.zero_()
    return block


def tone(L, bin, phase=0.3):
    return torch.cos(2 * torch.pi * bin * torch.arange(L, dtype=torch.float64) / L + phase)[None, :, None, None]


def spectrum(y):
    return torch.fft.rfft(y, dim=1).abs()[0, :, 0, 0]


# Loops


def transform(x, bins):
    """Bin by bin and step by step: x is a list over time."""
    return [sum(x[t] * cmath.exp(-2j * math.pi * j * t / len(x)) for t in range(len(x))) for j in bins]


def back(X, bins, L):
    """Sum the kept bins and their mirror images."""
    y = []
    for t in range(L):
        waves = {j: X_j * cmath.exp(2j * math.pi * j * t / L) for j, X_j in zip(bins, X, strict=True)}
        y.append(sum((1 if 2 * j % L == 0 else 2) * w.real for j, w in waves.items()) / L)
    return y


def matrices(block):
    return torch.complex(block.real, block.imag).tolist()


@pytest.mark.parametrize(("L", "modes", "slots"), [
    (7, [1, 3], False), (10, [0, 2, 3], False), (10, [2, 5], False), (11, [3, 5], True), (1, [0], False)])
def test_the_block_equals_plain_loops(L, modes, slots):
    block, q = made(FourierBlock, 6, 3, L, modes, released_slots=slots), draw(2, L, 3, 2)
    W, got = matrices(block), block(q)
    for b in range(2):
        for h in range(3):
            X = [transform(q[b, :, h, e].tolist(), modes) for e in range(2)]
            for d in range(2):
                Y = [sum(X[e][j] * W[j][h][e][d] for e in range(2)) for j in range(len(modes))]
                y = back(Y, range(len(modes)) if slots else modes, L)
                assert_close(got[b, :, h, d], torch.tensor(y, dtype=q.dtype))


def bent(row, activation):
    if activation == "tanh":
        return [complex(math.tanh(z.real), math.tanh(z.imag)) for z in row]
    odds = [math.exp(abs(z)) for z in row]
    return [o / sum(odds) for o in odds]


@pytest.mark.parametrize("activation", ["tanh", "softmax"])
@pytest.mark.parametrize("released", [False, True])
def test_the_cross_attention_equals_plain_loops(activation, released):
    H, E, L, S, modes, modes_kv = 3, 2, 7, 11, [0, 3], [1, 2, 5]
    net = made(FourierCrossAttention, H * E, H, L, S, modes, modes_kv, activation=activation,
               released_values=released, released_scale=released)
    q, k, v = (0.3 * draw(2, n, H, E, seed=s) for s, n in enumerate((L, S, S)))
    W, got = matrices(net), net(q, k, v)
    for b in range(2):
        for h in range(H):
            Q, K, V = ([transform(x[b, :, h, e].tolist(), bins) for e in range(E)]
                       for x, bins in ((q, modes), (k, modes_kv), (k if released else v, modes_kv)))
            A = [bent([sum(Q[e][j] * K[e][i] for e in range(E)) for i in range(3)], activation) for j in range(2)]
            X = [[sum(A[j][i] * V[e][i] for i in range(3)) for j in range(2)] for e in range(E)]
            for d in range(E):
                Y = [sum(X[e][j] * W[j][h][e][d] for e in range(E)) / (36 if released else 1) for j in range(2)]
                assert_close(got[b, :, h, d], torch.tensor(back(Y, modes, L), dtype=q.dtype))


# Limits


@pytest.mark.parametrize("L", [1, 2, 3, 4, 11, 12, 96, 97])
def test_all_modes_and_the_matrix_one_are_the_identity_below_nyquist(L):
    x = draw(2, L, 3, 2)
    y = identity(made(FourierBlock, 6, 3, L, below_nyquist(L)))(x)
    X = torch.fft.rfft(x, dim=1)
    if L % 2 == 0:
        X[:, L // 2] = 0
    assert_close(y, torch.fft.irfft(X, n=L, dim=1), rtol=0, atol=1e-12)
    if L % 2:
        assert_close(y, x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("L", [2, 12, 96])
def test_the_nyquist_bin_may_be_kept_by_name(L):
    x = draw(2, L, 3, 2)
    assert_close(identity(made(FourierBlock, 6, 3, L, range(L // 2 + 1)))(x), x, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kept", "bin"), [([5, 9], 5), ([5, 9], 9), ([5, 20, 40], 20), ([5, 20, 40], 40)])
def test_a_kept_tone_leaves_at_its_own_bin(kept, bin):
    x = tone(96, bin)
    assert_close(identity(made(FourierBlock, 1, 1, 96, kept))(x), x, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kept", "bin", "leaves"), [
    ([5, 9], 5, 0), ([5, 9], 9, 1), ([5, 20, 40], 5, 0), ([5, 20, 40], 20, 1), ([5, 20, 40], 40, 2), ([0, 1, 2], 2, 2)])
def test_17_as_released_the_nth_kept_bin_leaves_at_bin_n(kept, bin, leaves):
    found = spectrum(identity(made(FourierBlock, 1, 1, 96, kept, released_slots=True))(tone(96, bin)))
    assert int(found.argmax()) == leaves
    assert float(found.sum() - found.max()) < 1e-11


def test_a_tone_that_is_not_kept_leaves_nothing():
    assert float(made(FourierBlock, 1, 1, 96, [5, 9])(tone(96, 7)).abs().max()) < 1e-13


def test_the_released_view_keeps_the_numbers_and_loses_their_places():
    q, plain = draw(2, 12, 4, 2), made(FourierBlock, 8, 4, 12, 4)
    viewed = made(FourierBlock, 8, 4, 12, 4, released_view=True)
    assert_close(viewed(q).flatten(1), plain(q).permute(0, 2, 3, 1).flatten(1))
    assert not torch.allclose(viewed(q), plain(q))
    assert_close(*(made(FourierBlock, 1, 1, 12, 4, released_view=released)(q[:, :, :1, :1])
                   for released in (False, True)))


def test_softmax_rows_sum_to_one_and_tanh_rows_need_not():
    q, k = draw(2, 12, 3, 2), draw(2, 11, 3, 2, seed=1)
    for activation, is_one in (("softmax", True), ("tanh", False)):
        with record() as trace:
            made(FourierCrossAttention, 6, 3, 12, 11, activation=activation)(q, k, k)
        total = trace["A_re"].tensor.sum(-1)
        assert torch.allclose(total, torch.ones_like(total)) is is_one


def test_values_matter_unless_the_keys_stand_in_their_place():
    q, k, v = draw(2, 12, 3, 2), draw(2, 11, 3, 2, seed=1), draw(2, 11, 3, 2, seed=2)
    for released in (False, True):
        net = made(FourierCrossAttention, 6, 3, 12, 11, released_values=released)
        assert torch.equal(net(q, k, v), net(q, k, -v)) is released


def test_the_released_scale_divides_by_the_width_twice():
    q, k = draw(2, 12, 3, 2), draw(2, 11, 3, 2, seed=1)
    plain, scaled = (made(FourierCrossAttention, 6, 3, 12, 11, released_scale=s)(q, k, k) for s in (False, True))
    assert_close(scaled * 36, plain)


def test_each_window_stands_alone():
    block, cross = made(FourierBlock, 6, 3, 11), made(FourierCrossAttention, 6, 3, 11, 7)
    q, k = draw(3, 11, 3, 2), draw(3, 7, 3, 2, seed=1)
    for b in range(3):
        one = slice(b, b + 1)
        assert_close(block(q)[one], block(q[one]), rtol=0, atol=1e-13)
        assert_close(cross(q, k, k)[one], cross(q[one], k[one], k[one]), rtol=0, atol=1e-13)


def test_a_series_turned_round_its_end_comes_out_turned():
    block, q = made(FourierBlock, 6, 3, 11), draw(2, 11, 3, 2)
    assert_close(block(q.roll(4, 1)), block(q).roll(4, 1))


# Which bins


@pytest.mark.parametrize("L", [1, 2, 3, 12, 13, 96, 97, 192])
def test_bins_are_different_below_nyquist_and_in_order(L):
    for seed in range(5):
        for count in {1, below_nyquist(L), min(5, below_nyquist(L))}:
            bins = keep_modes(L, count, "random", seed).tolist()
            assert len(bins) == len(set(bins)) == count
            assert bins == sorted(bins)
            assert bins[0] >= 0
            assert 2 * bins[-1] < L
    assert keep_modes(L, below_nyquist(L), "low", 0).tolist() == list(range((L + 1) // 2))


def test_queries_and_keys_of_one_length_keep_bins_of_their_own():
    cross = FourierCrossAttention(6, 3, 96, 96, 8, 8)
    assert not torch.equal(cross.modes, cross.modes_kv)


def test_left_out_modes_are_sixty_four_or_all():
    assert len(keep_modes(144, None, "random", 0)) == 64
    assert keep_modes(96, None, "random", 0).tolist() == list(range(48))


def test_18_a_reload_gives_the_same_model_whatever_was_drawn():
    for cls, sizes in ((FourierBlock, (6, 3, 30)), (FourierCrossAttention, (6, 3, 30, 30))):
        first, other = made(cls, *sizes, 4, seed=1), cls(*sizes, 4, seed=2).double().requires_grad_(False)
        args = [draw(2, 30, 3, 2, seed=s) for s in range(3)]
        assert not torch.equal(first.modes, other.modes)
        assert "modes" in first.state_dict()
        other.load_state_dict(first.state_dict())
        assert torch.equal(other(*args), first(*args))


def test_18_the_draw_has_a_generator_of_its_own():
    torch.manual_seed(1)
    first = keep_modes(96, 8, "random", 0)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    assert torch.equal(keep_modes(96, 8, "random", 0), first)
    assert not torch.equal(keep_modes(96, 8, "random", 1), first)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), state)


# Lengths, heads, number range


@pytest.mark.parametrize(("L", "S"), [(1, 1), (2, 1), (1, 2), (2, 2), (3, 7), (192, 5), (97, 96)])
@pytest.mark.parametrize(("M", "H"), [(1, 1), (6, 1), (6, 6), (15, 5)])
def test_short_odd_and_unequal_lengths_and_any_number_of_heads(L, S, M, H):
    q, k = draw(2, L, H, M // H), draw(2, S, H, M // H, seed=1)
    for y in (made(FourierBlock, M, H, L)(q), made(FourierCrossAttention, M, H, L, S)(q, k, k)):
        assert y.shape == (2, L, H, M // H)
        assert bool(y.isfinite().all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("L", [8, 12, 96, 97, 192])
def test_20_half_precision_at_lengths_that_are_no_power_of_two(L, dtype):
    q, k = (50 * draw(2, L, 3, 2)).to(dtype), (50 * draw(2, 7, 3, 2, seed=1)).to(dtype)
    for net, args in ((made(FourierBlock, 6, 3, L), (q,)), (made(FourierCrossAttention, 6, 3, L, 7), (q, k, k))):
        wide = net.to(dtype).double()(*(a.double() for a in args))
        got = net.to(dtype)(*args)
        assert got.dtype == dtype
        assert float((got - wide).abs().max() / wide.abs().max()) < 2 * torch.finfo(dtype).eps


def test_gradients_are_finite_even_where_the_softmax_sees_zero():
    net = made(FourierCrossAttention, 6, 3, 12, 11, activation="softmax").requires_grad_(True)
    k = torch.zeros(2, 11, 3, 2, dtype=torch.float64, requires_grad=True)
    net(draw(2, 12, 3, 2), k, k).sum().backward()
    assert bool(k.grad.isfinite().all())


# The graph


def test_both_blocks_are_exported_and_give_the_same_numbers():
    block = made(FourierBlock, 6, 3, 11, 3, dtype=torch.float32)
    nets = {a: made(FourierCrossAttention, 6, 3, 7, 11, activation=a, dtype=torch.float32) for a in ("tanh", "softmax")}

    def fn(q, k):
        with scope("block"):
            block(k)
        for name, net in nets.items():
            with scope(name):
                net(q, k, k)

    inputs = {"q": draw(2, 7, 3, 2, dtype=torch.float32), "k": draw(2, 11, 3, 2, seed=1, dtype=torch.float32)}
    with record() as trace:
        fn(**inputs)
    shown = list(trace)
    session = onnxruntime.InferenceSession(export(fn, inputs, {}, shown))
    moved = {name: x.roll(1, 1) * 1.5 for name, x in inputs.items()}
    with record() as trace:
        fn(**moved)
    for name, got in zip(shown, session.run(None, {f"in/{n}": x.numpy() for n, x in moved.items()}), strict=True):
        assert difference(trace[name].tensor, torch.from_numpy(got)) < 1e-5, name


def test_every_step_says_what_it_is():
    with record() as trace:
        made(FourierCrossAttention, 6, 3, 7, 11, released_scale=True, released_view=True)(
            draw(2, 7, 3, 2), draw(2, 11, 3, 2), draw(2, 11, 3, 2))
    assert [name for name in trace if not (trace[name].eq and trace[name].note)] == []
    assert trace["QK_re"].axes == "B H J I"


# Refusals


@pytest.mark.bad_input
@pytest.mark.parametrize(("more", "says"), [
    ({"modes": 49}, "modes: expected 1 to 48, the bins below Nyquist of L=96 steps, got 49"),
    ({"modes": 0}, "modes: expected 1 to 48"), ({"modes": [5, 49]}, "bins from 0 to L // 2 = 48 .*49"),
    ({"modes": [9, 5]}, "rising order"), ({"modes": [5, 5]}, "different bins"), ({"modes": [-1]}, "bins from 0"),
    ({"modes": []}, r"got \[\]"), ({"draw": "lowest"}, "draw: expected 'random' or 'low', got 'lowest'"),
    ({"modes": 3.5}, r"modes: expected different bins .* got \[3\.5\]"), ({"modes": [1.5]}, r"got \[1\.5\]"),
    ({"modes": True}, r"got \[True\]"), ({"modes": "23"}, r"modes: .* got \['2', '3'\]"),
    ({"seed": None}, "seed: expected a whole number, got None"), ({"seed": 0.5}, "seed: .* got 0.5"),
    ({"M": 0}, "M: expected a whole number of at least 1, got 0"), ({"M": 8.0}, "M: expected a whole .* got 8.0"),
    ({"L": 0}, "L: expected a whole number of at least 1, got 0"), ({"L": 9.5}, "L: expected a whole .* got 9.5"),
    ({"H": 2.0}, "H: expected a divisor of the model width M=512, got 2.0"),
    ({"H": 7}, "H: expected a divisor of the model width M=512, got 7"), ({"H": 0}, "H: expected a divisor")])
def test_16_sizes_that_do_not_fit_are_named(more, says):
    for cls, lengths in ((FourierBlock, {"L": 96}), (FourierCrossAttention, {"L": 96, "S": 96})):
        with pytest.raises(ValueError, match=says):
            cls(**{"M": 512, "H": 8, **lengths, **more})
    with pytest.raises(ValueError, match="activation: expected one of"):
        FourierCrossAttention(8, 4, 7, 7, activation="relu")
    with pytest.raises(ValueError, match="S: expected a whole number of at least 1, got 0"):
        FourierCrossAttention(8, 4, 7, 0)


@pytest.mark.bad_input
def test_tensors_that_do_not_fit_are_named_before_anything_is_computed():
    block, cross, x = made(FourierBlock, 6, 3, 11), made(FourierCrossAttention, 6, 3, 11, 7), draw(2, 11, 3, 2)
    for q in (x[:, :7], x[:, :, :2], x[0]):
        with pytest.raises(ValueError, match="q: expected axes"):
            block(q)
    with pytest.raises(ValueError, match="k: expected axes"):
        cross(x, x, x)
    with pytest.raises(ValueError, match="v: expected axes"):
        cross(x, x[:, :7], x[:1, :7])
    for q in (x.long(), x > 0, x.to(torch.complex64)):
        with pytest.raises(ValueError, match=r"q: expected (floating-point|real) numbers, got"):
            block(q)
    with pytest.raises(ValueError, match="q: expected a tensor, got NoneType"):
        block(None)
    for name, args in (("q", (None, x, x)), ("k", (x, None, x)), ("v", (x, x[:, :7], None))):
        with pytest.raises(ValueError, match=f"{name}: expected a tensor, got NoneType"):
            cross(*args)
    with pytest.raises(ValueError, match="k: expected float64 like q, got float32"):
        cross(x, x[:, :7].float(), x[:, :7])


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_entries_that_are_not_finite_are_named(bad):
    block, cross = made(FourierBlock, 6, 3, 11, [0]), made(FourierCrossAttention, 6, 3, 11, 7, [0], [0])
    x = draw(2, 11, 3, 2)
    spoiled = x.clone()
    spoiled[1, 3, 2, 0] = bad
    with pytest.raises(ValueError, match=r"q: expected finite numbers, got (nan|inf) at index \(1, 3, 2, 0\)"):
        block(spoiled)
    for name, at in (("q", 0), ("k", 1), ("v", 2)):
        args = [x, x[:, :7], x[:, :7]]
        args[at] = spoiled[:, :args[at].shape[1]]
        with pytest.raises(ValueError, match=f"{name}: expected finite numbers"):
            cross(*args)


@pytest.mark.bad_input
def test_an_overflow_is_named_and_never_a_nan():
    block, x = made(FourierBlock, 6, 3, 11, dtype=torch.float32), draw(2, 11, 3, 2, dtype=torch.float32)
    with pytest.raises(ValueError, match="expected numbers that stay within the range of float32, got an overflow"):
        block(x.sign() * 3e38)
    cross = made(FourierCrossAttention, 6, 3, 11, 11, activation="softmax", dtype=torch.float32)
    with pytest.raises(ValueError, match="got an overflow"):
        cross(x * 1e30, x * 1e30, x)


def test_18_the_layer_around_keeps_the_bins_with_its_weights():
    layer = AttentionLayer(FourierBlock(6, 3, 30, 4, seed=5), 6, 3)
    other = AttentionLayer(FourierBlock(6, 3, 30, 4, seed=6), 6, 3)
    other.load_state_dict(layer.state_dict())
    x = draw(2, 30, 6, dtype=torch.float32)
    assert torch.equal(other(x, x), layer(x, x))


@pytest.mark.bad_input
def test_modes_and_seeds_may_be_numpys_or_torchs():
    wanted = keep_modes(24, 4, "random", 3).tolist()
    for modes in (np.int64(4), torch.tensor(4), np.array(4), wanted, torch.tensor(wanted), np.array(wanted)):
        assert keep_modes(24, modes, "random", np.int64(3)).tolist() == wanted


@pytest.mark.bad_input
@pytest.mark.parametrize("modes", [torch.ones(2, 2), torch.tensor([1.5]), np.array([[1]]), "4", {}])
def test_modes_that_are_no_bins_are_refused(modes):
    with pytest.raises(ValueError, match=r"^modes: expected different bins from 0 to L // 2 = 12 in rising order, got"):
        keep_modes(24, modes, "random", 0)
