"""What hatchling runs before it packs: the front end is bundled where it is missing or older than its sources.

A source archive carries the bundle, so that installing from one needs no Node.js.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEB = "tsattn_mini/explore/web"
PACKAGES = ("package.json", "package-lock.json")
NODE = 20  # the oldest that the pinned packages run on


class FrontEnd(BuildHookInterface):
    """Bundles the front end; `node` in pyproject.toml is the wheel that brings Node.js to a machine without it."""

    def dependencies(self) -> list[str]:
        return [self.config["node"]] if stale(Path(self.root)) and not node_is_here() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bundle; an editable install uses what lies in the tree, and `make web` bundles that."""
        if version != "editable" and stale(Path(self.root)):
            build(Path(self.root), self.config["node"])


def stale(root: Path) -> bool:
    """Is a file of the bundle missing, or the bundle older than a source?"""
    made = re.findall(r"--outfile=([^\s\"]+)", (root / "package.json").read_text("utf8"))
    if not all((root / name).exists() for name in [*made, f"{WEB}/dist/ort.wasm.gz"]):
        return True
    sources = [path for path in (root / WEB).rglob("*") if path.is_file() and path.parent.name != "dist"]
    return is_older(root / WEB / "dist/book.js", *sources, *(root / name for name in PACKAGES))


def is_older(made: Path, *sources: Path) -> bool:
    """Is `made` missing, or older than one of `sources`?"""
    return not made.exists() or made.stat().st_mtime < max(path.stat().st_mtime for path in sources)


def node_is_here() -> bool:
    """Are `npm` and a Node.js that is new enough on the path?"""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout  # v20.19.0
    return int(version.strip().lstrip("v").split(".")[0] or 0) >= NODE


def build(root: Path, wheel: str) -> None:
    """Fetch the pinned npm packages, unless they are there, and bundle.

    Raises:
        RuntimeError: when there is no Node.js, or npm fails; says what to do.
    """
    if not node_is_here():
        raise RuntimeError(
            f"The front end is not bundled, and bundling it needs Node.js {NODE} or newer. Install that, or `pip "
            f"install {wheel}`, and try again; or install from a wheel or a source archive: both carry the bundle.")
    commands = [["run", "--silent", "build"]]
    if is_older(root / "node_modules/.package-lock.json", root / "package-lock.json"):
        commands.insert(0, ["ci", "--silent"])
    for command in commands:
        done = subprocess.run([shutil.which("npm"), *command], cwd=root, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise RuntimeError(f"`npm {' '.join(command)}` in {root} failed:\n{said}")
