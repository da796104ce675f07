"""A state dict of a model of this package: its names are ours, and the model computes as its class does by itself."""

import re
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from tsattn_mini.embedding import sinusoids
from tsattn_mini.official import library, weights

NOTHING = re.compile(r"(?!)")
LAYOUTS = {  # of tensors that a released state dict lays out in another way
    library.POINTWISE: lambda t: t[..., None],
    library.BY_MODE: lambda t: t.permute(1, 2, 3, 0) if t.ndim == 4 else t,
}


def layout(module: ModuleType) -> SimpleNamespace:
    """What `module` has for the released state dicts of its model, for those of this package."""
    return SimpleNamespace(MODEL=module.MODEL, NAMES=module.NAMES, NEEDED=module.NEEDED, RELEASED={},
                           OPTIONAL=(*module.OPTIONAL, *getattr(module, "OURS", ())),
                           told=lambda state: module.told(_released(module, state)), load=partial(_load, module))


def _load(module: ModuleType, state: weights.State, **config: Any) -> nn.Module:
    """See `tsattn_mini.official.load_checkpoint`; what is neither told nor given is as in the class."""
    state = weights.plain(state)
    net = module.build(_released(module, state), config)
    _check_followed(state, net, getattr(module, "FOLLOWS", NOTHING))
    weights.transfer(state, net, rules=())
    return net


def _check_followed(state: weights.State, net: nn.Module, follows: re.Pattern[str]) -> None:
    for name, t in net.state_dict().items():
        if follows.match(name) and name in state and not torch.equal(state[name], t):
            raise ValueError(f"state dict: {name!r} holds other numbers than these settings give, so they are those of "
                             "another model")


def _released(module: ModuleType, state: weights.State) -> weights.State:
    """The same tensors, named and laid out as the released code saves them."""
    named = weights.renamed(state, [*module.RULES, library.CALENDAR[_calendar(state)]])
    return {name: next((laid(t) for pattern, laid in LAYOUTS.items() if pattern.search(name)), t)
            for name, t in named.items()}


def _calendar(state: weights.State) -> str:
    """Do the tables of the calendar, if there are any, hold the sinusoids that never train?"""
    tables = [t for name, t in state.items() if ".time.tables." in name and t.ndim == 2]
    return "fixed" if all(torch.equal(t, sinusoids(*t.shape).to(t)) for t in tables) else "learned"
