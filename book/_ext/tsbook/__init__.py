"""The Sphinx side of the book: lessons are run, notes folded, claims listed, questions gathered, assets copied."""

from tsbook import assets, claims, execute, graphs, notes, self_test, theme


def setup(app):
    for part in (execute, notes, claims, self_test, theme, graphs, assets):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
