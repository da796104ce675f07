"""The file of a reader's progress, the one that the self-test page saves and loads (`explore/web/self_test/file.js`).

{"format", "version", "questions": {id: {"tries", "right", "last"}}}: `right` stays true once it was, `last` is the
answer given last.
"""

import json
import re
from pathlib import Path
from typing import Any

from tsattn_mini.whole import write_whole

FORMAT, VERSION = "tsattn-mini progress", 1
LARGEST = 1_000_000  # bytes; all questions of the book take about 20,000
MOST = 1_000_000  # tries that are counted

Entries = dict[str, dict[str, Any]]


def read(path: Path) -> tuple[Entries, list[str]]:
    """The entries of a file, none where there is no file yet, and the ids whose entries cannot be read.

    Raises:
        ValueError: what is no progress file of this version; nothing of it is used, and it stays as it is.
        OSError: when it cannot be opened.
    """
    if not path.parent.is_dir():
        raise ValueError(f"progress: expected a file in a folder that exists, got {path}")
    if not path.exists():
        return {}, []
    if path.stat().st_size > LARGEST:
        raise ValueError(f"progress: expected a file of at most {LARGEST // 1000} KB, got {path}, which is larger")
    try:
        found = json.loads(path.read_text("utf8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"progress: {path} is no JSON, or only a part of it; name another file") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("questions"), dict):
        raise ValueError(f"progress: {path} is no progress file of this book; name another file")
    if found.get("version") != VERSION:
        raise ValueError(f"progress: expected format {VERSION}, got {found.get('version')!r} in {path}")
    good = {id: entry for id, entry in found["questions"].items() if _is_id(id) and _is_entry(entry)}
    return good, [id for id in found["questions"] if id not in good]


def write(path: Path, entries: Entries) -> None:
    """Write the file whole: who looks at `path` finds what was there, or all that is there now."""
    text = json.dumps({"format": FORMAT, "version": VERSION, "questions": entries}, ensure_ascii=False, indent=1)
    write_whole(path, f"{text}\n")


def counted(entries: Entries, id: str, right: bool, last: Any) -> Entries:
    """The entries with one more try."""
    before = entries.get(id, {"tries": 0, "right": False})
    return {**entries, id: {"tries": min(before["tries"] + 1, MOST), "right": before["right"] or right, "last": last}}


def _is_id(id: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{2}(-[a-z0-9]+)+", id))


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("right"), bool):
        return False
    tries = entry.get("tries")
    return type(tries) is int and 1 <= tries <= MOST and ("last" not in entry or _is_answer(entry["last"]))


def _is_answer(last: Any) -> bool:
    parts = last.values() if isinstance(last, dict) else last if isinstance(last, list) else []
    return _is_part(last) or (isinstance(last, (dict, list)) and all(map(_is_part, parts)))


def _is_part(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, list) and all(type(i) is int for i in part))
