"""`Explorer` in Python: what it computes, what it refuses, and what it leaves in a page and in a notebook."""

import base64
import gzip
import json
import math
import re

import numpy as np
import onnxruntime
import pytest
import torch

from tsattn_mini import step
from tsattn_mini.explore import Cells, Choice, Explorer, Slider, Toggle
from tsattn_mini.explore.export import PARITY, difference, export
from tsattn_mini.explore.html import pretty

Q = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])
_count = iter(range(10_000))


def explore(fn, inputs, **more):
    return Explorer(fn, inputs, **{"id": f"test-{next(_count)}", **more})


def soften(q, tau):
    S = step("S", q @ q.mT, axes="L S", eq="Q Qᵀ", note="Every row meets every row.")
    step("A", torch.softmax(tau * S, dim=-1), axes="L S", eq="softmax(τ S)")


def handles():
    return {"q": Cells(Q, -3, 3, axes="L E"), "tau": Slider(1.0, 0.01, 16.0, log=True)}


@pytest.fixture(scope="module")
def shared():
    return explore(soften, handles())


@pytest.fixture
def soft(shared):
    """One explorer for the tests that only move it, put back to its first values."""
    shared.set(q=Q, tau=1.0)
    return shared


def spec_of(explorer):
    return json.loads(re.search(r"data-spec>(.*?)</script>", explorer.html, re.S)[1])


@pytest.fixture
def in_book(monkeypatch):
    monkeypatch.setenv("TSATTN_BOOK", "1")


def test_values_are_the_steps_at_the_current_inputs_in_float32(soft):
    assert list(soft.values) == ["S", "A"]
    torch.testing.assert_close(soft.values["S"], Q @ Q.mT)
    torch.testing.assert_close(soft.values["A"], torch.softmax(Q @ Q.mT, -1))
    assert {x.dtype for x in soft.values.values()} == {torch.float32}


def test_set_moves_inputs_and_keeps_the_others(soft):
    soft.set(tau=2.0)
    torch.testing.assert_close(soft.values["A"], torch.softmax(2 * Q @ Q.mT, -1))
    soft.set(q=Q - 0.25)
    torch.testing.assert_close(soft.values["A"], torch.softmax(2 * (Q - 0.25) @ (Q - 0.25).mT, -1))


def test_observers_hear_every_answer(soft):
    heard = []
    soft.observe(lambda change: heard.append(change.new["A"].clone()))
    soft.set(tau=2.0)
    soft.set(tau=0.5)
    assert len(heard) == 2
    torch.testing.assert_close(heard[1], torch.softmax(0.5 * Q @ Q.mT, -1))


def test_the_front_end_moves_inputs_through_state_and_gets_its_turn_back(soft):
    soft.set_state({"state": {"inputs": {"q": Q.tolist(), "tau": 4.0}, "turn": "7"}})
    assert soft.answer["turn"] == "7"
    got = np.frombuffer(soft.answer["steps"]["A"], dtype=np.float32).reshape(3, 3)
    torch.testing.assert_close(torch.from_numpy(got.copy()), torch.softmax(4 * Q @ Q.mT, -1))
    torch.testing.assert_close(soft.values["A"], torch.from_numpy(got.copy()))


def test_an_error_in_the_kernel_reaches_the_front_end(soft):
    soft.set_state({"state": {"inputs": {"q": Q.tolist(), "tau": 99.0}, "turn": "8"}})
    assert soft.answer == {"turn": "8", "error": "tau: expected a number between 0.01 and 16.0, got 99.0"}


def test_show_selects_and_orders_steps():
    assert list(explore(soften, handles(), show=["A", "S"]).values) == ["A", "S"]


def test_every_kind_of_input_arrives_as_promised():
    seen = {}

    def fn(x, n, cells, word, on):
        seen.update(x=x, n=n, cells=cells, word=word, on=on)
        scale = {"half": 0.5, "twice": 2.0}[word]
        step("y", torch.where(on, scale * x * cells, cells) + n, axes="S")

    inputs = {"x": Slider(1.5, 0, 3), "n": Slider(2, 0, 5, integer=True),
              "cells": Cells(torch.arange(5.0), 0, 9, axes="S"),
              "word": Choice("half", ["half", "twice"]), "on": Toggle(False)}
    ex = explore(fn, inputs)
    ex.set(word="twice", on=True, n=4)
    assert {k: getattr(v, "dtype", v) for k, v in seen.items()} == {
        "x": torch.float32, "n": torch.int64, "cells": torch.float32, "word": "twice", "on": torch.bool}
    assert ex.values["y"].tolist() == [4, 7, 10, 13, 16]


def test_the_stored_text_holds_handles_and_numbers_to_three_decimals():
    assert repr(explore(soften, handles(), id="stored")) == (
        "Explorer stored: q=[1.000 -2.000 0.500 3.000 0.000 1.000], tau=1.000\n"
        "  S [L S] (3, 3): [5.000 -5.500 -2.000 -5.500 9.250 3.000 -2.000 3.000 1.000]\n"
        "  A [L S] (3, 3): [0.999 0.000 0.001 0.000 0.998 0.002 0.006 0.876 0.118]")


def test_in_jupyter_it_is_a_widget_and_in_the_book_html(soft, monkeypatch):
    assert "application/vnd.jupyter.widget-view+json" in soft._repr_mimebundle_()[0]
    monkeypatch.setenv("TSATTN_BOOK", "1")
    assert soft._repr_mimebundle_() == {"text/html": soft.html, "text/plain": repr(soft)}


def test_the_page_holds_picture_numbers_controls_and_the_graph(in_book):
    ex = explore(soften, handles(), title="Soften & sharpen", id="soften", presets={"flat": {"tau": 0.01}})
    assert "class='ts-explorer" in ex.html
    assert "data-explorer='soften'" in ex.html
    assert "Soften &amp; sharpen" in ex.html
    for name in ("S", "A"):
        assert f"data-step='{name}'" in ex.html
    assert "aria-label='A: 0.999" in ex.html
    assert re.search(r"<label for='soften-tau'>τ</label><input type='range' id='soften-tau'", ex.html)
    spec = spec_of(ex)
    assert spec["presets"] == [{"label": "flat", "values": {"q": Q.tolist(), "tau": 0.01}}]
    assert [(s["name"], s["axes"], s["dims"], s["scale"], s["eq"]) for s in spec["steps"]] == [
        ("S", "L S", [3, 3], "signed", "Q Qᵀ"), ("A", "L S", [3, 3], "unit", "softmax(τ S)")]
    first = np.frombuffer(gzip.decompress(base64.b64decode(spec["first"])), dtype=np.float32)
    np.testing.assert_array_equal(first, torch.cat([ex.values["S"].flatten(), ex.values["A"].flatten()]).numpy())

    session = onnxruntime.InferenceSession(gzip.decompress(base64.b64decode(spec["graphs"][""])))
    assert [i.name for i in session.get_inputs()] == ["in/q", "in/tau"]
    S, A = session.run(["S", "A"], {"in/q": Q.numpy(), "in/tau": np.array(4, dtype=np.float32)})
    ex.set(tau=4.0)
    assert difference(ex.values["A"], torch.from_numpy(A)) <= PARITY
    assert difference(ex.values["S"], torch.from_numpy(S)) <= PARITY


def test_every_combination_of_choices_is_a_graph(in_book):
    def fn(x, how, sign):
        step("y", {"double": x * 2, "square": x * x}[how] * {"+": 1, "-": -1}[sign], axes="S")
    ex = explore(fn, {"x": Cells(torch.ones(3), -1, 1, axes="S"), "how": Choice("double", ["double", "square"]),
                      "sign": Choice("+", ["+", "-"])})
    assert list(spec_of(ex)["graphs"]) == ["double|+", "double|-", "square|+", "square|-"]


def test_page_text_cannot_break_out(in_book):
    ex = explore(soften, handles(), title="</script><b>\"'", presets={"<i>": {"tau": 2.0}})
    assert "</script><b>" not in ex.html
    assert "<i>" not in ex.html
    assert spec_of(ex)["title"] == "</script><b>\"'"


def test_graphs_are_the_same_bytes_every_time_and_hold_no_path():
    tensors = {"q": Q, "tau": torch.tensor(1.0)}
    first, second = (export(soften, tensors, {}, ["S", "A"]) for _ in range(2))
    assert first == second
    assert b"test_explorer" not in first
    assert b".py" not in first


@pytest.mark.parametrize(("name", "text"), [
    ("tau", "τ"), ("log_tau", "log τ"), ("dec0/self/A", "dec0/self/A"), ("enc0/log_tau", "enc0/log τ"), ("d_k", "d_k"),
    ("restore_delta", "restore δ"), ("x_norm", "x norm"), ("P_tau/conv", "P_τ/conv"),
    ("beta", "β"), ("table", "table"),
])
def test_names_are_shown_as_the_papers_print_them(name, text):
    assert pretty(name) == text


def raises(message, fn=soften, inputs=None, **more):
    with pytest.raises(ValueError, match=message):
        explore(fn, handles() if inputs is None else inputs, **more)


@pytest.mark.bad_input
def test_functions_that_do_not_fit_are_refused():
    raises("fn: calls no step", fn=lambda q, tau: q)
    raises("inputs: fn does not take 'tau'; it takes q", fn=lambda q: step("q", q, axes="L E"))
    raises("inputs: fn needs 'more', but no handle has that name: q, tau", fn=lambda q, tau, more: None)
    raises("inputs: expected at least one handle", inputs={})
    raises(r"inputs\['tau'\]: expected Slider, Cells, Choice, Toggle, Tokens or Window, got float",
           inputs={"q": handles()["q"], "tau": 1.0})
    raises("show: no step 'B'; fn names S, A", show=["B"])
    raises("show: expected different names", show=["S", "S"])
    raises("step 'y' is float64; explorers run in float32",
           fn=lambda tau: step("y", torch.ones(2, dtype=torch.float64) * tau, axes="S"),
           inputs={"tau": Slider(1, 0, 2)})
    raises("id: expected letters, digits and hyphens", id="", title="")
    raises("id: expected letters, digits and hyphens", id="a b")


@pytest.mark.bad_input
def test_functions_that_leave_torch_are_refused():
    one = {"x": Slider(1.0, -2.0, 2.0)}
    raises(r"a Python decision on a tensor's value, or float.* has no counterpart.*torch\.where",
           fn=lambda x: step("y", x if x > 0 else -x, axes=""), inputs=one)
    calls = iter(range(100))
    raises("at the first values the exported graph gives another 'y'.*Something inside left torch and was frozen",
           fn=lambda x: step("y", x * next(calls), axes=""), inputs=one)
    raises("operation aten._linalg_svd has no counterpart in the page's graph.*Instead",
           fn=lambda x: step("y", torch.linalg.svdvals(x * torch.eye(3)), axes="S"), inputs=one)
    raises("another 'y' than the function.*random draw",
           fn=lambda x: step("y", x + torch.rand(3), axes="S"), inputs=one)


@pytest.mark.bad_input
def test_functions_that_fail_at_an_end_of_a_handle_are_refused():
    def fn(n):
        table = torch.arange(5.0)
        step("y", table[n], axes="")
    raises("fn: fails at n = 9", fn=fn, inputs={"n": Slider(2, 0, 9, integer=True)})

    def grow(word):
        step("y", torch.ones({"short": 2, "long": 3}[word]), axes="S")
    raises(r"step 'y' has shape \(3,\) at .*compute it at its largest size and mask the rest",
           fn=lambda word, x: (grow(word), x),
           inputs={"word": Choice("short", ["short", "long"]), "x": Slider(1, 0, 2)})


@pytest.mark.bad_input
def test_more_than_eight_graphs_are_refused():
    options = ["a", "b", "c"]
    raises("one, two make 9 graphs, the most is 8", fn=lambda one, two, x: step("y", x, axes=""),
           inputs={"one": Choice("a", options), "two": Choice("a", options), "x": Slider(0, 0, 1)})


@pytest.mark.bad_input
def test_an_id_is_given_once():
    first = explore(soften, handles(), id="once")
    raises("id: expected one that is free, got 'once'", id="once")
    raises("id: expected one that is free, got 'once'", id=None, title="Once!")
    first.close()
    explore(soften, handles(), id="once").close()


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "message"), [
    (lambda: Slider(math.nan, 0, 1), "value: expected a finite number between 0 and 1, got nan"),
    (lambda: Slider(2, 0, 1), "value: expected a number between 0 and 1, got 2"),
    (lambda: Slider(0.5, 1, 0), "expected min < max, got 1 and 0"),
    (lambda: Slider(0.5, 0, math.inf), "max: expected a finite number, got inf"),
    (lambda: Slider(0.5, 0, 1, log=True), "a log slider needs min > 0, got 0"),
    (lambda: Slider(0.5, 0, 1, integer=True), "value: expected a whole number, got 0.5"),
    (lambda: Slider(True, 0, 1), "expected a finite number"),
    (lambda: Slider(0, 0, 1, step=0), "step: expected a number above 0 and up to 1, got 0"),
    (lambda: Slider(0, 0, 1, step=1.5), "step: expected a number above 0 and up to 1, got 1.5"),
    (lambda: Slider(1, 1, 2, log=True, step=0.5), "step: expected None for a log or an integer slider"),
    (lambda: Cells(torch.tensor([0.0, math.nan]), 0, 1, axes="S"), r"got nan at index \(1,\)"),
    (lambda: Cells(torch.tensor([[0.0, 3.0]]), 0, 1, axes="L S"), r"between 0 and 1, got 3.0 at index \(0, 1\)"),
    (lambda: Cells(torch.zeros(2), 0, 1, axes="L S"), r"axes: expected 1 words for shape \(2,\)"),
    (lambda: Cells(torch.zeros(2, 2, 2), 0, 1, axes="B L S"), "value: expected one or two axes"),
    (lambda: Cells(torch.zeros(0), 0, 1, axes="S"), "value: expected one or two axes with at least one entry"),
    (lambda: Choice("c", ["a", "b"]), "value: expected one of 'a', 'b', got 'c'"),
    (lambda: Choice("a", ["a"]), "options: expected at least two different words"),
    (lambda: Choice("a", ["a", 2]), "options: expected strings"),
    (lambda: Toggle(1), "value: expected True or False, got 1"),
])
def test_handles_refuse_what_they_cannot_take(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.bad_input
@pytest.mark.parametrize(("moved", "message"), [
    ({"tau": math.nan}, "tau: expected a finite number"),
    ({"tau": 17.0}, "tau: expected a number between 0.01 and 16.0, got 17"),
    ({"nu": 1.0}, "set: expected one of the inputs q, tau, got 'nu'"), ({"q": [1.0]}, r"q: expected shape \(3, 2\)"),
])
def test_set_refuses_and_stays_where_it_was(soft, moved, message):
    before = soft.values["A"].clone()
    with pytest.raises(ValueError, match=message):
        soft.set(**moved)
    assert torch.equal(soft.values["A"], before)


@pytest.mark.bad_input
def test_presets_are_checked_when_the_explorer_is_made():
    raises(r"presets\['off'\]: tau: expected a number between 0.01 and 16.0, got 0", presets={"off": {"tau": 0}})
    raises(r"presets\['odd'\]: expected one of the inputs q, tau, got 'x'", presets={"odd": {"x": 0}})
