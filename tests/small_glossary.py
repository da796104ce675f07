"""A book of two lessons with a glossary and a notation page, built by Sphinx as the real one is, nothing running."""

import json
import shutil

import nbformat
from browsing import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tsattn_mini.figures import Table

CONF = f"""
import sys
sys.path.append({str(ROOT / "book/_ext")!r})
from tsbook import cards, glossary, marking, notes, symbols
extensions = ["myst_nb"]
nb_execution_mode = "off"
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
html_theme = "basic"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_favicon = "static/favicon.svg"
html_js_files = [("book.js", {{"defer": ""}})]
nb_ipywidgets_js = {{}}
html_copy_source = html_use_index = False


def setup(app):
    for part in (notes, cards, glossary, symbols, marking):
        part.setup(app)
    app.connect("html-page-context", drop_scripts_of_the_theme)


def drop_scripts_of_the_theme(app, pagename, templatename, context, doctree):
    context["script_files"] = [script for script in context["script_files"] if "book.js" in script.filename]
"""
TERMS = """
- {term: attention, zh: 注意力, lesson: 5, once: true, means: "A mean with weights."}
- {term: self-attention, zh: 自注意力, lesson: 5, means: "Attention from one sequence."}
- {term: query, zh: 查询, lesson: 5, means: "What is asked."}
- {term: flow matching, zh: 流匹配, lesson: 9, also: [FM], forms: [matched flows], symbols: [delta],
   means: "Learning a velocity; x < y, `A` and $x^2$."}
- {term: mode, zh: 频点, lesson: 9, only: [9], means: "A frequency."}
"""
SYMBOLS = {
    "attention": r"""
- {code: [A], symbol: '$A$', axes: 'B L S', zh: 权重, lesson: 5, means: "weights |A|"}
- {code: [delta], symbol: '$\delta$', axes: 'B S', lesson: 5, means: "one offset per key"}
- {code: [unused], lesson: 5, means: "in no picture"}
""",
    "kite": r"""
- {code: [delta], symbol: '$\delta$', axes: 'one number', lesson: 9, means: "what a prior of 0 is worth"}
"""}
AXES = """
- {letters: [B], of: any, papers: '$b$', zh: 批, lesson: 5, counts: "windows"}
- {letters: [D], of: kite, zh: 外生变量数, lesson: 9, counts: "drivers"}
"""
NOTATION = "# Notation\n\n```{axes} any\n```\n\n```{symbols} attention\n```\n\n```{symbols} kite\n```\n"


def explorer(*steps, handles=(), id="dots"):
    """What an explorer leaves of its steps (name, axes) and its handles in a page."""
    spec = {"id": id, "steps": [{"name": name, "axes": axes} for name, axes in steps],
            "inputs": [{"name": name} for name in handles]}
    return f"<div id='explorer-{id}'><script type='application/json' data-spec>{json.dumps(spec)}</script></div>"


def printed(*steps):
    """A table of steps as a lesson prints it."""
    return Table(("step", "operation", "axes", "shape"), [(name, "", axes, "(1,)") for name, axes in steps]).html


def lay_out(folder, first="# 05 · One\n\nText.\n", second="# 09 · Two\n\nText.\n", outputs=(), about="# A book\n"):
    """Write the book: Markdown of lessons 05 and 09 and of the front page, and HTML that cells of lesson 09 show."""
    for part in ("static", "lessons", "book/glossary", "book/symbols"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name in ("style.css", "book.js"):
        shutil.copy(ROOT / "tsattn_mini/explore/web/dist" / name, folder / "static")
    shutil.copy(ROOT / "book/_static/favicon.svg", folder / "static")
    texts = {"conf.py": CONF, "book/glossary/words.yaml": TERMS, "book/axes.yaml": AXES, "book/notation.md": NOTATION,
             "book/glossary.md": "# Glossary\n\n```{glossary-list}\n```\n", "lessons/05_one.md": first,
             "index.md": about + "\n```{toctree}\n:glob:\nbook/*\nlessons/*\n```\n"}
    texts |= {f"book/symbols/{part}.yaml": text for part, text in SYMBOLS.items()}
    for name, text in texts.items():
        (folder / name).write_text(text, "utf8")
    cells = [new_markdown_cell(second)]
    cells += [new_code_cell("show()", outputs=[new_output("display_data", {"text/html": html})]) for html in outputs]
    nbformat.write(new_notebook(cells=cells, metadata={"language_info": {"name": "python"}}),
                   folder / "lessons/09_two.ipynb")
