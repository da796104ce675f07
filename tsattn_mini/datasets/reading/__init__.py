"""`read_csv`: anybody's CSV as a `Series`. What is found is told, what is doubtful asked, nothing filled silently."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from tsattn_mini.datasets.reading import columns as choose
from tsattn_mini.datasets.reading import filling, grid, layout
from tsattn_mini.datasets.reading.cells import Column, decimal_sign
from tsattn_mini.datasets.reading.faults import count, fault, shown
from tsattn_mini.datasets.reading.times import Times, parse
from tsattn_mini.datasets.series import Series

__all__ = ["read_csv"]

CELLS = 400_000  # read at a time, as text


def read_csv(path: str | Path, *, target: str | None = None, date: str | Sequence[str] | None = None,
             sep: str | None = None, decimal: str | None = None, freq: str | None = None,
             columns: Sequence[str] | None = None, missing: str = "refuse", date_format: str | None = None,
             encoding: str | None = None) -> Series:
    """The CSV file at `path` (or `.csv.gz`) as a `Series` on a complete time axis.

    target       column to forecast; left out, the last column
    date         column of the times, or several that make them up (["Date", "Time"]); left out, the only one there is
    sep          delimiter, one character; left out, found
    decimal      "." or ","; left out, found
    freq         step of the time axis as pandas writes it ("15min", "h", "B", "W-MON", "MS"); left out, found. In a
                 file without times it says that the rows are to be counted, from 2000-01-01 on
    columns      the columns to read (`target` comes along); left out, all
    missing      "refuse"; or fill: "interpolate" (linear in time), "last" (the value before), "zero". A category always
                 repeats the last one. Only "zero" fills before the first value, and "interpolate" not after the last
    date_format  like "%d/%m/%Y %H:%M"; needed where day and month could be swapped
    encoding     left out: by its mark, else UTF-8, else Latin-1, which is told

    Missing are empty cells and NA, N/A, NaN, null, None, nil, -, --, ? and a lone dot. A column of words with at most
    20 different ones becomes codes in alphabetical order (`codes`). Rows are sorted by time; a row that repeats
    another in full is dropped. Times keep their clock; only if their offset from UTC changes are they UTC. `report`
    lists what was found. Rows are numbered as in a spreadsheet, the header being row 1.

    The text is read 400,000 cells at a time, so that memory follows the numbers that are kept: 10⁶ rows of 5 columns
    add less than 250 MB to the process.

    Raises:
        ValueError: an argument that does not fit, or what the file leaves open; one line: row, column, what to do.
        OSError: no such file, or a folder.
    """
    _check(path, sep, decimal, missing, encoding)
    _check_format(date_format)
    if freq is not None:
        grid.asked(freq)
    found = layout.find(Path(path), "\t" if sep == "\\t" else sep, encoding)
    file = found.path.name
    times, notes = choose.time_places(found, date, date_format, counted=freq is not None)
    places, more = choose.value_places(found, columns, target, times)
    frame, rows, codes, told = _read(found, times, places, decimal, date_format)
    if not times:
        frame.index = pd.date_range("2000-01-01", periods=len(frame), freq=grid.asked(freq), unit="us")
    units = told.pop("units")
    frame, rows, sorting = grid.ordered(frame, rows, file)
    whole = grid.grid(frame.index, rows, freq, file)
    frame, gone, filled = filling.fill(frame, whole, rows, [*codes], missing, file)
    frame.index.name = " ".join(found.names[place] for place in times) or None
    goal = target if target is not None else frame.columns[-1]
    report = [*found.notes, *notes, *more, *told["notes"], *sorting, *_described(frame, codes),
              f"the target is {shown(goal)}" + ("" if target is not None else ", the last column"), filled]
    return Series(name=found.path.name.split(".")[0], frame=frame, target=goal,
                  drivers=tuple(frame.columns.drop(goal)), units=units, codes=codes, missing=gone, filled=filled,
                  source=file, licence="not stated", report=tuple(report))


def _check(path: str | Path, sep: str | None, decimal: str | None, missing: str, encoding: str | None) -> None:
    if "://" in str(path):
        raise ValueError(f"path: expected a file on this computer, got {shown(str(path), 80)}: download it first")
    if sep is not None and sep != "\\t" and len(sep) != 1:
        raise ValueError(f"sep: expected one character, got {sep!r}")
    if decimal not in {None, ".", ","}:
        raise ValueError(f"decimal: expected '.' or ',', got {decimal!r}")
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, ValueError):
        raise ValueError(f"encoding: expected one that Python knows, like 'gb18030', got {encoding!r}") from None
    if missing not in filling.RULES:
        raise ValueError(f"missing: expected one of {[*filling.RULES]}, got {missing!r}")


def _check_format(date_format: str | None) -> None:
    try:
        if date_format:
            parse(np.array([""], dtype=object), date_format)
    except (ValueError, re.error):
        raise ValueError("date_format: expected one that Python knows, like '%d/%m/%Y %H:%M', got "
                         f"{date_format!r}") from None


def _read(found: layout.Layout, times: list[int], places: list[int], decimal: str | None,
          date_format: str | None) -> tuple[pd.DataFrame, np.ndarray, dict, dict]:
    """(values by time, row numbers, codes of the categories, notes and units)."""
    file, names = found.path.name, found.names
    clock = Times(" ".join(names[place] for place in times), file, date_format)
    values = [Column(names[place], file) for place in places]
    kept, blank, end = [], 0, 0
    with closing(_parts(found, times, places)) as parts:
        for part, rows in parts:
            full = ~_blank(part[[*times, *places]])
            if full.any():
                end = int(rows[full][-1])
            if times:
                blank += int((~full).sum())
                part, rows = part[full], rows[full]
            if not len(rows):
                continue
            if times:
                clock.add((part[times[0]] if len(times) == 1 else part[times].agg(" ".join, axis=1)).to_numpy(), rows)
            texts = {column.name: part[place].to_numpy() for column, place in zip(values, places, strict=True)}
            decimal = decimal or decimal_sign(texts, rows, file, found.sep)
            for column in values:
                column.add(texts[column.name], rows, decimal or ".")
            kept.append(rows)
    rows = np.concatenate(kept)
    rows = rows[rows <= end]  # without a column of times, a blank row is missing, unless it ends the file
    index, notes = clock.finish() if times else (None, [])
    data, codes, units = {}, {}, {}
    for column in values:
        numbers, words = column.finish()
        data[column.name] = numbers[:len(rows)]
        units[column.name] = "%" if column.percent else ""
        if words is not None:
            codes[column.name] = words
    notes.insert(0, f"cells are parted by a {layout.DELIMITERS.get(found.sep, shown(found.sep))}, "
                    f"the decimal sign is {shown(decimal or '.')}, the text is {found.encoding}")
    if blank:
        notes.append(f"{count(blank, 'blank row')} left out")
    return pd.DataFrame(data, index=index), rows, codes, {"notes": notes, "units": units}


def _blank(cells: pd.DataFrame) -> np.ndarray:
    return np.logical_and.reduce([[not text or text.isspace() for text in cells[place]] for place in cells])


def _parts(found: layout.Layout, times: list[int], places: list[int]) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Stretches of the file as text, with the numbers of their rows.

    pandas drops what a row has too much. So one more column than there are names is read, and has to be empty.
    """
    file, over, begin = found.path.name, len(found.names), found.row - found.header - 1
    used = sorted({*times, *places, over})
    try:
        with found.open(lead=found.sep * over + "\n") as text, pd.read_csv(
                text, sep=found.sep, header=None, names=range(over + 1), usecols=used, dtype=object, na_filter=False,
                skip_blank_lines=False, index_col=False, chunksize=max(1000, CELLS // len(used))) as reader:
            for part in reader:
                rows = begin + np.arange(len(part))
                begin += len(part)
                part, rows = part[rows >= found.row], rows[rows >= found.row]
                long = part[over].to_numpy() != ""
                if long.any():
                    at = int(long.argmax())
                    raise fault(file, f"the row has more than {over} cells; {shown(part[over].iloc[at])} is beyond the "
                                      "last name: put quotes around a cell that holds the delimiter, or say sep=",
                                int(rows[at]))
                if len(part):
                    yield part, rows
    except pd.errors.ParserError as error:
        raise _parser_says(str(error), file, begin, found.row - found.header - 1) from None
    except (UnicodeError, EOFError) as error:
        raise fault(file, f"the text ends early or is not {found.encoding} ({error}): say encoding=, or copy the file "
                          "again", max(begin, 1)) from None


def _parser_says(error: str, file: str, begin: int, offset: int) -> ValueError:
    if opened := re.search(r"EOF inside string starting at row (\d+)", error):
        return fault(file, "a quote that is opened in this row is never closed: close or delete it",
                     int(opened[1]) + offset)
    return fault(file, f"this row or one soon after cannot be read ({' '.join(error.split())})", max(begin, 1))


def _described(frame: pd.DataFrame, codes: dict) -> list[str]:
    index = frame.index
    constant = [name for name in frame.columns if (frame[name] == frame[name].iat[0]).all()]
    return [f"{count(len(frame), 'row')} from {index[0]} to {index[-1]}, freq {index.freqstr}; "
            f"{count(frame.shape[1], 'column')}",
            *(f"{shown(name)} holds words: {', '.join(f'{code} = {shown(word)}' for code, word in words.items())}"
              for name, words in codes.items()),
            *(f"{shown(name)} never changes: it is always {frame[name].iat[0]:g}" for name in constant)]
