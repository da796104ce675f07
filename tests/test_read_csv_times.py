"""`read_csv` finds times, their step and their clock; a date with two readings is asked about."""

import pandas as pd
import pytest
from csv_files import read, told

TWO = "date;x\n{};1\n{};2\n"


@pytest.mark.parametrize(("first", "second", "begin", "freq"), [
    ("2024-01-05", "2024-01-06", "2024-01-05", "D"),
    ("20240105", "20240106", "2024-01-05", "D"),
    ("2024/1/5", "2024/1/6", "2024-01-05", "D"),
    ("2024-01-05 03:00", "2024-01-05 03:15:00", "2024-01-05 03:00", "15min"),
    ("13/02/2024", "14/02/2024", "2024-02-13", "D"),
    ("12.02.2024", "13.02.2024", "2024-02-12", "D"),
    ("02/13/2024 5:30 PM", "02/13/2024 6:30 PM", "2024-02-13 17:30", "h"),
    ("31-Jan-24", "29-Feb-24", "2024-01-31", "ME"),
    ("Jan 5, 2024", "Jan 6, 2024", "2024-01-05", "D"),
    ("2024Q1", "2024-Q2", "2024-01-01", "QS-JAN"),
    ("2024-01", "2024-02", "2024-01-01", "MS"),
    ("2023", "2024", "2023-01-01", "YS-JAN"),
    ("1704067200", "1704067201", "2024-01-01", "s"),
    ("1704067200000", "1704067260000", "2024-01-01", "min"),
    ("202401", "202402", "2024-01-01", "MS"),
    ("13/02/2024 03.00.00", "13/02/2024 04.00.00", "2024-02-13 03:00", "h"),
])
def test_forms_of_a_date(first, second, begin, freq):
    index = read(TWO.format(first, second)).frame.index
    assert (index[0], index.freqstr, len(index)) == (pd.Timestamp(begin), freq, 2)


def test_a_later_row_may_tell_day_from_month():
    series = read("date;x\n11/02/2024;1\n12/02/2024;2\n13/02/2024;3\n")
    assert series.frame.index[0] == pd.Timestamp("2024-02-11")
    assert told(series, "%d/%m/%Y")


@pytest.mark.parametrize(("form", "second"), [("%d/%m/%Y", "2024-02-01"), ("%m/%d/%Y", "2024-01-02")])
def test_an_asked_date_format_settles_it(form, second):
    series = read(TWO.format("01/01/2024", "01/02/2024"), date_format=form)
    assert series.frame.index[-1] == pd.Timestamp(second)


@pytest.mark.parametrize("freq", [
    "s", "15min", "h", "4h", "D", "10D", "B", "W-MON", "W-SUN", "MS", "ME", "2MS", "BMS", "BME",
    "QS-FEB", "QE-NOV", "YS-JAN", "YE-DEC"])
@pytest.mark.parametrize("lost", [[], [7], [3, 4, 9]])
def test_the_step_is_found_and_gaps_are_filled(freq, lost):
    index = pd.date_range("2023-03-03", periods=24, freq=freq, name="date")
    frame = pd.DataFrame({"x": range(24)}, index=index)
    series = read(frame.drop(index[lost]).to_csv(), missing="last")
    assert series.frame.index.freqstr == freq
    assert series.frame.index.equals(index)
    assert series.missing.equals(index[lost])


def test_a_date_and_its_clock_in_two_columns():
    text = "Date;Time;x\n30/03/2004;18.00.00;1\n30/03/2004;19.00.00;2\n"
    for arguments in ({}, {"date": ["Date", "Time"]}, {"date_format": "%d/%m/%Y %H.%M.%S"}):
        series = read(text, **arguments)
        assert (series.frame.index[0], list(series.frame.columns)) == (pd.Timestamp("2004-03-30 18:00"), ["x"])


def test_year_month_day_and_hour_in_four_columns():
    series = read("year,month,day,hour,x\n2010,1,1,23,1\n2010,1,2,0,2\n")
    assert series.frame.index.tolist() == [pd.Timestamp("2010-01-01 23:00"), pd.Timestamp("2010-01-02")]
    assert told(series, "put together from the columns 'year', 'month', 'day', 'hour'")


def test_the_column_of_times_that_is_asked_for():
    text = "start,end,x\n2024-01-01,2025-01-01,5\n2024-01-02,2025-01-02,6\n"
    assert read(text, date="end", columns=["x"]).frame.index[0] == pd.Timestamp("2025-01-01")


# The clock


def test_one_offset_from_utc_keeps_the_clock():
    series = read(TWO.format("2024-01-01T08:00+08:00", "2024-01-01T09:00+08:00"))
    assert series.frame.index[0] == pd.Timestamp("2024-01-01 08:00")
    assert told(series, "are +8 h from UTC and were kept as written")
    assert told(read(TWO.format("2024-01-01T08:00Z", "2024-01-01T09:00Z")), "+0 h from UTC")


def test_an_offset_that_changes_gives_utc():
    series = read("date,x\n" + "".join(f"2024-10-27T{clock},{i}\n" for i, clock in enumerate(
        ["01:00+02:00", "02:00+02:00", "02:00+01:00", "03:00+01:00"])))
    assert series.frame.index[0] == pd.Timestamp("2024-10-26 23:00")
    assert series.frame.x.tolist() == [0, 1, 2, 3]
    assert told(series, "the times are UTC")


def test_days_with_changing_offsets_stay_days():
    series = read("date,x\n2024-10-26T00:00+02:00,1\n2024-10-27T00:00+02:00,2\n2024-10-28T00:00+01:00,3\n")
    assert series.frame.index.freqstr == "D"


# Order


def test_rows_are_sorted_by_time_and_it_is_told():
    series = read("date,x\n2024-01-02,2\n2024-01-01,1\n2024-01-03,3\n")
    assert series.frame.x.tolist() == [1, 2, 3]
    assert told(series, "row 3 (2024-01-01 00:00:00) is earlier than the row before it")
    series = read("date,x\n2024-01-03,3\n2024-01-02,2\n2024-01-01,1\n")
    assert series.frame.x.tolist() == [1, 2, 3]
    assert told(series, "run backwards in time and were turned round")


def test_a_row_that_repeats_another_in_full_is_left_out():
    series = read("date,x\n2024-01-01,1\n2024-01-02,2\n2024-01-02,2\n2024-01-03,3\n")
    assert series.frame.x.tolist() == [1, 2, 3]
    assert told(series, "1 row repeating another in full left out (first: row 4)")
