"""Dotted paths of submodules, and why one leads nowhere or is never called; values in words."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

NEAREST, ENTRIES = 3, 6
HOLDERS = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)  # hold modules and are not called


def places(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Every dotted path with its module; one that stands in two places comes twice."""
    return module.named_modules(remove_duplicate=False)


def others(module: nn.Module, path: str) -> list[str]:
    """The other paths at which the module at `path` stands as well."""
    part = module.get_submodule(path)
    return [other for other, found in places(module) if found is part and other != path]


def above(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    """`module` and what lies on the way to `path`, as far as it exists."""
    yield "", module
    words = path.split(".") if path else []
    for i, word in enumerate(words):
        module = module._modules.get(word) if isinstance(module, nn.Module) else None
        if module is None:
            return
        yield ".".join(words[:i + 1]), module


def compiled(module: nn.Module, path: str) -> str | None:
    """Why no hook is called at `path`: it, or something around it, was scripted or compiled."""
    for at, part in above(module, path):
        where = f"{at!r}" if at else "the module"
        if isinstance(part, torch.jit.ScriptModule):
            return f"{where} is TorchScript, which runs without calling hooks; watch the module it was made from"
        if "_orig_mod" in part._modules and hasattr(part, "_torchdynamo_orig_callable"):
            return f"{where} went through torch.compile, which passes hooks by; watch its _orig_mod"
        if part._compiled_call_impl is not None:
            return f"{where} was compiled by .compile(), which passes hooks by; watch one that was not"
    return None


def nowhere(module: nn.Module, path: str) -> str:
    """Why `path` is no submodule, and what may be meant."""
    found, part = list(above(module, path))[-1]
    word = path.removeprefix(found).strip(".").partition(".")[0]
    if word in part._parameters or word in part._buffers:
        return f"{path!r} is a tensor, not a module; the module that holds it is {found!r}"
    close = get_close_matches(path, [p for p, _ in places(module) if p], n=NEAREST, cutoff=0.5)
    nearest = f"nearest: {', '.join(map(repr, close))}; " if close else ""
    children = ", ".join(list(part._modules)[:ENTRIES]) or "no parts"
    return f"no module at {path!r}; {nearest}{repr(found) if found else 'the module'} has {children}"


def never_called(module: nn.Module, missed: Mapping[str, str]) -> str:
    """Why the modules at the paths of `missed`, name → path, may not have been called."""
    return "; ".join(f"{path!r} never ran, so {name!r} was not named: {_why(module, path)}"
                     for name, path in missed.items())


def _why(module: nn.Module, path: str) -> str:
    *_, (_, parent), (_, part) = [("", None), *above(module, path)]
    if isinstance(parent, nn.MultiheadAttention):
        return "MultiheadAttention uses its weights without calling it; watch the attention itself"
    if isinstance(part, HOLDERS):
        return f"a {type(part).__name__} holds modules and is not called; watch what it holds"
    if type(part).forward is nn.Module.forward:
        return f"{type(part).__name__} has no forward, so it is used in another way; watch what it holds"
    return ("a hook sees a module only when it is called; it was passed over, or its weights or its forward were used "
            "directly")


def given(args: tuple, kwargs: dict) -> Any:
    """The arguments of a call as one value: the only one itself, else all of them under their number or name."""
    everything = {**dict(enumerate(args)), **kwargs}
    return next(iter(everything.values())) if len(everything) == 1 else everything


def described(value: Any, depth: int = 2) -> str:
    """A value in words: the shape of a tensor, what a tuple or a dict holds, the type of anything else."""
    if isinstance(value, Tensor):
        if value.is_nested or value.layout != torch.strided:
            return f"a {'nested' if value.is_nested else str(value.layout).removeprefix('torch.')} tensor"
        return str(tuple(value.shape))
    if value is None:
        return "None"
    entries = list(value.items()) if isinstance(value, Mapping) else \
        list(enumerate(value)) if isinstance(value, (tuple, list)) else []
    if not entries or not depth:
        return f"a {type(value).__name__}"
    inside = ", ".join(f"[{key!r}] {described(entry, depth - 1)}" for key, entry in entries[:ENTRIES])
    return f"a {type(value).__name__} of {len(entries)}: {inside}{', …' if len(entries) > ENTRIES else ''}"
