"""Move a released state dict into a module of this package: same tensors, other names."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

from tsattn_mini import checks

MOST = 6  # problems that are told one by one
PLAIN = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
         torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
State = dict[str, Tensor]
Rules = Sequence[tuple[str, str | Callable[[re.Match], str]]]


def plain(state: Mapping[str, Any]) -> State:
    """The same state without the prefix "module." that `DataParallel` puts in front of every name.

    Raises:
        ValueError: something else than a non-empty state dict of finite numbers and one floating dtype.
    """
    if not isinstance(state, Mapping) or not state:
        raise ValueError(f"state dict: expected names with tensors, got {type(state).__name__}"
                         f"{' without entries' if isinstance(state, Mapping) else ''}")
    for name, value in state.items():
        if not isinstance(value, Tensor):
            raise ValueError(f"state dict: expected a tensor under {name!r}, got {type(value).__name__}")
        if value.layout != torch.strided or value.is_quantized or value.is_meta:
            raise ValueError(f"state dict: expected plain numbers under {name!r}, got a sparse, a quantised or a meta "
                             "tensor")
        if value.dtype not in PLAIN:
            raise ValueError(f"state dict: expected float16, bfloat16, float32 or float64 under {name!r}, "
                             f"got {checks.dtype_name(value.dtype)}")
        checks.finite(**{f"state dict: {name!r}": value})
    dtypes = {str(value.dtype) for value in state.values() if value.is_floating_point()}
    if len(dtypes) != 1:
        raise ValueError(f"state dict: expected weights of one floating dtype, got {sorted(dtypes)}")
    prefix = "module." if all(name.startswith("module.") for name in state) else ""
    return {name.removeprefix(prefix): value for name, value in state.items()}


def size(state: State, name: str, axis: int, rank: int) -> int:
    """How long `state[name]` is along `axis`.

    Raises:
        ValueError: no such key, or another number of axes.
    """
    if name not in state:
        raise ValueError(f"state dict: missing key {name!r}; is this a checkpoint of this model?")
    if state[name].ndim != rank:
        raise ValueError(f"state dict: expected {rank} axes under {name!r}, got {tuple(state[name].shape)}")
    return state[name].shape[axis]


def count(state: State, pattern: str) -> int:
    """How many different words, such as layer numbers, the first group of `pattern` meets among the names."""
    return len({m[1] for name in state if (m := re.match(pattern, name))})


def transfer(state: State, net: nn.Module, rules: Rules, also: Sequence[str] = (), own: str = r"(?!)") -> None:
    """Copy every tensor of `state` into `net`, which takes on its dtype.

    Args:
        rules: pairs (pattern, replacement) for `re.sub`, applied in order; they turn a name of `net` into the
            released one.
        also: released names that may be there although nothing is copied from them.
        own: pattern of names of `net` that no released state dict holds, such as stored random indices; they stay.
    Raises:
        ValueError: listing the keys that are missing, unknown, or of the wrong shape. A released convolution
            over one position is the same matrix as a linear layer, with a last axis of 1.
    """
    ours = net.state_dict()
    kept = {name: value for name, value in ours.items() if re.search(own, name)}
    names = {_released(name, rules): name for name in ours if name not in kept}
    problems = [f"missing key {name!r}" for name in sorted(set(names) - set(state))]
    problems += [f"unknown key {name!r}" for name in sorted(set(state) - set(names) - set(also))]
    for released in sorted(set(names) & set(state)):
        want, got = tuple(ours[names[released]].shape), tuple(state[released].shape)
        if got not in (want, (*want, 1)):
            problems.append(f"key {released!r} has shape {got} instead of {want}")
    if problems:
        more = f"; and {len(problems) - MOST} more like these" if len(problems) > MOST else ""
        raise ValueError(f"state dict: {'; '.join(problems[:MOST])}{more}")
    net.to(next(value.dtype for value in state.values() if value.is_floating_point()))
    net.load_state_dict({**kept, **{name: state[key].reshape(ours[name].shape) for key, name in names.items()}})


def check_table(state: State, name: str, table: Tensor) -> None:
    """Check that a stored constant, cut to any number of rows, is the table that this package computes.

    Both hold float32 sines of arguments up to 5000, whose own rounding is 3e-4.

    Raises:
        ValueError: naming the key and how far off it is.
    """
    if name not in state:
        return
    width, shape = table.shape[-1], tuple(state[name].shape)
    if not state[name].is_floating_point() or shape[-1:] != (width,) or state[name].numel() > table.numel():
        raise ValueError(f"state dict: expected up to {len(table)} rows of width {width} under {name!r}, "
                         f"got {shape} of {checks.dtype_name(state[name].dtype)}")
    stored = state[name].reshape(-1, width)
    off = float((stored - table[:len(stored)].to(stored)).abs().max())
    if not off <= max(1e-3, 2 * torch.finfo(stored.dtype).eps):
        raise ValueError(f"state dict: {name!r} is not the table of fixed sinusoids, it is off by {off:.1e}")


def settings(given: Mapping[str, Any], names: Mapping[str, str], found: Mapping[str, Any],
             needed: Mapping[str, str], optional: Sequence[str]) -> dict[str, Any]:
    """The settings of a run under our names, compared with what its weights tell.

    Settings of the released run that play no part here (learning rate, paths, ...) are passed over, so a
    whole configuration can be given; a name that looks like one of ours misspelled is refused.

    Args:
        given: what the caller passed; names: released name → our name.
        found: what the weights tell; needed: what they do not tell, with a word on what it is.
        optional: settings with a default.
    Raises:
        ValueError: a setting that is misspelled, missing, or contradicts the weights.
    """
    known = {**{ours: ours for ours in (*found, *needed, *optional)}, **names}
    config = dict(found)
    for name, value in given.items():
        if name not in known:
            if close := get_close_matches(name, known, n=1, cutoff=0.86):
                raise ValueError(f"{name}: not a setting of this model; did you mean {close[0]}?")
        elif known[name] not in found:
            config[known[name]] = value
        elif comparable(value) != comparable(found[known[name]]):
            raise ValueError(f"{name}: the weights say {found[known[name]]}, got {value}")
    if missing := [f"{name}: no weight tells it, so it must be given: {meaning}"
                   for name, meaning in needed.items() if name not in config]:
        raise ValueError("; ".join(missing))
    return config


def comparable(value: Any) -> Any:
    """A setting as it compares with another: a tuple is a list."""
    return list(value) if isinstance(value, (list, tuple)) else value


def renamed(state: State, rules: Rules) -> State:
    """The tensors of a state dict of ours under their released names; `rules` as for `transfer`."""
    return {_released(name, rules): value for name, value in state.items()}


def _released(name: str, rules: Rules) -> str:
    for pattern, replacement in rules:
        name = re.sub(pattern, replacement, name)
    return name
