"""A large graph leaves its page for a script of its own, which the front end adds when the explorer is first moved.

A classic script, because a page opened from the disk can fetch nothing else.
"""

from pathlib import Path


def move_large(body, folder):
    """`body` with every large graph written to `folder`, and its file's name in its place."""
    from tsattn_mini.explore.graphs import lift  # late, as Sphinx alone needs no package

    def write(name, graph):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f'self.tsattnGraph("{name}", "{graph}")\n', "ascii")
    return lift(body, write)


def lighten(app, pagename, templatename, context, doctree):
    if app.builder.format == "html" and "data-spec>" in context.get("body", ""):
        context["body"] = move_large(context["body"], Path(app.outdir) / "ts")


def setup(app):
    app.connect("html-page-context", lighten)
