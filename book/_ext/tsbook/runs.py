"""What is kept of the lessons' last runs: each executed notebook, and the files of the repository that it read.

A run is stale as soon as the code of its lesson or any file that it read (modules of tsattn_mini, data) has changed.
"""

import hashlib
import json
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn

NOT_SOURCES = {"__pycache__", "_build", "dist", "node_modules"}


def digest(path):
    """Hex digest of a file's bytes; None where there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def sources(paths, root, before):
    """Of `paths`, the files of the repository `root` that people write, and the pinned packages: {name: digest}.

    A file written after the time `before` (seconds since 1970), so perhaps while it was in use, gets no digest.
    """
    found = {"requirements.txt": digest(root / "requirements.txt")}
    for path in map(Path, paths):
        if path.is_relative_to(root):
            name = path.relative_to(root)
            if not any(part in NOT_SOURCES or part.startswith(".") for part in name.parts):
                found[name.as_posix()] = digest(path) if path.stat().st_mtime < before else None
    return found


class Runs:
    """The executed notebooks in the cache `folder`, and `lessons.json` beside them.

    That record says for every page (`lessons/01_attention_by_hand`) the hash of its code cells, the digest of each
    file of `root` the run read, and how many seconds it took.
    """

    def __init__(self, root, folder):
        self.root, self.cache = Path(root), get_cache(folder)
        self.record = Path(folder) / "lessons.json"
        self.last = json.loads(self.record.read_text("utf8")) if self.record.is_file() else {}

    def code(self, notebook):
        """The hash of the code cells of `notebook`, with their tags."""
        return self.cache.create_hashed_notebook(notebook)[1]

    def changed(self, page, notebook):
        """What makes the last run of `page` stale, in words; nothing when it is the run of this very `notebook`."""
        last = self.last.get(page)
        if last is None or all(kept.hashkey != last["code"] for kept in self.cache.list_cache_records()):
            return ["it never ran"]
        files = [name for name, then in last["read"].items() if digest(self.root / name) != then]
        return files if last["code"] == self.code(notebook) else ["its code", *files]

    def keep(self, page, notebook, path, read, start, seconds):
        """Note a run of the notebook at `path` that began at `start` (since 1970) and read the paths `read`."""
        self.cache.cache_notebook_bundle(
            CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds}),
            check_validity=False,
            overwrite=True,
        )
        self.last[page] = {"code": self.code(notebook), "read": sources(read, self.root, start),
                           "seconds": round(seconds, 1)}
        self.record.write_text(json.dumps(self.last, indent=1, sort_keys=True), "utf8")

    def seconds(self, page):
        """How long `page` took last; a lesson that never ran may take longest."""
        return self.last.get(page, {}).get("seconds", float("inf"))  # records of older builds say none

    def executed(self, notebook):
        """The code cells of the last run of `notebook`, with their outputs. Raises KeyError when there is none."""
        return self.cache.get_cache_bundle(self.cache.match_cache_notebook(notebook).pk).nb.cells

    def version(self, page):
        """One string that differs whenever `page` has run on other sources."""
        return hashlib.sha256(json.dumps({**self.last[page], "seconds": 0}, sort_keys=True).encode()).hexdigest()
