"""What a public name says of itself: a docstring, annotations, shapes, what it raises, where it comes from."""

import ast
import inspect
import re
import textwrap
from functools import cache

import pytest
from browsing import ROOT
from public_names import modules, things

CHECKERS = {f"checks.{name}" for name in ("shapes", "finite", "required", "floating", "overflow")}
RAISES = re.compile(r"\bRaises?\b")  # a section `Raises:`, or a sentence that says so
OF_PAPERS = ("attention", "blocks", "nonstationary", "kite", "engram", "zoo")
NO_PAPER = ("engram.counts", "engram.text", "engram.tokenizer", "engram.words", "engram.collisions", "engram.language",
            "engram.tiling", "kite.exact", "kite.window", "zoo.duet")  # made for the lessons, or a folder
EXAMPLES = ("attention.scaled_dot_product", "nonstationary.stationarize", "nonstationary.destationary_attention",
            "kite.gate.knowledge_guided", "kite.flow.guide", "engram.gate.context_gate", "zoo.prob_sparse.sparsity",
            "zoo.decomposition.series_decomp", "datasets.load.load_bikes", "explore.question.number.number")
LONGEST = 34  # lines: a docstring is no essay


@cache
def owner(name):
    """The class that a dotted name is a method of, or None."""
    found = things().get(name.rpartition(".")[0])
    return found if inspect.isclass(found) else None


def said(name):
    """A docstring, or the one of the method that it overrides."""
    made = owner(name)
    return (inspect.getdoc(getattr(made, name.rpartition(".")[2])) if made else inspect.getdoc(things()[name])) or ""


@cache
def node(name):
    """The syntax tree of a function or class."""
    return ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(things()[name])))).body[0]


def raising(tree):
    """What a function raises itself: by `raise`, or by a checker of `tsattn_mini.checks`."""
    found, todo = set(), list(tree.body)
    while todo:
        one = todo.pop()
        if isinstance(one, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(one, ast.Raise) and one.exc:
            found.add(ast.unparse(one.exc).partition("(")[0])
        if isinstance(one, ast.Call) and ast.unparse(one.func) in CHECKERS:
            found.add(ast.unparse(one.func))
        todo += ast.iter_child_nodes(one)
    return found


def faults(name):
    """What is missing where a public name says what it is."""
    doc, tree = said(name), node(name)
    if not doc:
        return ["no docstring"]
    found = [f"{len(doc.splitlines())} lines, more than {LONGEST}"] if len(doc.splitlines()) > LONGEST else []
    if isinstance(tree, ast.ClassDef):
        made = next((one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        return found + (unannotated(made) + unsaid(made, doc + (ast.get_docstring(made) or "")) if made else [])
    return found + unannotated(tree) + unsaid(tree, doc)


def unsaid(tree, doc):
    found = raising(tree) - {"NotImplementedError", "AssertionError"}
    return [f"raises {found}, and says nothing of it"] if found and not RAISES.search(doc) else []


def unannotated(tree):
    given = tree.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    bare_ones = [one.arg for one in every if one.annotation is None and one.arg not in ("self", "cls")]
    return [f"no annotation: {', '.join(bare_ones)}"] if bare_ones else []


def test_every_public_name_says_what_it_is():
    assert {name: fault for name in things() if (fault := faults(name))} == {}


def test_every_module_says_what_it_is_and_a_papers_module_names_its_source():
    unsourced = []
    for name, module in modules().items():
        assert module.__doc__, name
        inner = name.removeprefix("tsattn_mini.")
        of_paper = inner.split(".")[0] in OF_PAPERS and not inner.endswith(("kite", "engram", "zoo"))
        if of_paper and inner not in NO_PAPER and not re.search(r"Sources?:|Eq\. \d|section \d", module.__doc__):
            unsourced.append(inner)
    assert unsourced == []


def test_what_no_paper_has_is_still_there():
    assert {f"tsattn_mini.{name}" for name in NO_PAPER} <= set(modules())


def test_tensors_of_the_papers_have_shapes():
    found = []
    for name, thing in things().items():
        if name.split(".")[1] in ("nonstationary", "attention", "kite", "zoo") and inspect.isfunction(thing):
            tree = node(name)
            if "check" not in name.rpartition(".")[2] and not raising(tree):  # else it tests what shapes would promise
                found += [f"{name}: {one.arg}" for one in tree.args.args if one.annotation and bare(one.annotation)]
    assert found == []


def bare(annotation):
    """Whether a `Tensor` of an annotation has no axes."""
    with_axes = {id(one.elts[0]) for one in ast.walk(annotation) if isinstance(one, ast.Tuple)
                 and isinstance(one.elts[-1], ast.Constant) and isinstance(one.elts[-1].value, str)}
    return any(isinstance(one, ast.Name) and one.id == "Tensor" and id(one) not in with_axes
               for one in ast.walk(annotation))


@pytest.mark.parametrize(("source", "expected"), [
    ("def f(x):\n    raise ValueError('x')", {"ValueError"}),
    ("def f(x):\n    checks.shapes(x=(x, 'B'))", {"checks.shapes"}),
    ("def f(x):\n    def g():\n        raise ValueError\n    return g", set()),
    ("def f(x):\n    try:\n        g()\n    except OSError:\n        raise", set()),
])
def test_raising_is_found_where_it_is(source, expected):
    assert raising(ast.parse(source).body[0]) == expected


@pytest.mark.parametrize(("annotation", "expected"), [
    ("Tensor", True), ("Tensor | None", True), ("dict[str, Tensor]", True), ("int", False),
    ("Float[Tensor, 'B L'] | None", False), ("tuple[Float[Tensor, 'B'], Tensor]", True),
])
def test_a_tensor_without_axes_is_found(annotation, expected):
    assert bare(ast.parse(annotation, mode="eval").body) is expected


def test_what_readers_call_has_an_example():
    """`make test` runs them; here their number and the names that must not lose theirs are watched."""
    shown = {name for name in things() if ">>> " in said(name)}
    assert len(shown) >= 110
    assert {f"tsattn_mini.{name}" for name in EXAMPLES} <= shown


def test_the_convention_is_told():
    assert "tests/test_docstrings.py" in (ROOT / "CONTRIBUTING.md").read_text("utf8")
