"""A file that is written whole: whoever looks at its name finds what was there before, or all that is there now."""

from pathlib import Path
from secrets import token_hex


def write_whole(path: Path, text: str) -> None:
    """Write `text` beside `path`, into a new file whose name nobody can expect, and give it the name of `path`.

    Raises:
        OSError: as writing does; nothing is left behind then.
    """
    half = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        with half.open("x", encoding="utf8", newline="\n") as file:  # a new file: no link of another's is followed
            file.write(text)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
