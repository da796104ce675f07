"""What the book costs its reader, beside the limits it promises to keep: `make bench`.

    python tests/bench.py            the built book, a saved page, JupyterLab, `make book` again and after an edit, and
                                     each paper's operators
    python tests/bench.py --build    and `make book` and `make test` from nothing, in fresh clones; the latter once more

It takes about eight minutes, says what it measures before it does, and ends with an error when a limit is passed.

One drag update is measured with real mouse moves, one per frame, in the page itself: from the pointer event to
the last change of the picture, plus from the start of the frame's callbacks to the first task after its paint.
Both ends are busy time; what lies between them is waiting for the screen and is left out, and so are moves that
change no input.
"""

import argparse
import gzip
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

import nbformat
import numpy as np
from browsing import BOOK, ROOT, chromium, pages, quiet_server, specs
from explained import golden, series, variables
from jupyterlab import jupyterlab, run_all
from playwright.sync_api import sync_playwright
from saved import specs as saved_specs

from tsattn_mini.explain import explorers
from tsattn_mini.explore.page import write

MOVES, FRESH, TURNS = 240, 5, 50
LABEL = 64  # letters of a label before its number
EDITED = ROOT / "lessons/02_handles.ipynb"
KB, MB = 1000, 1000_000
OVER = []  # what passed its limit
WATCH = """el => {
  const task = new MessageChannel();
  const inputs = () => JSON.stringify(el.explorer.inputs());
  let began = 0, drawn = 0, frame = 0, before = inputs();
  self.busy = [];
  addEventListener("pointermove", event => {
    if (!event.buttons || began) return;
    began = performance.now();
    drawn = 0;
  }, true);
  new MutationObserver(() => { drawn = performance.now(); }).observe(el.querySelector(".ts-shown"),
    { subtree: true, childList: true, characterData: true, attributes: true });
  task.port1.onmessage = () => {
    const painted = performance.now(), now = inputs();
    if (now === before) began = 0;
    else if (began && drawn) {
      busy.push(drawn - began + painted - frame);
      [began, before] = [0, now];
    }
    requestAnimationFrame(tick);
  };
  const tick = () => { frame = performance.now(); task.port2.postMessage(0); };
  requestAnimationFrame(tick);
}"""
ALOFT = "node => scrollBy({ top: node.getBoundingClientRect().top - 160, behavior: 'instant' })"  # pictures in sight
ANSWER = """async (el, [name, value]) => {
  await el.explorer.ready;
  const start = performance.now();
  await el.explorer.set(name, value);
  await new Promise(painted => requestAnimationFrame(() => setTimeout(painted)));
  return performance.now() - start;
}"""


def elsewhere(input):
    """A value that is not the first one: a page knows its first answer without asking its graph."""
    if input["kind"] == "cells":
        return np.full(input["dims"], 0.6 * input["min"] + 0.4 * input["max"]).tolist()
    return input["max"] if input["value"] != input["max"] else input["min"]


def row(what, measured, limit=None, unit="ms", digits=1):
    """One line of the table; `limit` in the unit of `measured`."""
    late = "" if limit is None else f"≤ {limit:g} {unit}" + ("" if measured <= limit else "   OVER")
    if late.endswith("OVER"):
        OVER.append(what)
    if len(what) > LABEL:
        print(what)
    print(f"{what if len(what) <= LABEL else '':{LABEL}} {measured:10.{digits}f} {unit:5} {late}", flush=True)


def say(what):
    """What is measured next, and takes a while."""
    print(f"bench: {what}", flush=True)


def every_explorer():
    """Page, explorer and the first handle of it that can be dragged."""
    for name in pages("data-explorer="):
        for spec in specs(name).values():
            handles = [input for input in spec["inputs"] if input["kind"] in ("slider", "cells")]
            if handles:
                yield name, spec["id"], handles[0]


def drag(page, id, input):
    """Milliseconds of busy time of each update while the handle is dragged back and forth."""
    explorer = page.locator(f"[data-explorer='{id}']")
    explorer.evaluate(ANSWER, [input["name"], elsewhere(input)])
    explorer.evaluate(WATCH)
    target = explorer.locator(f"[data-input='{input['name']}'] input").first
    target.evaluate(ALOFT)
    box, slider = target.bounding_box(), input["kind"] == "slider"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    reach = 0.45 * box["width"] if slider else 60
    page.mouse.move(x, y)
    page.mouse.down()
    steps = [i / 30 - 1 for i in range(60)]
    for _, at in zip(range(MOVES), cycle(steps + steps[::-1]), strict=False):
        page.mouse.move(x + (reach * at if slider else 0), y + (0 if slider else reach * at))
    page.mouse.up()
    return page.evaluate("busy")


def drags(browser, site):
    """Measure every explorer; report the one with the largest median. Returns its page, id and handle."""
    found, explorers = [], list(every_explorer())
    say(f"dragging a handle of each of {len(explorers)} explorers, minutes; the slowest makes the row")
    for name, id, input in explorers:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(site + name)
        found.append((drag(page, id, input), (name, id, input)))
        page.close()
    busy, heaviest = max(found, key=lambda one: median(one[0]))
    row(f"drag update, {heaviest[1]}, median of {len(busy)}", median(busy), 8)
    row("drag update, 95th percentile", quantiles(busy, n=20)[-1], 16)
    return heaviest


def first_answer(browser, site, name, id, input):
    """Median milliseconds from the first touch of a fresh page to its picture."""
    times = []
    for _ in range(FRESH):
        page = browser.new_page()
        page.goto(site + name)
        times.append(page.locator(f"[data-explorer='{id}']").evaluate(ANSWER, [input["name"], elsewhere(input)]))
        page.close()
    return median(times)


def saved(browser):
    """A page that `tsattn-mini page` writes of a checkpoint: its size, its first answer and its drags."""
    say("writing a page of a checkpoint, dragging its handles")
    with TemporaryDirectory() as folder:
        net = golden("ns_forecast_long", "nonstationary")
        blocks = explorers(net, series(variables(net), rows=200))
        write(Path(folder) / "page.html", blocks, title="A saved page")
        row("saved page of a checkpoint", (Path(folder) / "page.html").stat().st_size / MB, 12, "MB", 2)
        site, found = Path(folder).as_uri() + "/", []
        for spec in saved_specs(Path(folder) / "page.html").values():
            handles = [input for input in spec["inputs"] if input["kind"] in ("slider", "cells")]
            if handles:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(site + "page.html")
                found.append((drag(page, spec["id"], handles[0]), spec["id"], handles[0]))
                page.close()
        busy, *heaviest = max(found, key=lambda one: median(one[0]))
        row("saved page, first live answer", first_answer(browser, site, "page.html", *heaviest), 1000)
        row(f"saved page, drag update, {heaviest[0]}, median of {len(busy)}", median(busy), 8)


def sizes():
    row("runtime over http, once per book", (BOOK / "ts/ort.wasm.gz").stat().st_size / MB, 5, "MB", 2)
    row("runtime from the disk", (BOOK / "ts/ort.wasm.gz.js").stat().st_size / MB, 5, "MB", 2)
    row("script of a live page, gzipped", len(gzip.compress((BOOK / "ts/book.js").read_bytes())) / KB, None, "KB")
    for name in pages("data-explorer="):
        row(f"{name}, gzipped, with all its data", len(gzip.compress((BOOK / name).read_bytes())) / KB, 150, "KB")


def kernel(browser):
    """Milliseconds from a move to the kernel's answer on the picture, in JupyterLab."""
    say("running a lesson in JupyterLab, moving an explorer there")
    name, id, input = next(every_explorer())
    with TemporaryDirectory() as folder, jupyterlab(Path(folder)) as url:
        page = browser.new_page()
        run_all(page, url, Path(name).with_suffix(".ipynb").name)
        explorer = page.locator(f"[data-explorer='{id}']")
        turns = [elsewhere(input), input["value"]] * (TURNS // 2)
        times = [explorer.evaluate(ANSWER, [input["name"], value]) for value in turns]
        page.close()
    row(f"JupyterLab, move to answer, {id}, median of {TURNS}", median(times), 100)


def make(verb, limit, folder=ROOT, what="again"):
    say(f"make {verb} {what}")
    start = time.monotonic()
    done = subprocess.run(["make", verb], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"make {verb} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    row(f"make {verb} {what}", time.monotonic() - start, limit, "s")


def edited():
    """`make book` after a line of code was added to a lesson, which is taken away again."""
    stored = EDITED.read_bytes()
    notebook = nbformat.reads(stored.decode(), as_version=4)
    next(cell for cell in notebook.cells if cell.cell_type == "code").source += "\n# one more line"
    try:
        nbformat.write(notebook, EDITED)
        make("book", 20, what=f"after an edit of {EDITED.name}")
    finally:
        EDITED.write_bytes(stored)
    make("book", 20, what="after the edit was undone")


def graphs(folder):
    """Every graph of a built book: (page, explorer, options) → the graph."""
    return {(name, id, key): graph for name in pages("data-explorer=")
            for id, spec in specs(name, folder).items() for key, graph in spec["graphs"].items()}


def from_nothing():
    """Each verb in a clone of its own, as a newcomer meets it; pip's and npm's own caches stay."""
    with TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        make("book", 420, folder, "from nothing")
        ours, theirs = graphs(BOOK), graphs(Path(folder) / "_build/html")
        other = [key for key in ours if ours[key] != theirs.get(key)]
        row("graphs of that book that differ from this one's", len(other), 0, "", 0)
    with TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        make("test", 900, folder, "from nothing")
        make("test", 480, folder)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", action="store_true", help="also time `make book` and `make test` in fresh clones")
    build = options.parse_args().build
    say("other programs that run meanwhile make every number worse")
    with sync_playwright() as playwright, chromium(playwright) as browser:
        with quiet_server(BOOK) as served:
            heaviest = drags(browser, served)
            row("first live answer over http", first_answer(browser, served, *heaviest), 1000)
        row("first live answer from the disk", first_answer(browser, BOOK.as_uri() + "/", *heaviest), 1000)
        sizes()
        saved(browser)
        kernel(browser)
    make("book", 20)
    edited()
    if build:
        from_nothing()
    for papers in sorted(ROOT.glob("tests/bench_*.py")):
        say(papers.name)
        subprocess.run([sys.executable, papers], cwd=ROOT, check=True)
    if OVER:
        sys.exit(f"over the limit: {'; '.join(OVER)}")


if __name__ == "__main__":
    main()
