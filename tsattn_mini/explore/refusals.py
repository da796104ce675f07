"""What `Explorer` refuses before it computes anything: each with the argument, what was expected and what came."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from tsattn_mini import checks
from tsattn_mini.explore.export import presentable
from tsattn_mini.explore.inputs import Input
from tsattn_mini.explore.joined import Joined
from tsattn_mini.explore.presets import Preset
from tsattn_mini.trace import Step, Trace
from tsattn_mini.visible import visible

FLOAT32 = "explorers run in float32, so convert what fn takes from outside with .float()"


def check_kinds(fn: Any, inputs: Any, show: Any, presets: Any) -> None:
    """Check that every argument of an explorer is of its kind.

    Raises:
        ValueError: a function that is none, a dict that is none, a word where names are listed.
    """
    if not callable(fn):
        raise ValueError(f"fn: expected a function, got {type(fn).__name__}")
    mappings = {"inputs": inputs, "presets": {} if presets is None else presets}
    if isinstance(presets, Mapping):
        mappings |= {f"presets[{label!r}]": moved.values if isinstance(moved, Preset) else moved
                     for label, moved in presets.items()}
    for name, given in mappings.items():
        if not isinstance(given, Mapping):
            raise ValueError(f"{name}: expected a dict, got {type(given).__name__}")
    if isinstance(show, str):
        raise ValueError(f"show: expected a list of step names, got the word {show!r}")


def check_signature(fn: Callable, inputs: Mapping[str, Input]) -> None:
    """Check that `fn` takes the inputs by their names.

    Raises:
        ValueError: no input, an unknown kind, a name that `fn` does not take, or one that it needs and nobody
            gives.
    """
    if not inputs:
        raise ValueError("inputs: expected at least one handle, got none")
    for name, kind in inputs.items():
        if not isinstance(kind, Input):
            raise ValueError(f"inputs[{name!r}]: expected Slider, Cells, Choice, Toggle, Tokens or Window, got "
                             f"{type(kind).__name__}")
        if visible(name) != name:
            raise ValueError(f"inputs: expected names that can be seen whole, got {name!r}")
    parameters = inspect.signature(fn).parameters.values()
    takes = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needs = [p.name for p in parameters if p.name in takes and p.default is p.empty]
    anything = any(p.kind == p.VAR_KEYWORD for p in parameters)
    for name in inputs:
        if name not in takes and not anything:
            raise ValueError(f"inputs: fn does not take {name!r}; it takes {', '.join(takes) or 'nothing'}")
    for name in needs:
        if name not in inputs:
            raise ValueError(f"inputs: fn needs {name!r}, but no handle has that name: {', '.join(inputs)}")


def check_shown(trace: Trace, show: Sequence[str | Joined] | None) -> list[str]:
    """The names of the steps to show, in order.

    Raises:
        ValueError: a function without steps, a step that is not there or listed twice, empty, of a kind that
            no page reads.
    """
    if not trace:
        raise ValueError("fn: calls no step(...), so there is nothing to show; "
                         "name a tensor with step(name, tensor, axes=…)")
    shown = list(trace) if show is None else [s.name if isinstance(s, Joined) else s for s in show]
    for name in shown:
        if name not in trace:
            raise ValueError(f"show: no step {name!r}; fn names {', '.join(trace)}")
        if name == "__proto__" or visible(name) != name:
            raise ValueError(f"fn: expected a step name that the page can use, got {name!r}")
        if 0 in trace[name].shape:
            raise ValueError(f"fn: expected at least one entry along every axis of step {name!r}, "
                             f"got shape {trace[name].shape}")
        kind = trace[name].tensor.dtype
        if kind not in (torch.float32, torch.int64) and presentable(trace[name].tensor).dtype != torch.int64:
            raise ValueError(f"fn: step {name!r} is {checks.dtype_name(kind)}; {FLOAT32}")
    if not shown or len(set(shown)) != len(shown):
        raise ValueError(f"show: expected different names of steps, got {shown}")
    return shown


def check_labels(labels: Mapping[str, Sequence[str]] | None, steps: Iterable[Step],
                 inputs: Iterable[Input]) -> dict[str, list[str]]:
    """The names of places along axes, as lists. Every axis must exist, and have as many places as names.

    Raises:
        ValueError: an axis that is not there, or another number of names than it has places.
    """
    if labels is not None and not isinstance(labels, Mapping):
        raise ValueError(f"labels: expected a dict of axis → names, got {type(labels).__name__}")
    found = {axis: [names] if isinstance(names, str) else list(names) for axis, names in (labels or {}).items()}
    shapes = [(s.axes, s.shape) for s in steps] + [(k.axes, tuple(k.value.shape)) for k in inputs if k.kind == "cells"]
    sizes = [(axis, n) for axes, shape in shapes for axis, n in zip(axes.split(), shape, strict=True)]
    for axis, names in found.items():
        if axis not in dict(sizes):
            raise ValueError(f"labels: no axis {axis!r}; the shown steps and cells have {', '.join(dict(sizes))}")
        if not all(isinstance(n, str) and n.strip() for n in names) or len(set(names)) != len(names):
            raise ValueError(f"labels[{axis!r}]: expected different words, got {names}")
        for size in (n for word, n in sizes if word == axis):
            if size != len(names):
                raise ValueError(f"labels[{axis!r}]: expected {size} names, one for each place, got {len(names)}")
    return {axis: [visible(name) for name in names] for axis, names in found.items()}


def failure(where: str, error: Exception) -> ValueError:
    """The ValueError that says where `fn` fails, and why."""
    hint = f"; {FLOAT32}" if re.search("dtype|scalar type", str(error)) else ""
    return ValueError(f"fn: fails at {where}: {error}{hint}")
