"""tsattn_mini: how modern sequence models modulate attention, in modules small enough to read."""

from importlib import import_module
from typing import Any

HOMES = {  # a module's own name would hide what it holds
    "record": "trace", "scope": "trace", "step": "trace", "watch": "watching", "Watched": "watching",
    "watchable": "looking", "unseen": "looking"}

__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    """The names above, on first use: torch takes seconds to load, and a command line that asks for help needs none."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
