"""What `watch` refuses, and what it says then."""

import pytest
import torch
from torch import nn
from watched_modules import Attention, Returns, X, hooks, names, quietly

from tsattn_mini import Watched, watch


@pytest.mark.bad_input
@pytest.mark.parametrize(("path", "message"), [
    ("encoder.layer.0.attend", r"no module at 'encoder\.layer\.0\.attend'; nearest: 'encoder\.layers\.0\.attend'.*"
                               "'encoder' has layers"),
    ("decoder", "no module at 'decoder'; nearest: 'encoder', .*; the module has encoder"),
    ("encoder.layers.0.attend.query.weight", "is a tensor, not a module; .* is 'encoder.layers.0.attend.query'"),
    ("zzz", "no module at 'zzz'; the module has encoder"),
    (7, "expected dotted paths, got 7"),
])
def test_a_path_that_leads_nowhere_names_the_nearest(path, message):
    net = nn.ModuleDict({"encoder": nn.ModuleDict({"layers": nn.ModuleList([nn.ModuleDict({"attend": Attention()})])})})
    with pytest.raises(ValueError, match=message), watch(net, {path: "A"}):
        pass


@pytest.mark.bad_input
@pytest.mark.parametrize(("made", "pick", "message"), [
    (lambda x: (x, None), None, r"'0' is a tuple of 2: \[0\] \(2, 3\), \[1\] None, not a tensor; say which with"),
    (lambda x: {"out": x, "more": [x, x]}, None,
     r"is a dict of 2: \['out'\] \(2, 3\), \['more'\] a list of 2: \[0\] \(2, 3\), .*, not a tensor; say which"),
    (lambda x: None, None, "output of '0' is None, not a tensor$"),
    (lambda x: 3.0, None, "output of '0' is a float, not a tensor$"),
    (lambda x: (x, None), 1, r"output of '0'\[1\] is None, not a tensor$"),
    (lambda x: (x, None), 2, r"pick: 2 is not in the output of '0', a tuple of 2: \[0\] \(2, 3\), \[1\] None"),
    (lambda x: {"out": x}, "weights", r"pick: 'weights' is not in the output of '0', a dict of 1"),
    (lambda x: x.to_sparse(), None, "output of '0' is a sparse_coo tensor, not a tensor$"),
    (lambda x: quietly(lambda: torch.nested.nested_tensor([x])), None, "'0' is a nested tensor, not a tensor$"),
])
def test_what_is_no_tensor_is_described(made, pick, message):
    with pytest.raises(ValueError, match=message):
        names(nn.Sequential(Returns(made)), {"0": Watched("A", pick=pick)}, X)


@pytest.mark.bad_input
@pytest.mark.parametrize(("wanted", "message"), [
    ({}, "names: expected a dict such as"), (["weigh"], "names: expected a dict such as"),
    ({"weigh": 3}, r"expected a name or Watched\(…\) for 'weigh', got 3"),
    ({"weigh": [3]}, r"expected a name or Watched\(…\) for 'weigh'"),
    ({"weigh": "A", "query": "A"}, "'A' is given to 'weigh' and to 'query'"),
    ({"weigh": ""}, "name: expected a word, got ''"),
])
def test_a_plan_that_makes_no_sense_is_refused(wanted, message):
    with pytest.raises(ValueError, match=message), watch(Attention(), wanted):
        pass


@pytest.mark.bad_input
@pytest.mark.parametrize(("made", "message"), [
    ({"of": "result"}, "of: expected one of"), ({"axes": ["L"]}, "axes: expected one word per axis"),
    ({"pick": 1.5}, "pick: expected a number, a key, or a tuple of these, got 1.5"),
])
def test_a_watched_that_makes_no_sense_is_refused(made, message):
    with pytest.raises(ValueError, match=message):
        Watched("A", **made)


@pytest.mark.bad_input
def test_only_a_module_can_be_watched():
    with pytest.raises(ValueError, match=r"expected a torch\.nn\.Module, got builtin"), watch(torch.relu, {"": "A"}):
        pass


def compiled_in_place():
    net = nn.Sequential(nn.Linear(3, 3))
    net.compile()
    return net


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: torch.compile(Attention()), r"went through torch\.compile, which passes hooks by; watch its _orig_mod"),
    (lambda: nn.Sequential(torch.compile(Attention())), r"'0' went through torch\.compile"),
    (compiled_in_place, r"was compiled by \.compile\(\)"),
    (lambda: torch.jit.trace(nn.Sequential(nn.Linear(3, 3)), X), "the module is TorchScript, which runs without"),
])
def test_what_was_compiled_or_scripted_is_refused(make, message):
    net = quietly(make)
    with pytest.raises(ValueError, match=message), watch(net, {"0": "A"}):
        pass


@pytest.mark.bad_input
def test_a_module_that_never_runs_is_an_error_that_says_why():
    fused = nn.MultiheadAttention(4, 2, batch_first=True)
    net = nn.ModuleDict({"attend": fused, "skipped": nn.Linear(1, 1), "held": nn.ModuleList([nn.Linear(1, 1)])})
    x = torch.ones(1, 5, 4)
    for path, why in (("attend.out_proj", "MultiheadAttention uses its weights without calling it; watch"),
                      ("held", "a ModuleList holds modules and is not called"), ("", "ModuleDict has no forward|holds"),
                      ("skipped", "it was passed over, or its weights or its forward were used directly")):
        with pytest.raises(RuntimeError, match=f"'{path}' never ran, so 'A' was not named: .*({why})"), \
                watch(net, {path: "A"}):
            fused(x, x, x)


def test_an_error_in_the_module_passes_through_and_no_hook_stays():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(4, 4))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        names(net, {"0": "a", "1": "b"}, X)
    assert hooks(net) == 0
