"""What lesson 14 says of the gate, claim by claim; the numbers of the module itself are in test_engram_gate.py."""

from math import cos, pi

import pytest
import torch

from tsattn_mini import record
from tsattn_mini.attention import AttentionLayer, causal, scaled_dot_product
from tsattn_mini.engram.gate import (
    ConstantGate,
    HiddenGate,
    OpenGate,
    angle_gate,
    context_gate,
    cosine_for,
    rms_norm,
    signed_root,
)
from tsattn_mini.engram.hashing import ngram_hashes
from tsattn_mini.engram.memory import Engram
from tsattn_mini.engram.vocabulary import Compression
from tsattn_mini.lesson import weights
from tsattn_mini.results import load

WORDS = ["<pad>", "the", "old", "bank", "river", "money", "burst", "failed", "water", "loan"]
TEXTS = ("river water the old bank burst", "money loan the old bank failed")
TOKENS = torch.tensor([[WORDS.index(w) for w in text.split()] for text in TEXTS])
close = torch.testing.assert_close


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def hashes():
    return ngram_hashes(Compression(WORDS), [1, 3], [101, 101], 2, pad=0)


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def alphas(net, h):
    with torch.no_grad(), record() as trace:
        net(TOKENS, h)
    return trace


def test_claim_92_unrelated_is_half_open_and_contradiction_closes():
    alpha = context_gate(draw(1, 5000, 1, 64), draw(1, 5000, 1, 64))
    assert abs(alpha.mean() - 0.5) < 0.01
    assert angle_gate(torch.tensor(0.0), 1024).item() == 0.5
    assert round(cosine_for(0.05, 1024), 3) == -0.092
    assert round(cosine_for(0.05, 1024, "sign"), 3) == -0.271
    assert angle_gate(torch.tensor(100 * pi / 180).cos(), 1024) < 0.005


@pytest.mark.parametrize(("b", "unrelated", "fitting"), [(0.0, 0.498, 0.996), (1.0, 0.022, 0.908)])
def test_claims_92_and_101_a_learned_bias_of_the_key_shuts_out_the_unrelated(b, unrelated, fitting):
    m, own = torch.cat([torch.tensor([8.0]), torch.zeros(63)]).double(), draw(1, 5000, 1, 64)
    h, other = m + own, draw(1, 5000, 1, 64)
    assert abs(context_gate(h, other - b * m).mean() - unrelated) < 0.01
    assert abs(context_gate(h, 2 * own - b * m).mean() - fitting) < 0.01


def test_claims_93_and_110_only_the_context_gate_asks_the_memory():
    h, k = torch.randn(2, 1, 1, 1, 8)
    mirrored = context_gate(h, k) + context_gate(h, -k)
    close(mirrored, torch.ones(1, 1, 1))
    for gate in (HiddenGate(1, 8), ConstantGate(1), OpenGate()):
        assert torch.equal(gate(h, k), gate(h, -k))
    assert torch.equal(ConstantGate(1)(h, k), ConstantGate(1)(-h, k))
    assert not torch.equal((hidden := HiddenGate(1, 8))(h, k), hidden(-h, k))


def test_claim_94_a_softmax_must_spend_its_unit_and_the_gate_may_refuse():
    h, k = torch.tensor([[2.0, 1, 0, 0]]), torch.tensor([[-2.0, -1, 0, 0]] * 3)
    alpha = context_gate(h.expand(1, 1, 3, 4), k[None, None], torch.full((3, 4), 3.0))
    A = weights(scaled_dot_product, 3 * rms_norm(h), rms_norm(k))
    assert round(alpha.sum().item(), 3) == 0.007
    assert abs(A.sum().item() - 1) < 1e-6
    assert torch.equal(weights(scaled_dot_product, h, k[:1]), torch.ones(1, 1))  # one key: always 1


def test_claim_94_a_factor_on_the_key_disappears():
    """Why α multiplies v and not k."""
    h, k = draw(1, 3, 2, 8), draw(1, 3, 2, 8)
    close(context_gate(h, 0.1 * k), context_gate(h, k), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("M", "root", "low", "high"), [(64, "sign", 0.0558, 0.9442), (1024, "sign", 0.0035, 0.9965),
                                                        (1024, None, 1.3e-14, 1.0), (2560, "sign", 8.1e-4, 0.9992)])
def test_claim_95_ends_of_the_range(M, root, low, high):
    ends = [angle_gate(torch.tensor(c, dtype=torch.float64), M, root).item() for c in (-1.0, 1.0)]
    assert ends == pytest.approx([low, high], rel=0.02)


def test_claim_96_a_colliding_head_passes_with_the_same_share():
    net = Engram(hashes()[1], 8, 2, E=4)
    e = draw(1, 1, 16).float()
    wrong = torch.cat([draw(1, 1, 4).float(), e[..., 4:]], dim=-1)
    for memory in (e, wrong):
        k, v = net.project(memory)
        alpha = net.gate(torch.ones(1, 1, 2, 8), k)
        passed = (alpha[..., None] * v[:, :, None]).norm(dim=-1) / v.norm()
        close(passed, alpha)


def test_claim_100_only_a_contextual_state_tells_two_uses_of_a_trigram_apart():
    net, below = Engram(hashes()[1], 16, E=4), AttentionLayer(scaled_dot_product, 16, 4)
    gaps = []
    for _ in range(20):
        bare = torch.randn(len(WORDS), 16)[TOKENS]
        seen = bare + 4 * below(bare, bare, mask=causal(6)).detach()
        before, after = alphas(net, bare[:, :, None]), alphas(net, seen[:, :, None])
        assert torch.equal(*after["e"].tensor[:, 4])
        assert torch.equal(*before["alpha"].tensor[:, 4])
        gaps.append((after["alpha"].tensor[0, 4] - after["alpha"].tensor[1, 4]).abs().item())
    assert sum(gaps) / 20 > 0.05


def test_claim_102_layers_share_no_memory_and_branches_share_the_value():
    one, other = hashes().values()
    assert not set(one.primes.flatten().tolist()) & set(other.primes.flatten().tolist())
    assert not torch.equal(one(TOKENS), other(TOKENS))
    trace = alphas(Engram(one, 8, 3, E=4), torch.randn(2, 6, 3, 8))
    assert trace["v"].axes == "B L M"
    assert trace["alpha"].tensor.std(-1).min() > 0


def test_claim_107_four_branches_have_four_keys_and_gates_and_one_value():
    trace = alphas(Engram(hashes()[1], 8, 4, E=4), torch.randn(2, 6, 4, 8))
    assert trace["k"].tensor.shape == (2, 6, 4, 8)
    assert trace["alpha"].tensor.shape == (2, 6, 4)
    v, alpha = trace["v"].tensor, trace["alpha"].tensor
    close(trace["v_gated"].tensor, alpha[..., None] * v[:, :, None])


def test_claim_105_the_lines_of_the_demonstration_are_the_package():
    h, k = draw(2, 6, 4, 32), draw(2, 6, 4, 32)
    norm = torch.nn.functional.rms_norm
    score = (norm(k, (32,)) * norm(h, (32,))).sum(-1) / 32**0.5
    gate = torch.sigmoid(score.abs().clamp_min(1e-6).sqrt() * score.sign())
    close(context_gate(h, k, root="sign"), gate, rtol=1e-12, atol=1e-14)


def test_claim_106_range_level_and_slope_under_the_root():
    s = torch.tensor([1e-6, 4.0], dtype=torch.float64, requires_grad=True)
    torch.sigmoid(signed_root(s, "sign")).sum().backward()
    assert s.grad[0].item() == pytest.approx(125, rel=1e-3)
    assert torch.sigmoid(signed_root(s, "sign"))[1].item() == pytest.approx(0.8808, abs=1e-4)


def test_claim_108_without_the_gate_an_unrelated_memory_passes_whole_and_with_it_by_half():
    h, k = draw(1, 5000, 1, 64), draw(1, 5000, 1, 64)
    assert torch.equal(OpenGate()(h, k), torch.ones(1, 5000, 1, dtype=torch.float64))
    assert abs(context_gate(h, k).mean() - 0.5) < 0.01


def test_claim_108_a_small_trained_model_does_no_worse_without_the_gate():
    trained = load("engram")
    assert [str(trained["text", model, "loss"]).replace("\u00a0", " ")
            for model in ("Engram", "α = 1")] == ["1.266 ± 0.002", "1.264 ± 0.001"]
    assert 5 * 1024 * 1024 > 1000 * 4 * 1024  # step 5 against step 6, multiply-adds for a token


@pytest.mark.parametrize(("angle", "M", "gain", "root", "expected"), [
    (87, 1024, 1, None, 0.842), (180, 4, 1, None, 0.119), (180, 4, 3, None, 0.002), (80, 64, 1, None, 0.800),
    (80, 64, 1, "sign", 0.765)])
def test_claims_92_and_95_the_presets_of_the_angle(angle, M, gain, root, expected):
    score = torch.tensor(gain * M**0.5 * cos(angle * pi / 180))
    assert round(torch.sigmoid(signed_root(score, root)).item(), 3) == expected


def test_claim_92_one_random_memory_in_twenty_leans_three_degrees_towards_the_state():
    cosine = torch.nn.functional.cosine_similarity(draw(20_000, 1024), draw(20_000, 1024), dim=-1)
    assert abs((cosine > cos(87 * pi / 180)).double().mean() - 0.047) < 0.005
