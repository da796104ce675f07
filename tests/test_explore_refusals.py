"""What the explore package refuses beside a wrong number: arguments of another kind, and how it says so."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
import torch

from tsattn_mini import questions, step
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle
from tsattn_mini.explore.question import Option, choice

HUGE = 10 ** 400


def one():
    return {"x": Slider(1.0, 0, 2)}


def double(x):
    step("y", 2 * x, axes="")


@pytest.fixture
def explorer():
    made = Explorer(double, one(), id="refusals")
    yield made
    made.close()


@pytest.mark.parametrize(("make", "kept"), [
    (lambda: Slider(np.float32(0.5), np.int64(0), torch.tensor(2.0)), (0.5, 0, 2.0)),
    (lambda: Slider(Fraction(1, 2), Fraction(-1), np.float64(2)), (0.5, -1.0, 2.0)),
    (lambda: Slider(2.0, 0.0, torch.tensor(5), integer=True), (2, 0, 5)),
    (lambda: Slider(np.int64(1), 0, 5.5), (1, 0, 5.5)),
])
def test_numbers_from_elsewhere_are_kept_as_plain_ones(make, kept):
    slider = make()
    got = slider.value, slider.min, slider.max
    assert [(type(a), a) for a in got] == [(type(b), b) for b in kept]
    json.dumps([got, slider.probes(), slider.check(np.float64(1)), slider.describe()])


def test_cells_and_toggles_take_numpy_and_torch_too():
    cells = Cells(np.array([0.5, 1.0]), np.float32(0), torch.tensor(2), axes="S")
    assert repr((cells.min, cells.max)) == "(0.0, 2)"
    assert cells.check(np.array([1, 2])) == [1.0, 2.0]
    assert Toggle(np.True_).value is True
    assert Toggle(False).check(torch.tensor(True)) is True


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Slider("x", 0, 1), "value: expected a finite number between 0 and 1, got 'x'"),
    (lambda: Slider(None, 0, 1), "value: expected a finite number between 0 and 1, got None"),
    (lambda: Slider(HUGE, 0, 1), "value: expected a finite number between 0 and 1, got 1000"),
    (lambda: Slider(1, 0, HUGE), "max: expected a finite number, got 1000"),
    (lambda: Slider(1, 0, np.inf), "max: expected a finite number, got inf"),
    (lambda: Slider(torch.ones(1), 0, 1), "value: expected a finite number between 0 and 1, got tensor"),
    (lambda: Slider(1, 0.5, 3, integer=True), "min: expected a whole number, got 0.5"),
    (lambda: Slider(1, 0, 2.5, integer=True), "max: expected a whole number, got 2.5"),
    (lambda: Cells("x", 0, 1, axes="S"), "value: expected numbers in rows of one length, got 'x'"),
    (lambda: Cells([0, None], 0, 1, axes="S"), r"value: expected numbers in rows .*, got \[0, None\]"),
    (lambda: Cells([[0], [0, 1]], 0, 1, axes="L S"), r"value: expected numbers in rows of one length, got \[\[0\]"),
    (lambda: Cells([0, HUGE], 0, 1, axes="S"), "value: expected numbers in rows of one length"),
    (lambda: Cells([0, 1], 0, "b", axes="S"), "max: expected a finite number, got 'b'"),
    (lambda: Cells([0, 1], 1, 1, axes="S"), "min, max: expected min < max, got 1 and 1"),
    (lambda: Cells([0, 1], 0, 1, axes=["S"]), r"axes: expected one string, a word per axis, got \['S'\]"),
    (lambda: Cells([0, 1], 0, 1, axes="S").check([[0], [0, 1]], "q"), "q: expected numbers in rows of one length"),
    (lambda: Cells([0, 1], 0, 1, axes="S").check("x", "q"), "q: expected numbers in rows of one length, got 'x'"),
    (lambda: Choice(["a"], [["a"], ["b"]]), "options: expected strings"),
    *[(lambda word=word: Choice("a", ["a", word]),
       re.escape(f"options: expected words parted by single spaces, none at the ends, and no '|', got {word!r}"))
      for word in (" b", "b ", "b  c", "b|c", "b\tc", "b\n")],
])
def test_handles_refuse_values_of_another_kind(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_options_may_hold_single_spaces_and_signs():
    assert Choice("as in the file", ["as in the file", "τ = 1"]).options == ["as in the file", "τ = 1"]


def test_an_observer_can_be_taken_off_again(explorer):
    heard = []
    explorer.observe(heard.append)
    explorer.set(x=2.0)
    explorer.unobserve(heard.append)
    explorer.set(x=0.5)
    assert len(heard) == 1


@pytest.mark.bad_input
def test_an_observer_must_be_callable(explorer):
    with pytest.raises(ValueError, match="handler: expected a function of one change, got 'values'"):
        explorer.observe("values")


def test_an_unknown_step_is_answered_with_the_shown_ones(explorer):
    with pytest.raises(KeyError, match="no shown step 'B'; shown: y"):
        explorer.values["B"]
    explorer.set(x=2.0)
    with pytest.raises(KeyError, match="no shown step 'B'; shown: y"):
        explorer.values["B"]


def empty(x):
    step("y", x * torch.zeros(0, 3), axes="L S")


def doubles(x):
    step("y", torch.ones(3, 3, dtype=torch.float64) @ (x * torch.ones(3)), axes="S")


def outside(x):
    step("y", torch.ones(3)[x], axes="")


def largest(x):
    step("y", (x * torch.ones(3)).amax(), axes="")


@pytest.mark.bad_input
@pytest.mark.parametrize(("change", "message"), [
    ({"fn": 3}, "fn: expected a function, got int"),
    ({"inputs": [1]}, "inputs: expected a dict, got list"),
    ({"presets": ["off"]}, "presets: expected a dict, got list"),
    ({"presets": {"off": 0.0}}, r"presets\['off'\]: expected a dict, got float"),
    ({"presets": {"off": {"x": 9}}}, r"presets\['off'\]: x: expected a number between 0 and 2, got 9"),
    ({"show": "y"}, "show: expected a list of step names, got the word 'y'"),
    ({"fn": lambda x: step("", x, axes="")}, "fn: fails at the first values: name: expected a word, got ''"),
    ({"fn": lambda x: step("__proto__", x, axes="")}, "fn: expected a step name .*, got '__proto__'"),
    ({"fn": empty}, r"fn: expected at least one entry along every axis of step 'y', got shape \(0, 3\)"),
    ({"fn": doubles}, r"fn: fails at the first values: .*dtype.*; explorers run in float32, so .* with \.float\(\)"),
    ({"fn": outside}, "fn: fails at the first values: tensors used as indices must be"),
    ({"fn": largest}, r"aten\.amax has no counterpart .* Instead: give amax and amin a dimension"),
    ({"inputs": {"x": Choice("0", list("012345678"))}}, "inputs: x makes 9 graphs, the most is 8"),
])
def test_explorers_refuse_arguments_of_another_kind(change, message):
    arguments = {"fn": double, "inputs": one(), "id": "refused", **change}
    if isinstance(arguments["inputs"], dict) and isinstance(arguments["inputs"]["x"], Choice):
        arguments["fn"] = lambda x: step("y", torch.tensor(float(x)), axes="")
    with pytest.raises(ValueError, match=message):
        Explorer(**arguments)


def as_float(x):
    step("y", float(x) * torch.ones(2), axes="S")


def through_numpy(x):
    step("y", torch.from_numpy(x.numpy() * np.ones(2, "float32")), axes="S")


def numpy_itself(x):
    step("y", torch.tensor(np.exp(x)), axes="")


@pytest.mark.bad_input
@pytest.mark.parametrize(("fn", "what", "code", "instead"), [
    (as_float, r"a Python decision on a tensor's value, or float\(…\) of one,", 'step("y", float(x) * torch.ones(2)',
     "and the tensor itself where float(…) of it stands"),
    (through_numpy, "a step through NumPy", 'step("y", torch.from_numpy(x.numpy()', "compute with torch"),
    (numpy_itself, "a step through NumPy", 'step("y", torch.tensor(np.exp(x))', "compute with torch")])
def test_what_leaves_torch_is_named_with_its_line(fn, what, code, instead):
    line = fn.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match=rf"^fn: {what} has no counterpart in the page's graph \(line {line} of "
                                         rf"{fn.__name__}: {re.escape(code)}.*Instead: .*{re.escape(instead)}"):
        Explorer(fn, one(), id="refused")


def test_an_item_that_only_enters_a_product_stays_an_input_of_the_graph():
    made = Explorer(lambda x: step("y", x.item() * torch.ones(2), axes="S"), one(), id="item")
    made.set(x=2.0)
    assert made.values["y"].tolist() == [2.0, 2.0]
    made.close()


@pytest.mark.bad_input
def test_a_taken_id_says_how_to_free_it(explorer):
    with pytest.raises(ValueError, match=r"got 'refusals'.*; give one of them another title or id="):
        Explorer(double, one(), title="Refusals")


@pytest.mark.bad_input
def test_an_option_that_is_a_plain_string_is_named():
    with pytest.raises(ValueError, match=r"97-x: options\['b'\]: expected an Option\(text, feedback\), got 'B'"):
        choice(id="97-x", text="Which?", options={"a": Option("A", "because"), "b": "B"}, answer="a")


@pytest.mark.bad_input
def test_a_lesson_module_that_fails_is_named(tmp_path, monkeypatch):
    (tmp_path / "lesson98.py").write_text("QUESTIONS = [missing]\n", encoding="utf8")
    monkeypatch.setattr(questions, "__path__", [*questions.__path__, str(tmp_path)])
    with pytest.raises(ImportError, match=r"questions\.lesson98 fails: NameError: name 'missing' is not defined"):
        questions.ask("98-x")
