"""The links of DUET between variables: distances, probabilities, draws, and attention along the links."""

import cmath
import math

import pytest
import torch
from forecasters import build, draw
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.attention import scaled_dot_product
from tsattn_mini.zoo.duet.channels import ChannelMask, channel_attention


def traced(module, *args, **more):
    with torch.no_grad(), record() as trace:
        module(*args, **more)
    return {name: s.tensor for name, s in trace.items()}


def uniform(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loops(A, series, u, sharpened=False, keep_self=True):
    """Probabilities and links of one window, one pair after the other."""
    V, T, f = len(series), len(series[0]), len(A)
    spectrum = [[abs(sum(series[v][t] * cmath.exp(-2j * math.pi * w * t / T) for t in range(T))) for w in range(f)]
                for v in range(V)]
    p, keep = torch.zeros(V, V, dtype=torch.float64), torch.zeros(V, V, dtype=torch.float64)
    for i in range(V):
        near = []
        for j in range(V):
            gap = [a - b for a, b in zip(spectrum[i], spectrum[j], strict=True)]
            near.append(1 / sum(sum(a * g for a, g in zip(row, gap, strict=True)) ** 2 for row in A) if i != j else 0)
        for j in range(V):
            p[i, j] = 0.99 * (1 if i == j else near[j] / max(near))
            chance = p[i, j]**2 / (p[i, j]**2 + (1 - p[i, j])**2) if sharpened else p[i, j]
            keep[i, j] = float((keep_self and i == j) or (chance >= 0.5 if u is None else u[i][j] <= chance))
    return p, keep


@pytest.mark.parametrize("T", [2, 3, 7, 12])
@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("switches", [{}, {"sharpened": True}, {"keep_self": False}])
def test_links_are_what_the_loops_say(T, drawn, switches):
    mask, x = build(ChannelMask, T=T, **switches), draw(3, 5, T) * 2 + 1
    u = uniform(3, 5, 5) if drawn else None
    got = traced(mask, x, u)
    for b in range(3):
        p, keep = loops(mask.A.tolist(), x[b].tolist(), None if u is None else u[b].tolist(), **switches)
        assert_close(got["p"][b], p, atol=1e-9, rtol=1e-7)
        assert torch.equal(got["keep"][b], keep)


def test_every_variable_has_a_partner_at_99_percent_even_if_all_are_unrelated():
    p = traced(build(ChannelMask, T=24), draw(100, 6, 24))["p"]
    others = p - 0.99 * torch.eye(6, dtype=torch.float64)
    assert_close(others.amax(-1), torch.full((100, 6), 0.99, dtype=torch.float64))
    assert_close(torch.diagonal(p, dim1=1, dim2=2), torch.full((100, 6), 0.99, dtype=torch.float64))


def test_probabilities_are_relative_to_the_row_so_they_need_not_be_symmetric_and_know_no_unit():
    mask, x = build(ChannelMask, T=9), draw(4, 5, 9)
    p = traced(mask, x)["p"]
    assert (p - p.mT).abs().max() > 0.1
    assert_close(traced(mask, 1000 * x)["p"], p)


def test_a_copy_shifted_in_a_circle_has_distance_0_and_another_level_has_not():
    mask, x = build(ChannelMask, T=12), draw(1, 1, 12)
    distance = traced(mask, torch.cat([x, x.roll(5, -1), x + 10], 1))["distance"][0]
    assert distance[0, 1] < 1e-20
    assert distance[0, 2] > 1000


@pytest.mark.parametrize("T", [1, 2, 5, 8])
def test_constant_variables_are_no_nan(T):
    mask = build(ChannelMask, T=T)
    x = torch.full((2, 4, T), 5.0, dtype=torch.float64, requires_grad=True)
    for u in (None, uniform(2, 4, 4)):
        keep = mask(x, u)
        assert bool(torch.isfinite(keep).all())
        keep.sum().backward()
    assert bool(torch.isfinite(mask.A.grad).all())
    assert bool(torch.isfinite(x.grad).all())
    assert_close(traced(mask, x)["p"], torch.full((2, 4, 4), 0.99, dtype=torch.float64))


def test_one_variable_is_linked_with_itself():
    mask = build(ChannelMask, T=5)
    keep = mask(draw(3, 1, 5))
    assert keep.flatten().tolist() == [1, 1, 1]
    keep.sum().backward()
    assert bool(torch.isfinite(mask.A.grad).all())


def test_without_draws_a_link_stays_where_it_is_likelier_than_not_and_the_batch_plays_no_part():
    mask, x = build(ChannelMask, T=9), draw(6, 5, 9)
    got = traced(mask, x)
    assert torch.equal(got["keep"] == 1, got["p"] >= 0.5)
    assert torch.equal(got["keep"][3:4], traced(mask, x[3:4])["keep"])


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("sharpened", [True, False])
def test_how_often_a_link_is_drawn(p, sharpened):
    mask = ChannelMask(T=4, sharpened=sharpened, keep_self=False)
    keep = mask.links(torch.full((1, 300, 300), p, dtype=torch.float64), uniform(1, 300, 300))
    want = p**2 / (p**2 + (1 - p) ** 2) if sharpened else p
    assert keep.mean().item() == pytest.approx(want, abs=3 * math.sqrt(want * (1 - want)) / 300 + 1e-9)


def test_the_released_draw_by_gumbel_noise_is_the_sharpened_one():
    e = -torch.log(uniform(1, 200, 200, 2))
    logit = math.log(0.3 / 0.7)
    gumbel = (logit - e[..., 0].log()) > (-logit - e[..., 1].log())
    ours = ChannelMask(T=4, sharpened=True, keep_self=False).links(
        torch.full((1, 200, 200), 0.3, dtype=torch.float64), e[..., 0] / e.sum(-1))
    assert torch.equal(ours == 1, gumbel)


def test_a_link_is_0_or_1_and_still_passes_a_gradient_to_the_distance():
    mask, x = build(ChannelMask, T=9), draw(2, 5, 9)
    q, k, v = (draw(2, 5, 2, 3, seed=s) for s in range(3))
    for u in (None, uniform(2, 5, 5)):
        keep = mask(x, u)
        assert set(keep.flatten().tolist()) == {0.0, 1.0}
        channel_attention(q, k, v, keep).square().sum().backward()
    assert mask.A.grad.abs().max() > 0


def test_a_variable_always_sees_itself_so_no_row_is_empty():
    mask, p = ChannelMask(T=4), torch.full((1, 6, 6), 0.01, dtype=torch.float64)
    for u in (None, torch.ones(1, 6, 6, dtype=torch.float64)):
        assert torch.equal(mask.links(p, u), torch.eye(6, dtype=torch.float64)[None])
        assert ChannelMask(T=4, keep_self=False).links(p, u).sum() == 0


@pytest.mark.parametrize("soft", [False, True])
def test_attention_along_links_is_what_the_loops_say(soft):
    q, k, v = (draw(2, 5, 3, 7, seed=s) for s in range(3))
    keep = (uniform(2, 5, 5) < 0.5).double() + torch.eye(5, dtype=torch.float64)
    keep = keep.clamp(max=1)
    want = torch.zeros_like(v)
    for b in range(2):
        for h in range(3):
            for i in range(5):
                weight = []
                for j in range(5):
                    score = sum(float(q[b, i, h, e] * k[b, j, h, e]) for e in range(7))
                    hidden = math.exp(-math.log(1e10) / math.sqrt(7)) if soft else 0.0
                    weight.append(math.exp(score / math.sqrt(7)) if keep[b, i, j] else hidden)
                for j in range(5):
                    want[b, i, h] += weight[j] / sum(weight) * v[b, j, h]
    assert_close(channel_attention(q, k, v, keep, soft=soft), want)


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_hidden_variables_are_really_hidden(size):
    q, k, v = (size * draw(2, 5, 3, 7, seed=s) for s in range(3))
    keep = torch.eye(5, dtype=torch.float64).expand(2, 5, 5).clone()
    keep[:, 0, 1] = 1
    A = traced(channel_attention, q, k, v, keep)["A"]
    assert bool((A[:, :, keep[0] == 0] == 0).all())
    assert_close(A.sum(-1), torch.ones(2, 3, 5, dtype=torch.float64))
    other = v.clone()
    other[:, 2:] += 100
    assert torch.equal(channel_attention(q, k, other, keep)[:, :2], channel_attention(q, k, v, keep)[:, :2])


@pytest.mark.parametrize("soft", [False, True])
def test_with_every_link_it_is_plain_attention(soft):
    q, k, v = (draw(2, 5, 3, 7, seed=s) for s in range(3))
    assert_close(channel_attention(q, k, v, torch.ones(2, 5, 5, dtype=torch.bool), soft=soft),
                 scaled_dot_product(q, k, v))


def test_a_row_without_links_is_zero_with_a_warning():
    q, k, v = (draw(1, 3, 2, 4, seed=s).requires_grad_() for s in range(3))
    keep = torch.tensor([[[1.0, 0, 0], [0, 0, 0], [0, 1, 1]]], dtype=torch.float64)
    with pytest.warns(RuntimeWarning, match=r"mask hides every key of 1 row\(s\), the first at index \(0, 1\)"):
        out = channel_attention(q, k, v, keep)
    assert bool((out[:, 1] == 0).all())
    out.sum().backward()
    assert bool(torch.isfinite(q.grad).all() and torch.isfinite(k.grad).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("T", [8, 12, 15])
def test_half_precision_around_the_transform_at_any_length(dtype, T):
    mask, x = build(ChannelMask, T=T, dtype=torch.float32), draw(2, 5, T, dtype=torch.float32)
    want = traced(mask, x.to(dtype).float())["p"]
    assert_close(traced(mask, x.to(dtype))["p"], want)
    assert bool(torch.isfinite(mask.to(dtype)(x.to(dtype))).all())
    q = draw(2, 5, 2, 4).to(dtype)
    assert channel_attention(q, q, q, mask(x.to(dtype))).dtype == dtype


@pytest.mark.bad_input
def test_bad_input_is_refused_by_name():
    mask, x, q = build(ChannelMask, T=6), draw(2, 3, 6), draw(2, 3, 2, 4)
    with pytest.raises(ValueError, match="T: expected at least 1, got 0"):
        ChannelMask(0)
    with pytest.raises(ValueError, match="x: expected axes 'B V 6'"):
        mask(x.mT)
    with pytest.raises(ValueError, match="x: expected finite numbers, got -inf"):
        mask(x / 0)
    with pytest.raises(ValueError, match="x: expected numbers that stay within the range of float64"):
        mask(x * 1e200)
    with pytest.raises(ValueError, match="u: expected axes 'B V V' with B=2, V=3"):
        mask(x, uniform(2, 3, 4))
    with pytest.raises(ValueError, match=r"u: expected numbers from 0 to 1, got 2\.0 to 2\.0"):
        mask(x, torch.full((2, 3, 3), 2.0, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"keep: expected numbers from 0 to 1, got -1\.0 to 1\.0"):
        channel_attention(q, q, q, torch.tensor([[[1.0, -1, 0]] * 3] * 2))
    with pytest.raises(ValueError, match="keep: expected axes 'B L S' with B=2, L=3, S=3"):
        channel_attention(q, q, q, torch.ones(2, 3, 4))
    with pytest.raises(ValueError, match="keep: expected a tensor, got NoneType"):
        channel_attention(q, q, q, None)
    with pytest.raises(ValueError, match="v: expected floating-point numbers, got int64"):
        channel_attention(q, q, q.long(), torch.ones(2, 3, 3))
    with pytest.raises(ValueError, match="x: expected a tensor, got NoneType"):
        mask(None)
