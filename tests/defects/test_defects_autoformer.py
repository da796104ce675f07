"""Autoformer: what went wrong in public code, with the input that shows it."""

import pytest
import torch
from forecasters import build, draw, inputs, traced

from tsattn_mini.datasets import windows
from tsattn_mini.training import Cut, naive
from tsattn_mini.zoo.autoformer import Autoformer, auto_correlation
from tsattn_mini.zoo.decomposition import series_decomp

TINY = {"V": 3, "M": 4, "H": 2, "d_ff": 5, "e_layers": 1}


def model(seq_len, label_len, pred_len, dtype=torch.float64, **more):
    sizes = {"seq_len": seq_len, "label_len": label_len, "pred_len": pred_len}
    return build(Autoformer, dtype=dtype, **sizes, **TINY, **more), inputs(**sizes, V=3, B=3, dtype=dtype)


def summed(q, k):
    """R(τ) = Σ_t q_{t+τ} · k_t, lag by lag, the mean over heads and channels."""
    return torch.stack([(q.roll(-lag, 1) * k).sum(1).mean((1, 2)) for lag in range(q.shape[1])], -1)


@pytest.mark.parametrize("L", [1, 2, 3, 7, 25, 97])
def test_defect_11_an_odd_length_has_all_its_lags(L):
    """Autoformer#133, #134, transformers#21891, LIFT#5, Amplifier#1, and Time-Series-Library to this day: irfft.

    It is not told the length there, so 25 steps give 24 lags of another correlation, 7.0 off. Here every length has
    as many lags as steps, and they are the plain sums, in the operator and in every layer of the model.
    """
    q, k = draw(2, L, 2, 3), draw(2, L, 2, 3, seed=1)
    R = traced(lambda: auto_correlation(q, k, k))["R"].tensor
    torch.testing.assert_close(R, summed(q, k), rtol=0, atol=1e-12)
    net, args = model(L, L // 2, 3)
    trace = traced(net, *args)
    for scope in ("enc0", "dec0/self", "dec0/cross"):
        got = trace[f"{scope}/R"].tensor
        q, k = (trace[f"{scope}/{name}"].tensor for name in "qk")
        k = torch.cat([k, k.new_zeros(3, max(q.shape[1] - k.shape[1], 0), 2, 2)], 1)[:, :q.shape[1]]
        torch.testing.assert_close(got, summed(q, k), rtol=0, atol=1e-10)
    if L == 25:
        released = traced(lambda: auto_correlation(q, k, k, released_lags=True))["R"].tensor
        assert released.shape[1] == q.shape[1] // 2 * 2


def test_defect_13_training_and_evaluation_are_one_formula():
    """Found in the released code: in training all windows of a batch share the delays of their mean.

    A window then gets other outputs alone than in a batch, and other ones in training than in evaluation. Here both
    modes are per window; `shared_in_training` is the other formula, by name. (Autoformer#170 asks which way is rolled:
    question 17-direction.)
    """
    net, args = model(12, 6, 4)
    for mode in (True, False):
        net.train(mode)
        whole = net(*args)
        torch.testing.assert_close(whole, model(12, 6, 4)[0].eval()(*args), rtol=0, atol=0)
        alone = torch.cat([net(*(a[i:i + 1] for a in args)) for i in range(3)])
        torch.testing.assert_close(alone, whole, rtol=0, atol=1e-12)
    shared, _ = model(12, 6, 4, shared_in_training=True)
    assert (shared.train()(*args) - shared.eval()(*args)).abs().max() > 1e-6


@pytest.mark.parametrize("kernel", [1, 2, 24, 25, 200])
def test_defect_14_an_even_kernel_keeps_the_length(kernel):
    """Autoformer#185, #84, ipex-llm#5424: (k - 1) // 2 steps are added on both sides, so an even k gives 95 for 96."""
    x = draw(2, 96, 3)
    seasonal, trend = series_decomp(x, kernel)
    assert seasonal.shape == trend.shape == x.shape
    torch.testing.assert_close(seasonal + trend, x)
    rows = torch.arange(-(kernel // 2), (kernel - 1) // 2 + 1)
    for t in (0, 41, 95):
        torch.testing.assert_close(trend[:, t], x[:, (t + rows).clamp(0, 95)].mean(1))
    net, args = model(12, 6, 4, kernel=kernel)
    assert net(*args).shape == (3, 4, 3)


@pytest.mark.bad_input
def test_defect_15_a_short_history_is_told_what_was_needed_and_what_came():
    """transformers#39460, blog#1382: the check of the lags prints the wrong one of two lengths, or a later error."""
    net, (x, marks, _, ahead) = model(24, 12, 6)
    with pytest.raises(ValueError, match=r"^x_enc: expected axes 'B 24 3', got shape \(3, 20, 3\)"):
        net(x[:, :20], marks[:, :20], None, ahead)
    with pytest.raises(ValueError, match=r"a sum of at most the 20 rows of x, got 24 \+ 6"):
        windows(x[0, :20], 24, 6)
    with pytest.raises(ValueError, match=r"^period: expected 1 to 24, the steps of the past, got 25"):
        naive(Cut(x, marks, x[:, :6], ahead), period=25)
