"""New numbers for a question, in Python: each seed can be asked, the kernel answers, what cannot be drawn is not."""

import json
import re
from base64 import b64decode
from gzip import decompress
from itertools import product
from math import isfinite, nan

import numpy as np
import onnxruntime
import pytest
import torch
from sample_draws import LOGIT

from tsattn_mini import step
from tsattn_mini.explore.question import Draw, Slip, number
from tsattn_mini.explore.question.draw import draw, word
from tsattn_mini.explore.question.template import fill, written
from tsattn_mini.questions import all_questions

DRAWN = [LOGIT, *(q for q in all_questions() if getattr(q, "drawing", None))]
EACH = pytest.mark.parametrize("question", [pytest.param(q, id=q.id) for q in DRAWN])
SEEDS = range(1, 21)


@EACH
def test_twenty_seeds_can_be_asked_and_tell_the_slips_apart(question):
    asked = [question.at(seed) for seed in SEEDS]  # a NumberQuestion refuses slips that are too near
    assert all(isfinite(q.answer()) and 1e-5 * abs(q.answer()) < q.tolerance for q in asked)
    assert not [q for q in asked if re.search(r"[{}]", "".join([q.text, q.right, q.wrong, q.hint or ""]))]
    assert len({q.text for q in asked} - {question.text}) >= 4
    assert len({round(q.answer(), 6) for q in asked}) >= 4
    assert all(len({q.right, q.wrong, *(s.feedback for s in q.slips.values())}) == 2 + len(q.slips) for q in asked)


@EACH
def test_the_first_numbers_are_those_of_the_question(question):
    first = question.at(0)
    assert (first.text, first.answer(), first.right) == (question.text, question.answer(), question.right)
    assert {n: s.number() for n, s in first.slips.items()} == {n: s.number() for n, s in question.slips.items()}


def test_a_seed_always_brings_the_same_numbers_and_another_seed_others():
    assert [LOGIT.at(3).text, LOGIT.at(4).text] == [LOGIT.at(3).text, LOGIT.at(4).text]
    assert LOGIT.at(3).text != LOGIT.at(4).text
    assert word(7, 0, 0) == word(7 + 2**32, 0, 0) == 1034742195
    assert len({word(*numbers) for numbers in product(range(20), repeat=3)}) == 20**3


def test_every_value_of_a_draw_comes_about_equally_often():
    die = {"x": Draw((6,), 1, 6, whole=True)}
    counts = np.bincount(torch.cat([draw(die, seed, 0)["x"] for seed in range(1000)]).int(), minlength=7)[1:]
    assert len(counts) == 6
    assert all(abs(counts - 1000) < 120)


def test_a_draw_is_exact_in_its_last_decimal():
    steps = Draw((100,), -0.3, 0.3, step=0.1)
    assert [steps.choices, steps.places] == [[-3, -2, -1, 0, 1, 2, 3], 1]
    assert set(draw({"x": steps}, 1, 0)["x"].tolist()) <= {-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3}
    assert Draw(values=(0.25, 1, 400)).choices == [25, 100, 40000]
    assert Draw(low=0, high=10, step=4).choices == [0, 4, 8]


def test_numbers_are_written_as_a_reader_writes_them():
    said = [written(v) for v in (52, 30.0222, -0.5, 0, 1 / 3, 0.000046, 123456.7, 999.96, -1e-13)]
    assert said == ["52", "30.02", "−0.5", "0", "0.3333", "0.000046", "123457", "1000", "0"]
    assert [written(7.389, 2), written(7.4, 2), written(0.125, 2), written(-0.125, 2), written(2.5, 0)] == [
        "7.39", "7.4", "0.13", "−0.13", "3"]


def test_holes_are_filled_with_numbers_vectors_rows_and_entries():
    given = {"q": torch.tensor([1.0, -2.5]), "K": torch.tensor([[1.0, 2.0], [3.0, 4.25]]), "t": torch.tensor(1 / 3)}
    text = fill("{q}, {q[1]}; {K}: {K[1]}, {K[1,1]:1}; {t}, {t:2}; {not a hole}", given, {"q": 1})
    assert text == "(1, −2.5), −2.5; (1, 2), (3, 4.25): (3, 4.25), 4.3; 0.3333, 0.33; {not a hole}"


def test_in_a_notebook_the_kernel_answers_and_no_graph_is_made():
    element = LOGIT.element()
    data = json.loads(re.search(r"<script type='application/json'>(.*?)</script>", element.html)[1])
    assert data["draws"]["graphs"] == {}
    element.state = {"turn": "a", "inputs": {"q": [1, 2, 3], "k": [1, 0, 0, 0.5, 0, 2], "tau": [4]}}
    steps = {name: np.frombuffer(x, np.float32).tolist() for name, x in element.answer["steps"].items()}
    assert element.answer["turn"] == "a"
    assert steps == {"answer": [pytest.approx(26 / 3**0.5)], "first key": [pytest.approx(4 / 3**0.5)],
                     "scores": [1, 6.5], "unscaled": [26]}
    element.state = {"turn": "b", "inputs": {"q": [1, 2, 3]}}
    assert element.answer == {"turn": "b", "error": "'k'"}


def test_in_the_book_the_graph_computes_what_the_function_does(monkeypatch):
    monkeypatch.setenv("TSATTN_BOOK", "1")
    packed = LOGIT.data()["draws"]["graphs"][""]
    assert len(packed) < 3000
    session = onnxruntime.InferenceSession(decompress(b64decode(packed)), providers=["CPUExecutionProvider"])
    for seed in SEEDS:
        inputs = LOGIT.drawing.tensors(seed)
        steps = LOGIT.drawing.steps(inputs)
        got = session.run(list(steps), {f"in/{name}": x.float().numpy() for name, x in inputs.items()})
        for want, one in zip(steps.values(), got, strict=True):
            torch.testing.assert_close(torch.from_numpy(one).double(), want, rtol=1e-5, atol=1e-6)


WHOLE = Draw(low=1, high=9, whole=True)


def double(x):
    step("pair", torch.stack([x, x]), axes="2")
    return 2 * step("one", x * 1, axes="")


ASKED = {"id": "97-x", "text": "{x}?", "answer": double, "right": "Y", "wrong": "N", "draws": {"x": WHOLE},
         "first": {"x": 3}}
REFUSED = [
    ({"first": {}}, "97-x: first: expected numbers for x, got none"),
    ({"first": {"x": [3, 4]}}, r"first\['x'\]: expected shape \(\) and at most 0 decimals, got \[3, 4\]"),
    ({"first": {"x": 0.5}}, "at most 0 decimals, got 0.5"),
    ({"text": "?"}, "text: expected a hole for each of x, got none for x"),
    ({"right": "{y}"}, "texts, slips: expected names among x, pair, one, answer, got 'y'"),
    ({"slips": {"s": Slip("two", "why")}}, "texts, slips: expected names among x, pair, one, answer, got 'two'"),
    ({"slips": {"s": Slip("pair", "why")}}, r"slips\['s'\].value: expected the name of a single number, got 'pair'"),
    ({"slips": {"s": Slip("x", "why")}, "tolerance": 5}, r"slips\['s'\].value: expected more than 5 away"),
    ({"answer": lambda x: 3.0}, "97-x: tensor: expected a torch tensor, got float"),
    ({"answer": lambda x: torch.stack([x, x])}, "97-x: step 'answer': axes '' name 0 axes, the tensor has 1"),
    ({"answer": lambda x: x / 0}, "answer: expected a finite number, got inf"),
    ({"draws": None, "first": None, "answer": lambda: 3, "slips": {"s": Slip("one", "why")}},
     r"slips\['s'\].value: expected a number, or draws and the name of a step, got 'one'"),
]
DRAWS = [
    ({}, "expected low and high with either whole=True or step, or values alone"),
    ({"low": 1, "high": 9}, "expected low and high with either whole=True or step, or values alone"),
    ({"low": 1, "high": 9, "whole": True, "step": 1}, "either whole=True or step"),
    ({"low": 1, "values": (1, 2)}, "or values alone"),
    ({"low": 1, "whole": True}, "expected low and high"),
    ({"low": 1, "high": 9, "step": 0}, "step: expected a number above 0, got 0"),
    ({"low": 9, "high": 1, "whole": True}, "expected 2 to 400 different values, got 0"),
    ({"low": 0, "high": 1, "step": 0.001}, "expected 2 to 400 different values, got 1001"),
    ({"values": (1, nan)}, "Draw: expected finite numbers"),
    ({"values": (1e-7, 2)}, "expected at most 6 decimals, got 7"),
    ({"shape": (2, 2, 2), "low": 1, "high": 9, "whole": True}, r"shape: expected at most two sizes .* got \(2, 2, 2\)"),
    ({"shape": (0,), "low": 1, "high": 9, "whole": True}, "shape: expected at most two sizes of 1 or more"),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_a_question_that_cannot_be_drawn_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        number(**{**ASKED, **change})


@pytest.mark.bad_input
@pytest.mark.parametrize(("given", "message"), DRAWS)
def test_a_draw_of_nothing_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Draw(**given)


@pytest.mark.bad_input
def test_numbers_that_never_tell_the_slips_apart_and_seeds_of_a_question_without_draws_are_refused():
    asked = number(**{**ASKED, "answer": lambda x: torch.where(x == 3, x, torch.nan)})
    assert asked.at(5).text == "3?"
    never = number(**{**ASKED, "answer": lambda x: torch.where(x > 9, x, torch.nan), "first": {"x": 10}})
    with pytest.raises(ValueError, match="draws: expected numbers that tell the slips apart, found none at seed 5 in"):
        never.at(5)
    with pytest.raises(ValueError, match="at: expected a question with draws, got one without"):
        asked.at(0).at(1)
