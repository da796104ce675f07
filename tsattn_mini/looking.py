"""What can be watched in a module, and what no hook sees of it: two tables, made by running it once."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from tsattn_mini.figures import Table
from tsattn_mini.paths import compiled, described, others, places

FUSED = ("scaled_dot_product_attention", "scores and weights are made inside torch; softmax(q @ k.mT / √E) @ v makes "
         "them where step(…) can name them")
SOFTMAX = ("softmax", "the weights are no module's output; name them with step(…) on that line, or watch what it "
           "returns")
ASIDE = {F.scaled_dot_product_attention: FUSED,
         **dict.fromkeys((torch.softmax, torch.Tensor.softmax, F.softmax), SOFTMAX)}
KNOWN = (nn.Softmax, nn.MultiheadAttention)  # one returns the weights; of the other it is said without running it


def watchable(module: nn.Module, *inputs: Any, **named: Any) -> Table:
    """Every submodule with its type, how often it ran and what it returned, on one run with these inputs.

    The run is in evaluation mode and without gradients; the module is left as it was. Without inputs nothing runs, and
    the table holds paths and types only.

    >>> from torch import nn
    >>> print(watchable(nn.Sequential(nn.Linear(2, 3)), torch.zeros(1, 2)).text)
    path  module      runs  output
    ────  ──────────  ────  ──────
    ""    Sequential  1     (1, 3)
    0     Linear      1     (1, 3)
    """
    paths = {path: part for path, part in places(module) if not compiled(module, path)}
    if not inputs and not named:
        return Table(("path", "module"), [(path or "\"\"", type(part).__name__) for path, part in paths.items()])
    ran: Counter = Counter()
    came: dict[nn.Module, str] = {}

    def see(part: nn.Module, args: tuple, output: Any) -> None:
        ran[part] += 1
        came.setdefault(part, described(output))

    with at_rest(module), ExitStack() as hooks:
        for part in set(paths.values()):
            hooks.callback(part.register_forward_hook(see).remove)
        module(*inputs, **named)
    rows = [(path or "\"\"", type(part).__name__, str(ran[part]), came.get(part, "never called"))
            for path, part in paths.items()]
    return Table(("path", "module", "runs", "output"), rows)


def unseen(module: nn.Module, *inputs: Any, **named: Any) -> Table:
    """What `watch` cannot show of `module`, where, and what to do about it.

    Without inputs only what its parts are is looked at: fused attentions, compiled or scripted parts, modules in two
    places, parts that hold parameters of their own. With inputs it runs once, as in `watchable`, and every call of an
    attention or softmax that no module's output shows is listed too, as well as parts that never ran.
    """
    rows = _still(module)
    if inputs or named:
        rows += _running(module, lambda: module(*inputs, **named))
    return Table(("where", "what", "why, and what to do"), rows)


def _still(module: nn.Module) -> list[tuple[str, str, str]]:
    """What can be told without running it."""
    rows = []
    for path, part in places(module):
        if reason := compiled(module, path):
            if not path or not compiled(module, path.rpartition(".")[0]):
                rows.append((path or "\"\"", type(part).__name__, reason))
            continue
        if isinstance(part, nn.MultiheadAttention):
            rows.append((path, "scores, weights, projections", "made inside torch; the weights come out, as entry 1, "
                         "only where it is called with need_weights=True, and out_proj is never called"))
        if isinstance(part, nn.TransformerEncoderLayer):
            rows.append((path, "the fused path", "in evaluation it runs its parts without calling them; while one of "
                         "them is watched it takes the ordinary path, whose last digits may differ"))
        if shared := others(module, path):
            rows.append((path, "which call it was", f"the same module as {', '.join(shared)}; use rounds=True"))
    return rows


def _running(module: nn.Module, run: Callable) -> list[tuple[str, str, str]]:
    """What one run shows: calls inside of modules, and parts that were not called."""
    paths: dict[nn.Module, str] = {}
    for path, part in places(module):
        paths.setdefault(part, path)
    inside: list[nn.Module] = []
    ran: set[nn.Module] = set()
    calls: Counter = Counter()

    def enter(part: nn.Module, args: tuple) -> None:
        inside.append(part)
        ran.add(part)

    def leave(part: nn.Module, args: tuple, output: Any) -> None:
        inside.pop()

    with at_rest(module), ExitStack() as hooks:
        for part in paths:
            if not isinstance(part, torch.jit.ScriptModule):
                hooks.callback(part.register_forward_pre_hook(enter).remove)
                hooks.callback(part.register_forward_hook(leave).remove)
        with _Listening(lambda part, what: calls.update([(paths[part], *what)]), inside):
            run()
    rows = [(path or "\"\"", f"{what}{f', {n} times' if n > 1 else ''}", why) for (path, what, why), n in calls.items()]
    idle = [path for part, path in paths.items() if part not in ran and not compiled(module, path)
            and type(part).forward is not nn.Module.forward and not path.endswith(".out_proj")]
    return rows + [(path, "the whole part", "it was not called in this run") for path in idle]


class _Listening(TorchFunctionMode):
    """Tells `heard` of every attention and softmax inside a module; the last of `inside` is the one that runs."""

    def __init__(self, heard: Callable[[nn.Module, tuple[str, str]], None], inside: list[nn.Module]) -> None:
        super().__init__()
        self.heard, self.inside = heard, inside

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in ASIDE and self.inside and not isinstance(self.inside[-1], KNOWN):
            self.heard(self.inside[-1], ASIDE[func])
        return func(*args, **(kwargs or {}))


@contextmanager
def at_rest(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every part is in the mode it was in."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes.items():
            part.training = mode
