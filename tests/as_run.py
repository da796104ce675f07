"""`pytest --nbval --as-run`: nbval compares the stored outputs of a lesson with the run that `make book` has kept.

The book runs every lesson in a fresh kernel. As long as neither the lesson nor a file that its run read has changed,
that run is the one nbval would make; a lesson for which this does not hold fails. The comparison is nbval's own.
"""

import re
import sys
from functools import cache, partial
from pathlib import Path

import nbformat
import pytest
from browsing import ROOT
from nbval.plugin import IPyNbCell

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.runs import Runs

CACHE = ROOT / "_build/.jupyter_cache"
ELEMENT = re.compile(r"<(div class='ts-explorer|fieldset class='ts-question)\b")


class Played:
    """What nbval asks of a kernel, answered from a run that is over: `cells`, in their order, with their outputs."""

    def __init__(self, cells):
        self.cells, self.messages = iter(cells), []

    def is_alive(self):
        return True

    def execute_cell_input(self, source, allow_stdin=None):
        cell = next((cell for cell in self.cells if cell.source == source), None)
        assert cell is not None, f"the book ran no such cell:\n{source}"
        idle = {"msg_type": "status", "content": {"execution_state": "idle"}}
        self.messages = [{"msg_type": said.output_type, "content": plain(said)} for said in cell.outputs] + [idle]
        return "run"

    def get_message(self, stream, timeout=None):
        return {"parent_header": {"msg_id": "run"}, **self.messages.pop(0)}

    def await_reply(self, message, timeout=None):
        """It came when the book ran."""

    await_idle = await_reply

    def stop(self):
        """Nothing runs."""


def plain(output):
    """An output without the HTML that an explorer or a question shows in the book alone."""
    if ELEMENT.match(output.get("data", {}).get("text/html", "")):
        return {**output, "data": {kind: text for kind, text in output.data.items() if kind != "text/html"}}
    return output


@cache
def kept(root=ROOT, folder=CACHE):
    if not (folder / "lessons.json").is_file():
        pytest.fail(f"{folder} holds no run of a lesson: run `make book` first", pytrace=False)
    return Runs(root, folder)


def open_run(lesson, runs=None):
    """Give nbval's `lesson` the run that the book kept, which must be the run of what stands there now."""
    runs = runs or kept()
    path = Path(lesson.path)
    page = path.relative_to(runs.root).with_suffix("").as_posix()
    notebook = nbformat.read(path, as_version=4)
    if changed := runs.changed(page, notebook):
        pytest.fail(f"{page} has changed since the book ran it ({', '.join(changed)}): run `make book`", pytrace=False)
    lesson.kernel = Played(runs.executed(notebook))


def play(items):
    """Let every cell of a notebook among `items` be compared with the book's run, in the place of a kernel's."""
    for lesson in {item.parent for item in items if isinstance(item, IPyNbCell)}:
        lesson.setup = partial(open_run, lesson)
