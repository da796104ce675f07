"""What no hook sees of a module, and what can be watched in it."""

import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from watched_modules import Attention, Hidden, Returns, X, hooks, names, quietly

from tsattn_mini import Watched, unseen, watchable


@pytest.mark.parametrize("training", [False, True])
def test_parts_of_a_fused_layer_are_seen_since_watching_it_takes_the_ordinary_path(training):
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).train(training)
    x = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
    with torch.no_grad():
        alone = layer(x)
        trace = names(layer, {"linear1": "h", "self_attn": Watched("out", pick=0), "": "y"}, x)
    assert trace["h"].shape == (2, 3, 8)
    assert_close(trace["y"].tensor, alone, rtol=1e-5, atol=1e-6)


def test_attention_weights_come_out_only_where_they_are_asked_for():
    attend = nn.MultiheadAttention(4, 2, batch_first=True).eval()
    x = torch.ones(2, 3, 4)
    with torch.no_grad():
        trace = names(attend, {"": Watched("A", pick=1, axes="B L S")}, x, x, x, average_attn_weights=True)
        assert_close(trace["A"].tensor, torch.full((2, 3, 3), 1 / 3))
        with pytest.raises(ValueError, match=r"output of ''\[1\] is None, not a tensor"):
            names(attend, {"": Watched("A", pick=1)}, x, x, x, need_weights=False)


def test_unseen_lists_what_is_computed_between_the_modules():
    net = nn.Sequential(Hidden(), nn.Dropout(0.5)).train()
    rows = [re.split(" {2,}", line)[:2] for line in unseen(net, X).text.splitlines()[2:]]
    assert [tuple(row) for row in rows] == [
        ("0", "scaled_dot_product_attention"), ("0", "softmax, 2 times"), ("0.spare", "the whole part")]
    assert net.training
    assert hooks(net) == 0


def test_unseen_says_without_running_what_is_fused_shared_or_scripted():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    scripted = quietly(lambda: torch.jit.trace(nn.Sequential(nn.Linear(3, 3)), X))
    net = nn.ModuleDict({"a": layer, "b": layer.linear1, "c": scripted})
    text = unseen(net).text
    for said in ("a            the fused path", "a.self_attn  scores, weights, projections", "the same module as b;",
                 "c            TopLevelTracedModule"):
        assert said in text
    assert "c.0" not in text
    assert unseen(nn.Linear(3, 3)).text.splitlines()[2:] == []


def test_watchable_lists_paths_types_runs_and_shapes():
    net = nn.Sequential(Attention(), Returns(lambda pair: pair[0])).train()
    assert [line.split(None, 3) for line in watchable(net, X).text.splitlines()[2:]] == [
        ['""', "Sequential", "1", "(2, 3)"],
        ["0", "Attention", "1", "a tuple of 2: [0] (2, 3), [1] (2, 2)"],
        ["0.query", "Linear", "1", "(2, 3)"], ["0.key", "Linear", "1", "(2, 3)"], ["0.weigh", "Softmax", "1", "(2, 2)"],
        ["1", "Returns", "1", "(2, 3)"]]
    still = watchable(net).text.splitlines()
    assert [line.split() for line in still[2:4]] == [['""', "Sequential"], ["0", "Attention"]]
    assert net.training
    assert hooks(net) == 0


def test_looking_changes_neither_the_modes_nor_the_statistics_of_a_module():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)).train()
    net[1].eval()
    before = {name: t.clone() for name, t in net.state_dict().items()}
    watchable(net, X)
    unseen(net, X)
    assert (net.training, net[0].training, net[1].training) == (True, True, False)
    assert all(torch.equal(t, before[name]) for name, t in net.state_dict().items())
