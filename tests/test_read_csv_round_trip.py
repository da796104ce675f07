"""Whatever pandas writes, in whatever dialect, `read_csv` gives back to the last bit."""

import csv

import numpy as np
import pandas as pd
from csv_files import read
from hypothesis import assume, given, settings
from hypothesis import strategies as st

STEPS = ["s", "15min", "h", "6h", "D", "W-TUE", "MS", "ME", "QS-JAN", "YS-JAN"]
DAY_FIRST = ["%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d %b %Y %H:%M:%S"]
number = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1000, 1000).map(lambda x: round(x, 3))
name = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8).filter(str.strip)


@st.composite
def frames(draw):
    """A frame of numbers with a few columns, on a regular axis."""
    width, rows = draw(st.integers(1, 5)), draw(st.integers(3, 12))
    names = draw(st.lists(name.map(str.strip).filter(bool), min_size=width, max_size=width, unique=True))
    values = draw(st.lists(st.lists(number, min_size=width, max_size=width), min_size=rows, max_size=rows))
    begin = draw(st.datetimes(pd.Timestamp("1990-01-01"), pd.Timestamp("2030-01-01"))).replace(microsecond=0)
    index = pd.date_range(begin, periods=rows, freq=draw(st.sampled_from(STEPS)), unit="us")
    return pd.DataFrame(values, columns=[f"v {text}" for text in names], index=index)


@settings(max_examples=60, deadline=None)
@given(frames(), st.sampled_from([",", ";", "\t", "|"]), st.sampled_from([".", ","]), st.sampled_from(DAY_FIRST),
       st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]), st.sampled_from(["\n", "\r\n"]),
       st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_any_dialect(frame, sep, decimal, date_format, coding, end, quoting):
    text = frame.to_csv(sep=sep, decimal=decimal, date_format=date_format, lineterminator=end, quoting=quoting,
                        index_label="date")
    series = read(text, coding=coding, sep=sep, decimal=decimal, date_format=date_format)
    assert series.frame.to_numpy().tolist() == frame.to_numpy().tolist()
    assert list(series.frame.columns) == list(frame.columns)
    assert series.frame.index.equals(frame.index)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6).map(lambda x: round(x, 2))] * 3), min_size=14, max_size=30),
       st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", ".")]), st.sampled_from(DAY_FIRST))
def test_a_dialect_is_found(values, dialect, date_format):
    sep, decimal = dialect
    frame = pd.DataFrame(values, columns=[*"abc"], index=pd.date_range("2024-01-01", periods=len(values), freq="D"))
    text = frame.to_csv(sep=sep, decimal=decimal, date_format=date_format, index_label="date")
    series = read(text)
    assert series.frame.to_numpy().tolist() == frame.to_numpy().tolist()
    assert series.frame.index.equals(frame.index)


@settings(max_examples=40, deadline=None)
@given(frames(), st.data())
def test_rows_in_any_order_with_some_lost(frame, data):
    assume(len(frame) > 4)
    freq = frame.index.freqstr
    order = data.draw(st.permutations(range(len(frame))))
    lost = data.draw(st.sets(st.integers(1, len(frame) - 2), max_size=2))
    kept = frame.iloc[[at for at in order if at not in lost]]
    series = read(kept.to_csv(index_label="date", date_format="%Y-%m-%d %H:%M:%S"), freq=freq, sep=",", decimal=".",
                  missing="last")
    expected = frame.copy()
    expected.iloc[sorted(lost)] = np.nan
    assert series.frame.to_numpy().tolist() == expected.ffill().to_numpy().tolist()
    assert series.missing.equals(frame.index[sorted(lost)])


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode) | st.text(
    st.sampled_from("date,x;\n\"'0123456789.-:T %NA\t"), max_size=200).map(str.encode))
def test_any_bytes_give_a_series_or_one_line(content):
    try:
        said = repr(read(content))
    except ValueError as error:
        said = f"{type(error).__name__}: {error}"
    assert said.startswith(("Series my: ", "ValueError: my.csv: "))
    assert "\n" not in said
