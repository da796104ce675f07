"""tsattn_mini: how modern sequence models modulate attention, in modules small enough to read."""

from importlib import import_module
from typing import Any

__all__ = ["record", "scope", "step"]


def __getattr__(name: str) -> Any:
    """The names above, on first use: torch takes seconds to load, and a command line that asks for help needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tsattn_mini.trace"), name)
