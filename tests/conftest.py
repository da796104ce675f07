"""What several test files share."""

from shutil import which

import pytest
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium; Playwright allows one driver per process, so every browser test shares this one."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=which("chromium"))
        yield chromium
        chromium.close()
