"""The HTML of the self-test page: a desk with score, files, sheet and filters, then one fold of questions a lesson.

`self_test.js` brings it to life. Without a script the desk is hidden, and the folds and their answers still open.
"""

import re
from html import escape

ATTRIBUTE = r"""<fieldset [^>]*\bdata-{}='([^']*)'"""
LINES = {"number": 2, "written": 9}  # to write on, under a question on paper
BAR = "<span class='ts-share ts-live' aria-hidden='true' data-bar></span>"


def page(groups, say):
    """The page of `groups`: (title of the lesson, its address, its questions). `say`: the words of `selfTest`."""
    folds = "".join(fold(*group, say) for group in groups)
    every = [one for _, _, questions in groups for one in questions]
    return (f"<div class='ts-self-test tex2jax_ignore mathjax_ignore' data-self-test>"
            f"{paper_head(say)}{desk(groups, every, say)}{folds}</div>")


def fold(title, address, questions, say):
    """The questions of one lesson, closed."""
    number = questions[0].id[:2]
    asked = "".join(item(one, f"{int(number)}.{i}", address) for i, one in enumerate(questions, 1))
    return (f"<details class='ts-group' id='lesson-{number}' data-group='{number}'><summary><h2>{escape(title)}</h2>"
            f"<span class='ts-score ts-live' data-score>{score(questions, say)}</span>{BAR}</summary>"
            f"<p class='ts-group-at'><a href='{address}'>{escape(say['open'])}</a></p>{asked}</details>")


def item(one, number, address):
    """One question, with its number and where it stands in its lesson."""
    lines = "<i></i>" * LINES.get(attribute(one, "kind"), 0)
    return (f"<div class='ts-asked' data-state='open'><p class='ts-asked-at'><b>{number}</b>"
            f"<a href='{address}#{escape(one.anchor)}'>{escape(one.section)}</a>"
            f"<span class='ts-state' data-says></span></p>{one.html}"
            f"<div class='ts-key' hidden></div><div class='ts-lines-to-write'>{lines}</div></div>")


def desk(groups, every, say):
    """Score, what to reread, files, sheet, filters."""
    return (f"<div class='ts-desk ts-live'><p class='ts-score' data-score>{score(every, say)}</p>{BAR}"
            f"<p class='ts-warn' data-storage hidden></p>"
            f"{folded('reread', say, reread(say))}{folded('tools', say, tools(say))}{folded('sheet', say, sheet(say))}"
            f"{filters(groups, every, say)}</div>")


def folded(key, say, inner):
    """A part of the desk that opens on a click."""
    return (f"<details class='ts-drawer'><summary>{escape(say[key])} <span data-tally='{key}'></span></summary>"
            f"<div>{inner}</div></details>")


def reread(say):
    return f"<div data-reread><p>{escape(say['rereadNone'])}</p></div>"


def tools(say):
    return (f"<p>{escape(say['kept'])}</p><div class='ts-tools'>"
            f"<button type='button' data-export>{escape(say['export'])}</button>"
            f"<label class='ts-file'>{escape(say['import'])}"
            f"<input type='file' accept='.json,application/json' data-import></label>"
            f"<button type='button' data-clear>{escape(say['clear'])}</button></div>"
            f"<p role='status' data-told></p>"
            f"<dialog class='ts-ask-clear' aria-labelledby='ts-clear-title' data-dialog><form method='dialog'>"
            f"<p id='ts-clear-title'><b>{escape(say['clearTitle'])}</b></p><p data-clear-text></p>"
            f"<div class='ts-tools'><button value='keep'>{escape(say['clearNot'])}</button>"
            f"<button value='clear'>{escape(say['clearAll'])}</button></div></form></dialog>")


def sheet(say):
    return (f"<p>{escape(say['sheetAbout'])}</p><div class='ts-tools'>"
            f"<button type='button' data-print='plain'>{escape(say['sheetPlain'])}</button>"
            f"<button type='button' data-print='answers'>{escape(say['sheetAnswers'])}</button></div>")


def filters(groups, every, say):
    """Native selects; of kinds and difficulties only those that some question has."""
    kinds, difficulties = ({attribute(one, name) for one in every} for name in ("kind", "difficulty"))
    choices = {"lesson": {questions[0].id[:2]: title for title, _, questions in groups},
               "difficulty": {key: say["difficulties"][key] for key in sorted(difficulties)},
               "kind": {key: word for key, word in say["kinds"].items() if key in kinds},
               "state": say["states"]}
    selects = "".join(select(name, options, say) for name, options in choices.items())
    return (f"<fieldset class='ts-filters' disabled><legend>{escape(say['filters'])}</legend>{selects}"
            f"<button type='button' data-every>{escape(say['every'])}</button></fieldset>"
            f"<p class='ts-count' role='status' data-count>"
            f"{say['count'].format(shown=len(every), all=len(every))}</p>")


def select(name, options, say):
    rows = "".join(f"<option value='{key}'>{escape(word)}</option>" for key, word in options.items())
    return (f"<label>{escape(say[name])} <select data-filter='{name}' autocomplete='off'>"
            f"<option value=''>{escape(say['all'])}</option>{rows}</select></label>")


def paper_head(say):
    """The first line of the printed sheet."""
    return (f"<p class='ts-paper-head' hidden><span>{escape(say['sheetName'])}<i></i></span>"
            f"<span>{escape(say['sheetDate'])}<i></i></span></p>")


def score(questions, say):
    return say["score"].format(solved=0, tried=0, all=len(questions))


def attribute(one, name):
    return re.match(ATTRIBUTE.format(name), one.html)[1]
