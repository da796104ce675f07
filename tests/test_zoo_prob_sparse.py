"""ProbSparse attention: plain loops, its limit of full attention, hidden keys, random keys, edges, refusals."""

import math

import pytest
import torch
from forecasters import draw

from tsattn_mini import record
from tsattn_mini.attention import causal, scaled_dot_product
from tsattn_mini.explore.export import compare, export
from tsattn_mini.zoo.informer import ProbSparse, prob_sparse, sample_keys, sample_size, sparsity

close = torch.testing.assert_close


def heads(B=2, L=7, S=7, H=3, E=5, W=2, dtype=torch.float64):
    shapes = (B, L, H, E), (B, S, H, E), (B, S, H, W)
    return tuple(draw(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes))


def keys(L, S, U, seed=0):
    return sample_keys(L, S, U, torch.Generator().manual_seed(seed))


def by_loops(q, k, v, index, u, masked):
    B, L, H, E = q.shape
    out = torch.zeros(B, L, H, v.shape[-1], dtype=v.dtype)
    for b in range(B):
        for h in range(H):
            seen = [i + 1 if masked else k.shape[1] for i in range(L)]
            M = []
            for i in range(L):
                met = [float(q[b, i, h] @ k[b, j, h]) for j in index[i].tolist() if j < seen[i]]
                M.append(max(met) - sum(met) / len(met) if met else -math.inf)
            chosen = sorted(range(L), key=lambda i: -M[i])[:u]
            for i in range(L):
                if i in chosen:
                    scores = [float(q[b, i, h] @ k[b, j, h]) / math.sqrt(E) for j in range(seen[i])]
                    weights = [math.exp(s) for s in scores]
                else:
                    weights = [1.0] * seen[i]
                for j, w in enumerate(weights):
                    out[b, i, h] += w / sum(weights) * v[b, j, h]
    return out


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("L", "S", "U", "u"), [(7, 7, 3, 2), (7, 7, 1, 1), (11, 11, 5, 8), (3, 13, 4, 2),
                                                (13, 3, 2, 5)])
def test_equals_plain_loops(L, S, U, u, masked):
    q, k, v = heads(L=L, S=S)
    index, mask = keys(L, S, U), None
    if masked:
        L = S = min(L, S)
        q, k, v, index, mask = q[:, :L], k[:, :S], v[:, :S], index[:L] % S, causal(L)
    u = min(u, L)
    close(prob_sparse(q, k, v, index, u=u, mask=mask), by_loops(q, k, v, index, u, masked))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("B", "L", "S", "H", "E"), [
    (2, 12, 12, 4, 2), (3, 7, 11, 5, 3), (1, 1, 1, 1, 1), (2, 2, 5, 1, 4), (2, 33, 33, 3, 17), (4, 96, 96, 2, 8)])
def test_every_query_chosen_is_full_attention_to_the_last_bit(dtype, B, L, S, H, E):
    q, k, v = heads(B, L, S, H, E, dtype=dtype)
    assert torch.equal(prob_sparse(q, k, v, keys(L, S, 3), u=L), scaled_dot_product(q, k, v))
    if L == S:
        assert torch.equal(prob_sparse(q, k, v, keys(L, S, 3), u=L, mask=causal(L)),
                           scaled_dot_product(q, k, v, causal(L)))


@pytest.mark.parametrize("u", [1, 4, 12])
@pytest.mark.parametrize("peek", [False, True])
def test_no_value_and_no_score_of_a_hidden_key_reaches_an_earlier_row(u, peek):
    q, k, v = heads(B=1, L=12, S=12, H=4)
    x = torch.cat([k, v], -1).requires_grad_()
    index, options = keys(12, 12, 5), {"u": u, "mask": causal(12), "released_peek": peek}
    out = prob_sparse(q, x[..., :5], x[..., 5:], index, **options)
    for row in range(12):
        gradient, = torch.autograd.grad(out[:, row].square().sum(), x, retain_graph=True)
        assert bool((gradient[:, row + 1:] == 0).all()), row
        assert bool((gradient[:, row] != 0).any()), row


def test_the_released_view_leaks_the_future_and_mixes_heads():
    q, k, v = heads(B=1, L=12, S=12, H=4)
    v.requires_grad_()
    out = prob_sparse(q, k, v, keys(12, 12, 5), u=12, mask=causal(12), released_view=True)
    reached = {}
    for row in range(12):
        gradient, = torch.autograd.grad(out[:, row].sum(), v, retain_graph=True)
        reached[row] = gradient.abs().sum((0, 2, 3)).nonzero()[:, 0].tolist()
    assert reached[0] == [0, 1, 2, 3]
    assert reached[1] == list(range(8))
    assert reached[2] == list(range(12))
    assert reached[11] == list(range(12))
    full = scaled_dot_product(q, k, v, causal(12))
    assert (out - full).abs().max() > 0.4
    one = heads(H=1)
    assert torch.equal(prob_sparse(*one, keys(7, 7, 2), u=3, released_view=True), prob_sparse(*one, keys(7, 7, 2), u=3))


def test_the_measure_of_a_row_does_not_look_behind_the_mask_unless_it_is_told_to():
    q, k, _ = heads(L=9, S=9)
    later = k.clone()
    later[:, -1] += 5
    for peek in (False, True):
        M = [sparsity(q, keys_, keys(9, 9, 9), causal(9), released_peek=peek) for keys_ in (k, later)]
        earlier = (M[0] != M[1])[..., :8]
        assert bool(earlier.any()) == peek


def test_which_rows_are_chosen_is_a_contest_that_a_later_row_can_win():
    q, k, v = heads(B=1, L=6, S=6, H=1)
    index = torch.arange(6).expand(6, 6)
    before = prob_sparse(q, k, v, index, u=1, mask=causal(6))
    M = sparsity(q, k, index, causal(6))
    winner = int(M.argmax())
    assert winner < 5
    louder = q.clone()
    louder[:, 5] *= 1e3
    after = prob_sparse(louder, k, v, index, u=1, mask=causal(6))
    assert int(sparsity(louder, k, index, causal(6)).argmax()) == 5
    assert not torch.equal(before[:, winner], after[:, winner])
    close(after[0, winner, 0], v[0, :winner + 1, 0].mean(0))


def test_a_row_that_sampled_no_key_it_may_see_is_chosen_last():
    q, k, v = heads(B=1, L=5, S=5, H=1)
    index = torch.tensor([[4], [0], [4], [1], [2]])
    M = sparsity(q, k, index, causal(5))[0, 0]
    assert torch.isneginf(M).tolist() == [True, False, True, False, False]
    out = prob_sparse(q, k, v, index, u=3, mask=causal(5))
    close(out[0, 2, 0], v[0, :3, 0].mean(0))
    assert bool(torch.isfinite(out).all())


def test_equal_scores_make_chosen_and_lazy_rows_alike():
    q, k, v = heads()
    flat = torch.ones_like(k)
    for mask in (None, causal(7)):
        outs = [prob_sparse(q, flat, v, keys(7, 7, 3), u=u, mask=mask) for u in (1, 3, 7)]
        close(outs[0], outs[2])
        close(outs[1], outs[2])


def test_only_differences_of_dot_products_count_and_only_they_are_ranked():
    q, k, _ = heads()
    index = keys(7, 7, 4)
    close(sparsity(q, k, index), sparsity(q, k + draw(2, 1, 3, 5, seed=9), index))
    close(3 * sparsity(q, k, index), sparsity(3 * q, k, index))
    assert bool((sparsity(q, k, index) >= 0).all())


def test_the_released_mean_divides_by_all_keys_and_so_does_not_forget_the_level():
    q, k, _ = heads()
    index, shifted = keys(7, 7, 4), k + draw(2, 1, 3, 5, seed=9)
    M = sparsity(q, k, index, released_mean=True)
    assert not torch.allclose(M, sparsity(q, k, index))
    assert not torch.allclose(M, sparsity(q, shifted, index, released_mean=True))
    as_many = keys(7, 7, 7)
    close(sparsity(q, k, as_many), sparsity(q, k, as_many, released_mean=True))


def test_of_equal_queries_the_earlier_is_chosen():
    q, k, v = heads()
    with record() as trace:
        prob_sparse(torch.ones_like(q), k, v, torch.zeros(7, 3, dtype=torch.int64), u=3)
    assert trace["M_top"].tensor.unique(dim=0).tolist() == [[[0, 1, 2]] * 3]


def test_two_draws_choose_other_rows_and_one_draw_always_the_same():
    q, k, v = heads(L=96, S=96)
    out = [prob_sparse(q, k, v, keys(96, 96, 25, seed), u=25) for seed in (1, 2, 1)]
    assert torch.equal(out[0], out[2])
    assert (out[0] - out[1]).abs().max() > 0.3
    first, second = (ProbSparse(96, 96, generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    assert not torch.equal(first(q, k, v), second(q, k, v))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(q, k, v), second(q, k, v))
    other = first.draw(torch.Generator().manual_seed(2))
    assert other.shape == first.index_sample.shape


@pytest.mark.parametrize("H", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
def test_a_window_does_not_depend_on_its_batch(H, masked):
    q, k, v = heads(B=4, L=9, S=9, H=H)
    index, options = keys(9, 9, 4), {"u": 3, "mask": causal(9) if masked else None}
    together = prob_sparse(q, k, v, index, **options)
    for b in range(4):
        close(together[b:b + 1], prob_sparse(q[b:b + 1], k[b:b + 1], v[b:b + 1], index, **options), rtol=0, atol=1e-14)
    squeezed = prob_sparse(q, k, v, index, **options, released_squeeze=True)
    assert torch.equal(squeezed, together) == (H > 1)


@pytest.mark.parametrize("L", [1, 2, 3])
@pytest.mark.parametrize("S", [1, 2, 5])
@pytest.mark.parametrize("H", [1, 2])
@pytest.mark.parametrize("factor", [1, 5, 100])
def test_the_smallest_lengths_and_the_largest_factors(L, S, H, factor):
    q, k, v = heads(L=L, S=S, H=H)
    net = ProbSparse(L, S, factor)
    out = net(q, k, v)
    assert out.shape == (2, L, H, 2)
    assert bool(torch.isfinite(out).all())
    if factor == 100:
        assert torch.equal(out, scaled_dot_product(q, k, v)) == (net.u == L)
    if S == 1:
        close(out, v.expand(-1, L, -1, -1))


def test_how_many_are_sampled():
    assert [sample_size(5, n) for n in (1, 2, 3, 12, 96, 720)] == [1, 2, 3, 12, 25, 35]
    assert [sample_size(1, n) for n in (1, 2, 3, 12, 96, 720)] == [1, 1, 2, 3, 5, 7]
    index = keys(1000, 3, 7)
    assert index.shape == (1000, 7)
    assert index.unique().tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_half_precision_is_computed_in_single_precision(dtype, masked):
    q, k, v = heads(L=96, S=96, dtype=dtype)
    options = {"u": 25, "mask": causal(96) if masked else None}
    out = prob_sparse(q, k, v, keys(96, 96, 25), **options)
    assert out.dtype == dtype
    close(out, prob_sparse(q.float(), k.float(), v.float(), keys(96, 96, 25), **options).to(dtype))
    large = prob_sparse(200 * q, 200 * k, v, keys(96, 96, 25), **options)  # products of 40 000 · |q·k| pass 65 504
    assert bool(torch.isfinite(large).all())


def test_every_tensor_carries_its_name_and_axes():
    q, k, v = heads()
    with record() as trace:
        prob_sparse(q, k, v, keys(7, 7, 3), u=2, mask=causal(7))
    assert {name: (s.axes, s.shape) for name, s in trace.items()} == {
        "QK_sample": ("B H L U", (2, 3, 7, 3)), "M": ("B H L", (2, 3, 7)), "M_top": ("B H u", (2, 3, 2)),
        "QK_top": ("B H u S", (2, 3, 2, 7)), "A_top": ("B H u S", (2, 3, 2, 7)), "lazy": ("B H L W", (2, 3, 7, 2)),
        "context": ("B H L W", (2, 3, 7, 2)), "out": ("B L H W", (2, 7, 3, 2))}
    assert all(s.note and s.eq for s in trace.values())


@pytest.mark.parametrize("masked", [False, True])
def test_its_graph_takes_the_keys_as_an_input(masked):
    def fn(q, k, v, index):
        return prob_sparse(q, k, v, index, u=3, mask=causal(7) if masked else None)

    shown = ["M", "M_top", "context", "out"]
    values = {**dict(zip("qkv", heads(dtype=torch.float32), strict=True)), "index": keys(7, 7, 3)}
    graph = export(fn, values, {}, shown)
    for given in (values, {**values, "index": keys(7, 7, 3, seed=1)}):
        with record() as trace:
            fn(**given)
        compare(graph, iter([("here", given, {name: trace[name].tensor for name in shown})]))


@pytest.mark.bad_input
@pytest.mark.parametrize(("change", "message"), [
    ({"u": 0}, r"u: expected 1 to L=7 chosen queries, got 0"), ({"u": 8}, r"u: expected 1 to L=7 .* got 8"),
    ({"index": keys(7, 7, 3) + 5}, r"index_sample: expected int64 from 0 to S-1=6, got int64 from 5 to 11"),
    ({"index": keys(7, 7, 3) - 1}, r"index_sample: .* got int64 from -1"),
    ({"index": keys(7, 7, 3).int()}, r"index_sample: .* got int32"),
    ({"index": keys(6, 7, 3)}, r"index_sample: expected axes 'L U' with L=7, got shape \(6, 3\)"),
    ({"index": keys(7, 7, 3)[:, :0]}, r"index_sample: expected at least one entry along every axis"),
    ({"mask": causal(7).T}, "mask: expected every query to see the first key and all others up to some position"),
    ({"mask": torch.ones(7, 7, dtype=torch.bool)}, "mask: expected every query to see the first key"),
    ({"mask": causal(7).int()}, "mask: expected True/False"),
    ({"mask": causal(6)}, r"mask: expected axes 'L S' with L=7, S=7, got shape \(6, 6\)"),
    ({"q": heads()[0] * math.nan}, "q: expected finite numbers, got nan"),
    ({"v": heads()[2] * math.inf}, "v: expected finite numbers, got (-)?inf"),
    ({"k": heads(S=6)[1]}, r"v: expected axes 'B S H W' with B=2, S=6, H=3, got shape \(2, 7, 3, 2\)"),
    ({"q": heads(dtype=torch.float32)[0] * 1e30, "k": heads(dtype=torch.float32)[1] * 1e30,
      "v": heads(dtype=torch.float32)[2]},
     "q, k: expected numbers that stay within the range of float32, got an overflow"),
    ({"v": heads()[2].sign() * 6e4, "half": True, "mask": causal(7)},
     "v: expected numbers that stay within the range of float16, got an overflow"),
])
def test_what_does_not_fit_is_refused(change, message):
    q, k, v = heads()
    given = {"q": q, "k": k, "v": v, "index": keys(7, 7, 3), "u": 2, "mask": None, "half": False, **change}
    if given.pop("half"):
        given |= {name: given[name].abs().half() for name in "qkv"}
    index = given.pop("index")
    with pytest.raises(ValueError, match=message):
        prob_sparse(given.pop("q"), given.pop("k"), given.pop("v"), index, **given, released_sum=True)


@pytest.mark.bad_input
def test_sizes_below_one_are_refused():
    for call, name in ((lambda: sample_size(0, 5), "factor"), (lambda: sample_size(5, 0), "n"),
                       (lambda: sample_keys(0, 2, 2), "L"), (lambda: sample_keys(2, 0, 2), "S"),
                       (lambda: sample_keys(2, 2, 0), "U"), (lambda: ProbSparse(3, 3, 0), "factor")):
        with pytest.raises(ValueError, match=f"{name}: expected at least 1, got 0"):
            call()
