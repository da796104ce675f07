"""Where the lessons run beside `make lab`: the recipes of Binder and the dev container, Colab's first cell, a hub."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from types import ModuleType

import jsonschema
import pytest
from browsing import ROOT
from IPython.core.interactiveshell import InteractiveShell
from packaging.requirements import Requirement

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
BINDER, HOW_TO = ROOT / ".binder", (ROOT / "book/how_to.md").read_text("utf8")
TEXTS = {"type": "array", "items": {"type": "string"}}
DEV_CONTAINER = {  # the fields of containers.dev that are used here
    "type": "object", "additionalProperties": False,
    "required": ["name", "image", "postCreateCommand", "customizations"],
    "properties": {
        "name": {"type": "string"},
        "image": {"type": "string", "pattern": r"^[\w.-]+(/[\w.-]+)*:[\w.-]+$"},
        "features": {"type": "object", "additionalProperties": {"type": "object"}},
        "hostRequirements": {"type": "object", "additionalProperties": False, "properties": {
            "cpus": {"type": "integer"}, "memory": {"pattern": r"^\d+gb$"}, "storage": {"pattern": r"^\d+gb$"}}},
        "containerEnv": {"type": "object", "additionalProperties": {"type": "string"}},
        "onCreateCommand": {"type": "string"}, "postCreateCommand": {"type": "string"},
        "customizations": {"type": "object", "additionalProperties": False, "required": ["vscode"], "properties": {
            "vscode": {"type": "object", "additionalProperties": False, "required": ["extensions", "settings"],
                       "properties": {"extensions": TEXTS, "settings": {"type": "object"}}}}},
    },
}


def required(path):
    """The packages that a requirements file asks for, by name."""
    lines = [line.split("#")[0].strip() for line in path.read_text("utf8").splitlines()]
    return {asked.name.lower(): asked for asked in map(Requirement, (x for x in lines if x and x[0] != "-"))}


# Binder


def test_binder_installs_what_the_package_needs_in_the_versions_of_the_repository():
    asked, pinned = required(BINDER / "requirements.txt"), required(ROOT / "requirements.txt")
    needed = {Requirement(text).name.lower() for text in PROJECT["dependencies"]}
    assert needed | {"jupyterlab", "ipywidgets", "hatchling", "editables"} <= asked.keys() <= pinned.keys()
    assert not [name for name, one in asked.items() if one.specifier], "versions come from the constraint alone"
    assert "-c ../requirements.txt" in (BINDER / "requirements.txt").read_text("utf8").splitlines()
    assert re.fullmatch(r"python-3\.11\s*", (BINDER / "runtime.txt").read_text("utf8"))


@pytest.fixture
def tools(tmp_path):
    """A folder of commands that write down how they were called; `python` runs."""
    (tmp_path / "bin").mkdir()
    listen = f'echo "$(basename "$0") $*" >> "{tmp_path}/called"'
    for name, does in {"npm": listen, "pip": listen, "python": f'exec "{sys.executable}" "$@"'}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def post_build(tools, folder):
    """Run `.binder/postBuild` in `folder` as Binder does, with `tools` in front of the path."""
    environment = {**os.environ, "PATH": f"{tools}/bin:{os.environ['PATH']}", "PYTHONPATH": str(folder)}
    return subprocess.run([folder / ".binder/postBuild"], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def checkout(tools):
    """A checkout with the files that `postBuild` looks at, and a front end that was bundled."""
    folder = tools / "checkout"
    shutil.copytree(BINDER, folder / ".binder")
    shutil.copytree(ROOT / "tsattn_mini", folder / "tsattn_mini", ignore=shutil.ignore_patterns("__pycache__", "dist"))
    (folder / "node_modules").mkdir()
    web = folder / "tsattn_mini/explore/web/dist"
    web.mkdir()
    (web / "widget.js").write_text("export default {};")
    return folder


def test_binder_bundles_the_front_end_before_it_installs_the_package_in_place(tools, checkout):
    done = post_build(tools, checkout)
    assert done.returncode == 0, done.stderr
    called = (tools / "called").read_text().splitlines()
    assert called == ["npm ci --silent", "npm run --silent build",
                      "pip install --no-cache-dir --no-deps --no-build-isolation -e ."]
    assert not (checkout / "node_modules").exists()


def test_binder_stops_where_widgets_would_stay_empty(tools, checkout):
    (checkout / "tsattn_mini/explore/web/dist/widget.js").unlink()
    done = post_build(tools, checkout)
    assert done.returncode != 0
    assert "widget.js is missing" in done.stderr
    (tools / "bin/npm").write_text("#!/bin/sh\nexit 3\n")
    assert post_build(tools, checkout).returncode == 3


# A dev container


def test_the_dev_container_is_what_an_editor_understands():
    found = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf8"))
    jsonschema.validate(found, DEV_CONTAINER)
    made = re.fullmatch(r"make (\w+)", found["postCreateCommand"])[1]
    assert re.search(rf"^{made}:", (ROOT / "Makefile").read_text("utf8"), flags=re.M)
    interpreter = found["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert (ROOT / interpreter.removeprefix("${containerWorkspaceFolder}/")).exists()


# Colab


@pytest.fixture
def cell():
    """The first cell for Colab, as the book prints it."""
    return next(code for code in re.findall(r"```python\n(.*?)```", HOW_TO, flags=re.S) if "google.colab" in code)


@pytest.fixture
def shell(monkeypatch):
    """A notebook's shell whose `%pip` only listens; `shell.heard` is what it was asked."""
    shell = InteractiveShell()
    shell.heard = []
    shell.register_magic_function(lambda line: shell.heard.append(line), magic_name="pip")
    yield shell
    shell.history_manager.end_session()


def test_colabs_first_cell_installs_from_the_repository_and_lets_widgets_in(shell, cell, monkeypatch):
    colab, output = ModuleType("google.colab"), ModuleType("google.colab.output")
    colab.output = output
    output.enable_custom_widget_manager = lambda: shell.heard.append("widgets")
    for module in (ModuleType("google"), colab, output):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    shell.run_cell(cell).raise_error()
    assert shell.heard == ["install --quiet git+https://github.com/YOUR-NAME/tsattn-mini", "widgets"]


def test_elsewhere_colabs_first_cell_does_nothing(shell, cell):
    assert "google.colab" not in sys.modules
    shell.run_cell(cell).raise_error()
    assert shell.heard == []


# A hub


def test_an_explorer_opens_no_port_and_starts_no_process():
    code = """
import psutil, torch
from tsattn_mini import step
from tsattn_mini.explore import Explorer, Slider
ex = Explorer(lambda n: step("y", n * 2, axes=""), inputs={"n": Slider(1.0, 0, 5)}, title="One")
ex.set(n=2.0)
me = psutil.Process()
print(float(ex.values["y"]), me.net_connections(), me.children())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "4.0 [] []"


def test_how_to_says_which_places_were_tried_and_names_what_exists():
    section = HOW_TO.split("### Where else the lessons run")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| ")][1:]
    assert all(len(row) == 3 and all(map(str.strip, row)) for row in rows)
    for name in re.findall(r"`(\.[\w]+)/`", section):
        assert (ROOT / name).is_dir()
    assert f"tsattn_mini-{PROJECT['version']}-py3-none-any.whl" in section
    lab = next(iter(required(ROOT / "requirements.txt")["jupyterlab"].specifier)).version
    assert f"JupyterLab {lab.rpartition('.')[0]} " in section
