"""The first picture of an explorer: still HTML with every number in it, which the front end then moves.

Controls are native, labelled and disabled until the front end takes over. Where a page cannot run (no JavaScript,
no WebAssembly) they stay so and show their values, buttons are hidden, and one sentence says why.
"""

from base64 import b64encode
from gzip import compress
from math import log10

from torch import Tensor

from tsattn_mini.explore.element import embedded, words
from tsattn_mini.explore.horizon import horizon
from tsattn_mini.explore.inputs import Cells, Choice, Input, Slider, Toggle
from tsattn_mini.explore.stepbar import equation, guide
from tsattn_mini.explore.takehome import menu
from tsattn_mini.explore.tokens import Tokens
from tsattn_mini.explore.window import Window
from tsattn_mini.figures import picture, span, unit_points
from tsattn_mini.scales import number, shade, spread
from tsattn_mini.trace import Trace
from tsattn_mini.visible import escape

OVERVIEW = 200  # points of a series in small

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "eta": "η", "theta": "θ", "lambda": "λ",
         "mu": "μ", "sigma": "σ", "tau": "τ", "omega": "ω"}


def pretty(name: str) -> str:
    """A code name as the paper prints it: `dec0/log_tau` is dec0/log τ; `d_k` and `P_tau` keep their subscripts."""
    if "/" in name:
        return "/".join(map(pretty, name.split("/")))
    parts = [GREEK.get(part, part) for part in name.split("_")]
    single = all(len(part) == 1 for part in parts)
    subscript = single or (len(parts) == 2 and len(name.split("_")[1]) == 1)
    return ("_" if subscript else " ").join(parts)


def explorer(spec: dict, inputs: dict[str, Input], values: dict, first: dict[str, Tensor], trace: Trace,
             letters: dict[str, str]) -> str:
    """The element. `spec`: what the front end needs to know (see `Explorer._spec`), kept in the page as JSON."""
    say, key = words("explorer"), spec["id"]
    asks = "<span aria-hidden='true'> ?</span>"
    presets = "".join(f"<button type='button' data-preset='{i}'>{escape(p['label'])}{asks * ('question' in p)}</button>"
                      for i, p in enumerate(spec["presets"]))
    hint = f"<span class='ts-hint'>{escape(words('ask')['hint'])}</span>" if asks in presets else ""
    controls = {name: _control(key, name, kind, values[name], spec["labels"]) for name, kind in inputs.items()}
    cells = "".join(c for name, c in controls.items() if isinstance(inputs[name], Cells))
    dials = "".join(c for name, c in controls.items() if not isinstance(inputs[name], Cells))
    shown = "".join(_figure(s, first[s["name"]], spec["labels"]) for s in spec["steps"])
    return (
        f"<div class='ts-explorer tex2jax_ignore mathjax_ignore' id='explorer-{escape(key)}' "
        f"data-explorer='{escape(key)}' role='group' "
        f"aria-label='{escape(spec['title'])}'>"
        f"<p class='ts-title'>{escape(spec['title'])}</p>"
        f"<noscript><p class='ts-still'>{escape(say['still'])}</p></noscript>"
        f"<p class='ts-still' data-still hidden>{escape(say['still'])}</p>"
        f"<div class='ts-presets ts-live' role='group' aria-label='{escape(say['presets'])}'>{presets}{hint}"
        f"<span class='ts-tools'><button type='button' data-pin>{escape(words('compare')['pin'])}</button>"
        f"<button type='button' data-reset>{escape(say['reset'])}</button></span></div>"
        f"<fieldset class='ts-inputs' aria-label='{escape(say['inputs'])}' disabled>"
        f"<div class='ts-controls'>{cells}</div><div class='ts-controls'>{dials}</div></fieldset>{_legend()}"
        f"{guide(spec, trace, letters)}"
        f"<div class='ts-shown'>{shown}</div>"
        f"<div class='ts-dock ts-live'><div class='ts-sway' data-sway aria-live='polite'>"
        f"<p>{escape(words('influence')['hint'])}</p></div>{_questions(spec['presets'])}</div>"
        f"<p class='ts-say ts-live' data-say aria-live='polite'></p>{menu()}"
        f"<script type='application/json' data-spec>{embedded(spec)}</script></div>")


def _questions(presets: list[dict]) -> str:
    """The sheets of those presets that ask. The open one lies over the words about influences, and moves nothing."""
    say = {key: escape(text) for key, text in words("ask").items()}
    sheets = "".join(
        f"<div class='ts-sheet' data-sheet='{i}' hidden><p>{escape(p['question'])}</p>"
        f"<p class='ts-answer' hidden>{escape(p['answer'])}</p><div>"
        f"<button type='button' data-guess='{i}'>{say['move']}</button>"
        f"<button type='button' data-close='{i}'>{say['close']}</button></div></div>"
        for i, p in enumerate(presets) if "question" in p)
    return f"<div class='ts-ask' aria-live='polite'>{sheets}</div>" if sheets else ""


def _legend() -> str:
    """What the frames on handles and pictures mean. A listener hears the words that say the same."""
    keys = "".join(f"<span><i data-key='{key}'></i>{escape(text)}</span>" for key, text in words("legend").items())
    return f"<p class='ts-legend ts-live' aria-hidden='true'>{keys}</p>"


def pack(first: dict[str, Tensor]) -> str:
    """The shown arrays one after the other, as the front end unpacks them: gzip, then base64."""
    return zipped(b"".join(t.contiguous().numpy().tobytes() for t in first.values()))


def zipped(data: bytes) -> str:
    """Bytes as base64 of their gzip; the same bytes give the same text on every machine."""
    return b64encode(compress(data, 9, mtime=0)).decode()


def _figure(step: dict, x: Tensor, labels: dict[str, list[str]]) -> str:
    size = " × ".join(f"{a} {n}" for a, n in zip(step["axes"].split(), x.shape, strict=True) if n > 1)
    signed = step["view"] in ("heat", "map") and step["scale"] == "signed"
    top = f"{escape(words('explorer')['top'])} <span data-top>± {number(spread(x))}</span>"
    scale = f"<span class='ts-top'>{top}</span>" if signed else ""
    svg = picture_of(step, x, labels)
    return (f"<figure class='ts-panel' data-step='{escape(step['name'])}'><figcaption><b>{escape(step['label'])}</b> "
            f"<span class='ts-axes'>{escape(size)}</span>{scale}{equation(step['eq'])}</figcaption>"
            f"<div class='ts-plot'>{svg}</div></figure>")


def picture_of(step: dict, x: Tensor, labels: dict[str, list[str]]) -> str:
    """The drawing of a step as the page's spec describes it."""
    if step["view"] == "joined":
        return horizon(x, step["joined"], step["label"], labels)
    return picture(x, step["axes"], label=step["label"], view=step["view"], scale=step["scale"], labels=labels)


def _control(key: str, name: str, kind: Input, value, labels: dict[str, list[str]]) -> str:
    label, at = escape(pretty(name)), f"{escape(key)}-{escape(name)}"
    match kind:
        case Window():
            return _window(at, name, kind, value)
        case Slider():
            low, high, on = (log10(v) if kind.log else v for v in (kind.min, kind.max, value))
            step = "1" if kind.integer else kind.step or "any"
            exact = escape(words("explorer")["exact"].format(name=pretty(name)))
            return (f"<div class='ts-control' data-input='{escape(name)}'><label for='{at}'>{label}</label>"
                    f"<input type='range' id='{at}' min='{low!r}' max='{high!r}' step='{step}' "
                    f"value='{on!r}' aria-valuetext='{number(value)}' autocomplete='off'>"
                    f"{_field(value, kind, exact)}</div>")
        case Choice():
            options = "".join(f"<option value='{escape(o)}'{' selected' if o == value else ''}>{escape(o)}</option>"
                              for o in kind.options)
            return (f"<div class='ts-control' data-input='{escape(name)}'><label for='{at}'>{label}</label>"
                    f"<select id='{at}' autocomplete='off'>{options}</select></div>")
        case Toggle():
            return (f"<div class='ts-control' data-input='{escape(name)}'><label for='{at}'>{label}</label>"
                    f"<input type='checkbox' id='{at}'{' checked' if value else ''}></div>")
        case Cells():
            return _cells(name, kind, kind.tensor(value), labels)
        case Tokens():
            return _tokens(at, name, kind, value)


def _tokens(at: str, name: str, kind: Tokens, text: str) -> str:
    """A text field that offers pieces of the vocabulary, and below it one chip for each piece of the text."""
    ids = kind.vocabulary.encode(text)
    chips = "".join(f"<li><b>{escape(kind.vocabulary.pieces[id]).replace(' ', '␣')}</b> {id}</li>" for id in ids)
    pieces = escape(words("explorer")["pieces"].format(name=pretty(name)))
    return (f"<div class='ts-control ts-tokens' data-input='{escape(name)}'><label for='{at}'>{escape(pretty(name))}"
            f"</label><input type='text' id='{at}' list='{at}-offers' value='{escape(text)}' autocomplete='off' "
            f"autocapitalize='off' spellcheck='false' aria-describedby='{at}-note'>"
            f"<datalist id='{at}-offers'></datalist>"
            f"<ol class='ts-chips' aria-label='{pieces}'>{chips}</ol><p class='ts-note' id='{at}-note'></p></div>")


def _window(at: str, name: str, kind: Window, start: int) -> str:
    """A slider over the start, a field for it, and above both the series in small with the window on it."""
    say, label = words("window"), escape(pretty(name))
    x = kind.curves()
    every = max(1, len(x) // OVERVIEW)
    low, high = span(x)
    curves = "".join(f"<polyline class='ts-line ts-line{i % 6}' points='{unit_points(row[::every], low, high)}'/>"
                     for i, row in enumerate(x.T))
    said = escape(say["series"].format(name=pretty(name), count=len(x), length=kind.length))
    key = "".join(f"<li><svg class='ts-lines ts-overview' viewBox='0 0 18 4' width='18' height='4' aria-hidden='true'>"
                  f"<path class='ts-line ts-line{i % 6}' d='M0 2h18'/></svg> {escape(curve)}</li>"
                  for i, curve in enumerate(kind.names or ()))
    names = f"<ul class='ts-curves' aria-label='{escape(say['curves'])}'>{key}</ul>" if key else ""
    return (f"<div class='ts-control ts-window' data-input='{escape(name)}'>"
            f"<svg class='ts-lines ts-overview' viewBox='0 0 1 1' preserveAspectRatio='none' role='img' "
            f"aria-label='{said}'><rect class='ts-stretch' x='{start / len(x):.6g}' y='0' "
            f"width='{kind.length / len(x):.6g}' height='1'/><g transform='matrix(1 0 0 -.9 0 .95)'>{curves}</g></svg>"
            f"{names}<label for='{at}'>{label}</label>"
            f"<input type='range' id='{at}' min='0' max='{kind.last}' step='1' value='{start}' autocomplete='off'>"
            f"<input type='text' class='ts-number' inputmode='numeric' value='{start}' autocomplete='off' "
            f"aria-label='{escape(say['start'].format(name=pretty(name)))}'>"
            f"<span class='ts-axes' data-stretch>{escape(kind.stretch(start))}</span></div>")


def _field(value: float, kind: Slider | Cells, label: str, style: str = "") -> str:
    """A field for a typed number. Phones show digits; a keypad for decimals has no minus."""
    pad = "decimal" if kind.min >= 0 else "text"
    return (f"<input type='text' class='ts-number' inputmode='{pad}' value='{value:.6g}'{style} autocomplete='off' "
            f"aria-label='{label}'>")


def _cells(name: str, kind: Cells, x: Tensor, labels: dict[str, list[str]]) -> str:
    words_, top = kind.axes.split(), spread(x)
    grid = x.reshape(-1, x.shape[-1])
    cells = ""
    for i, row in enumerate(grid.tolist()):
        for j, v in enumerate(row):
            at = [i, j][-x.ndim:]
            places = [f"{a} {labels[a][n] if a in labels else n}" for a, n in zip(words_, at, strict=True)]
            spoken = ", ".join([pretty(name), *places])
            cells += _field(v, kind, escape(spoken), f" style='--v:{shade(v, 'signed', top):.3g}'")
    size = " × ".join(f"{a} {n}" for a, n in zip(words_, x.shape, strict=True))
    ticks = [labels.get(a, [str(i) for i in range(n)]) for a, n in zip(words_, x.shape, strict=True)]
    return (f"<fieldset class='ts-control ts-cells' data-input='{escape(name)}'><legend><b>{escape(pretty(name))}</b> "
            f"<span class='ts-axes'>{escape(size)}</span></legend>"
            f"<div class='ts-ticked' style='--columns:{grid.shape[1]}'>{_ticks(words_, ticks)}"
            f"<div class='ts-grid'>{cells}</div></div></fieldset>")


def _ticks(axes: list[str], ticks: list[list[str]]) -> str:
    """Where the cells of a grid stand, above its columns and before its rows; every cell says its own place."""
    spans = ["".join(f"<span>{escape(tick)}</span>" for tick in names) for names in ticks]
    across = f"<div class='ts-across' aria-hidden='true'>{spans[-1]}</div>"
    if len(axes) == 1:
        return across
    corner = f"<span class='ts-corner' aria-hidden='true'>{escape(chr(92).join(axes))}</span>"
    return f"{corner}{across}<div class='ts-down' aria-hidden='true'>{spans[0]}</div>"
