"""Every argument of every public function, spoilt in every way: refused in one line that names it, or answered."""

import math
import re
import warnings

import pytest
import torch
from calls import CALLS
from torch import Tensor

from tsattn_mini.kite.conditioning import inject
from tsattn_mini.kite.source import mix_noise
from tsattn_mini.training import score

pytestmark = pytest.mark.bad_input

INSIDE = {  # what an argument is called where it is looked at
    "p_hidden": {"hidden"}, "floor": {"delta"}, "Y_exo": {"X_exo"}, "S_future": {"S"}, "w": {"S"}, "told": {"S"},
    "cross": {"activation"}, "p": {"patch_len"}, "h": {"x"}, "k": {"x"}, "x": {"q"}, "y": {"k", "s"}, "L": {"modes"},
    "router_noise": {"noise"}, "q": {"x"}, "modes_kv": {"modes"}, "columns": {"marks"}}
NEVER = {"word", "list", "array", "nan", "inf", "-inf", "complex", "flag", "half a one", "nothing", "no entry"}


def spoilt(good):
    """Other values in the place of a good one, and what is wrong with each."""
    match good:
        case Tensor():
            yield from spoilt_tensor(good)
        case bool():
            return
        case int():
            yield from {"negative": -1, "zero": 0, "flag": True, "half a one": good + 0.5, "word": "3", "nan": math.nan,
                        "nothing": None}.items()
        case float():
            yield from {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "word": "0.5", "nothing": None,
                        "flag": True}.items()
        case str():
            yield from {"another word": "nonsense", "number": 3, "short": ""}.items()
        case tuple() | list():
            yield from {"short": type(good)(), "words": ["a", "b"], "number": 5}.items()


def spoilt_tensor(x):
    yield from {"word": "x", "list": x.tolist(), "array": x.numpy(), "one axis more": x[None]}.items()
    if x.ndim:
        yield "one axis less", x[0]
    for axis in range(x.ndim):
        yield "one", x.narrow(axis, 0, 1)
        yield "longer", torch.cat([x, x.narrow(axis, 0, 1)], axis)
        yield "no entry", x.narrow(axis, 0, 0)
    if not x.is_floating_point():
        yield "floats", x.double()
        return
    yield from {"whole numbers": torch.ones_like(x).long(), "flags": x > 0, "complex": x.to(torch.complex128),
                "half precision": x.half()}.items()
    for name, value in (("nan", torch.nan), ("inf", torch.inf)):
        bad = x.clone()
        bad.view(-1)[-1] = value
        yield name, bad


ANSWERED = {  # what is no mistake there
    ("KITE()", "nothing"), ("VectorField()", "nothing"), ("watch", "nothing"), ("euler", "nothing"),
    ("rms_norm", "nothing"), ("keep_modes", "nothing"), ("ngram_hashes", "nothing"), ("FourierBlock()", "nothing"),
    ("FourierCrossAttention()", "nothing"), ("FEDformer()", "nothing"), ("cosine_for", "half a one"),
    ("expected_share", "half a one"), ("number_of_delays", "half a one"), ("auto_correlation", "half a one"),
    ("Autoformer()", "half a one"), ("angle_gate", "half a one")}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_wrong_is_named_and_nothing_that_is_answered_is_nan(name):
    call, faults = CALLS[name], []
    for argument, good in call.given.items():
        for what, value in spoilt(good):
            fault = judged(call, name, argument, what, value)
            if fault:
                faults.append(f"{argument}, {what}: {fault}")
    assert faults == []


def judged(call, name, argument, what, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = call(**{argument: value})
        except ValueError as error:
            return unclear(str(error), call, argument, what)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:80]}"
    numbers = [t for t in torch.utils._pytree.tree_leaves(answer) if isinstance(t, Tensor) and t.is_floating_point()]
    if not all(bool(t.isfinite().all()) for t in numbers):
        return "an answer that is not finite"
    free = argument in call.free or (name, what) in ANSWERED or name.startswith(("lesson.", "tiling"))
    return "an answer" if what in NEVER and not free and not isinstance(call.given[argument], bool) else None


def unclear(message, call, argument, what):
    head = re.split(r":", message)[0]
    named = set(re.findall(r"\w+", head))
    own = {argument, *INSIDE.get(argument, ())}
    allowed = own if what in NEVER else {*own, *call.given, *(n for inner in INSIDE.values() for n in inner)}
    if "\n" in message or "expected" not in message or "got" not in message or not named & allowed:
        return f"unclear: {message[:110]}"
    return None


def test_an_axis_of_size_1_is_never_spread_over_a_longer_one():
    a, b = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    for narrow in (a[:1], a[:, :1], a[..., :1]):
        with pytest.raises(ValueError, match=r"^future: expected axes 'B F V' with"):
            score(narrow, b)
    W = torch.nn.Linear(5, 4, bias=False)
    with pytest.raises(ValueError, match=r"^Y_s: expected axes 'B N 4' with B=2, N=3, got shape \(2, 1, 4\)"):
        inject(torch.rand(2, 3, 6), torch.rand(2, 6, 5), torch.rand(2, 1, 4), W)
    with pytest.raises(ValueError, match=r"^eps: expected axes 'B F' with B=3, F=4, got shape \(3, 1\)"):
        mix_noise(torch.rand(3, 4), torch.rand(3, 1), torch.rand(3, 1), torch.tensor(1.0))
