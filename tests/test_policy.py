"""The policy for hosts of the book: no page needs what it forbids, and the tests' own host sends it.

What a browser refuses because of it stands in the console, which `browsing.watched` reads in every browser test over
http.
"""

import re
import sys
from html.parser import HTMLParser

import pytest
from browsing import BOOK, ROOT, quiet_server, watched

sys.path.append(str(ROOT / "book/_ext"))
from tsbook.policy import POLICY, move

DATA = {"application/json", "application/gzip"}  # types of scripts that do not run
FOREIGN = {"base", "object", "embed", "iframe", "frame", "applet"}
TAG = re.compile(r"""<[a-zA-Z](?:[^>"']|"[^"]*"|'[^']*')*>""")
WASM = [0, 97, 115, 109, 1, 0, 0, 0]  # the smallest module there is
PAGES = [path.relative_to(BOOK).as_posix() for path in sorted(BOOK.rglob("*.html"))] or ["index.html"]


class Faults(HTMLParser):
    """What of a page the policy would refuse, in `found`."""

    CDATA_CONTENT_ELEMENTS = ()  # it is fed tags alone

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        given = {name: value or "" for name, value in attributes}
        if tag == "script" and "src" not in given and given.get("type") not in DATA:
            self.found.append("a script in the page")
        if tag in FOREIGN:
            self.found.append(f"<{tag}>")
        self.found += [f"{name} on <{tag}>" for name in given if name.startswith("on") or name == "srcdoc"]
        self.found += [f"{value} on <{tag}>" for value in given.values()
                       if value.strip().lower().startswith(("javascript:", "vbscript:", "data:text"))]
        if tag == "script" and given.get("src", "").startswith(("//", "http", "data:")):
            self.found.append(f"a script from {given['src']}")


def faults(text):
    """Each tag of the page is looked at once, however often it stands there."""
    reader = Faults()
    reader.feed("".join(dict.fromkeys(TAG.findall(text))))
    return reader.found


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_a_page_needs_nothing_that_the_policy_forbids(book, name):
    assert faults((book / name).read_text("utf8")) == []


@pytest.mark.parametrize("bad", [
    "<script>let a = 1</script>", "<script type=module>let a = 1</script>", "<p onclick='a()'>", "<SVG ONLOAD=a()>",
    "<a href=' JavaScript:a()'>", "<iframe srcdoc='x'></iframe>", "<base href='/'>", "<script src='//other/a.js'>"])
def test_the_reader_of_pages_sees_what_is_forbidden(bad):
    assert faults('<meta charset="utf-8"><script src="a.js"></script>') == []
    assert faults(bad)


def test_inline_scripts_move_to_files_and_data_stays(tmp_path):
    page = tmp_path / "lessons/a.html"
    page.parent.mkdir()
    data = '<script type="application/json">{"a": 1}</script><script defer src="b.js"></script>'
    page.write_text(f'<meta charset="utf-8" />{data}<script data-a="1">let a = 1</script>', "utf8")
    move(page, tmp_path)
    [script] = (tmp_path / "ts/inline").iterdir()
    once = page.read_text("utf8")
    assert once.endswith(f'{data}<script data-a="1" src="../ts/inline/{script.name}"></script>')
    assert script.read_text("utf8") == "let a = 1"
    assert faults(once) == []
    move(page, tmp_path)
    assert page.read_text("utf8") == once


def test_the_header_for_hosts_stands_in_the_book_as_it_is():
    text = (ROOT / "book/how_to.md").read_text("utf8")
    assert text.count(POLICY) == 3  # nginx, Apache, a file of headers


@pytest.mark.browser
def test_a_browser_refuses_the_rest_and_the_tests_hear_of_it(browser, tmp_path):
    page, problems = tmp_path / "a.html", []
    (tmp_path / "own.js").write_text(f"""
      document.body.dataset.own = new WebAssembly.Module(new Uint8Array({WASM})) instanceof WebAssembly.Module;
      try {{ eval("document.body.dataset.ran = 'eval'"); }} catch {{}}""", "utf8")
    page.write_text("""<!doctype html><html lang="en"><body><script src="own.js"></script>
      <script>document.body.dataset.ran = "inline"</script>
      <img src="data:," onerror="document.body.dataset.ran = 'handler'" alt="">
      <img src="http://127.0.0.1:9/a.png" alt="">""", "utf8")
    with quiet_server(tmp_path, POLICY) as served, browser.new_context() as context:
        shown = watched(context, served, problems)
        shown.goto(served + page.name)
        shown.wait_for_function("() => document.readyState === 'complete'")
        assert shown.evaluate("document.body.dataset.own") == "true"
        assert shown.evaluate("document.body.dataset.ran ?? null") is None
    for refused in ("inline script", "inline event handler", "eval", "a.png"):
        assert any(refused in problem for problem in problems), (refused, problems)
