"""Explorers: a torch function with handles, live in Jupyter through the kernel and in the book through its graph."""

from tsattn_mini.explore.explorer import Explorer
from tsattn_mini.explore.inputs import Cells, Choice, Slider, Toggle
from tsattn_mini.explore.joined import Joined
from tsattn_mini.explore.presets import Preset
from tsattn_mini.explore.tokens import Tokens
from tsattn_mini.explore.window import Window

__all__ = ["Cells", "Choice", "Explorer", "Joined", "Preset", "Slider", "Toggle", "Tokens", "Window"]
