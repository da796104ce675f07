"""Files that the pages need beside them: the front end, its WebAssembly runtime, the typesetter of formulas.

All are copied from the pinned npm packages and from tsattn_mini/explore/web into folders of their own, because
Jupyter Book loads every script below `_static` on every page.
"""

import base64
import re
import shutil
from pathlib import Path

from sphinx.errors import SphinxError

WEB = "tsattn_mini/explore/web"
MATHJAX = {
    "node_modules/mathjax/tex-chtml.js": "vendor/mathjax/tex-chtml.js",
    "node_modules/mathjax/a11y/assistive-mml.js": "vendor/mathjax/a11y/assistive-mml.js",
    "node_modules/mathjax/input/tex/extensions": "vendor/mathjax/input/tex/extensions",
    "node_modules/mathjax/LICENSE": "vendor/mathjax/LICENSE",
    "node_modules/@mathjax/mathjax-newcm-font/chtml": "vendor/mathjax/mathjax-newcm-font/chtml",
}
LIVE = re.compile(r"""class=['"](?:simple )?ts-(explorer|question|claims|term|glossary)\b""")


class AssetMissing(SphinxError):
    category = "A file of the book is missing"


def find(root, name):
    """The path of `name` below the repository; raises AssetMissing with what brings it."""
    path = Path(root, name)
    if not path.exists():
        raise AssetMissing(f"{name} is not there. `make web` fetches and bundles the front end.")
    return path


def is_older(target, source):
    return not target.exists() or target.stat().st_mtime < source.stat().st_mtime


def copy(source, target):
    """Copy a file or a folder, unless the copy is at least as new."""
    if source.is_dir():
        for inner in source.iterdir():
            copy(inner, target / inner.name)
    elif is_older(target, source):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def copy_runtime(packed, folder):
    """The packed runtime twice: as it is for http, and as a classic script for pages opened from the disk."""
    script = folder / "ort.wasm.gz.js"
    copy(packed, folder / "ort.wasm.gz")
    if is_older(script, packed):
        script.write_text(f'self.tsattnWasm("{base64.b64encode(packed.read_bytes()).decode()}")\n', "ascii")


def copy_assets(app, exception):
    if exception or app.builder.format != "html":
        return
    root, out = Path(app.srcdir), Path(app.outdir)
    for name in ("book.js", "style.css", "talk.js", "talk.css"):
        copy(find(root, f"{WEB}/dist/{name}"), out / "ts" / name)
    copy_runtime(find(root, f"{WEB}/dist/ort.wasm.gz"), out / "ts")
    for source, target in MATHJAX.items():
        copy(find(root, source), out / target)


def link_assets(app, pagename, templatename, context, doctree):
    """Every page gets the style sheet; only pages with something to move, answer or look up get the script."""
    at = context["pathto"]
    tags = f'<link rel="stylesheet" href="{at("ts/style.css", 1)}">\n'
    if LIVE.search(context.get("body", "")):
        tags += f'<script defer src="{at("ts/book.js", 1)}"></script>\n'
    context["metatags"] = context.get("metatags", "") + tags


def setup(app):
    app.connect("html-page-context", link_assets)
    app.connect("build-finished", copy_assets)
