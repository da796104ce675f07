"""The hard questions of a lesson, from book/talks/NN.yaml, as notes at its last slide: there the discussion begins."""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import ReferenceRole

from tsbook import notebooks, talk_entries

LESSON = re.compile(r"lessons/(\d\d)_")


class Place(ReferenceRole):
    """The title of a section of this page, as a link to it; no word of it is a link to the glossary."""

    def run(self):
        return [nodes.reference(self.rawtext, self.title, refuri=f"#{self.target}", internal=True)], []


def notes(root, number, notebook):
    """The cell with the questions, each with its short answer and the place that shows it."""
    from tsattn_mini.explore.element import words  # late, as Sphinx alone needs no package
    say, asked = words("talks"), talk_entries.entry_of(root, number).questions
    parts = [f"**{say['questions'].format(count=len(asked))}**"]
    for one in asked:
        title = notebooks.heading(notebooks.section(notebook, one.at)[0])[1]
        parts.append(f"*“{one.ask}”* {one.answer.strip()} {say['shown']} {{place}}`{title} <{one.at}>`.")
    return {"cell_type": "markdown", "id": f"c{number}-hard-questions", "metadata": {"tags": ["notes"]},
            "source": "\n\n".join(parts)}


def append(app, docname, content):
    """Add the cell to a lesson that has an entry, before its slides are planned."""
    found = LESSON.match(docname)
    path = found and Path(app.srcdir, talk_entries.FOLDER, f"{found[1]}.yaml")
    if not found or not path.exists():
        return
    app.env.note_dependency(str(path))
    notebook = json.loads(content[0])
    try:
        notebook["cells"].append(notes(app.srcdir, found[1], notebook))
    except ValueError as error:
        raise ExtensionError(str(error)) from error
    content[0] = json.dumps(notebook)


def setup(app):
    app.add_role("place", Place())
    app.connect("source-read", append, priority=300)
