"""The public names of the package, read from its source: nothing of it is imported, so a build stays quick.

Public is what has no underscore in front: functions and classes of a module, methods and properties of a class.
"""

import ast
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "tsattn_mini"
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A function, class, method or property: `signature` is what stands behind its name, `doc` its docstring."""

    kind: str
    name: str
    signature: str
    doc: str
    options: tuple[str, ...] = ()
    methods: list["Thing"] = field(default_factory=list)


@dataclass(frozen=True)
class Module:
    """A module by its dotted name, with its path below the root of the book."""

    name: str
    path: str
    doc: str
    things: list[Thing]


def files(root):
    """Path of every module of the package at `root`, by dotted name."""
    found = {}
    for path in sorted(Path(root, PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def read(root):
    """Every module of the package at `root` by its dotted name."""
    paths = files(root)
    trees = {name: ast.parse(path.read_text("utf8")) for name, path in paths.items()}
    classes = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)}
    imported = {f"{name}.{here}": home for name, tree in trees.items() for here, home in imports(tree)
                if here in classes}
    return {name: Reader(name, tree, classes, imported).module(paths[name].relative_to(root))
            for name, tree in trees.items()}


def imports(tree):
    """(name here, dotted name there) of what a module takes from the package."""
    return [(alias.asname or alias.name, f"{node.module}.{alias.name}") for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE) for alias in node.names]


class Reader:
    """Reads one module.

    Of the whole package: `classes` by name, for what a class inherits, and where names that are `imported` come from.
    """

    def __init__(self, name, tree, classes, imported):
        self.name, self.tree, self.classes, self.imported = name, tree, classes, imported

    def module(self, path):
        things = [self.class_(node) if isinstance(node, ast.ClassDef) else self.function(node)
                  for node in self.tree.body
                  if isinstance(node, FUNCTIONS | ast.ClassDef) and not node.name.startswith("_")]
        return Module(self.name, path.as_posix(), ast.get_docstring(self.tree) or "", things)

    def function(self, node):
        return Thing(kind="function", name=node.name, doc=ast.get_docstring(node) or "",
                     signature=self.signature(node, drop=0))

    def class_(self, node):
        made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        signature = self.signature(made, drop=1) if made else f"({', '.join(self.fields(node))})"
        doc = "\n\n".join(filter(None, (ast.get_docstring(node), made and ast.get_docstring(made))))
        return Thing(kind="class", name=node.name, doc=doc,
                     signature=signature.removesuffix(" -> None").removesuffix("()"),
                     methods=[self.method(n, node) for n in node.body
                              if isinstance(n, FUNCTIONS) and not n.name.startswith("_")])

    def method(self, node, owner):
        marks = {ast.unparse(mark).split(".")[-1] for mark in node.decorator_list}
        doc = ast.get_docstring(node) or self.inherited(node.name, owner)
        if marks & {"property", "cached_property"}:
            type_ = (f":type: {self.qualified(node.returns)}",) if node.returns else ()
            return Thing(kind="property", name=node.name, doc=doc, signature="", options=type_)
        static = "staticmethod" in marks
        options = tuple(f":{mark}:" for mark in ("classmethod", "staticmethod") if mark in marks)
        return Thing(kind="method", name=node.name, doc=doc, signature=self.signature(node, drop=0 if static else 1),
                     options=options)

    def inherited(self, name, owner):
        """What the first base that has a method says of it."""
        for base in self.bases(owner):
            for node in base.body:
                if isinstance(node, FUNCTIONS) and node.name == name and ast.get_docstring(node):
                    return ast.get_docstring(node)
            if found := self.inherited(name, base):
                return found
        return ""

    def bases(self, owner):
        return [self.classes[base.id] for base in owner.bases if isinstance(base, ast.Name) and base.id in self.classes]

    def fields(self, node):
        """The arguments of a dataclass or a named tuple, inherited ones first."""
        if not self.is_record(node):
            return []
        found = {}
        for owner in [*self.bases(node), node]:
            for line in owner.body:
                if isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line.annotation):
                    default = f" = {ast.unparse(self.default(line.value))}" if line.value else ""
                    found[line.target.id] = f"{line.target.id}: {self.qualified(line.annotation)}{default}"
        star = ["*"] if found and any("kw_only" in ast.unparse(mark) for mark in node.decorator_list) else []
        return [*star, *found.values()]

    def is_record(self, node):
        return (any("dataclass" in ast.unparse(mark) for mark in node.decorator_list)
                or any(ast.unparse(base) == "NamedTuple" for base in node.bases))

    def default(self, value):
        """What a field is when it is left out: what its factory makes, where it has one."""
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
            factory = value.keywords[0].value
            return factory.body if isinstance(factory, ast.Lambda) else ast.Call(factory, [], [])
        return value

    def signature(self, node, drop):
        """`(…) -> …` with the first `drop` arguments left out."""
        copy = deepcopy(node.args)
        del (copy.posonlyargs or copy.args)[:drop]
        for one in ast.walk(copy):
            if isinstance(one, ast.arg) and one.annotation:
                one.annotation = ast.Name(self.qualified(one.annotation))
        returns = f" -> {self.qualified(node.returns)}" if node.returns else ""
        return f"({ast.unparse(copy)}){returns}"

    def qualified(self, annotation):
        """An annotation in which names of this package carry their module, so that they become links."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        copy = ast.parse(ast.unparse(annotation), mode="eval")
        for one in ast.walk(copy):
            if isinstance(one, ast.Name):
                one.id = self.home(one.id)
        return ast.unparse(copy)

    def home(self, name):
        """The dotted name of what is called `name` here, where the package has it; any other name stays."""
        found = f"{self.name}.{name}"
        while found in self.imported:
            found = self.imported[found]
        return name if found == f"{self.name}.{name}" else found
