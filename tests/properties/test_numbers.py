"""Finite numbers go in: finite numbers of the same dtype come out, or one clear line says why not."""

import warnings
from copy import deepcopy
from functools import partial
from types import MethodType

import pytest
import torch
from calls import CALLS, Call
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

pytestmark = pytest.mark.bad_input  # what is too large is refused

BOUNDED = {  # not data: shares, widths, draws, calendar
    "S", "w", "u", "keep", "s", "t", "told", "sigma", "tau", "alpha", "size", "gain", "h_gain", "k_gain", "weights",
    "A", "means", "stds", "source_std", "target_std", "cosine", "noise", "router_noise", "z", "Mz", "eps", "S_future",
    "log_tau", "marks", "x_mark_enc", "x_mark_dec"}
TAKES = {name for name, call in CALLS.items()
         if any(isinstance(x, Tensor) and x.is_floating_point() for x in call.given.values())}
WIDER = {  # what is computed in float32 stays so
    "ChannelMask", "Projector", "Router", "stationarize", "TemporalClusters", "RevIN", "score", "Scaler.transform",
    "Scaler.inverse", "gaussian_crps"}
DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}


def in_dtype(call: Call, dtype: torch.dtype) -> Call:
    """The same call with every number, and the weights of its module, in another dtype."""
    function, given = call.function, call.given
    if isinstance(function, MethodType) and isinstance(function.__self__, nn.Module):
        function = getattr(deepcopy(function.__self__).to(dtype), function.__name__)
    elif isinstance(function, partial) and "W_v" in function.keywords:
        function = partial(function.func, W_v=deepcopy(function.keywords["W_v"]).to(dtype))
    return Call(function, {name: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x
                           for name, x in given.items()}, call.free)


def shaped(x: Tensor, kind: str, scale: float) -> Tensor:
    """Data of another size: as it was, standing still, or with one entry far out."""
    if kind == "constant":
        return torch.full_like(x, scale)
    if kind == "outlier":
        x = x.clone()
        x.view(-1)[x.numel() // 2] = scale
        return x
    return x * scale


def laid_out(x: Tensor, layout: str) -> Tensor:
    """The same numbers, differently in memory."""
    if layout == "strided":
        return torch.stack([x, -x], -1)[..., 0]
    return x.mT.contiguous().mT if layout == "turned" and x.ndim > 1 else x


def floats(answer) -> list[Tensor]:
    return [t for t in torch.utils._pytree.tree_leaves(answer) if isinstance(t, Tensor) and t.is_floating_point()]


def answered(call: Call, **spoilt):
    """What comes out, or None where one line says why not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return call(**spoilt)
        except ValueError as error:
            message = str(error)
            assert "\n" not in message
            assert "expected" in message
            return None


@pytest.mark.parametrize("name", sorted(TAKES))
@settings(max_examples=12)
@given(dtype=st.sampled_from(sorted(DTYPES)), kind=st.sampled_from(["scaled", "constant", "outlier"]),
       scale=st.sampled_from([0.0, 1e-30, 1e-8, 1.0, 300.0, 3e4, 1e8, 1e30]),
       layout=st.sampled_from(["plain", "strided", "turned"]))
def test_finite_in_finite_out(name, dtype, kind, scale, layout):
    call = in_dtype(CALLS[name], DTYPES[dtype])
    scale = min(scale, 0.9 * torch.finfo(DTYPES[dtype]).max)
    data = {n: laid_out(x if n in BOUNDED else shaped(x, kind, scale), layout) for n, x in call.given.items()
            if isinstance(x, Tensor) and x.is_floating_point()}
    if not all(bool(x.isfinite().all()) for x in data.values()):
        return  # a draw times the largest number
    before = {n: x.clone() for n, x in data.items()}
    answer = answered(call, **data)
    assert all(torch.equal(before[n], x) for n, x in data.items()), "an argument was written to"
    if answer is None:
        assert scale not in (0.0, 1.0) or kind != "scaled" or name in ("f_statistic", "granger")
        return
    out = floats(answer)
    assert all(bool(t.isfinite().all()) for t in out)
    if name not in WIDER and out:
        assert out[0].dtype == DTYPES[dtype]
    again = floats(answered(call, **{n: x.contiguous() for n, x in data.items()}))
    accuracy = 1e-9 if dtype == "float64" else 1e-2
    for a, b in zip(out, again, strict=True):
        assert_close(a, b, rtol=0, atol=accuracy * float(1 + a.detach().abs().max()))


@pytest.mark.parametrize("name", sorted(TAKES))
def test_at_the_edge_of_the_range_an_answer_is_finite_or_refused(name):
    call, limits = in_dtype(CALLS[name], torch.float32), torch.finfo(torch.float32)
    data = {n: x for n, x in call.given.items() if isinstance(x, Tensor) and x.is_floating_point()}
    for chosen in [*({n: x} for n, x in data.items()), data]:
        for scale in (limits.max, 0.45 * limits.max, 1e-45):
            for spoilt in ({n: torch.full_like(x, scale) for n, x in chosen.items()},
                           {n: (scale * x.double()).clamp(limits.min, limits.max).float() for n, x in chosen.items()}):
                answer = answered(call, **spoilt)
                assert answer is None or all(bool(t.isfinite().all()) for t in floats(answer)), (list(chosen), scale)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize(("name", "argument"), [
    (name, argument) for name in sorted(TAKES) for argument in ("marks", "x_mark_enc", "x_mark_dec")
    if isinstance(CALLS[name].given.get(argument), Tensor) and name != "CalendarEmbedding"])
def test_large_marks_give_a_finite_answer_or_are_named(name, argument, dtype):
    call = in_dtype(CALLS[name], DTYPES[dtype])
    for size in (1e3, 3e4, 1e8, 1e18, 1e19, 1e25, 1e38, 1e160, 1e300):
        marks = size * call.given[argument].sign()
        if not bool(marks.isfinite().all()):
            return
        answer, message = outcome(call, argument, marks)
        assert all(bool(t.isfinite().all()) for t in floats(answer))
        assert message.startswith((f"{argument}: expected numbers that stay", "answered"))


def outcome(call: Call, argument: str, value: Tensor):
    """What comes out, and the message of the refusal."""
    try:
        return call(**{argument: value}), "answered"
    except ValueError as error:
        return (), str(error)


@pytest.mark.parametrize("name", sorted(TAKES - {"granger", "split_by_time", "windows", "KITE.loss"}))
@settings(max_examples=4)
@given(kind=st.sampled_from(["scaled", "constant"]), scale=st.sampled_from([0.0, 1e-8, 1.0, 1e4]))
def test_gradients_are_finite_where_the_answer_is(name, kind, scale):
    call = in_dtype(CALLS[name], torch.float64)
    data = {n: (x if n in BOUNDED else shaped(x, kind, scale)).clone().requires_grad_() for n, x in call.given.items()
            if isinstance(x, Tensor) and x.is_floating_point()}
    out = [t for t in floats(answered(call, **data)) if t.requires_grad]
    if out:
        sum(t.sum() for t in out).backward()
        assert [n for n, x in data.items() if x.grad is not None and not bool(x.grad.isfinite().all())] == []


APART = {"scaled_dot_product": {"mask"}, "bilinear_scores": {"W1", "W2"}, "context_gate": {"h_gain", "k_gain"},
         "prob_sparse": {"index_sample"}}  # arguments that all windows share
ALONE = [
    "scaled_dot_product", "destationary_attention", "AttentionLayer", "CalendarEmbedding", "DataEmbedding",
    "Projector", "stationarize", "destationarize", "pearson", "f_statistic", "ridge_shortcut", "kite.normalise",
    "knowledge_guided", "bilinear_scores", "inject", "KnowledgeGuidedConditioning", "HistoryThenFuture",
    "KnowledgeGuidedAttention", "ExogenousCrossAttention", "InputConcatenation", "VectorField", "HistorySource",
    "standardise", "NgramHash", "Engram", "context_gate", "LanguageModel", "auto_correlation", "series_decomp",
    "FourierBlock", "FourierCrossAttention", "prob_sparse", "Distilling", "InvertedEmbedding", "PatchEmbedding",
    "ChannelMask", "channel_attention", "RevIN", "Transformer", "NonstationaryTransformer", "Autoformer",
    "FEDformer", "Informer", "ITransformer", "TimeXer", "DUET"]


@pytest.mark.parametrize("name", ALONE)
def test_a_window_alone_is_that_window_in_a_batch(name):
    call = CALLS[name]
    whole = floats(call()) or [call()]
    rows = {n: x for n, x in call.given.items() if isinstance(x, Tensor) and n not in APART.get(name, ())}
    for i in range(2):
        alone = call(**{n: x[i:i + 1] for n, x in rows.items()})
        for a, b in zip(floats(alone) or [alone], whole, strict=True):
            if b.ndim:
                assert_close(a, b[i:i + 1], rtol=0, atol=1e-9)
