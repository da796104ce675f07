"""The small menu below an explorer: a link to its state, its numbers, its picture, and the lines of Python."""


from tsattn_mini.explore.element import words
from tsattn_mini.visible import escape


def menu() -> str:
    """The menu as HTML, closed. The button for the link stays hidden where the address is not the explorer's own."""
    say = {key: escape(text) for key, text in (words("link") | words("take")).items()}
    save = "".join(f"<button type='button' data-save='{kind}'>{say[kind]}</button>" for kind in ("json", "csv", "svg"))
    return (f"<details class='ts-take ts-live' data-take><summary>{say['take']}</summary><div>"
            f"<button type='button' data-copy='link' hidden>{say['copy']}</button>{save}</div>"
            f"<p>{say['python']}</p><div><pre tabindex='0' role='group' aria-label='{say['lines']}' data-python></pre>"
            f"<button type='button' data-copy='python'>{say['copyLines']}</button></div></details>")
