"""Two real data sets, anybody's CSV, and the cuts a forecasting model needs.

`load_bikes` (hourly counts with weather drivers), `load_macro` (quarterly levels that grow) and `read_csv` return a
`Series`; `windows`, `split_by_time`, `Scaler` and `time_features` turn it into what a model reads.
Sources, licences and what is wrong with the data: README.md in this folder.
"""

from tsattn_mini.datasets.cutting import Scaler, Split, split_by_time, windows
from tsattn_mini.datasets.load import load_bikes, load_macro
from tsattn_mini.datasets.marks import time_features
from tsattn_mini.datasets.reading import read_csv
from tsattn_mini.datasets.series import Series

__all__ = [
    "Scaler", "Series", "Split", "load_bikes", "load_macro", "read_csv", "split_by_time", "time_features", "windows",
]
