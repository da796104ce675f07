"""Name a tensor where it is made, look at it later.

`step` is the identity: it names a tensor on the line that computes it. `record` collects what was named:

>>> import torch
>>> with record() as trace:
...     A = step("A", torch.softmax(torch.zeros(2, 5), dim=-1), axes="L S", eq="A = softmax(S)")
>>> trace["A"].tensor is A, trace["A"].axes
(True, 'L S')

The open traces live in a plain list. A `ContextVar` would stop `torch.export` at the first step.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from tsattn_mini.figures import Figure, Table
from tsattn_mini.flow import flow_chart, group_chart
from tsattn_mini.source import Call, Line, calls, line_of

_open: list["Trace"] = []
_scopes: list[str] = []
_meanings: list[str] = []


@dataclass(frozen=True, eq=False)
class Step:
    """One named tensor: `axes` holds one word per axis, `eq` its formula, `note` one sentence.

    `sources` are the steps it was computed from, `meaning` is that of the innermost `with meaning(…)`.
    """

    name: str
    tensor: Tensor
    axes: str
    eq: str | None
    note: str | None
    sources: tuple[str, ...]
    meaning: str | None
    version: int
    where: tuple[Call, ...] = ()
    whole: bool = False  # whether the call that `where` is at made it, as `watch` notes it, instead of an argument

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes, axis by axis."""
        return tuple(self.tensor.shape)

    @property
    def code(self) -> Line | None:
        """The line of code that made it; None where its source cannot be read."""
        return line_of(self.where, self.whole)


class Trace(Mapping[str, Step]):
    """The named tensors of one run, in the order in which they were named."""

    def __init__(self, origins: "_Origins | None") -> None:
        self._steps: dict[str, Step] = {}
        self._sizes: dict[tuple[str, str], tuple[int, str]] = {}
        self._origins = origins

    def __getitem__(self, name: str) -> Step:
        if name not in self._steps:
            raise KeyError(f"no step {name!r}; recorded: {', '.join(self._steps) or 'nothing'}")
        return self._steps[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        return f"Trace({', '.join(self._steps)})"

    def table(self) -> Table:
        """The tensor-transform table: one row per step with its operation, axes and shape."""
        rows = [(s.name, s.eq or s.note or "", s.axes, str(s.shape)) for s in self._steps.values()]
        return Table(("step", "operation", "axes", "shape"), rows)

    def flow(self, by: str = "order") -> Figure:
        """The flow diagram: an arrow wherever one tensor was computed from another.

        By "order" every step is a box. By "meaning" the steps of one `meaning` share a box, which names what
        goes in and what comes out; a step without a meaning is a box of its own.

        Raises:
            ValueError: another `by`.
        """
        if by not in ("order", "meaning"):
            raise ValueError(f"by: expected 'order' or 'meaning', got {by!r}")
        nodes = {s.name: (s.axes, s.shape, s.sources) for s in self._steps.values()}
        if by == "order":
            return flow_chart(nodes)
        return group_chart(nodes, {s.name: s.meaning or s.name for s in self._steps.values()})

    def follow(self, name: str, tensor: Tensor) -> None:
        """From here on `tensor` counts as a source called `name`, although no step has named it."""
        if self._origins:
            self._origins.rename(tensor, name)

    def pick(self, *names: str) -> "Trace":
        """Only the steps `names`, in the order they are given; arrows reach over the steps left out.

        Raises:
            KeyError: a name that was not recorded.
        """
        picked = Trace(None)
        for name in names:
            picked._steps[name] = replace(self[name], sources=tuple(self._nearest(name, names)))
        return picked

    def _nearest(self, name: str, names: Sequence[str]) -> dict[str, None]:
        """The steps among `names` that `name` was computed from without another of them in between."""
        found, seen, todo = {}, set(), list(self[name].sources)
        while todo:
            source = todo.pop(0)
            if source in names or source not in self._steps:
                found[source] = None
            elif source not in seen:
                seen.add(source)
                todo += self[source].sources
        return found

    def _add(self, name: str, tensor: Tensor, axes: str, eq: str | None, note: str | None,
             where: tuple[Call, ...], whole: bool) -> None:
        if name in self._steps:
            raise ValueError(f"step {name!r} is already recorded; loops go inside scope(...), one per round")
        self._check_axes(name, tensor, axes)
        sources, where = (self._origins.rename(tensor, name), where) if self._origins else ((), ())
        meaning = _meanings[-1] if _meanings else None
        self._steps[name] = Step(name, tensor, axes, eq, note, sources, meaning, tensor._version, where, whole)

    def _check_axes(self, name: str, tensor: Tensor, axes: str) -> None:
        words, shape = axes.split(), tuple(tensor.shape)
        if len(words) != len(shape):
            raise ValueError(f"step {name!r}: axes {axes!r} name {len(words)} axes, "
                             f"the tensor has {len(shape)}: {shape}")
        scope_name = name.rpartition("/")[0]
        for word, size in zip(words, shape, strict=True):
            known, where = (int(word), "the number itself") if word.isdigit() else self._sizes.setdefault(
                (scope_name, word), (size, f"step {name!r}"))
            if known != size:
                raise ValueError(f"step {name!r}: axis {word} has size {size}, but {known} by {where}")

    def _check_untouched(self) -> None:
        for s in self._steps.values():
            if s.tensor._version != s.version:
                raise RuntimeError(f"step {s.name!r} was changed in place after it was named: name a clone of it, or "
                                   "where it is watched, Watched(…, copy=True)")


class _Origins(TorchDispatchMode):
    """Follows each tensor back to the steps it was computed from, for `Trace.flow`."""

    def __init__(self) -> None:
        super().__init__()
        self.names = WeakIdKeyDictionary()  # tensor → the steps it was computed from, as the keys of a dict

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sources = {}
        for t in tensors((args, kwargs)):
            sources.update(self.names.get(t, {}))
        for t in tensors(out):
            self.names[t] = {**self.names.get(t, {}), **sources}
        return out

    def rename(self, tensor: Tensor, name: str) -> tuple[str, ...]:
        """From here on `tensor` comes from the step `name`; returns the steps it came from until now."""
        sources = tuple(self.names.get(tensor, {}))
        self.names[tensor] = {name: None}
        return sources


def tensors(tree: Any) -> list[Tensor]:
    """Every tensor in nested tuples, lists and dicts."""
    return [leaf for leaf in torch.utils._pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def step(name: str, tensor: Tensor, *, axes: str, eq: str | None = None, note: str | None = None) -> Tensor:
    """Return `tensor` unchanged, and name it in every open `record`.

    Args:
        name: unique within one recording; an open `scope` is put in front.
        axes: one word per axis, such as `"B H L S"`; a number such as `2` fixes that axis' size.
        eq: the formula or the equation's label in the paper.
        note: one sentence for the reader.

    Raises:
        ValueError: while recording, an argument of another kind (the name goes first), a name used twice, or axes
            that do not fit the tensor or an earlier step of the same scope.
    """
    if _open:
        _check_kinds(name, tensor, axes, eq, note)
        where = calls(sys._getframe(1)) if following() else ()
        add(name, tensor, axes, eq, note, where)
    return tensor


def add(name: str, tensor: Tensor, axes: str, eq: str | None, note: str | None, where: tuple[Call, ...],
        whole: bool = False) -> None:
    """Name `tensor` in every open `record`, as `step` does, on behalf of the code that is at `where`."""
    for trace in _open:
        trace._add(scoped(name), tensor, axes, eq, note, where, whole)


def following() -> bool:
    """Does an open `record` note what steps were computed from, and where? None does while exporting."""
    return any(trace._origins for trace in _open)


def scoped(name: str) -> str:
    """The name that a step gets here: the open scopes in front."""
    return "/".join([*_scopes, name])


def open_traces() -> tuple[Trace, ...]:
    """What the open `record` blocks collect into, the outermost first."""
    return tuple(_open)


def _check_kinds(name: str, tensor: Tensor, axes: str, eq: str | None, note: str | None) -> None:
    for argument, given, kind, expected in (("name", name, str, "a word"), ("tensor", tensor, Tensor, "a torch tensor"),
                                            ("axes", axes, str, "one word per axis")):
        if not isinstance(given, kind):
            raise ValueError(f"{argument}: expected {expected}, got {type(given).__name__}")
    if not name.strip():
        raise ValueError(f"name: expected a word, got {name!r}")
    for argument, given in (("eq", eq), ("note", note)):
        if given is not None and not isinstance(given, str):
            raise ValueError(f"{argument}: expected words, got {type(given).__name__}")


@contextmanager
def record(follow: bool = True) -> Iterator[Trace]:
    """Collect every `step` that runs inside the block.

    Args:
        follow: note what every step was computed from, and by which line. Without it the trace has no arrows and no
            lines of code, and the run takes a fraction of the time.

    Raises:
        RuntimeError: on exit, when a step was edited in place after it was named; on entry, in inference
            mode, whose tensors carry no version to notice that by (use `torch.no_grad()`).
    """
    exporting = torch.compiler.is_compiling()  # symbols have no origins and no versions to follow
    if not exporting and torch.is_inference_mode_enabled():
        raise RuntimeError("record() needs torch.no_grad() instead of torch.inference_mode(): "
                           "inference tensors carry no version to notice in-place edits by")
    origins = _Origins() if follow and not exporting else None
    trace = Trace(origins)
    _open.append(trace)
    try:
        with origins or nullcontext():
            yield trace
    finally:
        _open.pop()
    if not exporting:
        trace._check_untouched()


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Put `name/` in front of the steps inside the block: `with scope("enc0"): step("A", …)` gives `enc0/A`.

    Raises:
        ValueError: a name that is no word.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name: expected a word, got {name!r}")
    _scopes.append(name)
    try:
        yield
    finally:
        _scopes.pop()


@contextmanager
def meaning(words: str) -> Iterator[None]:
    """Say what the steps inside are for: `with meaning("embed"):`, or as a decorator of the function that does it.

    `Trace.flow(by="meaning")` draws one box for each; the innermost meaning counts.

    Raises:
        ValueError: no words.
    """
    if not isinstance(words, str) or not words:
        raise ValueError(f"words: expected a few words, got {words!r}")
    _meanings.append(words)
    try:
        yield
    finally:
        _meanings.pop()
