"""The line of code that made a step: where `step` is called, and where its tensor came from under a name."""

from pathlib import Path

import pytest
import torch
from torch import nn

from tsattn_mini import record, step
from tsattn_mini.attention import mix, scaled_dot_product
from tsattn_mini.trace import meaning


def lines(make, *given):
    with record() as trace:
        make(*given)
    return {name: s.code.text for name, s in trace.items() if s.code}


def direct(x):
    step("a", x * 2, axes="L E")
    b = step("b", torch.relu(
        x - 1,  # a comment
    ), axes="L E")
    return step(name="c", tensor=b.mT, axes="E L")


def named(x):
    y = x + 1
    z, w = x * 3, x * 4
    if len(x) > 100:
        y = y * 100
    step("y", y, axes="L E")
    y = step("again", y, axes="L E")
    step("z", z, axes="L E")
    return w


def passes(x):
    inner = lambda y: step("lambda", y, axes="L E")  # noqa: E731
    inner(x / 2)
    receive(x / 3)
    hand_on(x / 4)
    with meaning("five"):
        decorated(x=x / 5)
    Layer()(x / 6)


def receive(value):
    if len(value) > 100:
        value = value * 100
    step("received", value, axes="L E")


def hand_on(thing):
    return take(thing)


def take(value):
    step("handed on", value, axes="L E")


@meaning("decorated")
def decorated(x):
    step("decorated", x, axes="L E")


class Layer(nn.Module):
    def forward(self, x):
        step("layer", x, axes="L E")


def test_the_line_is_what_step_was_given():
    assert lines(direct, torch.ones(2, 3)) == {"a": "x * 2", "b": "torch.relu(x - 1)", "c": "b.mT"}


def test_a_name_leads_to_the_statement_that_gave_it_its_value():
    assert lines(named, torch.ones(2, 3)) == {
        "y": "y = x + 1", "again": "y = x + 1", "z": "z, w = x * 3, x * 4"}


def test_a_parameter_leads_to_what_the_caller_passed():
    assert lines(passes, torch.ones(2, 3)) == {
        "lambda": "x / 2", "received": "x / 3", "handed on": "x / 4", "decorated": "x / 5", "layer": "x / 6"}


def test_a_line_of_the_package_says_its_file():
    with record() as trace:
        scaled_dot_product(*torch.ones(3, 1, 2, 1, 4))
    found = trace["logits"].code
    assert (found.text, found.file) == ("QK / q.shape[-1] ** 0.5", "tsattn_mini/attention.py")
    source = Path(mix.__code__.co_filename).read_text("utf8").splitlines()
    assert found.text in source[found.number - 1]


def test_a_line_of_a_lesson_says_no_file():
    with record() as trace:
        direct(torch.ones(2, 3))
    assert trace["a"].code.file == ""


@pytest.mark.parametrize("code", ["step('x', t, axes='L')", "f(t)"])
def test_where_no_source_can_be_read_there_is_no_line(code):
    with record() as trace:
        exec(code, {"step": step, "t": torch.ones(2), "f": lambda v: step("x", v, axes="L")})
    assert trace["x"].code is None


def test_picked_steps_keep_their_line_and_inputs_count_as_sources():
    with record() as trace:
        x = torch.ones(2, 3)
        trace.follow("in/x", x)
        direct(x)
    picked = trace.pick("a", "c")
    assert picked["a"].code.text == "x * 2"
    assert (picked["a"].sources, picked["c"].sources) == (("in/x",), ("in/x",))
