"""What the Nu HTML checker, the one of the W3C, says about every page of the book and a page that stands alone."""

import json
import subprocess
from shutil import which

import pytest
import torch
from browsing import BOOK, ROOT
from whole_book import names

from tsattn_mini import step
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle, page
from tsattn_mini.figures import Table, heat

CHECKER = ROOT / "node_modules/vnu-jar/build/dist/vnu.jar"
STYLE = "CSS: "  # its words on style are left to browsers: it knows no container queries, no `lh`, no `display: math`
JAVA = "no Java found, and the checker of HTML needs it: `apt-get install default-jre-headless`"


def soften(x, tau, how, shift):
    step("A", torch.softmax(x * tau + shift.float(), -1), axes="L S", eq="softmax(τ X)")


@pytest.fixture
def alone(no_graphs, tmp_path):
    """A page of its own, as `tsattn-mini page` writes them."""
    made = Explorer(soften, {"x": Cells(torch.eye(3), -3, 3, axes="L S"), "tau": Slider(1.0, 0.1, 8.0, log=True),
                             "how": Choice("here", ["here", "there"]), "shift": Toggle(False)},
                    presets={"τ = 8": {"tau": 8.0}}, title="One handle", id="soft")
    path = tmp_path / "alone.html"
    blocks = [page.Heading("What it is"), "Some words.", made, Table(["a"], [["b"]]), heat(torch.eye(3), "L S")]
    page.write(path, blocks, title="A page", lead="What it does.")
    made.close()
    return path


def test_every_page_is_valid_html(book, alone):
    java = which("java")
    if java is None:
        pytest.fail(JAVA, pytrace=False)
    command = [java, "-Xss8m", "-jar", CHECKER, "--errors-only", "--format", "json", "--exit-zero-always"]
    checked = subprocess.run([*command, *(BOOK / name for name in names()), alone], capture_output=True, text=True)
    said = json.loads(checked.stderr)["messages"]
    faults = [(one["url"].rpartition("/")[2], one.get("lastLine"), one["message"], one.get("extract")) for one in said
              if not one["message"].startswith(STYLE)]
    assert faults == []
    assert len(said) > len(faults)
