"""Name what the parts of a module return, where the module itself cannot be edited.

`step` names a tensor on the line that makes it. Where that line belongs to somebody else, `watch` calls `step` for you,
on what a submodule returned or was given:

>>> import torch
>>> from tsattn_mini.trace import record
>>> net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Softmax(-1))
>>> with watch(net, {"0": "S", "1": Watched("A", axes="L S")}), record() as trace:
...     _ = net(torch.zeros(2, 3))
>>> trace["S"].axes, trace["A"].axes
('S.0 S.1', 'L S')

It works through forward hooks, and a hook sees what goes into a module and what comes out of it, nothing in between:
no scores inside `F.scaled_dot_product_attention`, no weights of an attention that was not asked for them, no part that
is used without being called. `unseen` lists these places for one module, `watchable` lists what can be watched. While
hooks are set, torch's fused layers take their ordinary path, whose last digits may differ. It exports as explorers do,
inside the function; strict `torch.export` and a full graph of `torch.compile` refuse hooks that are set on the way.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from tsattn_mini import trace
from tsattn_mini.paths import compiled, described, given, never_called, nowhere, others
from tsattn_mini.source import Call, calls

SIDES = ("output", "input")
TORCH = "/torch/nn/modules/"
HOOKED = "/torch/nn/modules/module.py"  # whose frames stand between a hook and the line that called the module


@dataclass(frozen=True)
class Watched:
    """One name for what a submodule returns or gets.

    Attributes:
        name: the step's name, as in `step`.
        axes: one word per axis, as in `step`; without them the axes of "A" are called A.0, A.1, …, by position.
        pick: the entry of a tuple (a number), of a dict or of an object (its key), or a tuple of these, one inside the
            other: `pick=(1, 0)` is the first of the second. Needed where there is more than one tensor to choose from.
        of: "output", or "input": the arguments, the first by number, the named ones by name.
        eq, note: as in `step`; the note says which module it was, unless you say something better.
        rounds: the module runs several times: name its runs 0/A, 1/A, …
        copy: name a copy, for a tensor that somebody overwrites afterwards.
    """

    name: str
    axes: str | None = None
    pick: int | str | tuple[int | str, ...] | None = None
    of: str = "output"
    eq: str | None = None
    note: str | None = None
    rounds: bool = False
    copy: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name: expected a word, got {self.name!r}")
        if self.of not in SIDES:
            raise ValueError(f"of: expected one of {SIDES}, got {self.of!r}")
        if self.axes is not None and not isinstance(self.axes, str):
            raise ValueError(f"axes: expected one word per axis, got {self.axes!r}")
        keys = self.pick if isinstance(self.pick, tuple) else (self.pick,)
        if not all(isinstance(key, (int, str)) for key in keys if self.pick is not None):
            raise ValueError(f"pick: expected a number, a key, or a tuple of these, got {self.pick!r}")


@contextmanager
def watch(module: nn.Module, names: Mapping[str, str | Watched | Sequence[str | Watched]]) -> Iterator[Counter]:
    """Inside the block, `step` is called on what the submodules of `module` return; the order with `record` is free.

    Gives a counter: how often each name has run so far.

    Args:
        module: any module; it is not changed, and no hook outlives the block.
        names: dotted path, as in `module.get_submodule`, to a name, a `Watched`, or a list of them. "" is `module`.
            Paths are those of `watchable(module)`.

    Raises:
        ValueError: on entry, a path that leads nowhere (the nearest ones are named), one name given twice, one module
            watched at two paths, a module that was compiled or scripted. While running, a value that is no tensor
            (what came is described), a second run under the same name, or axes that do not fit.
        RuntimeError: on exit, when a watched module never ran.
    """
    plan = _plan(module, names)
    ran: Counter = Counter()
    with ExitStack() as hooks:
        for path, part, watched in plan:
            see = partial(_see, path, type(part).__name__, others(module, path), watched, ran)
            hooks.callback(_hook(part, watched.of, see).remove)
        yield ran
    missed = {watched.name: path for path, _, watched in plan if not ran[watched.name]}
    if missed:
        raise RuntimeError(never_called(module, missed))


def _plan(module: nn.Module, names: Mapping) -> list[tuple[str, nn.Module, Watched]]:
    """Path, submodule and name of everything to watch, checked before anything runs."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"module: expected a torch.nn.Module, got {type(module).__name__}")
    if not isinstance(names, Mapping) or not names:
        raise ValueError(f"names: expected a dict such as {{'encoder.attention': 'A'}}, got {names!r}")
    plan, paths, taken = [], {}, {}
    for path, wanted in names.items():
        if not isinstance(path, str):
            raise ValueError(f"names: expected dotted paths, got {path!r}")
        if reason := compiled(module, path):
            raise ValueError(f"names: {path!r} cannot be watched: {reason}")
        try:
            part = module.get_submodule(path)
        except (AttributeError, TypeError):
            raise ValueError(f"names: {nowhere(module, path)}") from None
        if part in paths:
            raise ValueError(f"names: {paths[part]!r} and {path!r} are one and the same module, and a hook cannot tell "
                             f"at which place it was called; watch one of them, with rounds=True if it runs more often")
        paths[part] = path
        for one in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
            watched = Watched(one) if isinstance(one, str) else one
            if not isinstance(watched, Watched):
                raise ValueError(f"names: expected a name or Watched(…) for {path!r}, got {one!r}")
            if watched.name in taken:
                raise ValueError(f"names: {watched.name!r} is given to {taken[watched.name]!r} and to {path!r}")
            taken[watched.name] = path
            plan.append((path, part, watched))
    return plan


def _hook(part: nn.Module, of: str, see):
    if of == "output":
        return part.register_forward_hook(lambda module, args, kwargs, output: see(output), with_kwargs=True)
    return part.register_forward_pre_hook(lambda module, args, kwargs: see(given(args, kwargs)), with_kwargs=True)


def _see(path: str, kind: str, elsewhere: list[str], watched: Watched, ran: Counter, value: Any) -> None:
    """Name one output or input; returns nothing, so that the module's own value goes on."""
    tensor = _tensor(watched, path, value)
    ran[watched.name] += 1
    word = "_".join(watched.name.rpartition("/")[2].split())
    axes = " ".join(f"{word}.{i}" for i in range(tensor.ndim))
    what = f"{watched.of} of {path or 'the module'} ({kind})"
    shared = f", which is also {' and '.join(elsewhere)}" if elsewhere else ""
    named = tensor.clone() if watched.copy else tensor
    if watched.rounds:
        rounds = (f"{i}/{watched.name}" for i in count())
        name = next(name for name in rounds if not _recorded(name))
    elif _recorded(name := watched.name):
        raise ValueError(f"names: {name!r} is already recorded when {path!r} runs{shared}; give its runs numbers with "
                         f"Watched({name!r}, rounds=True), or open a scope(…) around each round of the loop")
    words = axes if watched.axes is None else watched.axes
    trace.add(name, named, words, watched.eq, watched.note or f"{what}{shared}", _caller(), whole=True)
    if named is not tensor:  # whoever computes with the original computes with what was named
        for open_trace in trace.open_traces():
            open_trace.follow(trace.scoped(name), tensor)


def _recorded(name: str) -> bool:
    return any(trace.scoped(name) in open_trace for open_trace in trace.open_traces())


def _tensor(watched: Watched, path: str, value: Any) -> Tensor:
    """The one tensor of `value` that is meant."""
    keys = () if watched.pick is None else watched.pick if isinstance(watched.pick, tuple) else (watched.pick,)
    found = value
    for key in keys:
        try:
            found = found[key] if isinstance(key, int) or isinstance(found, Mapping) else getattr(found, key)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ValueError(f"pick: {watched.pick!r} is not in the {watched.of} of {path!r}, {described(value)}") \
                from None
    if isinstance(found, Tensor) and not found.is_nested and found.layout == torch.strided:
        return found
    pick = f"[{', '.join(map(repr, keys))}]" if keys else ""
    hint = "" if isinstance(found, Tensor) or found is None or not _holds(found) else \
        f"; say which with Watched({watched.name!r}, pick=…)"
    raise ValueError(f"names: the {watched.of} of {path!r}{pick} is {described(found)}, not a tensor{hint}")


def _holds(value: Any) -> bool:
    return bool(trace.tensors(value)) or hasattr(value, "__dict__")


def _caller() -> tuple[Call, ...]:
    """Where the module was called; nothing inside torch's own modules, or where nobody follows."""
    if not trace.following():
        return ()
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or HOOKED in frame.f_code.co_filename):
        frame = frame.f_back
    return () if frame is None or TORCH in frame.f_code.co_filename else calls(frame)
