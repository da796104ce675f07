"""A checkpoint and a CSV file as somebody brings them."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import released
import torch

SET = ["n_heads=2", "label_len=3", "pred_len=5"]


def checkpoint(path: Path, **sizes) -> Path:
    """A Non-stationary Transformer of 3 variables and 11 past steps, unless `sizes` say otherwise."""
    torch.save(released.random_state(**sizes), path)
    return path


def data(path: Path, columns=("load", "wind", "price"), rows=200, start="2016-07-01") -> Path:
    """Hourly numbers under any names."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(50, 10, (rows, len(columns))).round(3), columns=list(columns))
    frame.insert(0, "date", pd.date_range(start, periods=rows, freq="h").astype(str))
    frame.to_csv(path, index=False)
    return path


class Code:
    """What runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def bad_checkpoints(folder: Path) -> dict[str, tuple[Path, str]]:
    """Files that are no checkpoint, each with words that its error says."""
    good = checkpoint(folder / "good.pth").read_bytes()
    made = {"code": (pickle.dumps({"w": Code(folder / "ran")}), "code"), "cut": (good[:len(good) // 2], "cut short"),
            "empty": (b"", "empty"), "words": (b"not a checkpoint at all", "torch.save"),
            "page": (b"<!doctype html><title>404</title>", "web page")}
    for name, (content, _) in made.items():
        (folder / f"{name}.pth").write_bytes(content)
    torch.save({"w": Code(folder / "ran")}, folder / "zipped.pth")
    torch.save(torch.nn.Linear(2, 2), folder / "module.pth")
    found = {name: (folder / f"{name}.pth", said) for name, (_, said) in made.items()}
    return found | {"zipped": (folder / "zipped.pth", "code"), "module": (folder / "module.pth", "state_dict"),
                    "gone": (folder / "gone.pth", "gone.pth"), "folder": (folder, "folder")}
