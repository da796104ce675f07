"""Explorers: a torch function with handles, live in Jupyter through the kernel and in the book through its graph."""

from tsattn_mini.explore.explorer import Explorer
from tsattn_mini.explore.inputs import Cells, Choice, Slider, Toggle
from tsattn_mini.explore.tokens import Tokens

__all__ = ["Cells", "Choice", "Explorer", "Slider", "Toggle", "Tokens"]
