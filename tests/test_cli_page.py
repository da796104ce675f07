"""From a checkpoint and a CSV file to one file that somebody opens: the whole way, in a browser, with hostile names."""

import subprocess
import sys

import own
import pytest
from saved import opened

pytestmark = pytest.mark.browser
NAMES = ["</script><script>window.__hit = 1</script>", "\"'><img src=x onerror='window.__hit=1'> 👩\u200d💻",
         "=cmd(' /C calc')!A0\n$x$ \u202eload"]
TITLE = "<img src=x onerror=window.__hit=1> & \"mine\""

MOVE = """async el => {
  const tau = () => Number(el.explorer.values()["τ"].data[0]);
  await el.explorer.ready;
  const before = tau();
  await el.explorer.set("tau_power", 0);
  return [before, tau()];
}"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page, and what was printed beside it."""
    folder = tmp_path_factory.mktemp("mine")
    own.checkpoint(folder / "my_model.pth")
    own.data(folder / "my.csv", NAMES)
    command = [sys.executable, "-m", "tsattn_mini", "page", "my_model.pth", "--data", "my.csv", "--set", *own.SET,
               "--title", TITLE, "--out", "my_model.html"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf8")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "my_model.html\n"
    return folder / "my_model.html", done.stderr


def test_the_page_is_whole_live_and_closed_to_what_is_typed_into_it(browser, written):
    path, _ = written
    assert path.stat().st_size < 12e6
    with opened(browser, path) as (page, _):
        assert page.title() == TITLE
        assert page.locator("h1").inner_text() == TITLE
        before, after = page.locator(".ts-explorer").first.evaluate(MOVE)
        assert before != after == 1, "τ to the power of 0"
        said = page.locator("body").inner_text()
        assert all(name in said for name in NAMES[:2])
        assert r"=cmd(' /C calc')!A0\n$x$ \u202eload" in said


def test_before_the_long_wait_one_line_says_how_long_it_is(written):
    _, said = written
    assert said.splitlines()[-2:-1] == ["tsattn-mini: exporting the explorers, about a minute"]


def test_what_is_said_beside_the_page_works_on_no_terminal(written):
    _, said = written
    assert "\u202e" not in said
    assert all("\n" not in line and line.startswith("tsattn-mini: ") for line in said.splitlines())
