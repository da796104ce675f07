"""What every page shows of all the others, their order and titles, and what becomes of pages that are no longer made.

Sphinx reads and writes the pages alone whose own source has changed. Where the contents have, that is not enough: the
list beside every page is another one, and so may be what stands on the pages that gather the lessons.
"""

import sys
from pathlib import Path

APART = {"_sources", "_static", "ts", "vendor"}  # folders of the built book that hold no pages
FRONT_DOOR = "index"  # written last, by theme.py


def read_all(app, env, added, changed, removed):
    """Every page, where there are others than last time: some tell which there are. No lesson runs for that."""
    before, env.tsbook_pages = getattr(env, "tsbook_pages", None), sorted(env.found_docs)
    return [] if before == env.tsbook_pages else env.tsbook_pages


def write_all(app, env):
    """Every page, where their order, a title or the name of a part is another."""
    site_map = getattr(app.config, "external_site_map", None)  # _toc.yml
    contents = (site_map and site_map.as_json(), {page: title.astext() for page, title in env.titles.items()})
    before, env.tsbook_contents = getattr(env, "tsbook_contents", None), contents
    return [] if before == contents else sorted(env.found_docs)


def name_left_out(app, env, docnames):
    """Say which lessons the book leaves out."""
    for path in sorted(Path(app.srcdir, "lessons").glob("*.ipynb")):
        if f"lessons/{path.stem}" not in env.found_docs:
            print(f"  lessons/{path.name} is not named in _toc.yml, so the book leaves it out", file=sys.stderr)


def announce(app, env, docnames):
    """What is silent and lasts as long as a few lessons."""
    if docnames:
        print("  writing the pages", file=sys.stderr, flush=True)


def prepare(app):
    app.builder.tsbook_written = set()


def note_page(app, pagename, templatename, context, doctree):
    app.builder.tsbook_written.add(pagename)


def remove_others(app, exception):
    """Remove pages, and copies of sources, that this build would not make."""
    written = app.builder.tsbook_written  # with the pages that have no source: these are written whenever one is
    if exception or app.builder.format != "html" or not written:
        return
    out, made = Path(app.outdir), {FRONT_DOOR, *app.env.found_docs, *written}
    for page in out.rglob("*.html"):
        name = page.relative_to(out)
        if name.parts[0] not in APART and name.with_suffix("").as_posix() not in made:
            page.unlink()
    sources = {app.env.doc2path(page, False) + app.config.html_sourcelink_suffix for page in app.env.found_docs}
    for source in filter(Path.is_file, (out / "_sources").rglob("*")):
        if source.relative_to(out / "_sources").as_posix() not in sources:
            source.unlink()


def setup(app):
    app.connect("builder-inited", prepare)
    app.connect("env-get-outdated", read_all)
    app.connect("env-before-read-docs", name_left_out)
    app.connect("env-before-read-docs", announce)
    app.connect("env-updated", write_all)
    app.connect("html-page-context", note_page)
    app.connect("build-finished", remove_others)
