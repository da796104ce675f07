"""The Sphinx side of the book: lessons are run, notes folded, claims listed, questions gathered, words explained."""

from tsbook import assets, cards, claims, execute, glossary, graphs, marking, notes, self_test, symbols, theme


def setup(app):
    for part in (execute, notes, claims, self_test, cards, glossary, symbols, marking, theme, graphs, assets):
        part.setup(app)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
