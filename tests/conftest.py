"""What the browser tests share: one Chromium, the built book over http and from the disk, watched pages."""

import os

import as_run
import hypothesis
import pytest
from browsing import BOOK, chromium, quiet_server, watched
from playwright.sync_api import sync_playwright
from tsbook.policy import POLICY

from tsattn_mini.explore import Explorer


def pytest_configure():
    """Two workers on two cores: torch in more than one thread spends most of its time waiting, in kernels too."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    hypothesis.settings.register_profile("book", derandomize=True, deadline=None, print_blob=False)
    hypothesis.settings.load_profile("book")


def pytest_addoption(parser):
    parser.addoption("--as-run", action="store_true", help=as_run.__doc__)


def pytest_collection_modifyitems(config, items):
    if config.getoption("--as-run"):
        as_run.play(items)


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium; Playwright allows one driver per process, so every browser test shares this one."""
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


@pytest.fixture(scope="session")
def book():
    """The folder of the built pages."""
    if not (BOOK / "index.html").exists():
        pytest.fail(f"{BOOK} is not built: run `make book` first", pytrace=False)
    return BOOK


@pytest.fixture(scope="session")
def served(book):
    """The book's address on a quiet web server, which sends the policy that `how_to` gives to hosts."""
    with quiet_server(book, POLICY) as address:
        yield address


@pytest.fixture(scope="session", params=["http", "file"])
def site(request, book):
    """The book's address, once on a web server and once on the disk."""
    return request.getfixturevalue("served") if request.param == "http" else book.as_uri() + "/"


@pytest.fixture
def visit(browser, site):
    """`visit(name, **context)` opens a page of the book; whatever goes wrong on any of them fails the test."""
    contexts, problems = [], []

    def open_page(name, width=1280, height=900, before="", **context):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **context))
        page = watched(contexts[-1], site, problems)
        if before:
            page.add_init_script(before)
        page.goto(site + name)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def no_graphs():
    """Explorers without their graphs: what they show comes from torch, and no export is waited for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Explorer, "_export", lambda explorer: {})
        yield
