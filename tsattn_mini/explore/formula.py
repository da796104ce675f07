"""From the formulas of steps, written in Unicode (`softmax(Q Kᵀ / √E)`), to LaTeX, and from there to MathML.

What is written: letters with marks, primes, subscripts and superscripts (`S̃`, `x'_t`, `W₂`, `W1q`, `s_ij`, `x_{t,v+j}`,
`Kᵀ`, `10^k`); words (`softmax`, `h_norm`); numbers (`1e-6`); brackets, `|x|`, `‖x‖`, `√E`, `sqrt(…)`, operators; and
plain words before, between and after formulas. Letters beside each other are a product, as in print.
"""

import re
from dataclasses import dataclass
from functools import cache
from unicodedata import decomposition, normalize

from latex2mathml.converter import convert

from tsattn_mini.visible import escape

OPERATORS = {"=": "=", "+": "+", "-": "-", "−": "-", "/": "/", "<": "<", ">": ">", "·": r"\cdot ", "×": r"\times ",
             "*": r"\ast ", "⊙": r"\odot ", "⊕": r"\oplus ", "⊗": r"\otimes ", "∘": r"\circ ", "⋆": r"\star ",
             "←": r"\leftarrow ", "→": r"\to ", "≤": r"\le ", "≥": r"\ge ", "≈": r"\approx ", "≠": r"\ne ",
             "∈": r"\in ", "∝": r"\propto ", "±": r"\pm ", "~": r"\sim "}
SYMBOLS = {"Σ": r"\sum ", "∑": r"\sum ", "Π": r"\prod ", "∞": r"\infty ", "∂": r"\partial ", "∇": r"\nabla ",
           "⊤": r"\top ", "%": r"\% ", "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}"}
PUNCTUATION = {",": ",", ";": r"\text{;}\ ", ":": r"\text{:}\ ", ".": r"\text{.}"}
CLOSERS = {"(": ")", "[": "]", "{": "}", "|": "|", "‖": "‖", "⟨": "⟩", "⌊": "⌋", "⌈": "⌉"}
ALIKE = "|‖"  # they open and close with one sign, which has to be told which it is
BRACKETS = {"{": r"\{", "}": r"\}", "‖": r"\Vert ", "⟨": r"\langle ", "⟩": r"\rangle ", "⌊": r"\lfloor ",
            "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil "}
MARKS = {"\u0303": r"\tilde", "\u0302": r"\hat", "\u0304": r"\bar", "\u0307": r"\dot", "\u030c": r"\check"}
RAISED, LOWERED = "\u00b2\u00b3\u00b9\u1d2c-\u1d61\u2070-\u207f", "\u1d62-\u1d6a\u2080-\u209c\u2c7c"
INDICES = set("ijklmnt")  # letters that are two indices side by side; other pairs below a letter are a word
WORDS = ("word", "label", "dots")
BREAKS = set("=+-−←→≤≥⊙·")  # a long formula may go on in the next line before one of these
PRIMED = r"(<mi>\w</mi>)((?:(?!</?msubsup>).)*?)<mi>(&#x0203[2-4];)</mi>"  # the letter, what stands below it, the prime

TOKEN = re.compile(r"""
    (?P<space>\s+)
  | (?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)
  | (?P<label>Eqs?\.\ \d[\d–,\ ]*:)
  | (?P<indexed>[^\W\d_]\d+[^\W\d_]*)
  | (?P<dots>…)
  | (?P<word>[^\W\d_]{2,}(?:[-–][^\W\d_]{2,})*(?:'s\b)?)
  | (?P<letter>[^\W\d_])
  | (?P<script>[_^](?:\{[^{}]*\}|[^\W_]+))
  | (?P<sign>.)
""", re.X)


class Untranslated(ValueError):
    """A formula that is not written in this notation."""


@dataclass
class Part:
    """A piece of a formula: a "symbol", an "operator", "punctuation", or a "word" that is no part of a symbol.

    `text` is what stands in the formula, and `spaced` says whether a space stands before it.
    """

    kind: str
    latex: str
    text: str
    spaced: bool


@cache
def rendered(eq: str) -> str:
    """The formula as HTML: MathML, its plain words as text beside it. What is no formula stays as it is written.

    Before its outer operators a formula may go on in the next line, as text does between two words.
    """
    try:
        found = pieces(eq)
    except Untranslated:
        return escape(eq)
    return "".join(escape(text) if kind == "text" else ("<wbr>" if i and found[i - 1][0] == "math" else "")
                   + re.sub(r"<math[^>]*>", "<math>", mathml(text), count=1) for i, (kind, text) in enumerate(found))


def mathml(latex: str, display: str = "inline") -> str:
    """LaTeX as MathML. A prime stands beside its letter: raised a second time it would hang above the line."""
    html = re.sub(rf"<msup>{PRIMED}</msup>", r"<mrow>\1<mo>\3</mo></mrow>", convert(latex, display=display))
    return re.sub(rf"<msubsup>{PRIMED}</msubsup>", r"<msub><mrow>\1<mo>\3</mo></mrow>\2</msub>", html)


def latex(eq: str) -> str:
    r"""The formula in one piece of LaTeX, with its plain words in \text{…}.

    Raises:
        Untranslated: a bracket that does not close, or a sign that is not of this notation.

    >>> latex("softmax(Q Kᵀ / √E)")
    '\\text{softmax}(QK^{\\top }/\\sqrt{E})'
    """
    return "".join(rf"\text{{{text}}}" if kind == "text" else text for kind, text in pieces(eq))


def pieces(eq: str) -> list[tuple[str, str]]:
    """The formula as a row of ("text", plain words) and ("math", LaTeX), cut where a line may break."""
    parts, out = _Reader(eq).row(), []
    plain = _plain(parts)
    for i, part in enumerate(parts):
        last = out[-1][0] if out else None
        if plain[i]:
            if last != "text":
                out.append(["text", ""])
            out[-1][1] += " " * part.spaced + part.text
        elif last == "math" and not (part.kind == "operator" and part.text in BREAKS):
            out[-1][1] += _gap(parts[i - 1], part) + part.latex
        else:
            if last == "text":
                out[-1][1] += " " * part.spaced
            out.append(["math", "{}" * (part.kind == "operator" and i > 0) + part.latex])
    return [(kind, text) for kind, text in out]


def _plain(parts: list[Part]) -> list[bool]:
    """Which parts are text between formulas: words, punctuation, and what stands between two words."""
    plain = [part.kind in ("word", "punctuation") for part in parts]
    for i, part in enumerate(parts[1:-1], 1):
        between = parts[i - 1].kind == parts[i + 1].kind == "word"
        plain[i] |= between and (part.kind == "operator" or part.text == "a")
    return plain


def _gap(before: Part, part: Part) -> str:
    """Two letters beside each other need no space; words do, and names of functions and numbers a thin one."""
    around = {before.kind, part.kind}
    if not part.spaced or around & {"operator", "punctuation"}:
        return ""
    if "word" in around:
        return r"\ "
    return r"\," if before.text[:1].isdigit() or any(p.latex.startswith(r"\text") for p in (before, part)) else ""


class _Reader:
    """Reads a formula from left to right, one bracket inside the other."""

    def __init__(self, eq: str) -> None:
        letters = "".join(normalize("NFD", c) if c.isalpha() else c for c in eq)
        plain = re.sub(f"[{RAISED}]+|[{LOWERED}]+", _scripts, letters)
        self.tokens = [(found.lastgroup, found[0]) for found in TOKEN.finditer(plain)]
        self.at = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def row(self, closer: str = "") -> list[Part]:
        """The parts up to the bracket `closer`, which is read too, or to the end."""
        parts: list[Part] = []
        while True:
            spaced = self.peek()[0] == "space"
            self.at += spaced
            kind, text = self.peek()
            if text == closer:
                self.at += 1
                return parts
            if kind == "end":
                raise Untranslated(f"eq: expected a closing {closer}")
            if text in OPERATORS:
                parts.append(self.operator(parts, spaced))
            elif text in PUNCTUATION:
                self.at += 1
                parts.append(Part("punctuation", PUNCTUATION[text], text, spaced))
            else:
                parts.append(self.atom(spaced))

    def operator(self, parts: list[Part], spaced: bool) -> Part:
        text = self.peek()[1]
        self.at += 1
        starts = spaced or not parts or parts[-1].kind != "symbol"
        if text in "+-−" and starts and self.peek()[0] not in ("space", "end") and self.peek()[1] not in OPERATORS:
            part = self.atom(False)  # a sign, which belongs to its number
            return Part("symbol", f"{{{OPERATORS[text]}{part.latex}}}", text + part.text, spaced)
        return Part("operator", OPERATORS[text], text, spaced)

    def atom(self, spaced: bool) -> Part:
        """One letter, word, number, root or bracket with all that hangs on it."""
        kind, text = self.peek()
        self.at += 1
        latex = self.base(kind, text)
        called = self.peek()[1] in ("(", "[") or latex.startswith(r"\sqrt")
        while True:
            hangs, more = self.peek()
            if more in MARKS:
                latex = f"{MARKS[more]}{{{latex}}}"
            elif more in ("'", "′"):
                latex += "'"
            elif hangs == "script":
                latex += more[0] + "{" + _index(more[1:]) + "}"
            else:
                break
            self.at, kind = self.at + 1, "symbol"
        return Part("word" if kind in WORDS and not called else "symbol", latex, text, spaced)

    def base(self, kind: str, text: str) -> str:
        if text == "√" or (text == "sqrt" and self.peek()[1] == "("):
            return rf"\sqrt{{{self.argument()}}}"
        if kind == "number":
            return _number(text)
        if text in SYMBOLS:
            return SYMBOLS[text]
        if kind in WORDS:
            return rf"\text{{{text}}}"
        if kind == "indexed":
            return f"{text[0]}_{{{_index(text[1:])}}}"
        if kind == "letter":
            return text
        if text in CLOSERS:
            left, right = (r"\left", r"\right") if text in ALIKE else ("", "")
            return left + BRACKETS.get(text, text) + _joined(self.row(CLOSERS[text])) \
                + right + BRACKETS.get(CLOSERS[text], CLOSERS[text])
        raise Untranslated(f"eq: expected a formula, got {text!r}")

    def argument(self) -> str:
        """What stands below a root: the bracket behind it without its brackets, or the next letter."""
        if self.peek()[1] == "(":
            self.at += 1
            return _joined(self.row(")"))
        return self.atom(False).latex


def _joined(parts: list[Part]) -> str:
    return "".join((_gap(parts[i - 1], part) if i else "") + part.latex for i, part in enumerate(parts))


def _scripts(found: re.Match) -> str:
    """`₁₂` as `_{12}`, `⁻¹` as `^{-1}`, `ᵀ` as `^{⊤}`."""
    kind, *_ = decomposition(found[0][0]).split()
    text = "".join(chr(int(decomposition(c).split()[1], 16)) for c in found[0])
    return f"{'^' if kind == '<super>' else '_'}{{{text.replace('T', '⊤')}}}"


def _index(text: str) -> str:
    if text.startswith("{"):
        return _joined(_Reader(text[1:-1]).row())
    if len(text) == 1 or text.isdigit() or (len(text) == 2 and set(text) <= INDICES):
        return text
    return rf"\text{{{text}}}" if len(text) > 2 or text.isalpha() else text


def _number(text: str) -> str:
    mantissa, _, exponent = text.partition("e")
    power = f"10^{{{int(exponent)}}}" if exponent else ""
    return power if power and mantissa == "1" else mantissa + (rf" \cdot {power}" if power else "")
