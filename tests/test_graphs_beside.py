"""A graph too large for its page: it comes when the explorer is first moved, and not before."""

import re
import sys

import pytest
import torch
from browsing import ROOT, quiet_server, specs, watched
from live import Live

from tsattn_mini import step
from tsattn_mini.explore import Choice, Explorer, Slider
from tsattn_mini.explore.element import words

pytestmark = pytest.mark.browser
W = torch.rand(300, 50, generator=torch.Generator().manual_seed(4))


def wide(x, sign):
    step("y", (x * W).sum(0) if sign == "plus" else x * torch.ones(50), axes="E")


@pytest.fixture
def folder(book, tmp_path, monkeypatch):
    monkeypatch.setenv("TSATTN_BOOK", "1")
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "book/_ext")])
    from tsbook.graphs import move_large
    made = Explorer(wide, {"x": Slider(1.0, -2, 2), "sign": Choice("minus", ["minus", "plus"])}, id="wide")
    made.close()
    (tmp_path / "ts").mkdir()
    for name in ("book.js", "style.css", "ort.wasm.gz", "ort.wasm.gz.js"):
        (tmp_path / "ts" / name).symlink_to(book / "ts" / name)
    (tmp_path / "page.html").write_text(
        "<!doctype html><html lang='en'><meta charset='utf8'><title>Wide</title><link rel='icon' href='data:,'>"
        "<link rel='stylesheet' href='ts/style.css'><script defer src='ts/book.js'></script>"
        + move_large(made.html, tmp_path / "ts"), "utf8")
    return tmp_path


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_large_graph_comes_with_the_first_touch(browser, folder, scheme):
    with quiet_server(folder) as served:
        site, problems = served if scheme == "http" else f"{folder.as_uri()}/", []
        context = browser.new_context()
        page = watched(context, site, problems)
        page.goto(f"{site}page.html")
        live = Live(page, specs("page.html", folder)["wide"])
        beside = lambda: [url for url in page.asked if "graph-" in url]  # noqa: E731
        live.box("x").locator("input[type=range]").press("End")
        live.settled("the small graph", x=2, sign="minus")
        assert not beside()
        live.box("sign").locator("select").select_option("plus")
        live.settled("the large graph", x=2, sign="plus")
        live.box("x").locator("input[type=range]").press("Home")
        live.settled("the large graph again", x=-2)
        assert len(beside()) == 1
        context.close()
    assert problems == []


def test_the_page_is_lighter_by_the_graph_and_carries_its_name(folder):
    text, (script,) = (folder / "page.html").read_text("utf8"), folder.glob("ts/graph-*.js")
    assert script.stat().st_size > 60_000 > len(text)
    assert re.search(rf'"graphs":{{"minus":"[^"]+","plus":"{script.name}"}}', text)


def test_a_graph_that_is_missing_is_named_and_the_explorer_stays_where_it_was(browser, folder):
    spec = specs("page.html", folder)["wide"]
    (script,) = folder.glob("ts/graph-*.js")
    away = script.rename(folder / "away.js")
    page = browser.new_context().new_page()
    page.goto((folder / "page.html").as_uri())
    live = Live(page, spec)
    select = live.box("sign").locator("select")
    select.select_option("plus")
    live.at.get_by_text(words("explorer")["failed"].split("{")[0]).filter(has_text=script.name).wait_for()
    assert live.state()["inputs"]["sign"] == "minus"
    away.rename(script)
    select.select_option("plus")
    live.settled("once more", sign="plus")
    page.context.close()
