"""Colours of a heat map, one by one or as a picture in which every number is one pixel."""

import struct
import zlib
from base64 import b64encode

import torch
from jaxtyping import Float
from torch import Tensor

ZERO, WARM, COOL = (245, 245, 242), (240, 138, 36), (74, 144, 226)


def rgb(on: float) -> str:
    """The colour of a place on the scale, -1 … 1, as `#rrggbb`."""
    end = WARM if on > 0 else COOL
    return "#" + "".join(f"{round(z + (e - z) * abs(on)):02x}" for z, e in zip(ZERO, end, strict=True))


def shades(x: Float[Tensor, "R C"], scale: str, top: float) -> Float[Tensor, "R C"]:
    """`scales.shade` of every number."""
    x = x.double()
    on = x.clamp(0, 1) if scale == "gate" else x.clamp(0, 1).sqrt() if scale == "unit" else (x / top).clamp(-1, 1)
    return torch.where(x.isfinite(), on, 0.0)


def image(x: Float[Tensor, "R C"], scale: str, top: float) -> str:
    """A PNG of R × C pixels as the address of itself (`data:image/png;base64,…`)."""
    on = shades(x, scale, top)[..., None]
    zero, warm, cool = (torch.tensor(colour, dtype=torch.float64) for colour in (ZERO, WARM, COOL))
    colours = (zero + (torch.where(on > 0, warm, cool) - zero) * on.abs()).round().to(torch.uint8)
    rows = torch.cat([torch.zeros(len(x), 1, dtype=torch.uint8), colours.flatten(1)], dim=1)  # 0: a row without filter
    head = struct.pack(">IIBBBBB", x.shape[1], x.shape[0], 8, 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows.numpy().tobytes(), 9)), (b"IEND", b"")
    whole = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts)
    return "data:image/png;base64," + b64encode(whole).decode()
