"""A large graph leaves its page for a script of its own, which the front end adds when the explorer is first moved.

A classic script, because a page opened from the disk can fetch nothing else.
"""

import hashlib
import json
import re
from pathlib import Path

LARGE = 60_000  # characters of a graph, gzipped and in base64
SPEC = re.compile(r"(?<=<script type='application/json' data-spec>).*?(?=</script>)", re.S)


def move_large(body, folder, large=LARGE):
    """`body` with every graph of more than `large` characters written to `folder` and its file's name in its place."""
    def moved(found):
        spec = json.loads(found[0])
        for key, graph in spec["graphs"].items():
            if len(graph) > large:
                name = f"graph-{hashlib.sha256(graph.encode()).hexdigest()[:16]}.js"
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(f'self.tsattnGraph("{name}", "{graph}")\n', "ascii")
                spec["graphs"][key] = name
        return json.dumps(spec, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return SPEC.sub(moved, body)


def lighten(app, pagename, templatename, context, doctree):
    if app.builder.format == "html" and "data-spec>" in context.get("body", ""):
        context["body"] = move_large(context["body"], Path(app.outdir) / "ts")


def setup(app):
    app.connect("html-page-context", lighten)
