"""Names for what the parts of a module return."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from watched_modules import Attention, Pair, Returns, X, hooks, names

from tsattn_mini import Watched, record, scope, step, watch
from tsattn_mini.explore import Cells, Explorer, Slider

# What is named


def test_the_very_tensor_that_went_on_is_named_and_the_module_is_left_as_it_was():
    net = Attention()
    with watch(net, {"weigh": "A", "": Watched("out", pick=0)}), record() as trace:
        out, A = net(X)
    assert trace["A"].tensor is A
    assert trace["out"].tensor is out
    assert hooks(net) == 0
    assert "A" in trace["out"].sources


def test_the_two_blocks_may_stand_in_either_order_and_nothing_happens_without_a_record():
    net = Attention()
    with watch(net, {"weigh": "A"}) as ran:
        net(X)
        with record() as trace:
            net(X)
    assert list(trace) == ["A"]
    assert ran["A"] == 2


def test_axes_are_named_by_position_or_as_given():
    net = Attention()
    trace = names(net, {"weigh": "enc0/A", "query": Watched("q", axes="L E", eq="W x", note="asks")}, X)
    assert trace["enc0/A"].axes == "A.0 A.1"
    assert (trace["q"].axes, trace["q"].eq, trace["q"].note) == ("L E", "W x", "asks")
    assert trace["enc0/A"].note == "output of weigh (Softmax)"


def test_axes_by_position_never_quarrel_between_tensors_of_other_sizes():
    net = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 7))
    trace = names(net, {"0": "first layer", "1": "b"}, X)
    assert trace.table().text.splitlines()[2:] == [
        "first layer  output of 0 (Linear)  first_layer.0 first_layer.1  (2, 5)",
        "b            output of 1 (Linear)  b.0 b.1                      (2, 7)"]


def test_axes_that_do_not_fit_are_an_error_and_leave_no_hook():
    net = Attention()
    with pytest.raises(ValueError, match=r"step 'A': axes 'L' name 1 axes, the tensor has 2"):
        names(net, {"weigh": Watched("A", axes="L")}, X)
    assert hooks(net) == 0


def test_inputs_are_watched_by_number_or_by_name():
    net = nn.Sequential(nn.Identity(), nn.Linear(3, 5))
    trace = names(net, {"1": [Watched("x", of="input"), "y"]}, X)
    assert list(trace) == ["x", "y"]
    assert trace["x"].tensor is X
    scale = torch.tensor(2.0)
    wanted = {"": [Watched("first", of="input", pick=0), Watched("scale", of="input", pick="scale")]}
    trace = names(Attention(), wanted, X, scale=scale)
    assert trace["first"].tensor is X
    assert trace["scale"].tensor is scale
    assert trace["scale"].axes == ""


def test_an_entry_of_a_tuple_a_dict_an_object_and_one_inside_another_is_picked():
    for made, pick in [(lambda x: (None, x), 1), (lambda x: {"A": x}, "A"), (lambda x: Pair(None, x), "weights"),
                       (lambda x: [None, {"A": (x,)}], (1, "A", 0)), (lambda x: {0: x}, 0)]:
        assert names(Returns(made), {"": Watched("A", pick=pick)}, X)["A"].tensor is X


def test_the_code_of_a_watched_step_is_the_line_that_called_the_module():
    trace = names(Attention(), {"weigh": "A", "query": "q"}, X)
    assert trace["A"].code.text == "self.weigh(scale * self.query(x) @ self.key(x).mT)"
    assert trace["q"].code.text == "self.query(x)"
    assert names(nn.Sequential(nn.Linear(3, 3)), {"0": "y"}, X)["y"].code is None  # called by torch's own code


def test_arrows_run_between_watched_steps_and_those_of_the_module_itself():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return step("y", self.layer(step("x", x, axes="L M")) + 1, axes="L M")

    trace = names(Named(), {"layer": Watched("h", axes="L M")}, X)
    assert [(name, trace[name].sources) for name in trace] == [("x", ()), ("h", ("x",)), ("y", ("h",))]


# Running more than once


def test_a_loop_is_told_apart_by_rounds_or_by_scopes():
    layer = nn.Linear(3, 3)
    net = nn.Sequential(layer, nn.ReLU(), layer)
    trace = names(net, {"0": Watched("h", rounds=True)}, X)
    assert list(trace) == ["0/h", "1/h"]
    assert trace["1/h"].sources == ("0/h",)
    assert trace["1/h"].note == "output of 0 (Linear), which is also 2"
    with watch(layer, {"": "h"}), record() as trace:
        for i in range(2):
            with scope(f"round{i}"):
                layer(X)
    assert list(trace) == ["round0/h", "round1/h"]


def test_rounds_start_again_in_every_recording():
    layer = nn.Linear(3, 3)
    with watch(layer, {"": Watched("h", rounds=True)}):
        for _ in range(2):
            with record() as trace:
                layer(layer(X))
            assert list(trace) == ["0/h", "1/h"]


@pytest.mark.bad_input
def test_a_second_run_under_one_name_says_what_to_do():
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError, match=r"'h' is already recorded when '0' runs, which is also 1; .*rounds=True"):
        names(nn.Sequential(layer, layer), {"0": "h"}, X)


@pytest.mark.bad_input
def test_one_module_at_two_places_cannot_be_told_apart():
    layer = nn.Linear(3, 3)
    with pytest.raises(ValueError, match="'0' and '1' are one and the same module, and a hook cannot tell"):
        names(nn.Sequential(layer, layer), {"0": "a", "1": "b"}, X)


# Edited in place


def test_an_output_that_is_overwritten_is_an_error_unless_a_copy_is_named():
    net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True), nn.Linear(5, 2))
    with pytest.raises(RuntimeError, match=r"'S' was changed in place after it was named.*Watched\(…, copy=True\)"):
        names(net, {"0": "S"}, X)
    trace = names(net, {"0": Watched("S", copy=True), "2": "y"}, X)
    assert_close(trace["S"].tensor, net[0](X))
    assert trace["S"].tensor.min() < 0
    assert trace["y"].sources == ("S",)


# Under an explorer


def test_an_explorer_exports_what_is_watched():
    net = Attention().eval()

    def fn(x, scale):
        with watch(net, {"weigh": Watched("A", axes="L S"), "query": "q"}):
            step("y", net(x, scale)[0], axes="L E")

    explorer = Explorer(fn, {"x": Cells(X, -9, 9, axes="L E"), "scale": Slider(0.1, 0.0, 1.0)}, title="Watched")
    assert list(explorer.values) == ["q", "A", "y"]
    explorer.set(scale=0.0)
    assert_close(explorer.values["A"], torch.full((2, 2), 0.5))
    assert_close(explorer.values["q"], net.query(X))
    assert hooks(net) == 0
    explorer.close()


def test_an_explorer_exports_rounds_copies_picks_and_fused_layers():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    net = nn.Sequential(layer, layer, nn.ReLU(inplace=True))

    def fn(x):
        with watch(net, {"0": Watched("h", rounds=True, copy=True),
                         "0.self_attn": Watched("out", pick=0, rounds=True)}):
            net(x[None])

    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    explorer = Explorer(fn, {"x": Cells(x, -2, 2, axes="L E")}, title="Two rounds")
    assert list(explorer.values) == ["0/out", "0/h", "1/out", "1/h"]
    with torch.no_grad():
        assert_close(explorer.values["1/h"], layer(layer(x[None])), rtol=1e-5, atol=1e-6)
    explorer.close()


# Any module


@settings(deadline=None, max_examples=40)
@given(widths=st.lists(st.integers(1, 6), min_size=2, max_size=6), data=st.data())
def test_whatever_is_watched_is_what_the_layer_returned(widths, data):
    net = nn.Sequential(*[nn.Linear(a, b) for a, b in pairwise(widths)])
    chosen = data.draw(st.lists(st.integers(0, len(net) - 1), min_size=1, unique=True))
    x, made = torch.linspace(-1, 1, 2 * widths[0]).reshape(2, -1), []
    for layer in net:
        made.append(layer(made[-1] if made else x))
    trace = names(net, {str(i): f"h{i}" for i in chosen}, x)
    assert list(trace) == [f"h{i}" for i in sorted(chosen)]
    assert all(torch.equal(trace[f"h{i}"].tensor, made[i]) for i in chosen)
    assert hooks(net) == 0
