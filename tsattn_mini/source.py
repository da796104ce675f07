"""The line of code that made a step: noted while recording as a few addresses, read when somebody asks.

`A = step("A", softmax(logits), …)` was made by `softmax(logits)`. Where `step` gets a name alone, the line is the
one that gave the name its value: an assignment before, or what the caller passed for it.
"""

import ast
import linecache
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, FrameType
from typing import NamedTuple

CALLERS = 12  # calls that are looked through for a value that came as an argument
PASSING = ("/torch/nn/modules/", "/contextlib.py", "/jaxtyping/")  # who only hands a call on


class Call(NamedTuple):
    """A running function, the instruction it is at, and the module it belongs to."""

    code: CodeType
    at: int
    module: str


class Line(NamedTuple):
    """A piece of source, its file (from the package on; empty in a notebook) and the number of its line there."""

    text: str
    file: str
    number: int


def calls(frame: FrameType | None) -> tuple[Call, ...]:
    """The function of `frame` and those that called it, the nearest first."""
    found = []
    while frame is not None and len(found) < CALLERS:
        if not any(part in frame.f_code.co_filename for part in PASSING):
            found.append(Call(frame.f_code, frame.f_lasti, frame.f_globals.get("__name__", "")))
        frame = frame.f_back
    return tuple(found)


def line_of(where: tuple[Call, ...], whole: bool = False) -> Line | None:
    """What the second argument of the call to `step` at `where` was computed by; None where no source can be read.

    With `whole`, the call at `where` is no call to `step`: it computed the tensor itself.
    """
    made = _call(where[0]) if where else None
    if whole:
        return _line(where[0], made) if made else None
    given = _argument("tensor", ("name", "tensor"), made) if made else None
    call, node = _follow(given, made, where) if given else (None, None)
    return None if node is None else _line(call, node)


def _line(call: Call, node: ast.AST) -> Line:
    text = _tidy(node, _lines(call.code.co_filename))
    file = call.module.replace(".", "/") + ".py" if call.module.partition(".")[0] == "tsattn_mini" else ""
    return Line(text, file, node.lineno)


def _follow(given: ast.expr, made: ast.Call, where: tuple[Call, ...]) -> tuple[Call, ast.AST | None]:
    """The call, and the node in its source, from which a value came that may have been passed on under names."""
    while isinstance(given, ast.Name):
        always, sometimes = _assignments(given.id, made, where[0])
        outer = _call(where[1]) if len(where) > 1 and not always else None
        code = where[0].code
        takes = [name for name in code.co_varnames[:code.co_argcount] if name != "self"]
        passed = _argument(given.id, takes, outer) if outer else None
        if passed is None:
            return where[0], (always or sometimes or [None])[-1]
        given, made, where = passed, outer, where[1:]
    return where[0], given


def _argument(name: str, takes: Sequence[str], call: ast.Call) -> ast.expr | None:
    """What `call` passes as the parameter `name` to a function that takes `takes` by position."""
    if name in takes[:len(call.args)] and not any(isinstance(a, ast.Starred) for a in call.args):
        return call.args[takes.index(name)]
    return next((k.value for k in call.keywords if k.arg == name), None)


def _assignments(name: str, before: ast.Call, where: Call) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements of the same function that give `name` a value before the call: always, or in some cases only."""
    always, sometimes = [], []
    for s, some in _statements(_function(before, where).body):
        if isinstance(s, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and s.end_lineno < before.lineno \
                and any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(s)):
            (sometimes if some else always).append(s)
    return always, sometimes


def _statements(body: list[ast.stmt], sometimes: bool = False):
    """The statements of a function with those inside its blocks, and whether an `if` or a loop decides about them."""
    for s in body:
        yield s, sometimes
        if not isinstance(s, (ast.FunctionDef, ast.ClassDef)):
            for block in ("body", "orelse", "finalbody"):
                inside = sometimes or not isinstance(s, (ast.With, ast.Try))
                yield from _statements(getattr(s, block, []), inside)


def _function(call: ast.Call, where: Call) -> ast.AST:
    """The innermost function around `call`, or the whole module."""
    tree = _tree("".join(_lines(where.code.co_filename)))
    around = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.lineno <= call.lineno <= f.end_lineno]
    return max(around, key=lambda f: f.lineno, default=tree)


def _call(where: Call) -> ast.Call | None:
    """The call that `where` is at, in its source."""
    spot = list(where.code.co_positions())[where.at // 2]
    tree = _tree("".join(_lines(where.code.co_filename)))
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == spot:
            return node
    return None


def _lines(file: str) -> list[str]:
    return linecache.getlines(file)


@lru_cache(maxsize=32)
def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source) if source else None
    except SyntaxError:
        return None


def _tidy(node: ast.AST, lines: list[str]) -> str:
    """The source of `node` as it is written, in one line."""
    if node.lineno == node.end_lineno:
        return lines[node.lineno - 1].encode()[node.col_offset:node.end_col_offset].decode()
    return ast.unparse(node)
