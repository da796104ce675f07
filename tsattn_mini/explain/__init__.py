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
from tsattn_mini.explain import autoformer, duet, fedformer, informer, itransformer, kite, nonstationary, timexer
from tsattn_mini.explain.parts import Block, run
from tsattn_mini.explain.rows import Rows
from tsattn_mini.kite.forecaster import KITE
from tsattn_mini.nonstationary import NonstationaryTransformer
from tsattn_mini.trace import Trace
from tsattn_mini.zoo.autoformer import Autoformer
from tsattn_mini.zoo.duet import DUET
from tsattn_mini.zoo.fedformer import FEDformer
from tsattn_mini.zoo.informer import Informer
from tsattn_mini.zoo.itransformer import ITransformer
from tsattn_mini.zoo.timexer import TimeXer

FORECASTERS = {NonstationaryTransformer: nonstationary, Informer: informer, Autoformer: autoformer,
               FEDformer: fedformer, ITransformer: itransformer, TimeXer: timexer, DUET: duet, KITE: kite}


def explorers(model: nn.Module, series: Series, *, start: int | str | pd.Timestamp | None = None,
              scaled: bool = True) -> list[Block]:
    """The blocks of a page that explains `model` on `series`: words, tables, figures and explorers.

    Args:
        model: as `official.load_checkpoint` gives it; it is not changed.
        series: of as many columns as the weights read, the target among them (see `datasets.read_csv`).
        start: the row or the date at which the first window begins; the last window of the series when left out.
        scaled: z-score every column with mean and deviation of the first 70 % of the rows, as the released training
            code does; False leaves the numbers as they are.

    Raises:
        ValueError: a model of another class, columns or time marks that do not fit its weights, too few rows, or a
            `start` outside.
    """
    part, model = _part(model), copy.deepcopy(model).float().eval()
    return part.blocks(model, _rows(part, model, series, start, scaled))


def trace(model: nn.Module, series: Series, *, start: int | str | pd.Timestamp | None = None,
          scaled: bool = True) -> Trace:
    """Every named step of one window on its way through `model`. Arguments and errors as for `explorers`."""
    part, model = _part(model), copy.deepcopy(model).float().eval()
    rows = _rows(part, model, series, start, scaled)
    return run(lambda: part.forward(model, rows, rows.first_window()), follow=True)


def _part(model: nn.Module) -> ModuleType:
    """The module here that explains models of this class."""
    for kind, part in FORECASTERS.items():
        if isinstance(model, kind):
            return part
    known = ", ".join(kind.__name__ for kind in FORECASTERS)
    raise ValueError(f"model: expected one of {known}, got {type(model).__name__}")


def _rows(part: ModuleType, model: nn.Module, series: Series, start: int | str | pd.Timestamp | None,
          scaled: bool) -> Rows:
    if not isinstance(series, Series):
        raise ValueError(f"series: expected a Series, as read_csv gives it, got {type(series).__name__}")
    return part.rows(model, series, start, scaled)
