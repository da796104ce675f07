"""tsattn_mini: how modern sequence models modulate attention, in modules small enough to read."""

from tsattn_mini.trace import record, scope, step

__all__ = ["record", "scope", "step"]
