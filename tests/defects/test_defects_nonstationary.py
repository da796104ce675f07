"""The Non-stationary Transformer: what went wrong in public code around it, with the input that shows it."""

import warnings
from contextlib import contextmanager

import pandas as pd
import pytest
import torch
from csv_files import read
from forecasters import SMALL, build, draw, inputs, traced

from tsattn_mini.blocks import Transformer
from tsattn_mini.datasets import Scaler, Series, windows
from tsattn_mini.nonstationary import NonstationaryTransformer, destationarize, destationary_attention, stationarize
from tsattn_mini.questions import lesson04, lesson06, lesson17
from tsattn_mini.training import make_task, squared_error
from tsattn_mini.zoo.autoformer import Autoformer
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.informer import Informer

DECODERS = (Transformer, NonstationaryTransformer, Informer, Autoformer, FEDformer)
TINY = {"V": 3, "M": 4, "H": 2, "d_ff": 5, "e_layers": 1}


def hours(rows=60, level=0.0):
    """A series of two drawn columns, hour by hour."""
    index = pd.date_range("2024-01-01", periods=rows, freq="h")
    frame = pd.DataFrame((draw(rows, 2) + level).numpy(), index=index, columns=["a", "b"])
    return Series(name="drawn", frame=frame, target="a", drivers=("b",), units={"a": "1", "b": "1"}, source="drawn",
                  licence="MIT")


@contextmanager
def _quiet():
    """What is warned about does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.mark.bad_input
def test_defect_01_delta_only_where_the_keys_are_the_encoder_input():
    """Nonstationary_Transformers#4: δ has one entry per past step, and decoder self-attention has other keys.

    There adding it fails for 6 rows against 5, and a δ of length 1 is spread over all keys without a word. Here δ
    reaches encoder and cross-attention, the decoder's own attention gets zeros, and any other length is refused.
    """
    net, args = build(seq_len=5, label_len=3, pred_len=3, p_hidden=(4,), **TINY), inputs(seq_len=5, label_len=3,
                                                                                       pred_len=3, V=3)
    trace = traced(net, *args)
    delta = trace["delta"].tensor[:, None, None]
    assert torch.equal(trace["enc0/delta_4d"].tensor, delta)
    assert torch.equal(trace["dec0/cross/delta_4d"].tensor, delta)
    assert trace["dec0/self/delta_4d"].shape == (2, 1, 1, 6)
    assert not trace["dec0/self/delta_4d"].tensor.any()
    q = draw(2, 6, 1, 4)
    for length in (1, 5, 7):
        with pytest.raises(ValueError, match=rf"^delta: expected axes 'B S' with B=2, S=6, got shape \(2, {length}\)"):
            destationary_attention(q, q, q, delta=draw(2, length))
    with pytest.raises(ValueError, match=r"^tau: expected axes 'B 1' with B=2, got shape \(1, 1\)"):
        destationary_attention(q, q, q, tau=draw(1, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_defect_02_raw_scale_saturates_tau_and_never_gives_nan(dtype):
    """Time-Series-Library#732, #684: series in the thousands make exp(log τ) 0 or enormous, and the forecast NaN.

    Upstream bounds log τ from above only, at 80: queries of size 100 then overflow, and half precision much earlier.
    Here τ is bounded on both sides by its dtype and cut where a score would overflow; gradients stay finite.
    """
    net = build(dtype=dtype, **SMALL)
    x, *rest = inputs(**SMALL)
    rest, x = [r.to(dtype) for r in rest], (3e3 * x).to(dtype).requires_grad_()
    with pytest.warns(RuntimeWarning, match="log_tau: .* Are the series standardised"):
        y = net(x, *rest)
    assert y.isfinite().all()
    y.float().sum().backward()
    assert dtype == torch.float16 or all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)
    for size, log_tau in ((1, 80.0), (100, 80.0), (8, 5.0), (1, 12.0), (1, -165.0)):
        q = (size * draw(2, 5, 1, 4)).to(dtype)
        tau = torch.tensor([[log_tau]] * 2).exp().clamp(max=torch.finfo(dtype).max).to(dtype)
        with _quiet():
            assert destationary_attention(q, q, q, tau=tau).isfinite().all()
    assert {"04-underflow", "04-thousand"} <= {q.id for q in lesson04.QUESTIONS}


@pytest.mark.bad_input
@pytest.mark.parametrize("cls", DECODERS)
def test_defect_03_a_label_longer_than_the_past_is_refused_in_the_config(cls):
    """LTSF-Linear#57, FEDformer#52, Time-Series-Library#164: label_len > seq_len is found out when batches are made.

    The slice is empty or too short there, 36 rows where the model has 42. Here the size is refused where it is said,
    in a model and in a task, with the rule.
    """
    rule = r"^label_len: expected 0 <= label_len <= seq_len=24, .* got 30"
    with pytest.raises(ValueError, match=rule):
        cls(seq_len=24, label_len=30, pred_len=12, **TINY)
    with pytest.raises(ValueError, match=rule):
        make_task(hours(200), ["a", "b"], seq_len=24, label_len=30, pred_len=12, period=24)


@pytest.mark.parametrize("cls", DECODERS)
def test_defect_04_a_label_of_zero_leaves_the_horizon_alone(cls):
    """Advised in LTSF-Linear#57: at label_len = 0 the slice `-0:` keeps the whole past, 36 decoder rows for 12."""
    x, marks, _, ahead = inputs(seq_len=24, label_len=0, pred_len=12, V=3)
    y = build(cls, seq_len=24, label_len=0, pred_len=12, **TINY)(x, marks, None, ahead)
    assert y.shape == (2, 12, 3)
    task = make_task(hours(200), ["a", "b"], seq_len=24, label_len=0, pred_len=12, period=24)
    assert task.train.decoder_marks.shape[1] == 12
    trace = traced(build(seq_len=24, label_len=0, pred_len=12, **TINY), x, marks, None, ahead)
    assert trace["x_dec"].shape == (2, 12, 3)
    assert not trace["x_dec"].tensor.any()


@pytest.mark.bad_input
def test_defect_07_no_division_by_the_number_of_values_that_are_there():
    """PyPOTS#265: with every value of a channel missing, its mean is divided by a count of zero and all is NaN.

    Here nothing is normalised with holes in it: a file's empty column is refused by name, a hole is refused unless a
    rule fills it, and the rows that were filled are flagged. A channel that only stands still is no division by zero.
    """
    for rule in ("refuse", "interpolate", "last", "zero"):
        with pytest.raises(ValueError, match=r"column 'y': it holds no value at all: leave it out"):
            read("date,x,y\n2024-01-01,1,\n2024-01-02,2,NA\n2024-01-03,2,\n", missing=rule)
    rows = "".join(f"2024-01-{day:02},{day},{3 if day == 5 else ''}\n" for day in range(1, 11))
    series = read("date,x,y\n" + rows, missing="zero")
    assert series.tensor(["y"])[:, 0].tolist() == [0, 0, 0, 0, 3, 0, 0, 0, 0, 0]
    assert series.observed.tolist() == [day == 5 for day in range(1, 11)]
    for level in (0.0, 1e-8, 5.0, 3e4):
        x = torch.full((2, 7, 3), level)
        x_norm, mu, sigma = stationarize(x)
        assert not x_norm.any()
        assert torch.equal(destationarize(x_norm, mu, sigma), x)
        scaler = Scaler.fit(x[0])
        assert torch.equal(scaler.inverse(scaler.transform(x)), x)


@pytest.mark.bad_input
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_defect_08_one_bad_number_stops_with_its_row_and_column(bad):
    """Informer2020#511, tsai#79: one NaN in 24 × 3 spoils the whole forecast, in validation perhaps unnoticed.

    Here every way in stops, and says at which row and column: the series, the scaler, the windows, every forecaster.
    """
    x, marks, _, ahead = inputs(seq_len=24, label_len=6, pred_len=4, V=3, B=1)
    x[0, 17, 2] = bad
    for cls in DECODERS:
        net = build(cls, seq_len=24, label_len=6, pred_len=4, **TINY)
        with pytest.raises(ValueError, match=r"^x_enc: .* got (nan|inf) at row 17, column 2 of window 0"):
            net(x, marks, None, ahead)
    for call, name in ((Scaler.fit, "train"), (lambda x: windows(x, 5), "x")):
        with pytest.raises(ValueError, match=f"^{name}: .* at row 17, column 2"):
            call(x[0])
    frame = pd.DataFrame(x[0].numpy(), index=pd.date_range("2024-01-01", periods=24, freq="h"), columns=list("abc"))
    units = dict.fromkeys("abc", "1")
    with pytest.raises(ValueError, match=r"at row 17 \(2024-01-01 17:00:00\), column 'c'"):
        Series(name="n", frame=frame, target="a", drivers=("b",), units=units, source="", licence="")


@pytest.mark.parametrize("cls", DECODERS)
def test_defect_09_unscaled_values_train_without_nan_and_the_scaler_comes_back(cls):
    """Informer2020#251: on values of about 10⁴ the loss is NaN.

    Here a task is scaled by its training part alone and the way back is exact to rounding; and a model that is given
    the raw values all the same has a finite loss and finite gradients.
    """
    series = hours(200, level=1e4)
    task = make_task(series, ["a", "b"], seq_len=24, label_len=12, pred_len=6, period=24)
    raw = series.tensor(["a", "b"])
    torch.testing.assert_close(task.scaler.inverse(task.x), raw, rtol=1e-6, atol=0)
    assert float(task.x[:140].mean().abs()) < 1e-3
    assert float(task.x[140:].mean().abs()) > 1e-3
    net = build(cls, dtype=torch.float32, **{**task.sizes, "M": 4, "H": 2, "d_ff": 5, "e_layers": 1})
    cut = task.train[:4]
    cut = cut._replace(past=task.scaler.inverse(cut.past), future=task.scaler.inverse(cut.future))
    with _quiet():
        loss = squared_error(net, cut)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)


def test_defect_10_what_was_asked_there_is_asked_here():
    """Nonstationary_Transformers#10, #28, #30: τ and δ under another attention, the zeros, label_len: often asked."""
    asked = {q.id: q for q in [*lesson06.QUESTIONS, *lesson17.QUESTIONS]}
    assert asked["17-handles"].answer() == "tau"
    assert asked["06-zero"].answer() == "mean"
    assert asked["06-tail"].answer() == "input"
    assert asked["06-label-zero"].answer() == 16
