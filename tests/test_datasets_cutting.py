"""On the way from a series to a model's tensors no number moves, leaks or goes wrong unseen."""

import pandas as pd
import pytest
import torch

from tsattn_mini.datasets import Scaler, load_bikes, load_macro, split_by_time, time_features, windows


def counting(*shape):
    """1, 2, 3, ... as a float64 tensor."""
    return torch.arange(1, torch.Size(shape).numel() + 1, dtype=torch.float64).reshape(shape)


def with_bad(value):
    x = counting(7, 3)
    x[4, 1] = value
    return x


# windows


@pytest.mark.parametrize(("length", "horizon", "stride"), [
    (5, 3, 2), (1, 0, 1), (7, 2, 3), (13, 4, 5), (17, 0, 1),
])
def test_windows_are_the_slices(length, horizon, stride):
    x = counting(17, 3)
    past, future = windows(x, length, horizon, stride)
    starts = range(0, 17 - length - horizon + 1, stride)
    assert past.shape == (len(starts), length, 3)
    assert future.shape == (len(starts), horizon, 3)
    for b, t in enumerate(starts):
        assert torch.equal(past[b], x[t:t + length])
        assert torch.equal(future[b], x[t + length:t + length + horizon])


def test_windows_by_hand():
    past, future = windows(counting(5, 1), 2, 1, 2)
    assert past.squeeze(-1).tolist() == [[1, 2], [3, 4]]
    assert future.squeeze(-1).tolist() == [[3], [5]]


def test_windows_share_the_memory_of_the_series():
    x = counting(11, 2)
    past, future = windows(x, 3, 2)
    x[4, 1] = -1
    assert past[2, 2, 1] == past[4, 0, 1] == future[1, 0, 1] == future[0, 1, 1] == -1


@pytest.mark.bad_input
@pytest.mark.parametrize(("arguments", "message"), [
    ({"length": 0}, "^length: expected at least 1, got 0$"),
    ({"length": 2, "horizon": -1}, "^horizon: expected at least 0, got -1$"),
    ({"length": 2, "stride": 0}, "^stride: expected at least 1, got 0$"),
    ({"length": 5, "horizon": 3}, r"^length, horizon: .* at most the 7 rows of x, got 5 \+ 3$"),
    ({"length": 2, "x": with_bad(float("nan"))}, "^x: expected finite numbers, got nan at row 4, column 1$"),
    ({"length": 2, "x": with_bad(float("-inf"))}, "^x: .* got -inf at row 4, column 1$"),
    ({"length": 2, "x": counting(7)}, "^x: expected axes 'T V'"),
    ({"length": 2, "x": torch.zeros(7, 0)}, "^x: expected at least one entry"),
])
def test_windows_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        windows(**({"x": counting(7, 3)} | arguments))


# split_by_time and Scaler


@pytest.mark.parametrize(("rows", "shares", "sizes"), [
    (10, (0.7, 0.1), [7, 1, 2]),
    (203, (0.7, 0.1), [142, 20, 41]),
    (11, (0.5, 0.25), [6, 2, 3]),
])
def test_split_is_contiguous_and_complete(rows, shares, sizes):
    x = counting(rows, 2)
    parts = split_by_time(x, *shares)
    assert parts._fields == ("train", "validation", "test")
    assert [len(part) for part in parts] == sizes
    assert torch.equal(torch.cat(parts), x)


@pytest.mark.bad_input
@pytest.mark.parametrize(("arguments", "message"), [
    ({"train": 0.0}, "^train: expected a share between 0 and 1, got 0.0$"),
    ({"train": float("nan")}, "^train: .* got nan$"),
    ({"validation": 1.0}, "^validation: expected a share between 0 and 1, got 1.0$"),
    ({"train": 0.01}, "^train, validation: .* got 0.01 and 0.1, which leave none of 7 rows for train$"),
    ({"validation": 0.01}, "^train, validation: .* leave none of 7 rows for validation$"),
    ({"train": 0.9}, "^train, validation: .* leave none of 7 rows for test$"),
    ({"x": with_bad(float("inf"))}, "^x: expected finite numbers, got inf at row 4, column 1$"),
])
def test_split_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        split_by_time(**({"x": counting(7, 3)} | arguments))


def test_scaler_by_hand():
    scaler = Scaler.fit(torch.tensor([[1.0, 10.0], [3.0, 30.0]]))
    assert scaler.mean.tolist() == [2, 20]
    assert scaler.std.tolist() == [1, 10]  # biased: divided by 2, not by 1
    assert scaler.transform(torch.tensor([4.0, 50.0])).tolist() == [2, 3]
    assert scaler.inverse(torch.tensor([2.0, 3.0])).tolist() == [4, 50]


def test_scaler_inverse_is_exact_where_the_arithmetic_is():
    x = torch.tensor([[1.0, 8], [5, 24], [9, 8], [13, 24], [-3, 8], [17, 24]])
    scaler = Scaler(mean=torch.tensor([7.0, 16.0]), std=torch.tensor([4.0, 8.0]))
    assert torch.equal(scaler.inverse(scaler.transform(x)), x)


@pytest.mark.parametrize("load", [load_bikes, load_macro])
def test_scaler_inverse_returns_real_windows(load):
    x = load().tensor(dtype=torch.float64)
    train = split_by_time(x).train
    scaler = Scaler.fit(train)
    z = scaler.transform(train)
    torch.testing.assert_close(z.mean(0), torch.zeros(x.shape[1], dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(z.std(0, correction=0), torch.ones(x.shape[1], dtype=torch.float64))
    past, _ = windows(x, 24, 8)
    torch.testing.assert_close(scaler.inverse(scaler.transform(past)), past, rtol=0, atol=1e-11)


def test_scaler_knows_nothing_beyond_the_training_part():
    x = load_macro().tensor()
    before = Scaler.fit(split_by_time(x).train)
    changed = x.clone()
    changed[len(split_by_time(x).train):] += 1000
    after = Scaler.fit(split_by_time(changed).train)
    assert torch.equal(before.mean, after.mean)
    assert torch.equal(before.std, after.std)
    assert not torch.equal(before.mean, Scaler.fit(x).mean)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scaler_constant_column_becomes_zero_and_comes_back(dtype):
    x = torch.stack([torch.full((997,), 0.1), torch.arange(997.0)], dim=1).to(dtype)
    scaler = Scaler.fit(x)
    assert scaler.std[0] == 1
    assert torch.equal(scaler.transform(x)[:, 0], torch.zeros(997, dtype=dtype))
    assert torch.equal(scaler.inverse(scaler.transform(x))[:, 0], x[:, 0])


def test_scaler_statistics_survive_a_large_level():
    x = (1e6 + torch.tensor([0.0, 1.0]).repeat(5000))[:, None]
    assert Scaler.fit(x).std.item() == 0.5
    assert Scaler.fit(x).std.dtype == torch.float32


@pytest.mark.bad_input
def test_scaler_bad_input():
    scaler = Scaler.fit(counting(5, 3))
    with pytest.raises(ValueError, match=r"^x: expected the 3 fitted variables .* got shape \(5, 2\)$"):
        scaler.transform(counting(5, 2))
    with pytest.raises(ValueError, match=r"^z: expected the 3 fitted variables .* got shape \(5, 1\)$"):
        scaler.inverse(counting(5, 1))
    with pytest.raises(ValueError, match=r"^train: expected finite numbers, got nan at row 4, column 1$"):
        Scaler.fit(with_bad(float("nan")))
    with pytest.raises(ValueError, match=r"^train: expected at least one entry .* got shape \(0, 3\)$"):
        Scaler.fit(torch.zeros(0, 3))


# time_features


def test_marks_of_known_hours():
    # a Sunday, a Tuesday and a Monday of a leap year
    index = pd.DatetimeIndex(["2012-01-01 00:00", "2012-01-31 23:00", "2012-12-31 12:00"])
    marks = time_features(index, "h", dtype=torch.float64)
    expected = [[0, 6 / 6, 0, 0], [1, 1 / 6, 1, 30 / 365], [12 / 23, 0, 1, 1]]
    torch.testing.assert_close(marks, torch.tensor(expected, dtype=torch.float64) - 0.5)


def test_marks_of_the_two_data_sets():
    bikes, macro = load_bikes(), load_macro()
    hourly = time_features(bikes.frame.index, bikes.frame.index.freqstr)
    assert hourly.shape == (8760, 4)
    assert hourly.dtype == torch.float32
    assert hourly.amin(0).tolist() == [-0.5] * 4
    assert hourly.amax(0).tolist() == pytest.approx([0.5, 0.5, 0.5, 364 / 365 - 0.5])
    quarterly = time_features(macro.frame.index, macro.frame.index.freqstr)
    assert quarterly[:5, 0].tolist() == pytest.approx([-0.5, -1 / 6, 1 / 6, 0.5, -0.5])
    assert quarterly.shape == (203, 1)


def test_marks_of_days_and_months():
    index = pd.DatetimeIndex(["2011-03-05", "2011-12-11"])  # Saturday, Sunday
    days = torch.tensor([[5 / 6, 4 / 30, 63 / 365], [1, 10 / 30, 344 / 365]]) - 0.5
    torch.testing.assert_close(time_features(index, "D"), days)
    torch.testing.assert_close(time_features(index, "MS"), torch.tensor([[2 / 11], [1]]) - 0.5)


def test_marks_of_minutes_and_seconds_begin_with_the_clock():
    index = pd.DatetimeIndex(["2011-03-05 00:00:59", "2011-12-11 23:45:00"])
    hours = time_features(index, "h")
    minutes = torch.tensor([[0], [45 / 59]]) - 0.5
    torch.testing.assert_close(time_features(index, "15min"), torch.cat([minutes, hours], dim=-1))
    seconds = torch.tensor([[1.0], [0]]) - 0.5
    torch.testing.assert_close(time_features(index, "s"), torch.cat([seconds, minutes, hours], dim=-1))


def test_marks_of_weeks_quarter_ends_and_working_days():
    index = pd.DatetimeIndex(["2012-01-01", "2012-12-31"])  # ISO weeks 52 of 2011 and 1 of 2013
    torch.testing.assert_close(time_features(index, "W-SUN"), torch.tensor([[0, 51 / 52], [1, 0]]) - 0.5)
    torch.testing.assert_close(time_features(index, "QE-DEC"), torch.tensor([[0.0], [1]]) - 0.5)
    assert torch.equal(time_features(index, "B"), time_features(index, "D"))
    assert torch.equal(time_features(index, "ME"), time_features(index, "MS"))


@pytest.mark.bad_input
@pytest.mark.parametrize(("stamps", "freq", "message"), [
    (["2011-01-01"], "YS", r"^freq: .* \['s', 'min', 'h', .*'QE'\] or a multiple above 0 of one, got 'YS'$"),
    (["2011-01-01"], "BME", "^freq: expected one of .* got 'BME'$"),
    (["2011-01-01"], "H", "^freq: expected one of .* got 'H'$"),
    (["2011-01-01"], None, "^freq: expected one of .* got None$"),
    (["2011-01-01"], 3, "^freq: expected one of .* got 3$"),
    (["2011-01-01"], "0h", "^freq: expected one of .* got '0h'$"),
    (["2011-01-01"], "-1h", "^freq: expected one of .* got '-1h'$"),
    (["2011-01-01"], "99999999999999999h", "^freq: expected one of .* got '99999999999999999h'$"),
    (["2011-01-01"], "99999999999999999MS", "^freq: expected one of .* got '99999999999999999MS'$"),
    ([], "h", "^index: .* got DatetimeIndex of length 0$"),
    (["2011-01-01", None], "h", "^index: .* got NaT at row 1$"),
    (["2011-01-01", "2011-01-03", "2011-01-03", "2011-01-02"], "D",
     "^index: .* got 2011-01-03 00:00:00 at row 2 right after 2011-01-03 00:00:00$"),
    (["2011-01-01", "2011-01-05", "2011-01-04", "2011-01-04"], "D",
     "^index: .* got 2011-01-04 00:00:00 at row 2 right after 2011-01-05 00:00:00$"),
])
def test_marks_bad_input(stamps, freq, message):
    with pytest.raises(ValueError, match=message):
        time_features(pd.DatetimeIndex(stamps), freq)


@pytest.mark.bad_input
def test_marks_need_time_stamps():
    with pytest.raises(ValueError, match=r"^index: .* got RangeIndex of length 3$"):
        time_features(pd.RangeIndex(3), "h")


@pytest.mark.bad_input
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64, None, "float32"])
def test_marks_are_no_whole_numbers(dtype):
    with pytest.raises(ValueError, match=f"^dtype: expected a floating point type, got {dtype}$"):
        time_features(pd.DatetimeIndex(["2011-01-01"]), "h", dtype)
