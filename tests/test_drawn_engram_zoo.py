"""The numbers that questions of lessons 13 and 15 to 18 draw have the answers of the package's own functions."""

import pytest
import torch
import torch.nn.functional as F

from tsattn_mini.engram.collisions import expected_share
from tsattn_mini.engram.hashing import xor_mix
from tsattn_mini.questions import all_questions
from tsattn_mini.zoo.autoformer import number_of_delays
from tsattn_mini.zoo.fourier import FourierBlock, FourierCrossAttention
from tsattn_mini.zoo.informer import Distilling, prob_sparse, sample_keys, sample_size

QUESTIONS = {q.id: q for q in all_questions()}
SEEDS = range(8)


def drawn(id):
    """The drawn numbers of some seeds and the answer to each."""
    question = QUESTIONS[id]
    return [({name: x.tolist() for name, x in question.drawing.tensors(seed).items()}, question.at(seed).answer())
            for seed in SEEDS]


def test_13_hash_is_xor_in_whole_numbers():
    for x, answer in drawn("13-hash"):
        newest, before, (m, n), p = int(x["newest"]), int(x["before"]), map(int, x["m"]), int(x["p"])
        mix = xor_mix(torch.tensor([[[newest, before]]]), torch.tensor([m, n]))
        assert answer == int(mix) % p == ((newest * m) ^ (before * n)) % p


def test_13_share_is_the_expected_one():
    for x, answer in drawn("13-share"):
        assert answer == pytest.approx(100 * expected_share(round(1000 * x["n"]), round(1000 * x["p"])), abs=1e-3)


def test_15_tokens_are_those_of_a_set():
    for x, answer in drawn("15-tokens"):
        K, D, N = (int(x[name]) for name in "KDN")
        assert answer == len({tap * D + back for tap in range(K) for back in range(N)})


def test_16_kept_counts_the_rows_that_are_the_mean():
    for x, answer in drawn("16-kept"):
        L, u = int(x["L"]), sample_size(int(x["c"]), int(x["L"]))
        q, k, v = torch.randn(3, 1, L, 1, 2, generator=torch.Generator().manual_seed(16), dtype=torch.float64)
        out = prob_sparse(q, k, v, sample_keys(L, L, u, torch.Generator().manual_seed(0)), u=u)
        assert answer == pytest.approx(100 * float((out == v.mean(1, keepdim=True)).all(-1).double().mean()))


def test_16_distil_is_the_length_that_comes_out():
    block = Distilling(2).eval()
    for x, answer in drawn("16-distil"):
        y = torch.zeros(1, int(x["L"]), 2)
        for _ in range(int(x["layers"]) - 1):
            y = block(y)
        assert answer == y.shape[1]


def test_17_even_is_what_pooling_returns():
    for x, answer in drawn("17-even"):
        k, L = int(x["k"]), int(x["L"])
        assert answer == F.avg_pool1d(torch.zeros(1, 1, L + 2 * ((k - 1) // 2)), k, stride=1).shape[-1]


def test_17_count_is_the_number_of_delays():
    for x, answer in drawn("17-count"):
        assert answer == number_of_delays(int(x["L"]), int(x["c"]))


def test_18_leaves_is_where_the_released_block_writes():
    for x, answer in drawn("18-leaves"):
        block = FourierBlock(1, 1, 96, sorted(map(int, x["kept"])), released_slots=True).double().requires_grad_(False)
        block.real.fill_(1)
        block.imag.zero_()
        wave = torch.cos(2 * torch.pi * x["kept"][0] * torch.arange(96, dtype=torch.float64) / 96)
        assert answer == int(torch.fft.rfft(block(wave[None, :, None, None]), dim=1).abs().argmax())


@pytest.mark.parametrize("M", [128, 512])
def test_18_whisper_is_the_square_of_the_width(M):
    x = torch.arange(4 * M, dtype=torch.float64).sin().reshape(1, 4, 8, M // 8)
    outs = []
    for released in (False, True):
        torch.manual_seed(0)
        cross = FourierCrossAttention(M, 8, 4, 4, [1], [1], released_scale=released).double().requires_grad_(False)
        outs.append(float(cross(x, x, x).norm()))
    answer = QUESTIONS["18-whisper"].drawing.answer(torch.tensor(M, dtype=torch.float64))
    assert outs[0] / outs[1] == pytest.approx(float(answer))
