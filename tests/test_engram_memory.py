"""Steps 4 to 8 of Engram and the whole layer, against plain loops and at their limits."""

from math import exp, sqrt

import pytest
import torch

from tsattn_mini import record
from tsattn_mini.engram.gate import ConstantGate, HiddenGate, OpenGate
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.memory import Engram, MultiHeadTable, ShortConvolution
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.explore.export import compare, export
from tsattn_mini.official import load_checkpoint

WORDS = [f"word{i}" for i in range(40)]
close = torch.testing.assert_close


def layer(M=6, C=2, E=3, seed=0, sizes=(11, 11), dtype=torch.float64, **more):
    """An Engram whose convolution does not start at zero and whose gains are not 1."""
    torch.manual_seed(seed)
    net = Engram(ngram_hashes(Compression(WORDS), [1], sizes, 2, pad=0)[1], M, C, E, **more).to(dtype)
    with torch.no_grad():
        net.convolution.weight.normal_(std=0.5)
        net.convolution.gain.uniform_(0.5, 1.5)
    return net


def inputs(B=2, L=14, C=2, M=6, seed=0, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, len(WORDS), (B, L), generator=g), torch.randn(B, L, C, M, generator=g, dtype=dtype)


def steps(net, tokens, h):
    with torch.no_grad(), record() as trace:
        net(tokens, h)
    return trace


def linear(layer, x):
    return [sum(a * b for a, b in zip(row, x, strict=True)) + bias
            for row, bias in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)]


@pytest.mark.parametrize("conv_gate", [None, "input", "output"])
def test_layer_equals_the_same_in_plain_loops(conv_gate):
    net, (tokens, h) = layer(conv_gate=conv_gate), inputs(B=1)
    t = steps(net, tokens, h)
    L, C, M = h.shape[1:]
    table = net.table.rows.tolist()
    starts = [sum(p for p in net.hashing.primes.flatten().tolist()[:i]) for i in range(4)]
    weight, gain = net.convolution.weight.reshape(C, M, 4).tolist(), net.convolution.gain.tolist()
    v_norm, gated = {}, {}
    for i in range(L):
        z = t["hash"].tensor[0, i].flatten().tolist()
        e = [number for start, row in zip(starts, z, strict=True) for number in table[start + row]]
        close(t["e"].tensor[0, i], torch.tensor(e, dtype=torch.float64))
        v = linear(net.value, e)
        for c in range(C):
            close(t["k"].tensor[0, i, c], torch.tensor(linear(net.key[c], e), dtype=torch.float64))
            alpha = t["alpha"].tensor[0, i, c].item()
            gated[i, c] = [alpha * x for x in v]
            source = v if conv_gate == "input" else gated[i, c]
            size = sqrt(sum(x * x for x in source) / M + 1e-5) / (alpha if conv_gate == "input" else 1)
            v_norm[i, c] = [x / size * g for x, g in zip(source, gain[c], strict=True)]
    for i in range(L):
        for c in range(C):
            for m in range(M):
                raw = sum(weight[c][m][3 - tap] * v_norm[i - 3 * tap, c][m] for tap in range(4) if i >= 3 * tap)
                conv = raw / (1 + exp(-raw)) * (t["alpha"].tensor[0, i, c].item() if conv_gate == "output" else 1)
                assert abs(t["y"].tensor[0, i, c, m].item() - conv - gated[i, c][m]) < 1e-12
    assert torch.equal(t["h_out"].tensor, h + t["y"].tensor)


def test_each_head_looks_into_its_own_part_of_the_table():
    table = MultiHeadTable(torch.tensor([[3, 5], [7, 11]]), 1)
    table.rows.data = torch.arange(26.0)[:, None]
    assert table.offsets.tolist() == [[0, 3], [8, 15]]
    hashes = torch.tensor([[[[0, 0], [0, 0]], [[2, 4], [6, 10]]]])
    assert table(hashes).tolist() == [[[0, 3, 8, 15], [2, 7, 14, 25]]]


def test_claim_97_the_demonstration_concatenates_1024_numbers():
    table = MultiHeadTable(torch.full((2, 8), 2), 64)
    assert table(torch.zeros(1, 1, 2, 8, dtype=torch.int64)).shape == (1, 1, 1024)


def test_claim_91_the_projections_outweigh_the_gate():
    """5 matrices of 1024 × 1024 with their biases, and 4 × 1024 products for the gates."""
    M = R = 1024
    assert 5 * (M * R + M) == 5_248_000
    net = layer(M=6, C=4, E=3)
    assert sum(p.numel() for m in (net.key, net.value) for p in m.parameters()) == 5 * (6 * 12 + 6)


def test_a_convolution_of_zeros_leaves_the_gated_value():
    net, (tokens, h) = layer(), inputs()
    torch.nn.init.zeros_(net.convolution.weight)
    t = steps(net, tokens, h)
    assert torch.equal(t["y"].tensor, t["v_gated"].tensor)
    fresh = Engram(net.hashing, 6)
    assert not fresh.convolution.weight.any()  # how it starts


def test_nothing_comes_from_the_future():
    net, (tokens, h) = layer(), inputs()
    before = net(tokens, h)
    other_tokens, other_h = tokens.clone(), h.clone()
    other_tokens[:, 9:], other_h[:, 9:] = (other_tokens[:, 9:] + 1) % len(WORDS), 0.0
    after = net(other_tokens, other_h)
    assert torch.equal(after[:, :9], before[:, :9])
    assert not torch.equal(after[:, 9:], before[:, 9:])


def test_claim_111_four_taps_of_trigrams_tile_twelve_tokens():
    """10 positions, and each of the last 12 tokens reaches y exactly through one tap's trigram."""
    net, (tokens, h) = layer(sizes=(997, 997)), inputs(B=1, L=20)
    torch.nn.init.zeros_(net.gate.h_gain)  # α = 0.5 throughout, so that only the memory moves y
    y = steps(net, tokens, h)["y"].tensor[0, -1]
    moved = []
    for back in range(20):
        other = tokens.clone()
        other[0, -1 - back] = (other[0, -1 - back] + 1) % len(WORDS)
        moved.append(not torch.equal(steps(net, other, h)["y"].tensor[0, -1], y))
    assert moved == [True] * 12 + [False] * 8
    v = torch.randn(1, 20, 6, dtype=torch.float64, requires_grad=True)
    alpha = torch.ones(1, 20, 2, dtype=torch.float64)
    net.convolution(v[:, :, None].expand(1, 20, 2, 6), v, alpha)[0, -1].sum().backward()
    assert v.grad[0].abs().sum(-1).nonzero().flatten().tolist() == [10, 13, 16, 19]


@pytest.mark.parametrize(("D", "reach", "gaps"), [(3, 12, 0), (4, 15, 3), (2, 9, 0)])
def test_dilation_of_the_longest_ngram_is_the_one_that_tiles(D, reach, gaps):
    seen = [tap * D + back for tap in range(4) for back in range(3)]
    assert max(seen) + 1 == reach
    assert reach - len(set(seen)) == gaps


def keeps(alpha, conv_gate=None, size=1.0, step="conv"):
    """Which share of its output the convolution keeps when the gate stands at `alpha` instead of 1."""
    g = torch.Generator().manual_seed(0)
    v = size * torch.randn(1, 400, 64, generator=g, dtype=torch.float64)
    conv = ShortConvolution(1, 64, 4, 3, conv_gate).double()
    torch.nn.init.normal_(conv.weight, std=0.5, generator=g)
    norms = []
    for a in (alpha, 1.0):
        with record() as trace:
            conv(a * v[:, :, None], v, torch.full((1, 400, 1), a, dtype=torch.float64))
        norms.append(trace[step].tensor.norm().item())
    return norms[0] / norms[1]


@pytest.mark.parametrize(("alpha", "kept", "small"), [(0.1, 0.999, 0.947), (0.01, 0.947, 0.27), (0.0035, 0.71, 0.098)])
def test_claim_104_the_norm_gives_back_what_the_gate_took(alpha, kept, small):
    """99.9, 94.7 and 71 % for values of size 1; less only where ε is as large as the square of what is left."""
    assert keeps(alpha, step="v_norm") == pytest.approx(alpha / sqrt(alpha**2 + 1e-5) * sqrt(1 + 1e-5), rel=0.01)
    assert keeps(alpha) == pytest.approx(kept, abs=0.006)
    assert keeps(alpha, size=0.1) == pytest.approx(small, abs=0.015)
    assert keeps(alpha, "input", step="v_norm") == pytest.approx(alpha)
    assert keeps(alpha, "output") == pytest.approx(alpha * keeps(alpha))
    assert keeps(alpha, "input") < alpha


def test_the_remedies_close_the_convolution_with_the_gate():
    tokens, h = inputs()
    for conv_gate in (None, "input", "output"):
        net = layer(conv_gate=conv_gate, gate=ConstantGate(2))
        open_, shut = [], []
        for at, logit in ((open_, 20.0), (shut, -4.0)):
            net.gate.logit.data = torch.full((2,), logit, dtype=torch.float64)
            at.append(steps(net, tokens, h)["conv"].tensor.norm())
        share = (shut[0] / open_[0]).item()
        assert share > 0.8 if conv_gate is None else share < 0.02


def test_claim_96_one_gate_for_the_whole_memory():
    """One colliding head among sixteen is 6.25 % of e; it cannot be shut out alone."""
    t = steps(layer(), *inputs())
    assert t["alpha"].axes == "B L C"
    share = t["v_gated"].tensor / t["v"].tensor[:, :, None]
    close(share, t["alpha"].tensor[..., None].expand_as(share))
    assert 64 / 1024 == 0.0625


def test_claim_101_a_bias_of_the_key_can_hold_the_gate_shut():
    net, (tokens, h) = layer(M=64), inputs(M=64)
    bias = 30 * torch.ones(64)
    net.key[0].bias.data = net.key[0].bias.data - bias
    h = h + 3  # a stream with a common direction
    closed, free = steps(net, tokens, h)["alpha"].tensor.unbind(-1)
    assert closed.max() < 0.01 < free.min()


def test_a_gate_that_is_open_lets_everything_through():
    t = steps(layer(gate=OpenGate()), *inputs())
    assert torch.equal(t["v_gated"].tensor, t["v"].tensor[:, :, None].expand_as(t["v_gated"].tensor))


@pytest.mark.parametrize("gate", [None, OpenGate(), ConstantGate(2), HiddenGate(2, 6)])
def test_every_gate_trains(gate):
    net, (tokens, h) = layer(gate=gate, dtype=torch.float32), inputs(dtype=torch.float32)
    net(tokens, h).square().mean().backward()
    assert all(p.grad.isfinite().all() and p.grad.abs().sum() > 0 for p in net.gate.parameters())
    assert net.table.rows.grad.abs().sum() > 0


def test_steps_are_grouped_as_the_eight_of_the_notes():
    t = steps(layer(root="sign"), *inputs())
    want = {"tokens": "1 compress", "ids": "1 compress", "ngrams": "2 n-grams", "mix": "3 hash", "hash": "3 hash",
            "rows": "4 look up", "e": "4 look up", "k": "5 project", "v": "5 project", "h": None, "h_norm": "6 gate",
            "k_norm": "6 gate", "score": "6 gate", "rooted": "6 gate", "alpha": "6 gate", "v_gated": "6 gate",
            "v_norm": "7 convolve", "conv_raw": "7 convolve", "conv": "7 convolve", "y": "7 convolve",
            "h_out": "8 write back"}
    assert {name: s.meaning for name, s in t.items()} == want
    assert all(s.note for s in t.values())


def test_saved_and_loaded_it_is_the_same_layer():
    one, other, (tokens, h) = layer(seed=1), layer(seed=2), inputs()
    assert {"hashing.multipliers", "hashing.primes", "hashing.pad", "hashing.compression.table"} < set(one.state_dict())
    other.load_state_dict(one.state_dict())
    assert torch.equal(other(tokens, h), one(tokens, h))


@pytest.mark.parametrize("root", [None, "sign", "copysign"])
def test_the_exported_layer_gives_the_same_numbers(root):
    net, (tokens, h) = layer(root=root, dtype=torch.float32).eval(), inputs(dtype=torch.float32)
    names = ["hash", "alpha", "conv", "y", "h_out"]
    graph = export(lambda tokens, h: net(tokens, h), {"tokens": tokens, "h": h}, {}, names)
    for seed in (1, 2):
        other = dict(zip(("tokens", "h"), inputs(seed=seed, dtype=torch.float32), strict=True))
        trace = steps(net, **other)
        compare(graph, iter([(f"seed {seed}", other, {name: trace[name].tensor for name in names})]))


def refuse(message, call, *args, **kwargs):
    with pytest.raises(ValueError, match=message):
        call(*args, **kwargs)


@pytest.mark.bad_input
def test_what_does_not_fit_is_refused():
    net, (tokens, h) = layer(), inputs()
    refuse(r"h: expected axes 'B L 2 6' with B=2, L=14, got shape \(2, 14, 2, 5\)", net, tokens, h[..., :5])
    refuse(r"h: expected axes 'B L 2 6'.*, got shape \(2, 14, 6\)", net, tokens, h[:, :, 0])
    refuse(r"h: expected axes 'B L 2 6' with B=2, L=13, got shape \(2, 14, 2, 6\)", net, tokens[:, 1:], h)
    refuse("h: expected finite numbers, got nan", net, tokens, torch.full_like(h, torch.nan))
    refuse("h: expected torch.float64 like the weights, got torch.float32", net, tokens, h.float())
    refuse("tokens: expected at least one entry", net, tokens[:, :0], h[:, :0])
    refuse("tokens: expected ids from 0 to 39, got 40", net, tokens + 40 - tokens[0, 0], h)
    refuse("M: expected at least 1, got 0", Engram, net.hashing, 0)
    refuse("E: expected at least 1, got 0", Engram, net.hashing, 4, E=0)
    refuse("K: expected at least 1, got 0", Engram, net.hashing, 4, K=0)
    refuse("conv_gate: expected one of .* got 'after'", Engram, net.hashing, 4, conv_gate="after")
    refuse("root: expected one of .* got 'cube'", Engram, net.hashing, 4, root="cube")


SETTINGS = {"vocab": [[w, w] for w in WORDS], "layer_ids": [1, 3], "layer_id": 1, "engram_vocab_size": [11, 11],
            "n_head_per_ngram": 2, "pad_id": 0}


def released(net):
    """The weights of `net` under the released names."""
    state = {"multi_head_embedding.embedding.weight": net.table.rows, "short_conv.conv.weight": net.convolution.weight,
             "multi_head_embedding.offsets": net.table.offsets.flatten()}
    state |= {f"value_proj.{name}": p for name, p in net.value.named_parameters()}
    for c in range(net.C):
        state |= {f"key_projs.{c}.{name}": p for name, p in net.key[c].named_parameters()}
        state |= {f"norm1.{c}.weight": net.gate.k_gain[c], f"norm2.{c}.weight": net.gate.h_gain[c],
                  f"short_conv.norms.{c}.weight": net.convolution.gain[c]}
    return {name: t.detach() for name, t in state.items()}


def test_a_released_layer_loads_with_its_root():
    net, (tokens, h) = layer(root="sign", dtype=torch.float32), inputs(dtype=torch.float32)
    loaded = load_checkpoint(released(net), "engram", **SETTINGS)
    assert torch.equal(loaded(tokens, h), net(tokens, h))
    assert not loaded.training


@pytest.mark.bad_input
def test_a_released_layer_that_does_not_fit_is_refused():
    state = released(layer(root="sign", dtype=torch.float32))
    refuse("pad: no weight tells it", load_checkpoint, state, "engram",
           **{k: v for k, v in SETTINGS.items() if k != "pad_id"})
    refuse(r"layer_id: expected one of layers=\[1, 3\], got 2", load_checkpoint, state, "engram",
           **{**SETTINGS, "layer_id": 2})
    refuse("offsets' holds .* but these layers, sizes and heads give", load_checkpoint, state, "engram",
           **{**SETTINGS, "layer_id": 3})
    refuse("hidden_size: the weights say 6, got 8", load_checkpoint, state, "engram", **SETTINGS, hidden_size=8)
    del state["norm2.1.weight"]
    refuse("missing key 'norm2.1.weight'", load_checkpoint, state, "engram", **SETTINGS)
