"""The step bar of an explorer: buttons and small pictures for the chain, and what there is to say about every step."""

from collections.abc import Callable, Mapping

from tsattn_mini.explore.element import words
from tsattn_mini.explore.formula import rendered
from tsattn_mini.explore.joined import Joined
from tsattn_mini.trace import Step, Trace
from tsattn_mini.visible import escape

GIVEN = "in/"  # before the name of an input, where steps list what they were computed from
THUMB = (88, 44)  # pixels of a small picture, shown at half the size
PLAY = "<svg viewBox='0 0 10 10' aria-hidden='true'><path class='ts-go' d='M2 .5l7 4.5-7 4.5z'/>" \
       "<path class='ts-halt' d='M1.5 1h2.5v8h-2.5zM6 1h2.5v8h-2.5z'/></svg>"


def sources(trace: Trace, shown: list[str], step: str) -> tuple[list[str], list[str]]:
    """The shown steps and the inputs from which `step` was computed, with no other shown step in between."""
    nearest = trace.pick(*shown)[step].sources
    inputs = [name.removeprefix(GIVEN) for name in nearest if name.startswith(GIVEN)]
    return [name for name in nearest if name in shown], inputs


def alphabet(trace: Trace, fn: Callable) -> dict[str, str]:
    """What the letters of axes count in the paper whose code made the steps; one letter may serve two papers.

    Where `fn` made every step itself, it is the paper whose code `fn` has at hand.
    """
    say = words("axes")
    modules = {step.where[0].module for step in trace.values() if step.where}
    modules -= {getattr(fn, "__module__", ""), Joined.__module__}
    if not modules:
        modules = {str(getattr(thing, name, "")) for thing in getattr(fn, "__globals__", {}).values()
                   for name in ("__module__", "__name__")}
    found = dict(say["any"])
    for paper in say.keys() - {"any"}:
        if any(m.startswith(f"tsattn_mini.{paper}") for m in modules):
            found |= say[paper]
    return found


def guide(spec: dict, trace: Trace, letters: Mapping[str, str]) -> str:
    """Buttons, chain and captions as HTML. `spec` is that of the whole explorer, `letters` its `alphabet`."""
    say = {key: escape(text) for key, text in words("steps").items()}
    labels = {s["name"]: s["label"] for s in spec["steps"]}
    handles = {i["name"]: i["label"] for i in spec["inputs"]}
    chain = "".join(
        f"<li><button type='button' data-go='{escape(s['name'])}' aria-pressed='{str(i == 0).lower()}'>"
        f"<canvas width='{THUMB[0]}' height='{THUMB[1]}' aria-hidden='true'></canvas>"
        f"<span>{escape(s['label'])}</span></button></li>" for i, s in enumerate(spec["steps"]))
    about = "".join(_about(s, trace[s["name"]], letters, [labels[n] for n in s["sources"]]
                           + [handles[n] for n in s["handles"]], first=i == 0) for i, s in enumerate(spec["steps"]))
    walk = lambda by, name, sign: f"<button type='button' data-walk='{by}' aria-label='{name}'>{sign}</button>"  # noqa: E731
    return (f"<div class='ts-guide ts-live'><div class='ts-walk'>{walk(-1, say['previous'], '‹')}"
            f"<ol class='ts-steps' aria-label='{say['steps']}'>{chain}</ol>{walk(1, say['next'], '›')}"
            f"<button type='button' data-play aria-pressed='false' aria-label='{say['play']}'>{PLAY}</button></div>"
            f"<div class='ts-caption' data-caption aria-live='polite'>{about}</div></div>")


def equation(eq: str | None) -> str:
    """A step's formula, or nothing."""
    return f"<span class='ts-eq'>{rendered(eq)}</span>" if eq else ""


def _about(spec: Mapping, step: Step, letters: Mapping[str, str], made_from: list[str], first: bool) -> str:
    say, code = words("steps"), step.code
    note = f"<span>{escape(step.note)}</span>" if step.note else ""
    made = say["from"].format(names=", ".join(f"<b>{escape(name)}</b>" for name in made_from)) if made_from else ""
    size = " × ".join(_axis(word, n, letters) for word, n in zip(step.axes.split(), step.shape, strict=True))
    line = (f"<span class='ts-code'><code>{escape(code.text)}</code>"
            + (f" <span>{escape(say['line'].format(file=code.file, number=code.number))}</span>" if code.file else "")
            + "</span>") if code else ""
    more = f"<button type='button' class='ts-more' data-more aria-expanded='false'>{escape(say['more'])}</button>"
    return (f"<div data-about='{escape(spec['name'])}'{' class=ts-here' if first else ''}>"
            f"<p><b>{escape(spec['label'])}</b> {equation(step.eq)} {note} {more}</p>"
            f"<p><span>{size or escape(say['one'])}</span> <span>{made}</span></p>{line}</div>")


def _axis(word: str, n: int, letters: Mapping[str, str]) -> str:
    """An axis with its size, and what it counts if that is more than one thing."""
    if word.isdigit():
        return word
    return f"<b>{escape(word)}</b> {n}" + (f" {escape(letters[word])}" if n > 1 and word in letters else "")
