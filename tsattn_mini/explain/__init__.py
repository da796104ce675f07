"""What a page says of a loaded model: what it is, one forward pass with handles, and what modulates it over time.

`explorers(model, series)` gives the blocks of a page that `explore.page.write` writes. Each model has a file here
with its `blocks`; the class of the model finds it. A model of up to a million weights goes into the page whole, so that
the reader may move the window; of a larger one a page holds what enters its attentions, for a few windows.
"""

import copy
from types import ModuleType

import pandas as pd
from torch import nn

from tsattn_mini.datasets import Series
from tsattn_mini.engram.memory import Engram
from tsattn_mini.explain import (
    autoformer,
    duet,
    engram,
    fedformer,
    informer,
    itransformer,
    kite,
    nonstationary,
    timexer,
)
from tsattn_mini.explain.parts import Block, about_handles, run
from tsattn_mini.explain.rows import Rows
from tsattn_mini.explore import Explorer
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.trace import Trace
from tsattn_mini.zoo.autoformer import Autoformer
from tsattn_mini.zoo.duet import DUET
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.informer import Informer
from tsattn_mini.zoo.itransformer import ITransformer
from tsattn_mini.zoo.timexer import TimeXer

MODELS = {NonstationaryTransformer: nonstationary, Informer: informer, Autoformer: autoformer, FEDformer: fedformer,
          ITransformer: itransformer, TimeXer: timexer, DUET: duet, KITE: kite, Engram: engram}


def explorers(model: nn.Module, series: Series | None = None, *, start: int | str | pd.Timestamp | None = None,
              scaled: bool = True, text: str | None = None) -> list[Block]:
    """The blocks of a page that explains `model` on `series`: words, tables, figures and explorers.

    Args:
        model: as `official.load_checkpoint` gives it; it is not changed.
        series: of as many columns as the weights read, the target among them (see `datasets.read_csv`).
        start: the row or the date at which the first window begins; the last window of the series when left out.
        scaled: z-score every column with mean and deviation of the first 70 % of the rows, as the released training
            code does; False leaves the numbers as they are.
        text: what `Engram` reads, in place of a series.

    Raises:
        ValueError: a model of another class, columns or time marks that do not fit its weights, too few rows, a
            `start` outside, or a text that the model's tokens cannot spell.
    """
    part, model = _part(model), copy.deepcopy(model).float().eval()
    blocks = part.blocks(model, _read(part, model, series, start, scaled, text))
    live = [block for block in blocks if isinstance(block, Explorer)]
    blocks.insert(blocks.index(live[0]), about_handles(live))
    return blocks


def trace(model: nn.Module, series: Series | None = None, *, start: int | str | pd.Timestamp | None = None,
          scaled: bool = True, text: str | None = None) -> Trace:
    """Every named step of one window, or text, on its way through `model`. Arguments and errors as for `explorers`."""
    part, model = _part(model), copy.deepcopy(model).float().eval()
    read = _read(part, model, series, start, scaled, text)
    return run(lambda: part.forward(model, read, read.first_window()), follow=True)


def _part(model: nn.Module) -> ModuleType:
    """The module here that explains models of this class."""
    for kind, part in MODELS.items():
        if isinstance(model, kind):
            return part
    known = ", ".join(kind.__name__ for kind in MODELS)
    raise ValueError(f"model: expected one of {known}, got {type(model).__name__}")


def _read(part: ModuleType, model: nn.Module, series: Series | None, start: int | str | pd.Timestamp | None,
          scaled: bool, text: str | None) -> Rows | engram.Spelled:
    """What the model reads, as it takes it."""
    if isinstance(model, Engram):
        if series is not None or not isinstance(text, str):
            raise ValueError("text: Engram reads a text and no series, so pass text=\"…\", got "
                             f"{type(text if series is None else series).__name__}")
        return engram.spell(model, text)
    if text is not None:
        raise ValueError(f"text: {type(model).__name__} reads a series and no text, got {text!r}")
    if not isinstance(series, Series):
        raise ValueError(f"series: expected a Series, as read_csv gives it, got {type(series).__name__}")
    return part.rows(model, series, start, scaled)
