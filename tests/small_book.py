"""A book of notebooks that hold nothing but questions, built by Sphinx as the real one is, without running anything."""

import shutil
from io import StringIO

import nbformat
from browsing import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from tsattn_mini.explore.question import number

WEB = "tsattn_mini/explore/web"
CONF = f"""
import sys
sys.path.append({str(ROOT / "book/_ext")!r})
extensions = ["myst_nb", "tsbook.self_test"]
nb_execution_mode = "off"
exclude_patterns = ["tsattn_mini", "_build"]
html_theme = "basic"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["style.css"]
html_js_files = [("book.js", {{"defer": ""}})]
nb_ipywidgets_js = {{}}
html_copy_source = html_use_index = False


def setup(app):
    app.connect("html-page-context", drop_scripts_of_the_theme)


def drop_scripts_of_the_theme(app, pagename, templatename, context, doctree):
    context["script_files"] = [script for script in context["script_files"] if "book.js" in script.filename]
"""


def asked(id, **about):
    """A number question that is answered by 1."""
    return number(id=id, text=f"Which number has {id}?", answer=lambda: 1.0, right="One.", wrong="Not that one.",
                  **about)


def lay_out(folder, lessons):
    """Write a book: `lessons` is {name: (title, {section: questions})}; beside them stands the page of all."""
    (folder / "static").mkdir()
    for name in ("style.css", "book.js"):
        shutil.copy(ROOT / WEB / "dist" / name, folder / "static")
    shutil.copy(ROOT / "book/_static/favicon.svg", folder / "static")
    (folder / WEB).mkdir(parents=True)
    shutil.copy(ROOT / WEB / "en.json", folder / WEB)
    (folder / "conf.py").write_text(CONF, "utf8")
    (folder / "index.md").write_text("# A book\n\n```{toctree}\n:glob:\nbook/*\nlessons/*\n```\n", "utf8")
    for part in ("book", "lessons"):
        (folder / part).mkdir()
    (folder / "book/self_test.md").write_text("# Self-test\n\nAll of them.\n\n```{self-test}\n```\n", "utf8")
    for name, (title, sections) in lessons.items():
        write_lesson(folder, name, title, sections)


def write_lesson(folder, name, title, sections):
    cells = [new_markdown_cell(f"# {title}")]
    for section, questions in sections.items():
        cells.append(new_markdown_cell(f"## {section}"))
        for question in questions:
            shown = {"text/html": question.element().html, "text/plain": repr(question)}
            cells.append(new_code_cell("ask()", outputs=[new_output("display_data", shown)]))
    notebook = new_notebook(cells=cells, metadata={"language_info": {"name": "python", "pygments_lexer": "python"}})
    nbformat.write(notebook, folder / f"lessons/{name}.ipynb")


def build(folder, jobs=1, out="html"):
    """Bring the pages of `folder`/_build/`out` up to date; returns that folder."""
    said = StringIO()
    with docutils_namespace():
        Sphinx(folder, folder, folder / f"_build/{out}", folder / f"_build/{out}-doctrees", "html",
               status=None, warning=said, parallel=jobs).build()
    assert not said.getvalue(), said.getvalue()
    return folder / f"_build/{out}"
