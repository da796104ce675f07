"""Formulas of steps as LaTeX and MathML: the notation piece by piece, and every formula of the package."""

import ast
import json
import re
from html import unescape
from unicodedata import normalize
from xml.etree import ElementTree

import pytest
from browsing import ROOT

from tsattn_mini.explore.formula import Untranslated, latex, pieces, rendered


@pytest.mark.parametrize(("eq", "tex"), [
    ("softmax(Q Kᵀ / √E)", r"\text{softmax}(QK^{\top }/\sqrt{E})"),
    ("Y ← Y + v(Y, s) / K", r"Y{}\leftarrow Y{}+v(Y,s)/K"),
    ("S̃ ⊙ A_g", r"\tilde{S}{}\odot A_{g}"),
    ("v̂ ŷ x̄", r"\hat{v}\hat{y}\bar{x}"),
    ("x'_t", "x'_{t}"),
    ("W₂ᵀ G⁻¹ σ²", r"W_{2}^{\top }G^{{-1}}σ^{2}"),
    ("W1q + W2", r"W_{1q}{}+W_{2}"),
    ("s_ij + e_own + σ_min", r"s_{ij}{}+e_{\text{own}}{}+σ_{\text{min}}"),
    ("x_{t,v+j}", "x_{t,v+j}"),
    ("sqrt(x² + 1e-5)", r"\sqrt{x^{2}+10^{-5}}"),
    ("2.5e3 x", r"2.5 \cdot 10^{3}\,x"),
    ("‖x‖ + |y|", r"\left\Vert x\right\Vert {}+\left|y\right|"),
    ("max(|s|, 1)", r"\text{max}(\left|s\right|,1)"),
    ("½ (1-α)", r"\frac{1}{2}(1-α)"),
    ("j = -1", "j{}={-1}"),
    ("exp(-x)", r"\text{exp}({-x})"),
    ("[c ; s]", r"[c\text{;}\ s]"),
    ("xor_i x_i", r"\text{xor}_{i}\,x_{i}"),
    ("10^k x", r"10^{k}\,x"),
    ("{x}", r"\{x\}"),
])
def test_a_formula_becomes_latex(eq, tex):
    assert latex(eq) == tex


@pytest.mark.parametrize(("eq", "found"), [
    ("last F rows", [("text", "last "), ("math", "F"), ("text", " rows")]),
    ("Eq. 13: softmax(logits)", [("text", "Eq. 13: "), ("math", r"\text{softmax}(\text{logits})")]),
    ("flow + weight · nll", [("text", "flow + weight · nll")]),
    ("0: read a token, 1: not", [("math", "0"), ("text", ": read a token, "), ("math", "1"), ("text", ": not")]),
    ("a + b", [("math", "a"), ("math", "{}+b")]),
    ("(a + b) c", [("math", "(a+b)c")]),
    ("x_t, x_s, …", [("math", "x_{t}"), ("text", ", "), ("math", "x_{s}"), ("text", ", …")]),
    ("b, or -∞", [("math", "b"), ("text", ", or "), ("math", r"{-\infty }")]),
])
def test_words_are_text_and_lines_break_before_outer_operators(eq, found):
    assert pieces(eq) == found


@pytest.mark.parametrize("eq", ["softmax(x", "x)", r"\frac{1}{2}", "a & b", "x̧", "$x$", "_t", "|x"])
def test_what_is_another_notation_stays_as_it_is_written(eq):
    with pytest.raises(Untranslated, match="eq: expected"):
        pieces(eq)
    assert rendered(eq) == eq.replace("&", "&amp;")


def test_a_page_cannot_be_broken_by_a_formula():
    assert "<b>" not in rendered("x <b> y")
    assert "<script" not in rendered("<script>alert(1)</script>")


def test_the_mathematics_is_mathml_beside_text():
    assert rendered("A V") == "<math><mrow><mi>A</mi><mi>V</mi></mrow></math>"
    assert rendered("last F") == "last <math><mrow><mi>F</mi></mrow></math>"
    assert rendered("a + b").count("<math>") == 2
    assert "<wbr>" in rendered("a + b")


def formulas():
    """Every `eq=` written in the package and the lessons; what an f-string fills in is `a`."""
    codes = {path.name: path.read_text("utf8") for path in (ROOT / "tsattn_mini").rglob("*.py")}
    for path in (ROOT / "lessons").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf8"))["cells"]
        codes |= {f"{path.stem}:{i}": "".join(line for line in cell["source"] if not line.startswith("%"))
                  for i, cell in enumerate(cells) if cell["cell_type"] == "code"}
    return sorted({eq for code in codes.values() for node in ast.walk(ast.parse(code)) if isinstance(node, ast.keyword)
                   and node.arg == "eq" for eq in written(node.value)})


def written(value):
    match value:
        case ast.Constant(value=str() as text):
            return [text]
        case ast.IfExp():
            return written(value.body) + written(value.orelse)
        case ast.JoinedStr():
            return ["".join(part.value if isinstance(part, ast.Constant) else "a" for part in value.values)]
    return []


def letters(text):
    """Letters and digits in order; a power of ten may be written in two ways."""
    text = re.sub(r"(?<![\d.])1e(-?\d+)", r"10\1", text).replace("sqrt", "").replace("½", "12").replace("⊤", "T")
    return re.sub(r"[\W_∑]+", "", normalize("NFKD", text).replace("Σ", ""))


@pytest.mark.parametrize(("eq", "beside"), [("x' = 1", "<mrow><mi>x</mi><mo>′</mo></mrow>"),
                                            ("a_i x'_t", "<msub><mrow><mi>x</mi><mo>′</mo></mrow>")])
def test_a_prime_stands_beside_its_letter_and_is_not_raised(eq, beside):
    html = unescape(rendered(eq))
    assert beside in html
    assert "<msup" not in html


def test_a_bar_says_whether_it_opens_or_closes():
    html = rendered("softmax(|s|)")
    assert re.findall('form="([a-z]+)">&#x0007C;', html) == ["prefix", "postfix"]


@pytest.mark.parametrize("eq", formulas())
def test_every_formula_of_the_package_is_translated_and_loses_nothing(eq):
    tree = ElementTree.fromstring(f"<p>{rendered(eq).replace('<wbr>', '')}</p>")
    assert pieces(eq)
    assert letters("".join(tree.itertext())) == letters(eq)
    operators = {"·": "⋅·", "-": "−-"}
    shown = "".join(tree.itertext())
    for sign in set(eq) & set("=+/⊙←·"):
        assert sum(shown.count(s) for s in operators.get(sign, sign)) == eq.count(sign)


def test_there_are_formulas_to_translate():
    assert len(formulas()) > 150
