"""A CSV file for the length of one reading."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tsattn_mini.datasets import read_csv


def read(text, name="my.csv", coding="utf-8", **arguments):
    """The series in a file with this text, or these bytes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(coding))
        return read_csv(path, **arguments)


def told(series, words):
    """Whether a line of the report holds these words."""
    return any(words in line for line in series.report)
