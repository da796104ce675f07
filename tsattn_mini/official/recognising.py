"""Which of the nine models a state dict belongs to, by names that only that model has: released names, or ours."""

import re
from collections.abc import Mapping

from tsattn_mini.official.weights import State

MARKS = {  # of several that fit, the first is meant: a later one's names may stand in an earlier one too
    "nonstationary": r"(tau|delta)_learner\.",
    "timexer": r"(en|ex)_embedding\.",
    "duet": r"Channel_transformer\.|mask_generator\.|cluster\.(gate|noise|experts|revin)",
    "kite": r"(flow_matching\.)?(manifold_basis$|mix_param$|barycenter_mapper\.|net\.(cond_embed_x|input_proj)\.)",
    "engram": r"multi_head_embedding\.|short_conv\.|key_projs\.",
    "fedformer": r"(encoder|decoder)\.\w+\.\d+\.\w+\.inner_correlation\.weights[12]$",
    "autoformer": r"(encoder|decoder)\.norm\.layernorm\.",
    "itransformer": r"enc_embedding\.value_embedding\.weight$",
    "informer": r"encoder\.conv_layers\.",
}
OURS = {  # the same for a state dict of a model of this package
    "nonstationary": r"(tau|delta)_projector\.",
    "informer": r"transformer\.(en|de)coder\..+\.index_sample$",
    "autoformer": r"forecaster\.(en|de)coder\.",
    "fedformer": r"forecaster\.(en|de)coder\..+\.attend\.(real|imag)$",
    "itransformer": r"embedding\.value\.weight$",
    "timexer": r"(patch|exogenous)_embedding\.",
    "duet": r"clusters\.router\.",
    "kite": r"source\.(M|mix)$|field\.(history|head)\.",
    "engram": r"table\.rows$|convolution\.gain$",
}
RELEASED = {"Nonstationary_Transformer": "nonstationary", "ns_Transformer": "nonstationary", "Informer": "informer",
            "Autoformer": "autoformer", "FEDformer": "fedformer", "iTransformer": "itransformer", "TimeXer": "timexer",
            "DUET": "duet", "KITE": "kite", "Engram": "engram"}
PLAIN = r"enc_embedding\.value_embedding\.tokenConv\."  # an encoder–decoder of Time-Series-Library, but which?
WAVELETS = r"(encoder|decoder)\..*inner_correlation\.(?!weights[12]$)"
WRAPPED = ("module.", "model.", "_orig_mod.", "network.")  # what other code puts in front of every name


def recognise(state: State, model: str | None, said: str | None) -> tuple[str, State, tuple[str, ...]]:
    """The model of a state dict, its own weights without what stands in front of their names, and the names left out.

    Args:
        model: what the caller says; `said`: what the settings beside the weights say, under its released name.

    Raises:
        ValueError: an unknown model, one that the weights do not look like, weights of no known model, weights that
            several models share, or those of several models in one dict.
    """
    state = {name.replace("_orig_mod.", ""): value for name, value in state.items()}
    found = marked(state)
    name = known(model) or _told(state, found, said)
    if found and name not in found:
        raise ValueError(f"model: these weights look like {_words(found)}, got {name!r}")
    places = found.get(name) or _places(state, PLAIN) or {_common(state)}
    if len(places) > 1:
        raise ValueError(f"state dict: it holds several models, under {', '.join(map(repr, sorted(places)))}; pass one "
                         "of them, {name: w for name, w in state.items() if name.startswith(…)}")
    (prefix,) = places
    own = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    return name, own, tuple(key for key in state if not key.startswith(prefix))


def marked(state: State) -> dict[str, set[str]]:
    """The models with names of their own in `state`, and what stands in front of these."""
    found = {name: places for name, mark in MARKS.items() if (places := _places(state, f"{mark}|{OURS[name]}"))}
    if "fedformer" in found:
        found.pop("autoformer", None)  # whose names are around its attentions
    return found


def saved_here(name: str, state: State) -> bool:
    """Did a model of this package save it, under our names?"""
    return bool(_places(state, OURS[name]))


def known(model: str | None) -> str | None:
    """Our name of a model that is called by ours or by its released name.

    Raises:
        ValueError: a name that no model has.
    """
    if model is None or model in MARKS:
        return model
    if model not in RELEASED:
        raise ValueError(f"model: expected one of {list(MARKS)}, got {model!r}")
    return RELEASED[model]


def _told(state: State, found: Mapping[str, set[str]], said: str | None) -> str:
    """The model by its weights, and where they do not tell, by the settings beside them."""
    if _places(state, WAVELETS):
        raise ValueError("model: these weights look like FEDformer's wavelet version, which is not here")
    if said is not None and said not in RELEASED:
        raise ValueError(f"model: the settings beside the weights say {said}, which is not one of {sorted(RELEASED)}")
    if said is not None and (RELEASED[said] in found or not found):
        return RELEASED[said]
    if found:
        return next(iter(found))
    if _places(state, PLAIN):
        raise ValueError("model: the weights are those of an encoder–decoder of Time-Series-Library; their names an "
                         "Informer without distilling shares with others; pass model='informer' if it is one")
    names = ", ".join(list(state)[:3])
    raise ValueError(f"model: the weights ({names}, …) are those of no model here: {', '.join(sorted(RELEASED))}")


def _places(state: State, mark: str) -> set[str]:
    """What stands in front of the names that `mark` matches."""
    pattern = re.compile(rf"((?:.+?\.)??)(?:{mark})")
    return {m[1] for name in state if (m := pattern.match(name))}


def _common(state: State) -> str:
    """The usual words in front of every name."""
    prefix = ""
    while word := next((w for w in WRAPPED if all(name.startswith(prefix + w) for name in state)), ""):
        prefix += word
    return prefix


def _words(found: Mapping[str, set[str]]) -> str:
    return " or ".join(map(repr, found))
