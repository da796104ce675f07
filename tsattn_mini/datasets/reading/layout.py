"""How a file is written: packing, encoding, delimiter, header, names. Found from its bytes, never from its ending."""

import codecs
import csv
import gzip
import io
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TextIO

from tsattn_mini.datasets.reading.cells import MISSING, looks_like_a_number
from tsattn_mini.datasets.reading.faults import fault, shown
from tsattn_mini.datasets.reading.times import looks_like_a_time

SAMPLE = 1 << 18  # characters that the layout is read from
DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}  # the first that fits wins a tie
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Layout:
    """Where the cells are.

    skip       lines above the first row that is read
    row        number of the first row of values, counted from 1 as a spreadsheet does
    header     whether the row before it holds names
    sample     the first rows of values, as text
    """

    path: Path
    packed: bool
    encoding: str
    sep: str
    skip: int
    row: int
    header: bool
    names: tuple[str, ...]
    sample: list[list[str]]
    notes: tuple[str, ...]

    def open(self, lead: str) -> TextIO:
        """The text from its first row of names or values on, with the line `lead` before it."""
        text = _text(self.path, self.packed, self.encoding)
        for _ in range(self.skip):
            text.readline()
        return _Led(lead, text)


class _Led(io.TextIOBase):
    """A text with a line before it."""

    def __init__(self, lead: str, text: TextIO):
        self.lead, self.text = lead, text

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        lead, self.lead = self.lead, ""
        return lead or self.text.read(size)

    def close(self) -> None:
        self.text.close()
        super().close()


def find(path: Path, sep: str | None, encoding: str | None) -> Layout:
    """The layout of the file at `path`.

    Raises:
        ValueError: an empty or binary file, an encoding or delimiter that does not fit, no row of values.
        OSError: no such file, a folder, a file that may not be read.
    """
    file = path.name
    packed = _packed(path)
    encoding, notes = (encoding, []) if encoding else _encoding(path, packed)
    try:
        with _text(path, packed, encoding) as text:
            sample = text.read(SAMPLE)
    except UnicodeError as error:
        raise fault(file, f"encoding: expected one that reads the file, got {encoding!r} ({error})") from None
    if all(sign.isspace() or sign in ",;|\"" + (sep or "") for sign in sample):
        raise fault(file, "the file is empty: expected a header and rows of values")
    if len(sample) == SAMPLE:
        sample = sample[:max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    sep = sep or _delimiter(sample)
    records = _records(sample, sep)
    if not any(_filled(record) for _, record in records):
        raise fault(file, f"the first row cannot be cut into cells at {shown(sep)}: say sep=, or see if it is CSV", 1)
    width = _width(records)
    above = next(i for i, (_, record) in enumerate(records) if _filled(record) and (len(record) > 1 or width == 1))
    skip, rows = records[above][0], [record for _, record in records[above:]]
    if any(_filled(record) for _, record in records[:above]):
        notes.append(f"{above} lines above the header were left out")
    if len(rows[0]) < width:
        raise fault(file, f"expected a name for each of the {width} columns, got {len(rows[0])} cells: "
                          "add the missing names to the header", above + 1)
    header = not _holds_values(rows)
    names, renamed = _names(_without_tail(rows[0]) if header else [""] * width)
    if not header:
        notes.append("there is no header: the columns are called 'column 1', 'column 2', …")
    values = [record for record in rows[header:] if _filled(record)]
    if not values:
        raise fault(file, f"expected rows of values below the header, got the names {shown(', '.join(names))} alone")
    return Layout(path, packed, encoding, sep, skip, above + 1 + header, header, names, values,
                  (*notes, *(renamed if header else [])))


def _packed(path: Path) -> bool:
    if path.is_dir():
        raise IsADirectoryError(f"path: expected a CSV file, got the folder {str(path)!r}")
    if not path.exists():
        raise FileNotFoundError(f"path: expected a CSV file, but there is no {str(path)!r}")
    with path.open("rb") as raw:
        head = raw.read(4)
    if head[:4] == b"PK\x03\x04":
        raise fault(path.name, "this is a zip file or a spreadsheet workbook: save one sheet as CSV and read that")
    if head[:4] == b"PAR1":
        raise fault(path.name, "this is a Parquet file: write it as CSV first (pandas: read_parquet, then to_csv)")
    return head[:2] == b"\x1f\x8b"


def _bytes(path: Path, packed: bool) -> IO[bytes]:
    return gzip.open(path) if packed else path.open("rb")


def _text(path: Path, packed: bool, encoding: str) -> TextIO:
    return io.TextIOWrapper(_bytes(path, packed), encoding=encoding, newline="")


def _encoding(path: Path, packed: bool) -> tuple[str, list[str]]:
    try:
        with _bytes(path, packed) as raw:
            head = raw.read(4096)
            for mark, name in BOMS.items():
                if head.startswith(mark):
                    return name, []
            if b"\0" in head:
                return _without_mark(head, path.name), []
            if _decodes(path, packed, "utf-8"):
                return "utf-8", []
    except (EOFError, gzip.BadGzipFile) as error:
        raise fault(path.name, f"the packed file cannot be unpacked ({error}): copy or download it again") from None
    name = next(name for name in ("cp1252", "latin-1") if _decodes(path, packed, name))
    return name, ["the text is not UTF-8 and was read as Latin-1 (Western European); "
                  "if names look wrong, say encoding=, for instance encoding='gb18030'"]


def _without_mark(head: bytes, file: str) -> str:
    """UTF-16 without a mark: every other byte of plain text is 0."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) // 4 or min(even, odd) > len(head) // 16:
        raise fault(file, "this is not a text file (it holds zero bytes): expected a CSV file")
    return "utf-16-le" if odd > even else "utf-16-be"


def _decodes(path: Path, packed: bool, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with _bytes(path, packed) as raw:
        try:
            while chunk := raw.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _records(sample: str, sep: str) -> list[tuple[int, list[str]]]:
    """(line it begins on, cells) of the first rows."""
    reader, begin, records = csv.reader(io.StringIO(sample, newline=""), delimiter=sep), 0, []
    try:
        for record in islice(reader, 1000):
            records.append((begin, record))
            begin = reader.line_num
    except csv.Error:
        pass  # the rows before are enough to tell
    return records


def _filled(record: list[str]) -> bool:
    return any(cell.strip() for cell in record)


def _width(records: list[tuple[int, list[str]]]) -> int:
    return Counter(len(record) for _, record in records if _filled(record)).most_common(1)[0][0]


def _delimiter(sample: str) -> str:
    """The one that cuts most rows into the same number of cells, at least two; a comma when none does."""
    best, most = ",", 0.5
    for sep in DELIMITERS:
        widths = [len(record) for _, record in _records(sample, sep) if _filled(record)]
        width, count = Counter(widths or [0]).most_common(1)[0]
        if width > 1 and count / len(widths) > most:
            best, most = sep, count / len(widths)
    return best


def _holds_values(rows: list[list[str]]) -> bool:
    """Whether the first row holds values: a number or a time wherever the rows below do."""
    below = next(filter(_filled, rows[1:]), None)
    if below is None:
        return all(_is_value(cell) for cell in rows[0] if cell.strip())
    pairs = [(a, b) for a, b in zip(rows[0], below, strict=False) if _is_value(b)]
    return bool(pairs) and all(_is_value(a) or a.strip() in MISSING - {""} for a, _ in pairs)


def _is_value(cell: str) -> bool:
    return looks_like_a_number(cell.strip()) or looks_like_a_time(cell.strip())


def _without_tail(cells: list[str]) -> list[str]:
    """The names without the empty cells that a delimiter at the end of the row leaves."""
    while len(cells) > 1 and not cells[-1].strip():
        cells = cells[:-1]
    return cells


def _names(cells: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Every column has a name of its own; what had to be changed is told."""
    names, notes = [], []
    for place, cell in enumerate(cells, 1):
        name = wanted = cell.strip() or f"column {place}"
        count = 1
        while name in names:
            count += 1
            name = f"{wanted} ({count})"
        if name != wanted:
            notes.append(f"the name {shown(wanted)} occurs again: column {place} is called {shown(name)}")
        elif not cell.strip():
            notes.append(f"column {place} has no name and is called {shown(name)}")
        names.append(name)
    return tuple(names), notes
