"""Pages made of a few questions, opened from the disk in a fresh window."""

import json
import re
from contextlib import contextmanager

from tsattn_mini.explore.element import front_end
from tsattn_mini.explore.question import render


@contextmanager
def asking(browser, folder, **context):
    """A blank page whose `show(*questions)` opens a page of them; an error that it logs fails the test."""
    window, errors = browser.new_context(**context), []
    window.set_default_timeout(5000)
    page = window.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.show = lambda *questions: show(page, folder, questions)
    yield page
    window.close()
    assert errors == []


def show(page, folder, questions) -> None:
    for name in ("style.css", "book.js"):
        (folder / name).write_text(front_end(f"dist/{name}"), encoding="utf8")
    (folder / "questions.html").write_text(
        "<!doctype html><html lang='en'><meta charset='utf8'><meta name='viewport' content='width=device-width'>"
        "<title>Questions</title><link rel='stylesheet' href='style.css'><script defer src='book.js'></script>"
        "<body><main><h1>Questions</h1>" + "".join(map(render, questions)) + "</main></body></html>", encoding="utf8")
    page.goto((folder / "questions.html").as_uri())


def field(page, id):
    return page.locator(f"[data-question='{id}']")


def kept(page):
    return json.loads(page.evaluate("localStorage.getItem('tsattn:progress')"))


def in_page(question) -> dict:
    """What the page's script reads."""
    html = question.element().html
    data = re.search(r"<script type='application/json'>(.*?)</script>", html)[1]
    assert "<" not in data
    return json.loads(data)
