"""A question as HTML."""

import json
from typing import Any

from tsattn_mini.explore.element import embedded, in_book, words
from tsattn_mini.explore.question.text import inline
from tsattn_mini.visible import escape


def render(question: Any) -> str:
    """The whole question as HTML: text, inputs, hint, and as JSON what the script judges by.

    `id` and the `data-` attributes of the fieldset are what other pages find, filter and link questions by.
    """
    say = {key: escape(text) for key, text in words("question").items()}
    note = " · ".join(filter(None, [say[f"level{question.difficulty}"], say.get(question.kind)]))
    hint = question.hint and (f"<details class='ts-q-hint'><summary>{say['hint']}</summary>"
                              f"<p>{inline(question.hint)}</p></details>")
    data = embedded({"kind": question.kind, **question.data()})
    return (f"<fieldset class='ts-question' id='question-{question.id}' data-question='{question.id}' "
            f"data-lesson='{question.lesson or question.id[:2]}' data-kind='{question.kind}' "
            f"data-difficulty='{question.difficulty}' data-claims='{' '.join(map(str, question.claims))}' "
            f"data-lm-suppress-shortcuts='true' "
            f"disabled><legend>{inline(question.text)}</legend><p class='ts-q-note'>{note}</p>{question.controls()}"
            f"<div class='ts-q-row'><button type='button'>{say[question.button]}</button>"
            f"<span class='ts-q-status'></span></div>{question.more()}"
            f"<details class='ts-q-answer'><summary>{say['answer']}</summary>"
            f"<div>{question.solution()}</div></details>"
            f"<div class='ts-q-feedback' aria-live='polite'></div>{_show(question, say)}{hint or ''}"
            f"<script type='application/json'>{data}</script></fieldset>")


def _show(question: Any, say: dict[str, str]) -> str:
    """The link that brings the explorer to the state that proves the answer; a notebook has no other page."""
    show = question.show
    if show is None:
        return ""
    address = show.address(question.lesson) if in_book() else f"#explorer-{show.explorer}"
    state = json.dumps(show.state, ensure_ascii=False)
    return (f"<p class='ts-q-show' hidden><a href='{escape(address)}' data-show='{escape(show.explorer)}' "
            f"data-state='{escape(state)}'>{say['showMe']}</a> <span aria-live='polite'></span></p>")
