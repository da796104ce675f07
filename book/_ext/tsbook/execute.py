"""Run the lessons into the cache from which MyST-NB fills the pages.

Jupyter Book runs notebooks one after another, and its cache looks at their cells alone. Here they run two at a
time, and a lesson is stale as soon as its code or any file that its last run read (modules of tsattn_mini, data)
has changed. Only stale lessons run again, and only their pages are read again.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import create_nb_reader
from sphinx.errors import SphinxError

from tsbook.run import NotebookFailed, run, run_each

NOT_SOURCES = {"__pycache__", "_build", "dist", "node_modules"}


class LessonFailed(SphinxError):
    category = "A lesson did not run"


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


class Lessons:
    """The notebooks of the book beside the record of their last runs (`lessons.json` in the cache folder).

    The record says for every page the hash of its code cells and the digest of each file the run read.
    """

    def __init__(self, app):
        self.root = Path(app.srcdir)
        self.cache = get_cache(app.env.mystnb_config.execution_cache_path)
        self.record = self.cache.path / "lessons.json"
        self.runs = json.loads(self.record.read_text("utf8")) if self.record.is_file() else {}
        self.notebooks = {}
        for page in sorted(app.env.found_docs):
            path = Path(app.env.doc2path(page))
            text = path.read_text("utf8")
            reader = create_nb_reader(str(path), app.env.myst_config, app.env.mystnb_config, text)
            if reader is not None:
                self.notebooks[page] = (path, reader.read(text))

    def stale(self, page):
        """Whether `page` never ran, or its code or a file it read has changed since."""
        code = self.cache.create_hashed_notebook(self.notebooks[page][1])[1]
        last = self.runs.get(page)
        if last is None or last["code"] != code:
            return True
        if any(digest(self.root / name) != then for name, then in last["read"].items()):
            return True
        return all(kept.hashkey != code for kept in self.cache.list_cache_records())

    async def refresh(self, page):
        """Run `page`, put its outputs into the cache and note what it read."""
        path, notebook = self.notebooks[page]
        start = time.time()
        read = await run(notebook, path, book=True)
        seconds = time.time() - start
        self.cache.cache_notebook_bundle(
            CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds}),
            check_validity=False,
            overwrite=True,
        )
        code = self.cache.create_hashed_notebook(notebook)[1]
        self.runs[page] = {"code": code, "read": sources(read, self.root, start)}
        self.record.write_text(json.dumps(self.runs, indent=1, sort_keys=True), "utf8")
        print(f"  ran {path.name} in {seconds:.1f} s", file=sys.stderr, flush=True)

    def version(self, page):
        """One string that differs whenever `page` has run on other sources."""
        return hashlib.sha256(json.dumps(self.runs[page], sort_keys=True).encode()).hexdigest()


def run_stale_lessons(app, env, added, changed, removed):
    """Bring the cache up to date; return the pages whose outputs are not those Sphinx read last."""
    lessons = Lessons(app)
    try:
        run_each([lambda page=page: lessons.refresh(page) for page in lessons.notebooks if lessons.stale(page)])
    except NotebookFailed as failure:
        raise LessonFailed(str(failure)) from None
    before = getattr(env, "tsbook_versions", {})
    env.tsbook_versions = {page: lessons.version(page) for page in lessons.notebooks}
    return [page for page, version in env.tsbook_versions.items() if before.get(page) != version]


def setup(app):
    app.connect("env-get-outdated", run_stale_lessons)
