"""What the pages of the book need of a browser: to run the book's own scripts, and to ask their own host alone.

A host says so in a header, `POLICY`, which stands in `how_to` and under which the tests go through the book. It allows
no inline script, hence scripts that Sphinx and the theme write into the page move to `ts/inline/`, one file for each
text. Their elements stay where they were, and still run before the page is drawn. The pages themselves carry no policy:
on the disk it would stop none but the reader's own tools.
"""

import re
from hashlib import sha256
from pathlib import Path

RULES = {
    "default-src": "'self'",  # what is left below: Firefox asks for the next page in advance
    "script-src": "'self' 'wasm-unsafe-eval'",  # WebAssembly runs the graphs; no inline script, no eval
    "style-src": "'self' 'unsafe-inline'",  # formulas are typeset and pictures coloured by style attributes
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",  # the packed runtime, over http
    **dict.fromkeys(("frame-src", "worker-src", "object-src", "media-src", "manifest-src"), "'none'"),
    "form-action": "'self'",  # the search field
    "base-uri": "'none'",
    "frame-ancestors": "'self'",  # who may show a page in a frame
}
POLICY = "; ".join(f"{name} {sources}" for name, sources in RULES.items())
INLINE = re.compile(r"<script((?:\s[^>]*)?)>(.*?)</script>", re.S)
IDLE = re.compile(r"""\s(?:src|type)\s*=""")  # a script from a file, or data that does not run
NOT_PAGES = "_static/*.html"  # the theme's templates, which Sphinx copies with its scripts


def drop_page_names(app, pagename, templatename, context, doctree):
    """A script of each page's own says its name to the theme's list of versions, which this book has not."""
    context["script_files"] = [script for script in context.get("script_files", ())
                               if "DOCUMENTATION_OPTIONS.pagename" not in str(body_of(script))]


def body_of(script):
    return getattr(script, "attributes", {}).get("body") or ""


def move_scripts(app, exception):
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for template in out.glob(NOT_PAGES):
        template.unlink()
    for page in out.rglob("*.html"):
        move(page, out)


def move(page, out):
    """Give the inline scripts of a page below the folder `out` files."""
    text = page.read_text("utf8")
    up = "../" * (len(page.relative_to(out).parts) - 1)
    whole = INLINE.sub(lambda found: found[0] if IDLE.search(found[1]) else beside(found, out, up), text)
    if whole != text:
        page.write_text(whole, "utf8")


def beside(found, out, up):
    """The element of an inline script, whose text is now in a file."""
    name = f"ts/inline/{sha256(found[2].encode()).hexdigest()[:12]}.js"
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(found[2], "utf8")
    return f'<script{found[1]} src="{up}{name}"></script>'


def setup(app):
    app.connect("html-page-context", drop_page_names, priority=990)
    app.connect("build-finished", move_scripts, priority=990)  # when all pages are written
