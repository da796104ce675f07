"""The pages of functions and classes: nothing is missing, nothing is stale, docstrings come out as they were meant."""

import re
import subprocess
import sys
from html import unescape

import pytest
from browsing import ROOT
from public_names import things

sys.path.append(str(ROOT / "book/_ext"))
from tsbook import api, docstrings, public

PAGES = sorted((ROOT / "book/api").glob("*.md"))
ANCHOR = re.compile(r'id="(tsattn_mini\.[\w.]+)"')


@pytest.fixture(scope="module")
def built(book):
    """The HTML of the pages by their name, the index among them."""
    return {path.stem: path.read_text("utf8") for path in [book / "book/api.html", *(book / "book/api").glob("*.html")]}


def test_every_module_with_public_names_is_on_one_page():
    listed = [api.dotted(name) for path in PAGES for block in ("api", "api-inner")
              for name in api.listed(path.read_text("utf8"), block)]
    with_names = [module.name for module in public.read(ROOT).values() if module.things]
    assert sorted(listed) == sorted(with_names)


def test_the_source_has_the_names_that_python_finds():
    found = {f"{module.name}.{thing.name}{method and '.'}{method}" for module in public.read(ROOT).values()
             for thing in module.things for method in ("", *(one.name for one in thing.methods))}
    assert found == set(things())


def test_every_public_name_has_its_anchor_and_no_anchor_is_stale(built):
    anchors = [anchor for text in built.values() for anchor in ANCHOR.findall(text)]
    assert len(anchors) == len(set(anchors))
    modules = {module.name for module in public.read(ROOT).values()}
    assert set(anchors) - modules == set(things())


def test_the_index_leads_to_every_function_and_class(built):
    led = set(re.findall(r'href="api/\w+\.html#(tsattn_mini\.[\w.]+)"', built["api"]))
    tops = {f"{module.name}.{thing.name}" for module in public.read(ROOT).values() for thing in module.things}
    assert tops <= led


def test_axes_stand_in_double_quotes(built):
    assert '"B L H E"' in unescape(re.sub("<[^>]+>", "", built["attention"]))
    assert not any("Tensor, '" in unescape(re.sub("<[^>]+>", "", text)) for text in built.values())


def test_the_page_says_what_the_command_line_says(built):
    said = subprocess.run([sys.executable, "-m", "tsattn_mini", "quiz", "--help"], capture_output=True,
                          encoding="utf8", check=True, env={**api.SETTING, "PYTHONPATH": str(ROOT)}).stdout
    assert said.strip() in unescape(re.sub("<[^>]+>", "", built["cli"]))


def test_where_a_lesson_lives_leads_to_the_entry(book):
    text = (book / "lessons/05_destationary_attention.html").read_text("utf8")
    assert 'href="../book/api/attention.html#tsattn_mini.nonstationary.destationary_attention"' in text


CASES = {
    "One line.": "One line.",
    "A.\n\n>>> 1 + 1\n2\n\nB.": "A.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nB.",
    "A.\n\n    y = x\n    z = y\n\nB.": "A.\n\n```text\ny = x\nz = y\n```\n\nB.",
    "A.\n\nmax   S / max S\nnone  S": "A.\n\n```text\nmax   S / max S\nnone  S\n```",
    "A.\nRaises:\n    ValueError: when\n        wrong.": "A.\n\n**Raises**\n\n- `ValueError`: when\n  wrong.\n",
    "Args:\n    x, y: two.\n    **z: more.\nB.": "\n**Arguments**\n\n- `x`, `y`: two.\n- `**z`: more.\n\nB.",
}


@pytest.mark.parametrize("doc", CASES)
def test_a_docstring_becomes_markdown(doc):
    assert docstrings.markdown(doc) == CASES[doc]
