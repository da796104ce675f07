"""Attention: its limits, and plain loops beside it. Sizes are different primes, so a swapped axis breaks."""

import math

import pytest
import torch
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.attention import AttentionLayer, causal, mix, scaled_dot_product
from tsattn_mini.nonstationary import destationary_attention

B, L, S, H, E, W = 2, 3, 5, 7, 11, 13


def draw(seed=0, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(B, n, H, width, generator=g, dtype=dtype) for n, width in [(L, E), (S, E), (S, W)])


def softmax(row):
    top = max(row)
    odds = [math.exp(x - top) for x in row]
    return [o / sum(odds) for o in odds]


def loops(q, k, v, tau=None, delta=None, hidden=None):
    out = torch.zeros(q.shape[0], q.shape[1], q.shape[2], v.shape[3], dtype=q.dtype)
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            for i in range(q.shape[1]):
                seen = [j for j in range(k.shape[1]) if hidden is None or not hidden[i][j]]
                row = []
                for j in seen:
                    dot = sum(float(q[b, i, h, e] * k[b, j, h, e]) for e in range(q.shape[3]))
                    dot = dot * (1 if tau is None else float(tau[b])) + (0 if delta is None else float(delta[b, j]))
                    row.append(dot / math.sqrt(q.shape[3]))
                for j, a in zip(seen, softmax(row), strict=True) if seen else ():
                    out[b, i, h] += a * v[b, j, h]
    return out


def test_attention_equals_plain_loops():
    q, k, v = draw()
    assert_close(scaled_dot_product(q, k, v), loops(q, k, v))


def test_masked_attention_equals_plain_loops_over_the_keys_that_are_left():
    q, k, v = draw(1)
    hidden = torch.tensor([[0, 1, 0, 0, 1], [1, 1, 1, 0, 1], [0, 0, 0, 0, 0]], dtype=torch.bool)
    assert_close(scaled_dot_product(q, k, v, hidden), loops(q, k, v, hidden=hidden.tolist()))


def test_attention_equals_torch_whose_mask_means_the_opposite():
    q, k, v = draw(2)
    hidden = torch.tensor([[0, 1, 0, 0, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0, 0]], dtype=torch.bool)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=~hidden)
    assert_close(scaled_dot_product(q, k, v, hidden), theirs.transpose(1, 2))


def test_destationary_attention_equals_plain_loops():
    q, k, v = draw(3)
    tau = torch.tensor([[0.5], [3.0]], dtype=torch.float64)
    delta = torch.arange(B * S, dtype=torch.float64).reshape(B, S) - 4
    assert_close(destationary_attention(q, k, v, tau, delta), loops(q, k, v, tau, delta))


def test_tau_one_delta_zero_is_plain_attention():
    q, k, v = draw()
    ones, zeros = torch.ones(B, 1, dtype=q.dtype), torch.zeros(B, S, dtype=q.dtype)
    assert torch.equal(destationary_attention(q, k, v, ones, zeros), scaled_dot_product(q, k, v))
    assert torch.equal(destationary_attention(q, k, v), scaled_dot_product(q, k, v))


def test_tau_zero_looks_everywhere_alike():
    q, k, v = draw()
    out = destationary_attention(q, k, v, tau=torch.zeros(B, 1, dtype=q.dtype))
    assert_close(out, v.mean(1, keepdim=True).expand_as(out))


def test_a_large_tau_copies_the_value_of_the_best_key():
    q, k, v = draw()
    best = torch.einsum("blhe,bshe->bhls", q, k).argmax(-1)
    out = destationary_attention(q, k, v, tau=torch.full((B, 1), 1e4, dtype=q.dtype))
    for b, h, i in [(0, 0, 0), (1, 6, 2)]:
        assert_close(out[b, i, h], v[b, best[b, h, i], h])


def test_the_same_delta_on_every_key_changes_nothing():
    q, k, v = draw()
    delta = torch.randn(B, S, dtype=q.dtype, generator=torch.Generator().manual_seed(0))
    assert_close(destationary_attention(q, k, v, delta=delta + 7), destationary_attention(q, k, v, delta=delta))


@pytest.mark.parametrize(("width", "odds"), [(2, 16.9188), (8, 4.1133), (64, 1.6487)])
def test_delta_is_divided_by_the_root_of_the_width_too(width, odds):
    q, k = torch.zeros(1, 1, 1, width), torch.zeros(1, 2, 1, width)
    with record() as trace:
        destationary_attention(q, k, torch.ones(1, 2, 1, 1), delta=torch.tensor([[4.0, 0.0]]))
    first, second = trace["A"].tensor.flatten().tolist()
    assert first / second == pytest.approx(odds, rel=1e-4)
    assert first / second == pytest.approx(math.exp(4 / math.sqrt(width)), rel=1e-5)


def test_every_row_of_weights_sums_to_one():
    with record() as trace:
        scaled_dot_product(*draw(), causal(5)[:L])
    assert_close(trace["A"].tensor.sum(-1), torch.ones(B, H, L, dtype=torch.float64))


def test_the_causal_mask_hides_exactly_the_future():
    assert causal(4).long().tolist() == [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_no_gradient_reaches_a_hidden_key():
    q, k, v = (x[:, :L].clone().requires_grad_() for x in draw())
    scaled_dot_product(q, k, v, causal(L))[:, 0].sum().backward()
    assert v.grad[:, 0].abs().min() > 0
    assert v.grad[:, 1:].abs().max() == 0
    assert k.grad[:, 1:].abs().max() == 0


def test_a_query_without_keys_takes_nothing_home_and_says_so():
    q, k, v = (x.requires_grad_() for x in draw())
    hidden = torch.zeros(L, S, dtype=torch.bool)
    hidden[1] = True
    with pytest.warns(RuntimeWarning, match=r"mask hides every key of 1 row\(s\), the first at index \(1,\)"):
        out = scaled_dot_product(q, k, v, hidden)
    assert out[:, 1].abs().max() == 0
    assert_close(out[:, [0, 2]], scaled_dot_product(q, k, v)[:, [0, 2]])
    out.sum().backward()
    for x in (q, k, v):
        assert torch.isfinite(x.grad).all()


def test_steps_carry_names_axes_and_shapes():
    q, k, v = draw()
    with record() as trace:
        out = scaled_dot_product(q, k, v)
    assert {n: (s.axes, s.shape, s.sources) for n, s in trace.items()} == {
        "QK": ("B H L S", (B, H, L, S), ()), "logits": ("B H L S", (B, H, L, S), ("QK",)),
        "A": ("B H L S", (B, H, L, S), ("logits",)), "out": ("B L H W", (B, L, H, W), ("A",))}
    assert trace["out"].tensor is out


def test_destationary_attention_names_its_scores_between_the_same_steps():
    with record() as trace:
        destationary_attention(*draw())
    names = [n for n in trace if n in ("QK", "scores", "logits", "A", "out")]
    assert names == ["QK", "scores", "logits", "A", "out"]
    assert "QK" in trace["scores"].sources
    assert trace["logits"].sources == ("scores",)


def test_the_layer_is_projections_around_the_heads():
    torch.manual_seed(0)
    layer = AttentionLayer(scaled_dot_product, M=14, H=7).double()
    x, y = torch.randn(B, L, 14, dtype=torch.float64), torch.randn(B, S, 14, dtype=torch.float64)
    with torch.no_grad():
        got = layer(x, y)
        q, k, v = layer.query(x), layer.key(y), layer.value(y)
        heads = [loops(*(p[..., None, 2 * h:2 * h + 2] for p in (q, k, v)))[:, :, 0] for h in range(7)]
        assert_close(got, layer.out(torch.cat(heads, dim=-1)))


def test_the_layer_hands_further_arguments_to_its_attention():
    torch.manual_seed(0)
    layer = AttentionLayer(destationary_attention, M=6, H=3)
    x = torch.randn(B, S, 6)
    flat = layer(x, x, tau=torch.zeros(B, 1))
    assert_close(flat, layer.out(layer.value(x).mean(1, keepdim=True)).expand(B, S, 6))


@pytest.mark.bad_input
@pytest.mark.parametrize(("change", "message"), [
    ({"k": (B, S, H, E + 1)}, r"k: expected axes 'B S H E' with B=2, H=7, E=11, got shape \(2, 5, 7, 12\)"),
    ({"k": (B + 1, S, H, E)}, r"k: expected axes 'B S H E'"),
    ({"v": (B, S + 1, H, W)}, r"v: expected axes 'B S H W' with B=2, S=5, H=7, got shape \(2, 6, 7, 13\)"),
    ({"q": (L, H, E)}, r"q: expected axes 'B L H E', got shape \(3, 7, 11\)"),
    ({"q": (B, 0, H, E)}, r"q: expected at least one entry along every axis"),
    ({"mask": (S, L)}, r"mask: expected axes 'L S' with L=3, S=5, got shape \(5, 3\)"),
    ({"tau": (B, S)}, r"tau: expected axes 'B 1' with B=2, got shape \(2, 5\)"),
    ({"tau": (B,)}, r"tau: expected axes 'B 1'"),
    ({"delta": (B, 1)}, r"delta: expected axes 'B S' with B=2, S=5, got shape \(2, 1\)"),
    ({"delta": (B, L)}, r"delta: expected axes 'B S' with B=2, S=5, got shape \(2, 3\)"),
])
def test_wrong_shapes_are_refused_by_name(change, message):
    shapes = {"q": (B, L, H, E), "k": (B, S, H, E), "v": (B, S, H, W), **change}
    arguments = {n: torch.zeros(s, dtype=torch.bool if n == "mask" else torch.float32) for n, s in shapes.items()}
    with pytest.raises(ValueError, match=message):
        destationary_attention(**arguments)


@pytest.mark.bad_input
@pytest.mark.parametrize("name", ["q", "k", "v", "tau", "delta"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(name, bad):
    q, k, v = draw(dtype=torch.float32)
    arguments = {"q": q, "k": k, "v": v, "tau": torch.ones(B, 1), "delta": torch.zeros(B, S)}
    arguments[name][1, 0] = bad
    with pytest.raises(ValueError, match=rf"{name}: expected finite numbers, got {bad} at index \(1, 0"):
        destationary_attention(**arguments)


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "value", "message"), [
    ("q", [0.0], r"q: expected a tensor with axes 'B L H E', got list \[0\.0\]"),
    ("tau", 0.5, "tau: expected a tensor with axes 'B 1', got float 0.5"),
    ("delta", [0, 0], r"delta: expected a tensor with axes 'B S', got list \[0, 0\]"),
    ("mask", torch.zeros(L, S), "mask: expected True/False, got dtype float32"),
])
def test_arguments_of_another_kind_are_refused_by_name(name, value, message):
    arguments = dict(zip("qkv", draw(), strict=True)) | {name: value}
    with pytest.raises(ValueError, match=message):
        destationary_attention(**arguments)
    if name in ("q", "mask"):
        with pytest.raises(ValueError, match=message):
            scaled_dot_product(**arguments)


@pytest.mark.bad_input
def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="H: expected a divisor of the model width M=8, got 3"):
        AttentionLayer(scaled_dot_product, M=8, H=3)
    with pytest.raises(ValueError, match="L: expected at least 1, got 0"):
        causal(0)


@pytest.mark.parametrize("L", [10**12, 10**400])
def test_a_mask_that_no_memory_holds_is_refused(L):
    with pytest.raises(ValueError, match=r"^L: expected at most 100000, got 1000"):
        causal(L)


@pytest.mark.bad_input
def test_what_cannot_be_mixed_is_named():
    logits, v = torch.zeros(1, 1, 2, 3), torch.ones(1, 3, 1, 1)
    with pytest.raises(ValueError, match=r"^logits: expected a tensor, got NoneType$"):
        mix(None, v, eq="0")
    with pytest.raises(ValueError, match=r"^v: expected axes 'B S H W' with B=1, S=3, H=1, got shape"):
        mix(logits, v[:, :2], eq="0")


def test_values_whose_mean_rounds_beyond_the_number_range_are_refused_and_smaller_ones_averaged():
    q, v = torch.zeros(1, 1, 1, 2), torch.full((1, 7, 1, 1), torch.finfo(torch.float32).max)
    assert float(scaled_dot_product(q, torch.zeros(1, 7, 1, 2), 0.99 * v)) == pytest.approx(0.99 * float(v[0, 0]))
    with pytest.raises(ValueError, match=r"^v: expected numbers that stay within the range of float32"):
        mix(torch.full((1, 1, 1, 1), 0.0), v[:, :1] * torch.ones(1, 1, 1, 2) * torch.inf, eq="0")
