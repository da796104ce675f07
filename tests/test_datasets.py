"""The data sets are the published ones, their gaps are filled as announced, `Series` keeps its word."""

import gzip
import hashlib
import re
import time
from importlib.resources import files

import pandas as pd
import pytest
import torch

from tsattn_mini import datasets
from tsattn_mini.datasets import Series, load_bikes, load_macro

COUNTS = ["rentals", "casual", "registered"]
FOLDER = files("tsattn_mini.datasets")


@pytest.fixture
def bikes():
    return load_bikes()


@pytest.fixture
def macro():
    return load_macro()


# What the files hold


@pytest.mark.parametrize(("name", "digest"), [
    ("bikes.csv.gz", "de9d3b84e8c9099a233cbfc110ba85f654fad2e2652b753fbbefc45da50c25ef"),
    ("macro.csv.gz", "dcd853ee811fb5a2c85869821799b2519f62b2ac1d506d25bd7e668d72843709"),
])
def test_packed_files_hold_the_source_bytes_and_no_date(name, digest):
    packed = FOLDER.joinpath(name).read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == digest
    assert packed[3:8] == bytes(5)  # no stored name, time 0


@pytest.mark.parametrize("load", [load_bikes, load_macro])
def test_loading_takes_a_moment(load):
    load()
    begin = time.process_time()
    load()
    assert time.process_time() - begin < 0.3


def test_bikes_cover_every_hour_of_2011(bikes):
    index = bikes.frame.index
    assert (len(index), index.freqstr) == (365 * 24, "h")
    assert (index[0], index[-1]) == (pd.Timestamp("2011-01-01 00:00"), pd.Timestamp("2011-12-31 23:00"))


def test_bikes_add_up_to_the_published_totals_of_2011(bikes):
    assert bikes.frame[COUNTS].sum().to_dict() == {"rentals": 1243103, "casual": 247252, "registered": 995851}
    assert (bikes.frame.casual + bikes.frame.registered == bikes.frame.rentals).all()


def test_bikes_missing_hours_are_named(bikes):
    missing = bikes.missing
    assert len(missing) == 115
    assert int(bikes.observed.sum()) == 8645
    assert not bikes.observed[bikes.frame.index.isin(missing)].any()
    assert (missing[0], missing[-1]) == (pd.Timestamp("2011-01-02 05:00"), pd.Timestamp("2011-12-28 04:00"))
    assert pd.Timestamp("2011-03-13 02:00") in missing  # clocks went forward


def test_bikes_long_gaps_are_storms_and_short_ones_are_nights(bikes):
    stamps = bikes.missing.to_series()
    gaps = [gap.index for _, gap in stamps.groupby((stamps.diff() != pd.Timedelta("1h")).cumsum())]
    long, short = [g for g in gaps if len(g) > 2], [g for g in gaps if len(g) <= 2]
    assert [(str(g[0]), len(g)) for g in long] == [
        ("2011-01-18 00:00:00", 12), ("2011-01-26 18:00:00", 22),
        ("2011-02-22 00:00:00", 6), ("2011-08-27 18:00:00", 13),
    ]
    assert all(bikes.frame.weather[g[0] - pd.Timedelta("1h")] == 3 for g in long)
    assert (len(short), sum(map(len, short))) == (56, 62)
    assert {hour for g in short for hour in g.hour} == {1, 2, 3, 4, 5, 6}
    assert sum(g[0].month <= 3 for g in short) == 47


def test_bikes_an_hour_without_a_row_is_an_hour_without_a_rental(bikes):
    assert bikes.frame.rentals[bikes.observed.numpy()].min() == 1
    assert (bikes.frame.loc[bikes.missing, COUNTS] == 0).all(axis=None)


def test_bikes_weather_in_a_gap_lies_between_its_neighbours(bikes):
    before, filled, after = (bikes.frame.loc[f"2011-01-02 0{h}:00"] for h in (4, 5, 6))
    physical = ["temperature_c", "feels_like_c", "humidity_pct", "windspeed_kmh"]
    assert filled[physical].to_list() == pytest.approx(((before + after) / 2)[physical].to_list())
    assert (before.weather, filled.weather, after.weather) == (2, 2, 3)


def test_bikes_observed_rows_are_those_of_the_source(bikes):
    with FOLDER.joinpath("bikes.csv.gz").open("rb") as packed:
        source = pd.read_csv(packed, compression="gzip")
    observed = bikes.frame[bikes.observed.numpy()]
    assert observed.index.strftime("%Y-%m-%d %H:%M").to_list() == source.timestamp.to_list()
    for column in observed.columns.drop("weather"):
        assert observed[column].to_list() == source[column].to_list(), column
    assert observed.weather.map(bikes.codes["weather"]).to_list() == source.weather.to_list()


def test_bikes_calendar_holds_in_every_hour(bikes):
    frame = bikes.frame
    assert frame.holiday.sum() == 10 * 24
    assert ((frame.workingday == 1) == ((frame.index.day_of_week < 5) & (frame.holiday == 0))).all()


def test_bikes_faults_of_the_source_are_kept(bikes):
    seen = bikes.frame[bikes.observed.numpy()]
    assert (seen.humidity_pct == 0).sum() == len(seen.loc["2011-03-10"]) == 22
    assert (seen.loc["2011-03-10"].humidity_pct == 0).all()
    assert (seen.windspeed_kmh == 0).sum() == 1107
    assert seen.windspeed_kmh[seen.windspeed_kmh > 0].min() == 6
    assert seen.index[seen.weather == 4].to_list() == [pd.Timestamp("2011-01-26 16:00")]


def test_macro_is_203_quarters_without_a_gap(macro):
    index = macro.frame.index
    assert (len(index), index.freqstr) == (203, "QS-JAN")
    assert (index[0], index[-1]) == (pd.Timestamp("1959-01-01"), pd.Timestamp("2009-07-01"))
    assert len(macro.missing) == 0
    assert macro.observed.all()


def test_macro_sums_and_ends(macro):
    total = macro.frame.sum()
    assert total.realgdp == pytest.approx(1465897.896, abs=1e-6)
    assert total.cpi == pytest.approx(21330.385, abs=1e-6)
    assert total.unemp == pytest.approx(1194.6, abs=1e-6)
    growth = macro.frame.iloc[-1] / macro.frame.iloc[0]
    assert growth.realgdp == pytest.approx(4.79, abs=0.005)
    assert growth.m1 == pytest.approx(11.98, abs=0.005)


def test_macro_inflation_is_the_log_growth_of_prices_but_for_the_placeholder(macro):
    frame = macro.frame
    infl = 400 * (frame.cpi / frame.cpi.shift()).map(lambda r: torch.tensor(r).log().item())
    assert (infl - frame.infl)[1:].abs().max() <= 0.00501  # two decimals in the source
    assert (frame.tbilrate - frame.infl - frame.realint)[1:].abs().max() <= 0.0101
    assert (frame.infl.iloc[0], frame.realint.iloc[0], frame.tbilrate.iloc[0]) == (0, 0, 2.82)


# Series


def test_drivers_never_hold_the_target_or_its_parts(bikes, macro):
    assert bikes.target == "rentals"
    assert bikes.drivers == ("temperature_c", "feels_like_c", "humidity_pct", "windspeed_kmh", "weather",
                             "workingday", "holiday")
    assert macro.target == "realgdp"
    assert macro.drivers == ("realcons", "realinv", "realgovt", "realdpi", "cpi", "m1", "tbilrate", "unemp",
                             "pop", "infl", "realint")


def test_every_column_has_a_unit_and_every_code_a_meaning(bikes, macro):
    assert list(bikes.units) == list(bikes.frame.columns)
    assert list(macro.units) == list(macro.frame.columns)
    assert set(bikes.codes) == {"weather", "workingday", "holiday"}
    for column, meanings in bikes.codes.items():
        assert set(bikes.frame[column]) == set(meanings)


def test_attribution_travels_with_the_data(bikes, macro):
    assert "Fanaee-T" in bikes.source
    assert "10.24432/C5W894" in bikes.source
    assert bikes.licence == "CC BY 4.0"
    assert "statsmodels" in macro.source
    assert macro.licence == "public domain"


def test_repr_is_one_line_of_facts(bikes, macro):
    assert repr(bikes) == ("Series bikes: 8760 rows x 10 columns, 2011-01-01 to 2011-12-31 (freq h), "
                           "115 missing in the source")
    assert repr(macro) == ("Series macro: 203 rows x 12 columns, 1959-01-01 to 2009-07-01 (freq QS-JAN), "
                           "0 missing in the source")


def test_tensor_is_target_then_drivers(bikes):
    x = bikes.tensor(dtype=torch.float64)
    assert x.shape == (8760, 8)
    assert x[0].tolist() == [16, 3.28, 3, 81, 0, 1, 0, 0]
    assert bikes.tensor().dtype == torch.float32
    assert bikes.tensor(["holiday", "casual"])[0].tolist() == [0, 3]


def test_tensor_is_a_copy(macro):
    macro.tensor(["realgdp"], dtype=torch.float64).zero_()
    macro.frame.iloc[0, 0] = 1.0
    assert macro.tensor(["realgdp"])[:2, 0].tolist() == pytest.approx([1.0, 2778.801])
    assert load_macro().frame.realgdp.iloc[0] == 2710.349


@pytest.mark.bad_input
@pytest.mark.parametrize(("arguments", "message"), [
    ({"columns": ["rentals", "rain"]}, r"^columns: expected names out of \['rentals', .*, got \['rain'\]$"),
    ({"columns": []}, "^columns: .* got none$"),
    ({"columns": "rentals"}, "^columns: expected a list of names, got the string 'rentals'$"),
    ({"dtype": torch.int64}, "^dtype: expected a floating point type, got torch.int64$"),
])
def test_tensor_bad_input(bikes, arguments, message):
    with pytest.raises(ValueError, match=message):
        bikes.tensor(**arguments)


def frame_of(values, freq="D"):
    return pd.DataFrame({"y": values}, index=pd.date_range("2024-02-28", periods=len(values), freq=freq))


@pytest.mark.bad_input
@pytest.mark.parametrize(("changes", "message"), [
    ({"frame": pd.DataFrame({"y": [1.0]})}, "^frame: .* with a freq, got RangeIndex with freq None$"),
    ({"frame": frame_of([1.0, 2, 3, 5]).iloc[[0, 1, 3]]}, "^frame: .* got DatetimeIndex with freq None$"),
    ({"frame": frame_of([1.0, 2.0], freq="-1D")}, "^frame: .* got DatetimeIndex with freq -1D$"),
    ({"frame": frame_of([])}, r"^frame: expected at least one row and column, got shape \(0, 1\)$"),
    ({"target": "z"}, r"^target, drivers: expected columns out of \['y'\], got \['z'\]$"),
    ({"drivers": ("z",)}, r"^target, drivers: .* got \['z'\]$"),
    ({"units": {}}, r"^units: .* got none for \['y'\]$"),
    ({"frame": frame_of(["a", "b"])}, r"^frame: expected numbers .* got other values in \['y'\]$"),
    ({"missing": pd.DatetimeIndex(["2024-03-09"])}, "^missing: .* got 2024-03-09 00:00:00$"),
    ({"frame": frame_of([1.0, float("nan")])}, r"^frame: .* got nan at row 1 \(2024-02-29 .*\), column 'y'$"),
])
def test_series_bad_input(changes, message):
    good = {"name": "s", "frame": frame_of([1.0, 2.0]), "target": "y", "drivers": (), "units": {"y": "m"},
            "source": "here", "licence": "none"}
    assert len(Series(**good).frame) == 2
    with pytest.raises(ValueError, match=message):
        Series(**(good | changes))


# README.md


def test_readme_code_keeps_the_windows_without_a_filled_hour(bikes):
    code = re.search("```python\n(.*?)```", FOLDER.joinpath("README.md").read_text("utf-8"), re.DOTALL)[1]
    names = vars(datasets).copy()
    exec(code, names)
    past, future, complete = names["past"], names["future"], names["complete"]
    assert len(complete) == 8760 - 72 + 1
    begins = [b for b in range(len(complete)) if bikes.observed[b:b + 72].all()]
    assert complete.nonzero().squeeze(-1).tolist() == begins
    assert torch.equal(past[-1], bikes.tensor()[begins[-1]:begins[-1] + 48])
    assert torch.equal(future[0], bikes.tensor()[begins[0] + 48:begins[0] + 72])
    assert len(past) == len(future) == len(begins)
