"""The two data sets that travel with the package. Nothing is downloaded."""

from importlib.resources import files

import pandas as pd

from tsattn_mini.datasets.series import Series


def load_bikes() -> Series:
    """Bike rentals in Washington DC for each hour of 2011, with weather: 8,760 hours, 115 of them filled.

    The source was counted from a log of rentals, and its smallest hourly count is 1: an hour without a
    rental has no row. So a missing hour is taken as 0 rentals; README.md gives the evidence.
    `casual` and `registered` add up to the target, so they are not among the drivers.

    >>> bikes = load_bikes()
    >>> len(bikes.frame), bikes.target, len(bikes.missing)
    (8760, 'rentals', 115)
    """
    counts = ["rentals", "casual", "registered"]
    physical = ["temperature_c", "feels_like_c", "humidity_pct", "windspeed_kmh"]
    flags = ["workingday", "holiday"]
    weather = {1: "clear", 2: "cloudy/misty", 3: "light rain/snow", 4: "heavy rain/snow"}

    rows = _read("bikes.csv.gz")
    rows.index = pd.DatetimeIndex(rows.pop("timestamp"))
    rows["weather"] = rows["weather"].map({word: code for code, word in weather.items()})
    index = pd.date_range("2011-01-01 00:00", "2011-12-31 23:00", freq="h", name="timestamp")
    frame = rows.reindex(index)
    frame[counts] = frame[counts].fillna(0).astype("int64")
    frame[physical] = frame[physical].interpolate("time")
    frame["weather"] = frame["weather"].ffill().astype("int64")
    frame[flags] = frame[flags].groupby(index.date).transform("first").astype("int64")

    return Series(
        name="bikes", frame=frame, target="rentals", drivers=(*physical, "weather", *flags),
        units={"rentals": "rentals/h", "casual": "rentals/h", "registered": "rentals/h",
               "temperature_c": "°C", "feels_like_c": "°C", "humidity_pct": "%", "windspeed_kmh": "km/h",
               "weather": "code 1-4", "workingday": "0/1", "holiday": "0/1"},
        codes={"weather": weather, "workingday": {0: "no", 1: "yes"}, "holiday": {0: "no", 1: "yes"}},
        missing=index.difference(rows.index),
        filled="Counts are 0 (an hour without a rental has no row in the source), temperatures, humidity and "
               "wind are interpolated linearly in time, weather repeats the last observed category, and "
               "workingday and holiday are those of the same day.",
        source="H. Fanaee-T and J. Gama, Bike Sharing, UCI Machine Learning Repository, 2013, "
               "doi 10.24432/C5W894",
        licence="CC BY 4.0",
    )


def load_macro() -> Series:
    """US macroeconomic levels and rates: 203 quarters, 1959 Q1 to 2009 Q3, dated by the quarter's first day.

    Inflation needs the quarter before, so `infl` and `realint` of the first row are placeholders, 0.0.

    >>> macro = load_macro()
    >>> len(macro.frame), macro.target
    (203, 'realgdp')
    """
    frame = _read("macro.csv.gz")
    year, quarter = frame.pop("year"), frame.pop("quarter")
    first_days = pd.DataFrame({"year": year, "month": 3 * quarter - 2, "day": 1})
    frame.index = pd.DatetimeIndex(pd.to_datetime(first_days), name="quarter")
    frame = frame.asfreq("QS")
    real = "billion chained 2005 USD/year"

    return Series(
        name="macro", frame=frame, target="realgdp", drivers=tuple(frame.columns.drop("realgdp")),
        units={"realgdp": real, "realcons": real, "realinv": real, "realgovt": real, "realdpi": real,
               "cpi": "index, 1982-84 = 100", "m1": "billion USD", "tbilrate": "%/year", "unemp": "%",
               "pop": "million", "infl": "%/year", "realint": "%/year"},
        source="FRED and BLS series, compiled by S. Seabold for statsmodels (macrodata)",
        licence="public domain",
    )


def _read(name: str) -> pd.DataFrame:
    with files(__package__).joinpath(name).open("rb") as packed:
        return pd.read_csv(packed, compression="gzip")
