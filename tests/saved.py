"""A page that stands alone, written by `explore.page` and opened in a browser."""

import json
import re
from contextlib import contextmanager

from browsing import watched
from live import Live

from tsattn_mini.explore.graphs import SPEC

FILE = re.compile(r'<script type="application/gzip" data-file="([^"]+)">([^<]*)</script>')
REFUSED = """addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
  (window.__refused ??= []).push(`${violatedDirective} ${blockedURI} ${sample}`));"""


def specs(path):
    """What the explorers of a page know about themselves, by id, with their large graphs in place."""
    text = path.read_text("utf8")
    files, found = dict(FILE.findall(text)), {}
    for spec in map(json.loads, SPEC.findall(text)):
        spec["graphs"] = {key: files.get(graph, graph) for key, graph in spec["graphs"].items()}
        found[spec["id"]] = spec
    return found


@contextmanager
def opened(browser, path, **context):
    """The page at `path`, opened from the disk in a fresh window, with its explorers by id.

    At the end it must have asked for nothing but itself, said nothing on the console, and broken no rule of its
    own policy; no text on it may have run as a script (which would set `window.__hit`).
    """
    window, problems = browser.new_context(**context), []
    page = watched(window, path.as_uri(), problems)
    page.add_init_script(REFUSED)
    page.goto(path.as_uri())
    alive = context.get("java_script_enabled", True)
    yield page, {id: Live(page, spec) for id, spec in specs(path).items()} if alive else {}
    asked = [url for url in page.asked if not url.startswith(("data:", "blob:"))]
    ran = page.evaluate("[window.__hit, window.__refused]") if alive else [None, None]
    window.close()
    assert asked == [path.as_uri()]
    assert ran == [None, None]
    assert problems == []
