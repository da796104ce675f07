"""Run the lessons into the cache from which MyST-NB fills the pages.

Jupyter Book runs notebooks one after another, and its cache looks at their cells alone. Here they run two at a
time, those that take longest first, and only stale ones run again (`runs.py`); only their pages are read again.
"""

import sys
import time
from pathlib import Path

from myst_nb.core.read import create_nb_reader
from sphinx.errors import SphinxError

from tsbook.run import NotebookFailed, counted, run, run_each
from tsbook.runs import Runs


class LessonFailed(SphinxError):
    category = "A lesson did not run"


def lessons(app):
    """Every page that is a notebook: {page: (its path, the notebook)}."""
    found = {}
    for page in sorted(app.env.found_docs):
        path = Path(app.env.doc2path(page))
        text = path.read_text("utf8")
        reader = create_nb_reader(str(path), app.env.myst_config, app.env.mystnb_config, text)
        if reader is not None:
            found[page] = (path, reader.read(text))
    return found


def stale(runs, pages):
    """The pages to run again, those that took longest first; of new ones the last, since later lessons take longer."""
    found = [page for page, (_, notebook) in pages.items() if runs.changed(page, notebook)]
    return sorted(found, key=lambda page: (runs.seconds(page), page), reverse=True)


async def refresh(runs, page, path, notebook, place):
    """Run `page` and keep its outputs; `place()` says how many have run, of how many."""
    start = time.time()
    read = await run(notebook, path, book=True)
    seconds = time.time() - start
    runs.keep(page, notebook, path, read, start, seconds)
    print(f"  {place()}: ran {path.name} in {seconds:.1f} s", file=sys.stderr, flush=True)


def run_stale_lessons(app, env, added, changed, removed):
    """Bring the cache up to date; return the pages whose outputs are not those Sphinx read last."""
    runs, pages = Runs(app.srcdir, app.env.mystnb_config.execution_cache_path), lessons(app)
    due = stale(runs, pages)
    place = counted(len(due))
    try:
        run_each([lambda page=page: refresh(runs, page, *pages[page], place) for page in due])
    except NotebookFailed as failure:
        raise LessonFailed(str(failure)) from None
    before = getattr(env, "tsbook_versions", {})
    env.tsbook_versions = {page: runs.version(page) for page in pages}
    return [page for page, version in env.tsbook_versions.items() if before.get(page) != version]


def setup(app):
    app.connect("env-get-outdated", run_stale_lessons)
