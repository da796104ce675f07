"""Chromium, a quiet web server, and pages that keep account of what they ask for and complain about."""

import json
import os
import re
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from threading import Thread

import pytest

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "_build/html"
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # no other host exists
NAMES = (os.environ.get("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium(playwright):
    """The machine's own Chromium, without a window; only 127.0.0.1 can be reached from it."""
    path = next(filter(None, map(which, filter(None, NAMES))), None)
    if path is None:
        pytest.fail("no Chromium found: `apt-get install chromium`, or set CHROMIUM to the program", pytrace=False)
    started = playwright.chromium.launch(executable_path=path, args=FLAGS)
    yield started
    started.close()


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def end_headers(self):
        if self.server.policy:
            self.send_header("Content-Security-Policy", self.server.policy)
        super().end_headers()

    def log_message(self, *args):
        """Nobody reads this log."""


@contextmanager
def quiet_server(folder, policy=None):
    """Serve `folder` on a free port of 127.0.0.1, with a Content-Security-Policy or none; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    server.daemon_threads, server.policy = True, policy
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def watched(context, site, problems):
    """A page whose `asked` lists the addresses it loads. Requests to elsewhere and complaints go to `problems`."""
    page = context.new_page()
    page.asked = []

    def ask(url):
        page.asked.append(url)
        if not url.startswith((site, "data:", "blob:")):
            problems.append(f"{page.url} asks for {url}")

    def complain(what):
        problems.append(f"{page.url}: {what}")

    def fail(request):
        if request.failure != "net::ERR_ABORTED":  # a reload or a link cut it short: nothing is wrong with it
            complain(f"{request.url}: {request.failure}")

    page.on("request", lambda request: ask(request.url))
    page.on("websocket", lambda socket: ask(socket.url))
    page.on("requestfailed", fail)
    page.on("response", lambda answer: complain(f"{answer.url}: {answer.status}") if answer.status >= 400 else None)
    page.on("pageerror", lambda error: complain(error))
    page.on("console", lambda said: complain(said.text) if said.type in ("error", "warning") else None)
    return page


APART = {"_static", "handouts"}  # no pages of the book: files of the theme, and paper


def pages(mark=""):
    """The names of the built pages that hold `mark`; before the book is built one name, so that a test says so."""
    found = [path for path in sorted(BOOK.rglob("*.html")) if not APART & {*path.relative_to(BOOK).parts}]
    return [path.relative_to(BOOK).as_posix() for path in found if mark in path.read_text("utf8")] or ["index.html"]


def specs(name, folder=BOOK):
    """What the explorers of a page know about themselves, by id; large graphs are read from beside the page."""
    text = (folder / name).read_text("utf8")
    found = {}
    for spec in map(json.loads, re.findall(r"<script type=.application/json. data-spec>(.*?)</script>", text, re.S)):
        beside = {key: folder / "ts" / graph for key, graph in spec["graphs"].items() if graph.endswith(".js")}
        spec["graphs"] |= {key: re.search(r', "(.*)"', path.read_text())[1] for key, path in beside.items()}
        found[spec["id"]] = spec
    return found


def of_every_kind():
    """Names of built pages that have, together, an explorer with every kind of handle."""
    with_explorers = pages("data-explorer=")
    found = {input["kind"]: name for name in reversed(with_explorers) if (BOOK / name).exists()
             for spec in specs(name).values() for input in spec["inputs"]}
    return sorted({*found.values()}) or with_explorers
