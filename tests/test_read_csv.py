"""`read_csv` finds how a file is written, and says what it found."""

import gzip

import numpy as np
import pandas as pd
import pytest
from csv_files import read, told

from tsattn_mini.datasets import time_features

DAYS = "date,a,b\n2024-01-01,1,2\n2024-01-02,3,4.5\n2024-01-03,-5,6e2\n"
VALUES = [[1, 2], [3, 4.5], [-5, 600]]


def test_plain_file():
    series = read(DAYS)
    assert series.frame.to_numpy().tolist() == VALUES
    assert (series.name, series.target, series.drivers) == ("my", "b", ("a",))
    assert (series.frame.index[0], series.frame.index.freqstr) == (pd.Timestamp("2024-01-01"), "D")
    assert len(series.missing) == 0
    assert series.filled == "Nothing is missing in the source."
    assert series.report == (
        "cells are parted by a comma, the decimal sign is '.', the text is utf-8",
        "the dates of column 'date' were read as ISO8601",
        "3 rows from 2024-01-01 00:00:00 to 2024-01-03 00:00:00, freq D; 2 columns",
        "the target is 'b', the last column", "Nothing is missing in the source.")


def test_target_and_columns_are_those_asked_for():
    series = read(DAYS, target="a")
    assert (series.target, series.drivers) == ("a", ("b",))
    series = read(DAYS, target="b", columns=["a"])
    assert list(series.frame.columns) == ["a", "b"]
    assert list(read(DAYS, columns=["b"]).frame.columns) == ["b"]


# How it is written


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_marks_of_an_encoding_are_found(coding):
    assert read(DAYS.replace("a", "größe"), coding=coding).frame.to_numpy().tolist() == VALUES


def test_latin_1_is_read_and_told():
    series = read(DAYS.replace(",a", ",Größe"), coding="latin-1")
    assert list(series.frame.columns) == ["Größe", "b"]
    assert told(series, "not UTF-8 and was read as Latin-1")
    assert told(read(DAYS.encode().replace(b",a", b",\x81"), name="odd.csv"), "Latin-1")


def test_an_encoding_that_is_asked_for():
    series = read(DAYS.replace(",a", ",负荷"), coding="gb18030", encoding="gb18030")
    assert list(series.frame.columns) == ["负荷", "b"]


def test_packed_file_is_known_by_its_bytes():
    assert read(gzip.compress(DAYS.encode()), name="my.csv.gz").frame.to_numpy().tolist() == VALUES
    assert read(gzip.compress(DAYS.encode()), name="misnamed.csv").name == "misnamed"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_delimiter_and_line_ends(sep, end):
    assert read(DAYS.replace(",", sep).replace("\n", end)).frame.to_numpy().tolist() == VALUES


def test_delimiter_that_is_asked_for():
    assert read(DAYS.replace(",", "#"), sep="#").frame.to_numpy().tolist() == VALUES
    assert read(DAYS.replace(",", "\t"), sep="\\t").frame.to_numpy().tolist() == VALUES


@pytest.mark.parametrize(("cells", "values"), [
    (["1,5", "2", "-3,25"], [1.5, 2, -3.25]),
    (["1.234,5", "1.234", "1.234.567"], [1234.5, 1234, 1234567]),
    (["1 234,5", "1\u00a0234", "1\u202f234"], [1234.5, 1234, 1234]),
    (["1'234.5", "1,234.5", "1,234,567"], [1234.5, 1234.5, 1234567]),
    (["0.123", "1.234", "12.345"], [0.123, 1.234, 12.345]),
    (["−1.5", "+2", ".5"], [-1.5, 2, 0.5]),
    (["1,5E+3", "1e-2", "7"], [1500, 0.01, 7]),
    (["9007199254740992", "-9007199254740992", "1e300"], [2.0**53, -(2.0**53), 1e300]),
])
def test_decimal_signs_and_thousands(cells, values):
    rows = "".join(f"2024-01-0{day};{cell}\n" for day, cell in enumerate(cells, 1))
    assert read("date;x\n" + rows).frame.x.tolist() == values


def test_decimal_sign_that_is_asked_for():
    text = 'date,x\n2024-01-01,"1,234"\n2024-01-02,"2,345"\n'
    assert read(text, decimal=",").frame.x.tolist() == [1.234, 2.345]
    assert read(text, decimal=".").frame.x.tolist() == [1234, 2345]


def test_percent_signs_are_the_unit():
    series = read("date;x;y\n2024-01-01;5 %;1\n2024-01-02;6,5%;2\n")
    assert series.frame.x.tolist() == [5, 6.5]
    assert series.units == {"x": "%", "y": ""}


def test_numbers_are_those_of_python_to_the_last_bit():
    rng = np.random.default_rng(0)
    numbers = np.ldexp(rng.uniform(-1, 1, 400), rng.integers(-300, 300, 400))
    rows = "".join(f"{day:%Y-%m-%d},{number!r}\n" for day, number in
                   zip(pd.date_range("2024-01-01", periods=400), numbers.tolist(), strict=True))
    assert read("date,x\n" + rows).frame.x.tolist() == numbers.tolist()


# Names


def test_names_are_kept_as_typed_and_each_is_one_of_its_own():
    series = read('date,"a\nb",<b>,<b>,,"=1+1"\n2024-01-01,1,2,3,4,5\n2024-01-02,1,2,3,4,6\n')
    assert list(series.frame.columns) == ["a\nb", "<b>", "<b> (2)", "column 5", "=1+1"]
    assert told(series, "the name '<b>' occurs again: column 4 is called '<b> (2)'")
    assert told(series, "column 5 has no name")
    assert not any("\n" in line for line in series.report)


def test_without_a_header_columns_are_numbered():
    series = read("2024-01-01,1,NA\n2024-01-02,3,4\n", missing="zero")
    assert list(series.frame.columns) == ["column 2", "column 3"]
    assert told(series, "there is no header")
    assert list(read("date,2010,2011\n2024-01-01,1,2\n2024-01-02,3,4\n").frame.columns) == ["2010", "2011"]


def test_lines_above_the_header_and_blank_rows_are_left_out_and_rows_still_counted():
    text = "# station 5\n\ndate,x\n2024-01-01,1\n,\n2024-01-02,{}\n\n"
    series = read(text.format(2))
    assert series.frame.x.tolist() == [1, 2]
    assert told(series, "2 lines above the header were left out")
    assert told(series, "2 blank rows left out")
    with pytest.raises(ValueError, match="row 6, column 'x': expected a number, got 'odd'"):
        read(text.format("odd"))


def test_a_nameless_column_that_counts_the_rows_is_left_out():
    series = read(",date,x\n0,2024-01-01,5\n1,2024-01-02,7\n")
    assert list(series.frame.columns) == ["x"]
    assert told(series, "'column 1' counts the rows and was left out")


# What the columns hold


def test_words_become_codes_in_alphabetical_order():
    series = read("date,sky,open\n2024-01-01,sun,True\n2024-01-02,rain,False\n2024-01-03,sun,True\n", target="sky")
    assert series.codes == {"sky": {0: "rain", 1: "sun"}, "open": {0: "False", 1: "True"}}
    assert series.frame.to_numpy().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert told(series, "'sky' holds words: 0 = 'rain', 1 = 'sun'")


def test_a_column_that_never_changes_is_fine_and_told():
    series = read("date,x,y\n2024-01-01,3,1\n2024-01-02,3,2\n")
    assert told(series, "'x' never changes: it is always 3")


def test_one_column_without_times_is_counted_when_freq_is_asked_for():
    series = read("x\n3\n4.5\n\n\n", freq="15min")
    assert series.frame.x.tolist() == [3, 4.5]
    assert (series.target, series.drivers, series.frame.index.freqstr) == ("x", (), "15min")
    assert told(series, "no column holds times: rows are counted from 2000-01-01 on")


def test_wide_file():
    columns = [f"v{i}" for i in range(500)]
    numbers = np.random.default_rng(0).normal(size=(30, 500)).round(3)
    index = pd.date_range("2024-01-01", periods=30, freq="h", name="date")
    series = read(pd.DataFrame(numbers, columns=columns, index=index).to_csv())
    assert (series.frame.to_numpy() == numbers).all()
    assert (len(series.drivers), series.target) == (499, "v499")


def test_a_series_from_a_file_goes_where_the_others_go():
    series = read(DAYS)
    assert series.tensor().tolist() == [[2, 1], [4.5, 3], [600, -5]]
    assert time_features(series.frame.index, series.frame.index.freqstr).shape == (3, 3)
