"""The Sphinx side of the book: lessons run and planned as talks, claims, questions, words and functions gathered."""

from tsbook import (
    api,
    assets,
    cards,
    claims,
    contents,
    execute,
    glossary,
    graphs,
    handouts,
    hard_questions,
    marking,
    notes,
    policy,
    self_test,
    symbols,
    tables,
    talk,
    talks,
    theme,
)

PARTS = (contents, execute, hard_questions, talk, notes, claims, self_test, cards, glossary, symbols, api, marking,
         talks, handouts, theme, tables, graphs, assets, policy)


def setup(app):
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
