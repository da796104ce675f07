import pytest
import torch
from torch import einsum

from tsattn_mini import record, scope, step


def chain(x):
    a = step("a", x * 2, axes="L E", eq="2 x", note="Twice.")
    b = step("b", x + 1, axes="L E")
    return step("c", a @ b.mT, axes="L S")


def test_a_step_is_the_identity_with_and_without_a_record():
    x = torch.zeros(2, 3)
    assert step("x", x, axes="anything at all, nobody looks") is x
    with record() as trace:
        assert step("x", x, axes="L E") is x
    assert trace["x"].tensor is x


def test_a_record_keeps_tensor_axes_equation_and_note_in_order():
    with record() as trace:
        out = chain(torch.ones(2, 3))
    assert list(trace) == ["a", "b", "c"]
    assert len(trace) == 3
    assert trace["c"].tensor is out
    a = trace["a"]
    assert (a.axes, a.eq, a.note, a.shape) == ("L E", "2 x", "Twice.", (2, 3))
    assert (trace["b"].eq, trace["b"].note) == (None, None)


def test_nothing_is_recorded_after_the_block():
    with record() as trace:
        pass
    step("late", torch.zeros(1), axes="L")
    assert len(trace) == 0


def test_every_open_record_collects():
    with record() as outer:
        step("before", torch.zeros(2), axes="L")
        with record() as inner:
            step("within", torch.zeros(2), axes="L")
        step("after", torch.zeros(2), axes="L")
    assert list(inner) == ["within"]
    assert list(outer) == ["before", "within", "after"]


def test_a_record_closes_when_its_block_fails():
    with pytest.raises(KeyError, match="stop"), record():
        raise KeyError("stop")
    with record() as trace:
        step("x", torch.zeros(2), axes="L")
    assert list(trace) == ["x"]


def test_scopes_prefix_names_and_nest():
    with record() as trace:
        for layer in range(2):
            with scope(f"enc{layer}"), scope("self"):
                step("A", torch.zeros(2, 2), axes="L S")
        step("A", torch.zeros(2, 2), axes="L S")
    assert list(trace) == ["enc0/self/A", "enc1/self/A", "A"]


def test_a_scope_closes_when_its_block_fails():
    with pytest.raises(RuntimeError, match="stop"), scope("lost"):
        raise RuntimeError("stop")
    with record() as trace:
        step("A", torch.zeros(2), axes="L")
    assert list(trace) == ["A"]


@pytest.mark.bad_input
def test_a_name_used_twice_is_an_error_that_says_what_to_do():
    with record(), pytest.raises(ValueError, match=r"step 'A' is already recorded; loops go inside scope"):
        for _ in range(2):
            step("A", torch.zeros(2), axes="L")


@pytest.mark.bad_input
@pytest.mark.parametrize(("axes", "message"), [
    ("L", r"axes 'L' name 1 axes, the tensor has 2: \(2, 3\)"),
    ("B L E", r"name 3 axes, the tensor has 2"),
    ("L 5", r"axis 5 has size 3, but 5 by the number itself"),
    ("L L", r"axis L has size 3, but 2 by step 'x'"),
])
def test_axes_that_do_not_fit_the_tensor_are_an_error(axes, message):
    with record(), pytest.raises(ValueError, match=message):
        step("x", torch.zeros(2, 3), axes=axes)


@pytest.mark.bad_input
def test_one_word_has_one_size_within_a_scope():
    with record(), pytest.raises(ValueError, match=r"step 'k': axis E has size 5, but 3 by step 'q'"):
        step("q", torch.zeros(2, 3), axes="L E")
        step("k", torch.zeros(7, 5), axes="S E")


def test_another_scope_may_use_a_word_for_another_size():
    with record() as trace:
        for name, length in [("enc", 12), ("dec", 10)]:
            with scope(name):
                step("x", torch.zeros(length), axes="L")
    assert [s.shape for s in trace.values()] == [(12,), (10,)]


def test_scalars_and_fixed_sizes_have_axes_too():
    with record() as trace:
        step("omega", torch.tensor(1.5), axes="")
        step("spectrum", torch.zeros(7, 2), axes="F 2")
    assert [s.shape for s in trace.values()] == [(), (7, 2)]


@pytest.mark.bad_input
@pytest.mark.parametrize("edit", [
    lambda x: x.add_(1), lambda x: x.masked_fill_(x > 0, 0), lambda x: x[0].zero_(), lambda x: x.view(-1).mul_(2),
])
def test_a_step_changed_in_place_is_an_error_on_exit(edit):
    with pytest.raises(RuntimeError, match="step 'S' was changed in place after it was named"), record():
        edit(step("S", torch.ones(2, 3), axes="L S"))


def test_changing_a_tensor_before_it_is_named_is_fine():
    with record() as trace:
        x = torch.zeros(3)
        x += 1
        step("x", x, axes="L")
    assert trace["x"].tensor.tolist() == [1, 1, 1]


@pytest.mark.bad_input
def test_the_error_inside_the_block_wins_over_the_in_place_error():
    with pytest.raises(KeyError, match="first"), record():
        step("S", torch.ones(2), axes="S").add_(1)
        raise KeyError("first")


@pytest.mark.bad_input
def test_inference_mode_is_refused_because_its_tensors_have_no_version():
    with torch.inference_mode(), pytest.raises(RuntimeError, match=r"torch.no_grad\(\) instead of"), record():
        pass


def test_an_unknown_name_lists_the_known_ones():
    with record() as trace:
        chain(torch.ones(2, 3))
    with pytest.raises(KeyError, match="no step 'z'; recorded: a, b, c"):
        trace["z"]


@pytest.mark.bad_input
@pytest.mark.parametrize(("name", "tensor", "axes", "message"), [
    (torch.zeros(2), "A", "S", "name: expected a word, got Tensor"),
    ("A", [0.0, 1.0], "S", "tensor: expected a torch tensor, got list"),
    ("A", torch.zeros(2), ["S"], "axes: expected one word per axis, got list"),
])
def test_arguments_of_another_kind_are_refused_while_recording(name, tensor, axes, message):
    with pytest.raises(ValueError, match=message), record():
        step(name, tensor, axes=axes)


def test_the_table_has_a_row_per_step():
    with record() as trace:
        chain(torch.ones(2, 3))
    lines = repr(trace.table()).splitlines()
    assert lines[0].split() == ["step", "operation", "axes", "shape"]
    assert [line.split()[0] for line in lines[2:]] == ["a", "b", "c"]
    assert lines[2].split(maxsplit=1)[1].split("  ")[0] == "2 x"
    assert "(2, 2)" in lines[4]
    assert "<td>L\N{NO-BREAK SPACE}E</td>" in trace.table()._repr_html_()


def test_a_record_that_does_not_follow_has_the_same_steps_and_no_arrows():
    x = torch.ones(2, 3)
    with record() as trace, record(follow=False) as light:
        chain(x)
    assert {name: s.tensor for name, s in light.items()} == {name: s.tensor for name, s in trace.items()}
    assert trace["c"].sources == ("a", "b")
    assert all(s.sources == () and s.code is None for s in light.values())
    with pytest.raises(RuntimeError, match="step 'x' was changed in place"), record(follow=False):
        step("x", torch.zeros(2), axes="L").add_(1)


def test_the_flow_follows_the_computation_not_the_order():
    with record() as trace:
        chain(torch.ones(2, 3))
    assert {name: s.sources for name, s in trace.items()} == {"a": (), "b": (), "c": ("a", "b")}
    assert repr(trace.flow()) == "a\nb\nc ← a, b"
    assert trace.flow()._repr_html_().count("class='ts-box'") == 3
    assert trace.flow()._repr_html_().count("class='ts-edge'") == 2


def test_the_flow_sees_through_modules_views_and_unnamed_tensors():
    layer = torch.nn.Linear(3, 5)
    with record() as trace, torch.no_grad():
        x = step("x", torch.ones(2, 3), axes="L E")
        hidden = layer(x).relu().reshape(10)
        step("y", hidden.sum(), axes="")
        step("z", torch.ones(2), axes="L")
    assert trace["y"].sources == ("x",)
    assert trace["z"].sources == ()


def test_gradients_flow_through_a_recorded_run():
    x = torch.ones(2, 3, requires_grad=True)
    with record():
        chain(x).sum().backward()
    recorded, x.grad = x.grad, None
    chain(x).sum().backward()
    torch.testing.assert_close(recorded, x.grad)


class Named(torch.nn.Module):
    def forward(self, x):
        with record() as trace:
            step("y", einsum("le,se->ls", x, x), axes="L S")
        return trace["y"].tensor


@pytest.mark.filterwarnings("ignore:While compiling, we found certain side effects")  # the open list, put back by pop
def test_a_recording_module_exports_strictly_and_compiles_in_one_graph():
    x = torch.ones(2, 3)
    program = torch.export.export(Named(), (x,), strict=True)
    torch.testing.assert_close(program.module()(x), x @ x.mT)
    compiled = torch.compile(Named(), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), x @ x.mT)


@pytest.mark.bad_input
@pytest.mark.parametrize("name", [None, "", 3])
def test_a_scope_has_a_name(name):
    with pytest.raises(ValueError, match=f"^name: expected a word, got {name!r}$"), scope(name):
        pass


@pytest.mark.parametrize(("given", "message"), [
    ({"name": ""}, "name: expected a word, got ''"), ({"name": " "}, "name: expected a word, got ' '"),
    ({"eq": 3}, "eq: expected words, got int"), ({"note": b"x"}, "note: expected words, got bytes")])
def test_a_step_without_a_name_or_with_words_that_are_none_is_refused(given, message):
    with pytest.raises(ValueError, match=f"^{message}$"), record():
        step(**{"name": "A", "tensor": torch.ones(1), "axes": "B", **given})
