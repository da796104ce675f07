"""A JupyterLab of its own for a copy of the lessons: nothing of the reader's settings, no pop-ups, gone afterwards."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

from browsing import ROOT

SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # every cell stays on the page
    "docmanager-extension/plugin": {"autosave": False},
}
IDLE = "![...document.querySelectorAll('.jp-InputPrompt')].some(prompt => prompt.textContent.includes('*'))"
STARTED = 60  # seconds until a server that does not answer is a failure


@contextmanager
def jupyterlab(folder):
    """Serve a copy of the lessons below `folder`; yields the address. The server's log is `folder`/server.log."""
    shutil.copytree(ROOT / "lessons", folder / "lessons", ignore=shutil.ignore_patterns(".*"))
    for name, values in SETTINGS.items():
        path = folder / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), "utf8")
    own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
           "IPYTHONDIR": "ipython", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    environment = {**os.environ, **{name: str(folder / part) for name, part in own.items()}}
    environment.pop("TSATTN_BOOK", None)
    log = (folder / "server.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0",
         "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder / 'lessons'}",
         "--LabApp.extension_manager=readonly"],
        env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield address(server, folder)
    except Exception as error:
        error.add_note("The end of the server's log:\n" + (folder / "server.log").read_text()[-3000:])
        raise
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        log.close()


def address(server, folder):
    """The server's address as soon as it answers."""
    end = time.monotonic() + STARTED
    while time.monotonic() < end and server.poll() is None:
        for note in (folder / "runtime").glob("jpserver-*.json"):
            try:
                url = json.loads(note.read_text())["url"]
                urlopen(url + "api/status", timeout=5).close()
                return url
            except (URLError, ValueError, OSError):
                break
        time.sleep(0.1)
    raise TimeoutError(f"JupyterLab did not answer within {STARTED} s")


def run_all(page, url, notebook):
    """Open `notebook` and run all its cells; returns once the last one has run and the first explorer is alive.

    In a workspace of its own: another would open the notebooks that a test before it left there, and run one of them.
    """
    page.goto(f"{url}lab/workspaces/{notebook.removesuffix('.ipynb')}/tree/{notebook}")
    page.locator(".jp-NotebookPanel .jp-CodeCell").first.wait_for(timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    page.wait_for_function("document.querySelector('[data-explorer]')?.explorer", timeout=180_000)
    page.wait_for_function(IDLE, timeout=180_000)
