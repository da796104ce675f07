"""What went wrong in a file, in one line: the file, the row as a spreadsheet counts it, the column, what to do."""


def shown(text: str, most: int = 40) -> str:
    """A cell or a name as Python would write it: one line, no control characters, at most `most` characters."""
    return repr(text if len(text) <= most else text[:most - 1] + "…")


def fault(file: str, what: str, row: int | None = None, column: str | None = None) -> ValueError:
    """The error to raise. `row` counts from 1, the header included."""
    place = ([f"row {row}"] if row is not None else []) + ([f"column {shown(column)}"] if column is not None else [])
    return ValueError(": ".join([shown(file)[1:-1], *([", ".join(place)] if place else []), what]))


def count(number: int, thing: str) -> str:
    """"1 row", "2 rows"."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def listed(names: list[str], most: int = 6) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + more
