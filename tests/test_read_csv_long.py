"""Long files: memory follows the numbers that are kept, and only the columns asked for are read."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

ROWS = 150_000
PEAK = """
import resource, sys
import numpy as np
from tsattn_mini.datasets import read_csv

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
read_csv(sys.argv[1], columns=["a"])          # imports and the buffers of a first reading
before = peak()
series = read_csv(sys.argv[2], columns=sys.argv[3].split(","))
print(peak() - before, len(series.frame), series.frame.shape[1])
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(a short file, a long one)."""
    folder = tmp_path_factory.mktemp("long")
    values = np.random.default_rng(0).normal(size=(ROWS, 5)).round(4)
    index = pd.date_range("2000-01-01", periods=ROWS, freq="min", name="date")
    frame = pd.DataFrame(values, columns=[*"abcde"], index=index)
    for name, rows in (("short.csv", 3), ("long.csv", ROWS)):
        frame[:rows].to_csv(folder / name)
    return folder / "short.csv", folder / "long.csv"


@pytest.mark.parametrize(("columns", "most"), [("a,b,c,d,e", 130), ("b", 100)])
def test_memory_stays_below_its_bound(files, columns, most):
    ran = subprocess.run([sys.executable, "-c", PEAK, *map(str, files), columns], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    added, rows, width = map(float, ran.stdout.split())
    assert (rows, width) == (ROWS, len(columns.split(",")))
    assert added < most
