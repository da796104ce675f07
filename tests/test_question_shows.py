"""What "Show me" promises is there: the explorer in the lesson, its inputs and presets, values that they take."""

import json
import re

import numpy as np
import pytest
from browsing import ROOT, specs

from tsattn_mini.explore.question import Show
from tsattn_mini.questions import all_questions

SHOWING = [pytest.param(q, id=q.id) for q in all_questions() if q.show]
SPEC = {"presets": [{"label": "Four", "values": {"n": 4}}], "inputs": [
    {"name": "n", "kind": "slider", "min": 0, "max": 5, "integer": True}, {"name": "on", "kind": "toggle"},
    {"name": "how", "kind": "choice", "options": ["a", "b"]}, {"name": "text", "kind": "tokens"},
    {"name": "x", "kind": "cells", "min": -1, "max": 1, "dims": [2, 2]}]}
FITTING = [Show("e", n=5, on=True, how="b", text="t", x=[[0, 1], [-1, 0.5]]), Show("e", preset="Four")]
MISFITS = [Show("e", n=6), Show("e", n=2.5), Show("e", n="3"), Show("e", n=True), Show("e", m=1), Show("e", how="c"),
           Show("e", on=1), Show("e", text=3), Show("e", x=[0, 1]), Show("e", x=[[0, 2], [0, 0]]),
           Show("e", preset="Five")]


def handles(lesson):
    """By id of its explorers, the names of the inputs, from the text that the stored lesson keeps of them."""
    cells = json.loads((ROOT / "lessons" / f"{lesson}.ipynb").read_text("utf8"))["cells"]
    texts = ("".join(out.get("data", {}).get("text/plain", ())) for c in cells for out in c.get("outputs", ()))
    found = (re.match(r"Explorer (\S+): (.*)", text) for text in texts)
    return {line[1]: set(re.findall(r"(?:^|, )(\w+)=", line[2])) for line in found if line}


def fits(spec, show):
    """Do the inputs of an explorer take what is to be shown?"""
    if show.preset is not None:
        return show.preset in [preset["label"] for preset in spec["presets"]]
    inputs = {input["name"]: input for input in spec["inputs"]}
    return all(name in inputs and takes(inputs[name], value) for name, value in show.inputs.items())


def takes(input, value):
    """Would the control of an input take this value?"""
    kind = input["kind"]
    if kind == "choice":
        return value in input["options"]
    if kind in ("toggle", "tokens"):
        return isinstance(value, {"toggle": bool, "tokens": str}[kind])
    x = np.array(value)
    shaped = x.shape == tuple(input.get("dims", ())) and x.dtype.kind in "if"
    return bool(shaped and (x >= input["min"]).all() and (x <= input["max"]).all()
                and not (input.get("integer") and x.dtype.kind == "f"))


@pytest.mark.parametrize("question", SHOWING)
def test_the_lesson_has_the_explorer_and_its_inputs(question):
    known = handles(question.lesson)
    assert question.show.explorer in known
    assert set(question.show.inputs) <= known[question.show.explorer]


@pytest.mark.browser
@pytest.mark.parametrize("question", SHOWING)
def test_the_explorer_of_the_page_takes_the_state(question, book):
    spec = specs(f"lessons/{question.lesson}.html")[question.show.explorer]
    assert fits(spec, question.show)


def test_explorers_are_found_in_a_stored_lesson():
    found = handles("01_attention_by_hand")
    assert {"attention-four-by-four", "five-scores-compete"} <= set(found)
    assert "causal_mask" in found["attention-four-by-four"]


@pytest.mark.parametrize("show", FITTING, ids=repr)
def test_a_state_that_fits_is_told(show):
    assert fits(SPEC, show)


@pytest.mark.parametrize("show", MISFITS, ids=repr)
def test_a_state_that_does_not_fit_is_told(show):
    assert not fits(SPEC, show)
