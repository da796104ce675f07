"""The Sphinx side of the book: lessons are run, speaker notes folded, assets copied, theme faults removed."""

from tsbook import assets, execute, graphs, notes, theme


def setup(app):
    for part in (execute, notes, theme, graphs, assets):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
