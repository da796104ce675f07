"""`tsattn-mini lessons`: what there is to read, and a way to open it."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from tsattn_mini.cli.terminal import columns, cut, say

PACKAGE = Path(__file__).resolve().parents[1]
EPILOG = """
examples:
  tsattn-mini lessons                       the list
  tsattn-mini lessons open 05               the built page if there is one, else the notebook in JupyterLab
  tsattn-mini lessons open 05 --print       only the path of what would be opened
"""


def add(commands: argparse._SubParsersAction, shared: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("lessons", parents=[shared], help="list the lessons, or open one", epilog=EPILOG,
                                 description="List the lessons, or open one.",
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(run=show)
    inner = parser.add_subparsers(metavar="open")
    opening = inner.add_parser("open", parents=[shared], help="open one lesson", description="Open one lesson.")
    opening.add_argument("lesson", help="its number, or the beginning of its name: 5, 05, 05_destat")
    opening.add_argument("--print", dest="print_only", action="store_true", help="print the path, open nothing")
    opening.set_defaults(run=start)


def notebooks() -> list[Path]:
    """The notebooks in order: those of the checkout, or those that were installed with the package.

    Raises:
        ValueError: when there are none.
    """
    for folder in (PACKAGE.parent / "lessons", PACKAGE / "lessons"):
        if found := sorted(folder.glob("[0-9][0-9]_*.ipynb")):
            return found
    raise ValueError(f"no lessons beside {PACKAGE}: the package was not installed whole; install it again")


def find(name: str) -> Path:
    """The notebook of a lesson, by its number or the beginning of its name.

    Raises:
        ValueError: when none or several are meant.
    """
    known = notebooks()
    wanted = name.zfill(2) + "_" if re.fullmatch(r"[0-9]{1,2}", name) else name.removesuffix(".ipynb")
    found = [path for path in known if path.stem.startswith(wanted)] if wanted else []
    if len(found) != 1:
        raise ValueError(f"lesson: expected a number from {known[0].stem[:2]} to {known[-1].stem[:2]} or the beginning "
                         f"of a name in `tsattn-mini lessons`, got {name!r}")
    return found[0]


def title(notebook: Path) -> str:
    """The first heading, without its mark."""
    for cell in json.loads(notebook.read_text("utf8"))["cells"]:
        if heading := re.search(r"^# +(.+)$", "".join(cell["source"]), re.MULTILINE):
            return heading[1].strip()
    return notebook.stem


def page_of(notebook: Path) -> Path | None:
    """The page that was built of a notebook, in the checkout or in the folder at hand."""
    pages = (root / "_build/html/lessons" / f"{notebook.stem}.html" for root in (PACKAGE.parent, Path.cwd()))
    return next((page for page in pages if page.exists()), None)


def show(asked: argparse.Namespace) -> None:
    """Print number and title of every lesson."""
    for notebook in notebooks():
        number = notebook.stem[:2]
        print(cut(f"{number}  {re.sub(r'^[0-9]+ *[·:.] *', '', title(notebook))}", columns()))


def start(asked: argparse.Namespace) -> None:
    """Open the page or the notebook of a lesson, or print its path.

    Raises:
        ValueError: when there is neither a page nor JupyterLab, no browser, or root may not start it; says what to do.
    """
    notebook = find(asked.lesson)
    page = page_of(notebook)
    if asked.print_only:
        print(page or notebook)
    elif page:
        if not webbrowser.open(page.as_uri()):
            raise ValueError(f"no browser was found; open this file in one: {page}")
        say(f"opened {page}")
    elif find_spec("jupyterlab"):
        say(f"lesson {notebook.stem[:2]} has no built page here (`make book` makes it): JupyterLab opens its notebook")
        _start_jupyterlab(_own(notebook))
    else:
        raise ValueError(f"lesson {notebook.stem[:2]} has no built page here, and JupyterLab is not installed: run "
                         f"`make book` in a checkout, or `pip install jupyterlab`; the notebook is {notebook}")


def _start_jupyterlab(notebook: Path) -> None:
    """JupyterLab with a notebook, until it ends; for the user root it starts only where that is allowed."""
    command = [sys.executable, "-m", "jupyterlab", notebook]
    ended = subprocess.run(command, check=False)
    if ended.returncode and os.name == "posix" and os.geteuid() == 0:
        raise ValueError("JupyterLab does not start for the user root unless you allow it: "
                         f"{' '.join(map(str, command))} --allow-root")


def _own(notebook: Path) -> Path:
    """The notebook to work in: an installed one stays as it is, and the folder at hand gets a copy."""
    if notebook.parent != PACKAGE / "lessons":
        return notebook
    copy = Path.cwd() / notebook.name
    if not copy.exists():
        shutil.copyfile(notebook, copy)
        say(f"made {copy}, a copy to work in")
    return copy
