"""Two processes in two folders, with other seeds of Python's hashes, make the same graphs, pages and numbers."""

import os
import subprocess
import sys

import pytest

MAKE = """
import hashlib, sys
import torch
from tsattn_mini import step
from tsattn_mini.datasets import load_bikes
from tsattn_mini.engram.tokenizer import Tokenizer
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle, Tokens, Window
from tsattn_mini.explore.page import write
from tsattn_mini.questions.lesson01 import QUESTIONS

bikes = torch.tensor(load_bikes().frame.iloc[:60, :1].to_numpy()).float()

def every(x, n, tau, flip, width, words, hours):
    A = step("share", torch.softmax(tau * x + n, -1), axes="V M", eq="softmax(τ X)")
    step("turned", torch.where(flip, -A, A) / int(width) ** 0.5, axes="V M")
    step("ids", words * 3 % 7, axes="N")
    step("mean", hours.reshape(-1).cumsum(0) / torch.arange(1, 13), axes="F")

ex = Explorer(every, title="Every kind", id="every", presets={"flat": {"tau": 0.0}}, inputs={
    "x": Cells(torch.eye(3), -3, 3, axes="V M"), "n": Slider(1, 0, 4, integer=True), "tau": Slider(1.0, 0.0, 4.0),
    "flip": Toggle(False), "width": Choice("2", ["2", "8"]), "words": Tokens(Tokenizer(), "one word", length=8),
    "hours": Window(bikes, length=12)})
write("page.html", [ex, next(q for q in QUESTIONS if q.id == "01-dot")], title="A page")
for name, graph in ex._graphs.items():
    print(name, hashlib.sha256(graph).hexdigest())
print("page", hashlib.sha256(open("page.html", "rb").read()).hexdigest())
print(repr(ex))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What each of two processes says, and the page that it wrote."""
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "another-folder")]
    started = [subprocess.Popen([sys.executable, "-c", MAKE], cwd=folder, stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "PYTHONHASHSEED": str(seed)})
               for seed, folder in enumerate(folders)]
    said = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    return said, [(folder / "page.html").read_text("utf8") for folder in folders], folders


def test_graphs_and_numbers_are_the_same(runs):
    (one, other), _, _ = runs
    assert one == other
    assert [line.split()[0] for line in one.splitlines()[:3]] == ["2", "8", "page"]


def test_pages_are_the_same_and_tell_nothing_of_the_machine(runs):
    _, (one, other), folders = runs
    assert one == other
    assert not [path for path in (*map(str, folders), os.path.expanduser("~") + "/", sys.prefix) if path in one]
