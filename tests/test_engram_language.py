import math

import pytest
import torch
from torch.testing import assert_close

from tsattn_mini import record
from tsattn_mini.engram.counts import Counts
from tsattn_mini.engram.language import LanguageModel, losses, shifted, train
from tsattn_mini.engram.text import KINDS, parts
from tsattn_mini.results.engram import MODELS, by_kind, memory, memory_steps, removed, shut, tokenizer

P = len(tokenizer())
TRAIN, _, TEST = parts(200, 10, 40)


def small(recipe=None):
    torch.manual_seed(0)
    return LanguageModel(P, 40, memory=None if recipe is None else memory(**recipe)).eval()


@pytest.mark.parametrize("name", MODELS)
def test_no_place_sees_what_comes_after_it(name):
    model = small(MODELS[name])
    if model.memory is not None:
        torch.nn.init.normal_(model.memory.convolution.weight)
    tokens, _, _ = shifted(TEST)
    changed = tokens.clone()
    changed[:, 6:] = 5
    before, after = model(tokens), model(changed)
    assert before.shape == (*tokens.shape, P)
    assert_close(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6], after[:, 6])


def test_a_memory_whose_gate_is_shut_and_whose_convolution_is_zero_is_no_memory():
    model = small({})
    tokens, _, _ = shifted(TEST)
    assert_close(shut(model, 1e-9)(tokens), removed(model)(tokens), atol=1e-5, rtol=0)
    assert (model(tokens) - removed(model)(tokens)).abs().max() > 0.1


def test_the_memory_stands_between_the_two_layers():
    tokens, _, _ = shifted(TEST)
    with torch.no_grad(), record() as trace:
        small({})(tokens)
    assert trace["h"].sources == ("layer1/norm2",)
    assert torch.equal(trace["h"].tensor[:, :, 0], trace["layer1/norm2"].tensor)
    assert "h_out" in trace["layer2/q"].sources
    assert list(trace)[-1] == "scores"


def test_losses_are_minus_the_log_of_a_softmax():
    model = small()
    tokens, targets, kinds = shifted(TEST)
    loss = losses(model, TEST, batch=7)
    shares = torch.softmax(model(tokens)[3, 4], -1).detach()
    assert loss[3, 4].item() == pytest.approx(-math.log(shares[targets[3, 4]]), abs=1e-5)
    assert bool((loss[kinds < 0] == 0).all())
    report = by_kind(loss, TEST)
    assert report["loss"] == pytest.approx(loss.sum().item() / (kinds >= 0).sum().item(), abs=1e-5)
    assert list(report) == ["loss", *KINDS]


def test_training_lowers_the_loss_and_follows_its_seed():
    def build():
        return LanguageModel(P, 40, M=8, H=2, d_ff=8, memory=None)

    one, two, other = (train(build, TRAIN, seed, rounds=2, batch=20, lr=0.02) for seed in (0, 0, 1))
    torch.manual_seed(0)
    assert losses(one, TEST).mean() < 0.8 * losses(build(), TEST).mean()
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(one.unembed.weight, other.unembed.weight)


def test_the_steps_of_the_memory_come_one_row_per_predicted_token():
    alpha, conv = memory_steps(small({}), TEST, "alpha", "conv")
    count = int((shifted(TEST)[2] >= 0).sum())
    assert alpha.shape == (count, 1)
    assert conv.shape == (count, 1, 32)


@pytest.mark.bad_input
@pytest.mark.parametrize(("tokens", "message"), [
    (torch.zeros(1, 41, dtype=torch.int64), "at most 40 places, got 41"),
    (torch.full((1, 3), P), f"ids from 0 to {P - 1}, got {P}"),
    (torch.zeros(1, 0, dtype=torch.int64), "at least one entry"), (torch.zeros(1, 3), "int64")])
def test_tokens_that_do_not_fit_are_refused(tokens, message):
    with pytest.raises(ValueError, match=message):
        small()(tokens)


def test_counts_share_what_they_saw_and_leave_the_rest_to_shorter_contexts():
    ids = torch.tensor([[1, 2, 3, 1, 2, 4]])
    counts = Counts(ids[:, :-1], ids[:, 1:], P=5, N=2)
    nothing = (2 + 4 / 5) / (5 + 4)                         # 2 came twice among 5, which were 4 different ones
    assert counts.share((), 2) == pytest.approx(nothing)
    assert counts.share((1,), 2) == pytest.approx((2 + nothing) / 3)
    after_two = (1 + 2 * (1 + 4 / 5) / 9) / 4               # after 2: 3 once, 4 once
    assert counts.share((2,), 4) == pytest.approx(after_two)
    assert counts.share((1, 2), 4) == pytest.approx((1 + 2 * after_two) / 4)
    assert counts.share((0, 2), 4) == counts.share((2,), 4)
    assert sum(counts.share((1, 2), w) for w in range(5)) == pytest.approx(1)


def test_the_losses_of_counts_look_back_no_further_than_the_row():
    ids = torch.tensor([[1, 2, 3, 1, 2, 4]])
    counts = Counts(ids[:, :-1], ids[:, 1:], P=5, N=2)
    loss = counts.losses(torch.tensor([[2, 1, 2]]), torch.tensor([[4, -1, 3]]))
    assert loss[0, 0].item() == pytest.approx(-math.log(counts.share((2,), 4)))
    assert loss[0, 1] == 0
    assert loss[0, 2].item() == pytest.approx(-math.log(counts.share((1, 2), 3)))
