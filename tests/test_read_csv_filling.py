"""Missing values are filled by the rule that is asked for, where it can fill them, and the series says where."""

import pandas as pd
import pytest
import torch
from csv_files import read, told

# 2024-01-03 has no row; x lacks the 2nd and the 5th day, the word lacks the 2nd
GAPS = "date,x,sky\n2024-01-01,1,sun\n2024-01-02,NA,\n2024-01-04,7,rain\n2024-01-05,-,rain\n2024-01-07,9,sun\n"
MISSING = ["2024-01-02", "2024-01-03", "2024-01-05", "2024-01-06"]


@pytest.mark.parametrize(("rule", "x", "said"), [
    ("interpolate", [1, 3, 5, 7, 23 / 3, 25 / 3, 9], "interpolated linearly in time. Categories repeat the last one"),
    ("last", [1, 1, 1, 7, 7, 7, 9], "filled with the last value before them."),
    ("zero", [1, 0, 0, 7, 0, 0, 9], "filled with 0. Categories repeat the last one seen."),
])
def test_rules(rule, x, said):
    series = read(GAPS, missing=rule, target="x")
    assert series.frame.x.tolist() == pytest.approx(x, abs=1e-12)
    assert [series.codes["sky"][code] for code in series.frame.sky] == ["sun"] * 3 + ["rain"] * 3 + ["sun"]
    assert series.missing.equals(pd.DatetimeIndex(MISSING))
    assert series.observed.tolist() == [True, False, False, True, False, False, True]
    assert series.filled.startswith("Missing in the source: 7 values at 4 times, " + said)
    assert told(series, series.filled)


def test_interpolation_follows_time_not_rows():
    text = "date,x\n2024-03-01,0\n2024-03-04,\n2024-03-05,4\n2024-03-06,5\n2024-03-07,6\n"
    series = read(text, missing="interpolate", freq="B")
    assert series.frame.x.tolist() == [0, 3, 4, 5, 6]  # Friday to Monday are three of the four days


def test_what_is_there_is_not_touched():
    complete = read("date,x\n2024-01-01,1\n2024-01-02,0\n2024-01-03,7\n", missing="zero")
    assert complete.filled == "Nothing is missing in the source."
    assert complete.observed.all()


def test_zero_fills_at_both_ends():
    series = read("date,x\n2024-01-01,\n2024-01-02,5\n2024-01-03,\n", missing="zero")
    assert series.frame.x.tolist() == [0, 5, 0]


def test_one_column_with_a_blank_in_the_middle():
    series = read("x\n1\n\n3\n\n", freq="D", missing="interpolate")
    assert series.frame.x.tolist() == [1, 2, 3]
    assert torch.equal(series.observed, torch.tensor([True, False, True]))


@pytest.mark.bad_input
@pytest.mark.parametrize(("rows", "rule", "match"), [
    ("2024-01-01,\n2024-01-02,1\n", "last",
     "row 2, column 'x': the value at 2024-01-01 00:00:00 is missing and there is none before it .* delete these rows, "
     "or for numbers say missing='zero'$"),
    ("2024-01-01,\n2024-01-02,1\n", "interpolate", "row 2, column 'x': .* none before it"),
    ("2024-01-01,3\n2024-01-02,\n", "interpolate", "row 3, column 'x': .* none after it .* missing='last' or 'zero'$"),
    ("2024-01-01,\n2024-01-02,sun\n", "zero", "row 2, column 'x': .* none before it"),
])
def test_nothing_is_filled_beyond_what_is_known(rows, rule, match):
    with pytest.raises(ValueError, match=match):
        read("date,x\n" + rows, missing=rule)
