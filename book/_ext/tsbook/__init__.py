"""The Sphinx side of the book: lessons run and planned as talks, claims listed, questions gathered, words explained."""

from tsbook import (
    assets,
    cards,
    claims,
    execute,
    glossary,
    graphs,
    handouts,
    marking,
    notes,
    self_test,
    symbols,
    talk,
    talks,
    theme,
)

PARTS = (execute, talk, notes, claims, self_test, cards, glossary, symbols, marking, talks, handouts, theme, graphs,
         assets)


def setup(app):
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
