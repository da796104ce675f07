"""A checkpoint becomes a module of this package; what its weights tell, and what they do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from torch import Tensor, nn

from tsattn_mini.checks import dtype_name
from tsattn_mini.figures import Table
from tsattn_mini.official import (
    autoformer,
    duet,
    engram,
    fedformer,
    informer,
    itransformer,
    kite,
    nonstationary,
    own,
    timexer,
    weights,
)
from tsattn_mini.official.reading import Found, read
from tsattn_mini.official.recognising import marked, recognise, saved_here
from tsattn_mini.official.released_settings import in_folder

MODELS: dict[str, ModuleType] = {
    "nonstationary": nonstationary, "informer": informer, "autoformer": autoformer, "fedformer": fedformer,
    "itransformer": itransformer, "timexer": timexer, "duet": duet, "kite": kite, "engram": engram}
LIBRARY = {  # what thuml/Time-Series-Library takes where its command line says nothing
    "seq_len": 96, "label_len": 48, "pred_len": 96, "V": 7, "H": 8, "kernel": 25, "factor": 1, "features": "M"}
INSIDE = {"activation": "gelu", "seed": 0, "sigma_min": 0.15, "structure_max": 0.9}  # where a part of the model has it
TABLES = ("position_embedding.pe",)
COUNTED = ("running_mean", "running_var")  # of what passed through, which no gradient moves
OFF = (autoformer, duet)  # these load as the papers have it, the others as released
FROM_LIBRARY = ("nonstationary", "informer", "autoformer", "fedformer", "itransformer", "timexer")
OWN = "a model of this package; what its class was given beside the sizes must be given again"
READ, BESIDE, FOLDER, GIVEN = "read from the weights", "in the file", "in the folder's name", "given"


def kind(name: str, ours: bool) -> ModuleType | SimpleNamespace:
    """What there is for state dicts of a model: released ones, or ours."""
    return own.layout(MODELS[name]) if ours else MODELS[name]


def load_checkpoint(path_or_dict: str | Path | Mapping[str, Any], model: str | None = None, **config: Any) -> nn.Module:
    """The module of this package with the weights of a checkpoint, of a released model or of ours, in evaluation mode.

    The weights move as they are, bit by bit; only their names change. Sizes are read from the weights; `config` adds
    what no weight tells, and is compared with what they do tell. Settings that lie in the file beside the weights, or
    in the name of the folder that Time-Series-Library saves to, are taken too, after those of `config`. The names of
    the released settings are understood as well as ours (`d_model` is `M`, `n_heads` is `H`), and a whole released
    configuration may be passed (`configuration` reads one). `settings` tells all this.

    A state dict that a model of this package saved is known by its names and loaded with the defaults of its class:
    what the class was given beside the sizes (a released switch, say) is passed here again.

    Args:
        path_or_dict: a file written by `torch.save`, or what it holds: a state dict, alone or under a name such as
            "state_dict" or "model". What `DataParallel`, `torch.compile` and Lightning put in front of every name, and
            counters of operations, are passed over. Half precision stays as it is (`.float()` makes it run everywhere),
            unless it is mixed with float32. Nothing in a file is run.
        model: one of `MODELS`, or its released name; left out, it is found by the weights.
        config: "nonstationary" needs `label_len`, `pred_len` and `n_heads`, and `activation="relu"` if it was trained
            with that; "kite" needs `n_heads` (`min_sigma` and `structure_max` if they were changed), and its parameters
            that no forward pass reads, `res_blocks` and `prior_bias`, are left out; "engram", one layer of it, needs
            what the state dict does not hold: `vocab`, `layers`, `layer`, `sizes`, `H` and `pad`; "itransformer" needs
            `enc_in` and `n_heads`, "timexer" also `features`, and both take `marks`, the number of mark columns, if it
            is not 4; "duet" needs `n_heads`, `k` and `moving_avg`, and `CI=False` if it was trained so; "autoformer"
            needs `seq_len`, `label_len`, `pred_len`, `n_heads`, `moving_avg` and `factor`; both leave the departures of
            the released code off until each is passed, as `settings` lists them; "informer" needs those without
            `moving_avg`, and `task_name="short_term_forecast"` if it was trained so; it computes as released, and each
            of its `released_…` switches can be set to False; "fedformer" as well, and needs `seq_len`, `label_len`,
            `pred_len`, `moving_avg`, and the kept bins (`modes_enc`, `modes_dec_self`, `modes_cross_q`,
            `modes_cross_kv`) where the released draw had a choice, or `mode_select="low"`.

    Raises:
        ValueError: in one line, a file that is no checkpoint or holds code, an unknown model or one that the weights do
            not look like, a setting that is missing, misspelled or contradicts the weights, a key that is missing or
            unknown, or a tensor of the wrong shape (each is named).
    """
    name, state, taken, _ = _open(path_or_dict, model, config)
    return _load(kind(name, saved_here(name, state)), state, taken)


def _load(module: ModuleType | SimpleNamespace, state: dict[str, Tensor],
          taken: Mapping[str, tuple[Any, str]]) -> nn.Module:
    given = {key: value for key, (value, _) in taken.items()}
    try:
        return module.load(state, **given).eval()
    except ValueError as error:
        raise ValueError(_as_given(str(error), {module.NAMES.get(key, key): key for key in given})) from error


def _as_given(error: str, names: Mapping[str, str]) -> str:
    """An error of a module, which names arguments before its first colon, under the names these were passed by."""
    arguments, colon, rest = error.partition(": ")
    return ", ".join(names.get(name, name) for name in arguments.split(", ")) + colon + rest


@dataclass(frozen=True, repr=False)
class Settings:
    """What is known about a checkpoint before it is loaded; shown as a table.

    Attributes:
        model: our name of it.
        read: what the weights tell, given: what came with them or from the caller; under our names.
        missing: what must still be passed, under its released name, with a word on each.
        table: all of it, one setting a row, and where each comes from.
        left: names in the file that are no weights of the model and are passed over.
        ours: whether a model of this package saved it.
    """

    model: str
    read: dict[str, Any]
    given: dict[str, Any]
    missing: dict[str, str]
    table: Table
    left: tuple[str, ...]
    ours: bool

    def __repr__(self) -> str:
        return self.table.text

    def _repr_html_(self) -> str:
        return self.table.html


def settings(path_or_dict: str | Path | Mapping[str, Any], model: str | None = None, **config: Any) -> Settings:
    """What the weights of a checkpoint tell, what came with them, and what must still be passed to `load_checkpoint`.

    Arguments as there.

    Raises:
        ValueError: a file that is no checkpoint or holds code, an unknown model or one that the weights do not look
            like, weights that lack what a size is read from, or a setting that is misspelled or contradicts them; where
            nothing is missing, whatever `load_checkpoint` refuses.
    """
    name, state, taken, found = _open(path_or_dict, model, config)
    module, state = kind(name, mine := saved_here(name, state)), weights.plain(state)
    told = module.told(state)
    weights.settings(config, module.NAMES, told, {}, (*module.NEEDED, *module.OPTIONAL))  # as loading would refuse them
    given = {ours: value for key, (value, _) in taken.items() if (ours := module.NAMES.get(key, key)) not in told}
    needed = {**module.NEEDED, **(fedformer.undrawn(state, given) if module is fedformer else {})}
    missing = {_released(module, ours): text.partition(", released name")[0]
               for ours, text in needed.items() if ours not in given and ours not in told}
    if not missing:
        _load(module, state, taken)
    place = f"in the file under {found.place!r}" if found.place else "in the file" if found.path else "in the dict"
    beside = BESIDE if "model" in found.settings else FOLDER
    source = GIVEN if model else READ if name in marked(state) else beside
    fixed = {key: value for key, value in state.items() if key.endswith(TABLES)}
    learned = {key: value for key, value in state.items()
               if value.is_floating_point() and not key.endswith((*TABLES, *COUNTED))}
    rows = [("model", name, source), ("weights", _numbers(learned), place),
            *([("saved by", "tsattn-mini", OWN)] if mine else []),
            *([("fixed tables", _numbers(fixed), "sinusoids of the positions, which never train")] if fixed else []),
            *((_released(module, ours), _short(value), READ) for ours, value in told.items() if value is not None),
            *((key, _short(value), source) for key, (value, source) in taken.items()
              if module.NAMES.get(key, key) in given),
            *((key, "?", f"the weights do not tell: pass {key}=…, {text}{_default(name, module.NAMES.get(key, key))}")
              for key, text in missing.items()),
            *((key, _short(value), f"the weights do not tell: taken unless you pass {key}=…")
              for key, value in _defaults(module, given).items()),
            *((key, str(_off(value)), f"a departure of the released code, which no weight tells: off unless you pass "
               f"{key}={value}") for key, value in _departures(module, given).items())]
    if found.left:
        rows.append(("passed over", f"{len(found.left)} names", _short(", ".join(found.left))))
    return Settings(name, told, given, missing, Table(("setting", "value", "where from"), rows), found.left, mine)


def _numbers(state: Mapping[str, Tensor]) -> str:
    dtype = next(dtype_name(t.dtype) for t in state.values() if t.is_floating_point())
    return f"{sum(t.numel() for t in state.values())} numbers, {dtype}"


def _released(module: ModuleType, ours: str) -> str:
    """The released name of a setting, ours where it has none."""
    return next((released for released, name in module.NAMES.items() if name == ours), ours)


def _open(path_or_dict: Any, model: str | None, config: dict[str, Any]) \
        -> tuple[str, dict[str, Tensor], dict[str, tuple[Any, str]], Found]:
    """The model, its weights, every setting that came along with its source, and what was read."""
    found = read(path_or_dict)
    folder = in_folder(found.path.absolute().parent.name) if found.path else {}
    said = found.settings.get("model") or folder.get("model")
    name, state, left = recognise(found.state, model, said if isinstance(said, str) else None)
    module = kind(name, saved_here(name, state))
    told = module.told(weights.plain(state))
    understood = {*module.NAMES, *module.NEEDED, *module.OPTIONAL, *told, "task_name"}
    mine = {module.NAMES.get(key, key) for key in config}
    taken = {key: (value, source) for source, values in ((FOLDER, folder), (BESIDE, found.settings))
             for key, value in values.items()
             if key in understood and value is not None and module.NAMES.get(key, key) not in mine}
    _check_beside(taken, {key: told[module.NAMES.get(key, key)] for key in taken if module.NAMES.get(key, key) in told})
    taken |= {key: (value, GIVEN) for key, value in config.items()}
    return name, state, taken, Found(found.state, found.place, (*found.left, *left), found.settings, found.path)


def _check_beside(taken: dict[str, tuple[Any, str]], told: dict[str, Any]) -> None:
    """Settings that came along with weights belong to these weights, or none of them is to be believed."""
    for key, said in told.items():
        value, source = taken[key]
        if key != "distil" and weights.comparable(value) != weights.comparable(said):  # one layer never distils
            raise ValueError(f"{key}: the weights say {said}, but {source} it says {value}, so these are the settings "
                             f"of another run; pass {key}={said!r} if the others are right")


def _default(model: str, ours: str) -> str:
    """What a released run has if nothing else was said."""
    return f" (released default: {LIBRARY[ours]})" if model in FROM_LIBRARY and ours in LIBRARY else ""


def _defaults(module: ModuleType, given: Mapping[str, Any]) -> dict[str, Any]:
    """The optional settings that are no switch of a departure and were not given, with what is taken without them."""
    own = {p.name: p.default for p in signature(module.MODEL).parameters.values() if p.default is not p.empty}
    known = INSIDE | own
    return {_released(module, ours): known[ours] for ours in module.OPTIONAL if ours not in given
            and known.get(ours) is not None and not ours.startswith("released_") and ours not in module.RELEASED}


def _departures(module: ModuleType, given: Mapping[str, Any]) -> dict[str, Any]:
    """The switches that loading leaves off and that were not given, with what turns each on."""
    return {key: value for key, value in module.RELEASED.items() if key not in given} if module in OFF else {}


def _off(value: bool | float) -> bool | float:
    """What a switch stands at where it is off."""
    return not value if isinstance(value, bool) else 0.0


def _short(value: Any) -> str:
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 40 else f"{text[:39]}…"
