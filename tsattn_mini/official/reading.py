"""Weights out of a file or a dict as people save them; nothing in a file is ever run.

`torch.load(weights_only=True)` builds tensors and plain values and refuses everything else. Numbers, arrays and paths
that NumPy and Python wrote beside the weights are plain values as well: the stand-ins of `tsattn_mini.official.plain`
take the place of the code that would make them.
"""

import pickletools
import re
import zipfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tsattn_mini.official.plain import STAND_INS, Array

SAVE = "torch.save(model.state_dict(), 'weights.pth')"
USUAL = ("state_dict", "model_state_dict", "model", "model_state", "net", "network", "module", "weights", "params")
SETTINGS = ("args", "config", "configs", "hyper_parameters", "hparams", "opt", "cfg")
ASIDE = re.compile(r"optim|sched|scaler|loops|callbacks|_extra_state$", re.IGNORECASE)  # hold other tensors
COUNTERS = ("total_ops", "total_params")  # left by a tool that counts operations
HALF = {torch.float16, torch.bfloat16}
DEPTH = 3
MAGIC = b"l\xfc\x9cF\xf9 j\xa8P\x19"  # what torch.save began with before it wrote zip archives
PICKLES = 4  # in a file of that time: the mark above, a version, the machine, and what was saved
CUT = "is cut short or damaged: copy or download it again"
NOT_WEIGHTS = [
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file itself: fetch it with `git lfs pull`"),
    (b"\x1f\x8b", "is compressed by gzip: unpack it first"),
    (b"\x89HDF", "is an HDF5 file, which other libraries write: only files of torch.save are read"),
    (b"<!doctype", "is a web page, not weights: download the file itself"),
    (b"<html", "is a web page, not weights: download the file itself"),
]


@dataclass(frozen=True)
class Found:
    """What was read: the state dict, where in the file it lay, what else was there, the settings beside it."""

    state: dict[str, Tensor]
    place: str = ""
    left: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None


def read(path_or_dict: str | Path | Mapping[str, Any]) -> Found:
    """The weights of a file or a dict, with whatever wrapping is usual.

    Raises:
        ValueError: in one line what the file is instead, or what is wrong with it, and what to do.
    """
    path = Path(path_or_dict) if isinstance(path_or_dict, (str, Path)) else None
    whole = path_or_dict if path is None else _file(path)
    if isinstance(whole, torch.nn.Module):
        raise ValueError("state dict: got a module; pass its weights, model.state_dict()")
    if not isinstance(whole, Mapping) or not whole:
        raise ValueError(f"state dict: expected names with tensors, got {type(whole).__name__}"
                         f"{' without entries' if isinstance(whole, Mapping) else ''}")
    place, state = _weights(whole)
    settings = next((dict(s) for s in (_mapping(whole.get(name)) for name in SETTINGS) if s), {})
    kept = {name: value.tensor() if isinstance(value, Array) else value for name, value in state.items()
            if isinstance(value, (Tensor, Array)) and isinstance(name, str) and not name.endswith(COUNTERS)}
    if not kept:
        raise ValueError("state dict: expected names with tensors, got tensors without names")
    left = [name for name in state if name not in kept]
    return Found(_one_dtype(kept), place, tuple(map(str, left)), settings, path)


def _weights(whole: Mapping) -> tuple[str, Mapping]:
    """Where the state dict lies in `whole`, and the state dict itself."""
    found = dict(_candidates(whole))
    if not found and any(isinstance(value, (Tensor, Array)) for value in whole.values()):
        return "", whole
    if len(found) > 1:
        usual = [place for name in USUAL for place in found if place.split(".")[-1] == name]
        shallow = [place for place in usual if place.count(".") == min(p.count(".") for p in usual)]
        if not shallow:
            raise ValueError(f"state dict: the file holds several, {', '.join(map(repr, found))}; load it with "
                             "torch.load(path, weights_only=True) and pass the one you mean")
        found = {shallow[0]: found[shallow[0]]}
    for place, state in found.items():
        return place, state
    kinds = ", ".join(f"{type(value).__name__} under {name!r}" for name, value in list(whole.items())[:4])
    raise ValueError(f"state dict: expected names with tensors, got {kinds}")


def _candidates(whole: Mapping, place: str = "", depth: int = DEPTH) -> Iterator[tuple[str, Mapping]]:
    """Every nested dict that holds tensors under words, and its place."""
    for name, value in whole.items():
        if isinstance(value, Mapping) and isinstance(name, str) and not ASIDE.search(name):
            here = f"{place}.{name}" if place else name
            if any(isinstance(v, (Tensor, Array)) and isinstance(k, str) for k, v in value.items()):
                yield here, value
            elif depth > 1:
                yield from _candidates(value, here, depth - 1)


def _mapping(value: Any) -> dict[str, Any]:
    """The settings under words with plain values; tensors and the like among them are none."""
    found = vars(value) if isinstance(value, Namespace) else value if isinstance(value, Mapping) else {}
    return {name: entry for name, entry in found.items() if isinstance(name, str) and _plain(entry)}


def _plain(value: Any) -> bool:
    return all(map(_plain, value)) if isinstance(value, (list, tuple)) else isinstance(value, (bool, int, float, str))


def _one_dtype(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Half precision beside another: all in float32, which holds every one of these numbers."""
    dtypes = {value.dtype for value in state.values() if value.is_floating_point()}
    if len(dtypes) > 1 and dtypes <= HALF | {torch.float32}:
        return {name: value.float() if value.is_floating_point() else value for name, value in state.items()}
    return state


def _file(path: Path) -> Any:
    """What torch.save wrote to `path`, as tensors and plain values."""
    refuse = lambda why: ValueError(f"path_or_dict: {str(path)!r} {why}")  # noqa: E731
    if path.is_dir():
        inside = sorted(p.name for end in ("pth", "pt", "ckpt", "bin") for p in path.glob(f"*.{end}"))
        raise refuse(f"is a folder; pass a file in it{': ' + ', '.join(inside[:3]) if inside else ''}")
    if not path.exists():
        raise refuse("does not exist")
    if not path.is_file():
        raise refuse("is a device or a pipe; pass a file")
    if why := _not_of_torch(path):
        raise refuse(why)
    with torch.serialization.safe_globals(STAND_INS):
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:
            raise refuse(_refused(path, error)) from error


def _not_of_torch(path: Path) -> str | None:
    """What the file is, if its first bytes say that torch.save did not write it."""
    with path.open("rb") as file:
        head = file.read(512)
    size = path.stat().st_size
    if not head:
        return "is empty: copy or download it again"
    for start, why in NOT_WEIGHTS:
        if head.lstrip().lower().startswith(start.lower()):
            return why
    if size > 8 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size:
        return ("is a safetensors file, only files of torch.save are read; where safetensors is installed: "
                "torch.save(safetensors.torch.load_file(path), 'weights.pth')")
    if head.startswith(b"PK"):
        return _zip(path)
    if not head.startswith(b"\x80"):
        return "is not a file that torch.save wrote"
    if MAGIC not in head[:24]:
        return CUT if size < len(MAGIC) + 4 else f"is a pickle that torch.save did not write; where it was made: {SAVE}"
    return None


def _zip(path: Path) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except Exception:  # of many kinds, where the list of contents is damaged
        return CUT
    if any(name.endswith(("/constants.pkl", "/code/")) or "/code/" in name for name in names):
        return f"is TorchScript, which is code, not weights; where it was made: {SAVE}"
    if any(name.endswith(".npy") for name in names):
        return "is a file of NumPy; pass its arrays as tensors, {name: torch.from_numpy(array)}"
    if not any(name.endswith("/data.pkl") for name in names):
        return "is a zip archive, but not one that torch.save wrote"
    return None


def _refused(path: Path, error: Exception) -> str:
    """Why torch did not read the file: code in it, or damage."""
    if not zipfile.is_zipfile(path) and not _whole_pickles(path):
        return CUT
    named = re.search(r"GLOBAL (?:builtins\.)?([\w.]+)", str(error))
    try:
        names = sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
    except Exception:  # an old format, or damage: the first name is all there is
        names = []
    names = names or ([named[1]] if named else [])
    if any(name.startswith("torch.nn.") for name in names):
        own = [name for name in names if not name.startswith(("torch.", "collections.", "builtins."))]
        kind = f" ({own[0]})" if own else ""
        return f"holds a whole model{kind}, which is code and is not run; where it was made, save the weights: {SAVE}"
    if names:
        what = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        return f"holds code ({what}), which is not run; where it was made, save the weights alone: {SAVE}"
    if "Unsupported" in str(error) or "Trying to" in str(error) or "Can only" in str(error):
        return f"holds more than weights and plain values; where it was made, save the weights alone: {SAVE}"
    return CUT


def _whole_pickles(path: Path) -> bool:
    """Do the pickles of an old file end as they should? They are only looked through, opcode by opcode."""
    try:
        with path.open("rb") as file:
            for _ in range(PICKLES):
                for _ in pickletools.genops(file):
                    pass
    except Exception:  # of many kinds, where a pickle breaks off
        return False
    return True
